//! What lies below the folders or targets of merges: disks, their schedulers, and whether several have the same.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::PlannedDisk;
use crate::below::{Schedulers, Seen};

/// The kernel's schedulers in front of all disks below, and what has to be known of the figures. The disks are called `noun`.
pub(super) fn below(disks: &[PlannedDisk], noun: &str) -> (Schedulers, Vec<String>) {
    let seen = disks.iter().filter_map(|disk| disk.files.first());
    let seen: Vec<Seen> = seen.map(|(_, target)| Seen::now(target)).collect();
    let below: Vec<Schedulers> = seen.iter().map(Seen::schedulers).collect();
    // Folders on loop devices give the same remark on the disk below them: one is enough.
    let remarks: BTreeSet<String> = seen.iter().flat_map(Seen::remarks).collect();
    let remarks = remarks.into_iter().chain(on_one_disk(&below, noun)).collect();
    (below.into_iter().flatten().collect(), remarks)
}

/// That several of `places`, each with the disks below it, have one disk in common.
fn on_one_disk(places: &[Schedulers], noun: &str) -> Vec<String> {
    let mut shared: BTreeMap<Vec<usize>, &str> = BTreeMap::new();
    for name in places.iter().flat_map(Schedulers::keys) {
        let has = |place: &Schedulers| place.contains_key(name);
        let those = (0..places.len()).filter(|&place| has(&places[place])).collect();
        shared.insert(those, name);
    }
    let remark = |(those, name): (Vec<usize>, &str)| {
        (those.len() > 1).then(|| {
            format!(
                "{} of {} {noun} lie on one disk, {name}: all merges use that disk, so these figures do not \
                 show the effect of placement",
                those.len(),
                places.len()
            )
        })
    };
    shared.into_iter().filter_map(remark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(names: &[&[&str]]) -> Vec<Schedulers> {
        let below = |names: &&[&str]| names.iter().map(|name| ((*name).into(), None)).collect();
        names.iter().map(below).collect()
    }

    #[test]
    fn one_remark_names_all_folders_on_a_disk() {
        assert!(on_one_disk(&folders(&[&["sda"], &["sdb"], &[]]), "folders").is_empty());
        let on_loops = folders(&[&["loop0", "sda"], &["loop1", "sda"], &["sdb"]]);
        let remarks = on_one_disk(&on_loops, "folders");
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        assert!(remarks[0].starts_with("2 of 3 folders lie on one disk, sda: "));
    }
}
