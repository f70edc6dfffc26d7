//! Devices behind each other in the address space of a run with several.

use penstock_jobs::Extent;

use crate::failure::Failure;

/// Places devices one behind the other. `sizes`: capacity and block size of each in bytes.
///
/// # Errors
/// The devices have more bytes than an address can name.
pub(crate) fn behind_each_other(
    sizes: impl IntoIterator<Item = (u64, u32), IntoIter: ExactSizeIterator>,
) -> Result<Vec<Extent>, Failure> {
    let sizes = sizes.into_iter();
    let count = sizes.len();
    let mut base = 0_u64;
    let mut extents = Vec::with_capacity(count);
    for (capacity, block) in sizes {
        let behind = base.checked_add(capacity).ok_or_else(|| too_many_bytes(count))?;
        extents.push(Extent { base, capacity, block });
        base = behind;
    }
    Ok(extents)
}

/// The error for `devices` devices that have too many bytes.
pub(crate) fn too_many_bytes(devices: usize) -> Failure {
    let message = format!("{devices} devices have more than 16 EiB together");
    Failure::wrong(message, "name smaller devices, or fewer of them")
}
