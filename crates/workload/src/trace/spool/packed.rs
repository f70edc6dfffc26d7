//! The form of an item of a list in a file: its fields one after another, little-endian.

/// An item that can be kept in a file.
pub trait Packed: Copy + Send + 'static {
    /// Number of bytes of an item.
    const BYTES: usize;

    /// Writes exactly [`BYTES`](Self::BYTES) bytes.
    fn pack(&self, to: &mut PackedWriter<'_>);

    /// Reads an item of [`BYTES`](Self::BYTES) bytes.
    fn unpack(from: &mut PackedReader<'_>) -> Self;
}

/// Writes the fields of an item one after another.
#[derive(Debug)]
pub struct PackedWriter<'a>(pub(super) &'a mut [u8]);

/// Reads the fields of an item one after another.
#[derive(Debug)]
pub struct PackedReader<'a>(pub(super) &'a [u8]);

impl<'a> PackedWriter<'a> {
    /// A writer of the next `bytes` bytes. If the compiler knows this number, it needs no checks
    /// for each field.
    #[inline]
    pub(crate) fn item(&mut self, bytes: usize) -> PackedWriter<'a> {
        let (item, rest) = std::mem::take(&mut self.0).split_at_mut(bytes);
        self.0 = rest;
        PackedWriter(item)
    }
}

impl<'a> PackedReader<'a> {
    /// A reader of the next `bytes` bytes, as [`PackedWriter::item`].
    #[inline]
    pub(crate) fn item(&mut self, bytes: usize) -> PackedReader<'a> {
        let (item, rest) = self.0.split_at(bytes);
        self.0 = rest;
        PackedReader(item)
    }
}

/// Defines methods that write and read fields of the given types.
macro_rules! fields {
    ($($field:ident)*) => {$(
        impl PackedWriter<'_> {
            #[inline]
            pub(in super::super) fn $field(&mut self, field: $field) {
                let room = std::mem::take(&mut self.0);
                let (place, rest) = room.split_first_chunk_mut().expect("room for all fields");
                *place = field.to_le_bytes();
                self.0 = rest;
            }
        }

        impl PackedReader<'_> {
            #[inline]
            pub(in super::super) fn $field(&mut self) -> $field {
                let (field, rest) = self.0.split_first_chunk().expect("an item has all fields");
                self.0 = rest;
                $field::from_le_bytes(*field)
            }
        }
    )*};
}

fields!(u8 u16 u32 u64);

impl Packed for u64 {
    const BYTES: usize = 8;

    fn pack(&self, to: &mut PackedWriter<'_>) {
        to.u64(*self);
    }

    fn unpack(from: &mut PackedReader<'_>) -> Self {
        from.u64()
    }
}
