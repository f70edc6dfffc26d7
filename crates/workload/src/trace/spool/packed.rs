//! How an item of a list looks in a file: its fields in a row, low bytes first.

/// An item that can be kept in a file.
pub trait Packed: Copy {
    /// Bytes of an item.
    const BYTES: usize;

    /// Appends exactly so many bytes.
    fn pack(&self, to: &mut PackedWriter<'_>);

    /// The item of these bytes.
    fn unpack(from: &mut PackedReader<'_>) -> Self;
}

/// Takes the fields of an item one after another.
#[derive(Debug)]
pub struct PackedWriter<'a>(pub(super) &'a mut Vec<u8>);

impl PackedWriter<'_> {
    pub(in super::super) fn put<const N: usize>(&mut self, field: [u8; N]) {
        self.0.extend_from_slice(&field);
    }
}

/// Gives the fields of an item one after another.
#[derive(Debug)]
pub struct PackedReader<'a>(pub(super) &'a [u8]);

impl PackedReader<'_> {
    #[inline]
    pub(in super::super) fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_first_chunk().expect("an item has all of its bytes");
        self.0 = rest;
        *field
    }
}

impl Packed for u64 {
    const BYTES: usize = 8;

    fn pack(&self, to: &mut PackedWriter<'_>) {
        to.put(self.to_le_bytes());
    }

    fn unpack(from: &mut PackedReader<'_>) -> Self {
        Self::from_le_bytes(from.take())
    }
}
