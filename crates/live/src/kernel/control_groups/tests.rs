//! Trees like `/proc`, and groups of this machine where it has the controller.

use super::*;

/// Folders that go with the test.
struct Folders {
    root: PathBuf,
    tree: Hierarchy,
}

impl Folders {
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("penstock-{name}-{}", std::process::id()));
        let tree = Hierarchy { proc: root.join("proc"), notes: root.join("notes") };
        fs::create_dir_all(tree.proc.join("self")).unwrap();
        Self { root, tree }
    }

    /// A tree with these mounts, `{}` for its root, in which this process has the groups of `groups`.
    fn with(name: &str, mounts: &str, groups: &str) -> Self {
        let this = Self::new(name);
        let mounts = mounts.replace("{}", this.root.to_str().unwrap());
        fs::write(this.tree.proc.join("self/mountinfo"), mounts).unwrap();
        fs::write(this.tree.proc.join("self/cgroup"), groups).unwrap();
        this
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.root).expect("the folder is ours");
    }
}

const V1: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
                  38 31 0:35 / {}/blkio rw,relatime - cgroup cgroup rw,blkio\n";
const V2: &str = "41 31 0:38 / {}/unified rw,relatime - cgroup2 cgroup2 rw\n";

#[test]
fn groups_are_made_in_the_group_of_this_process() {
    let folders = Folders::with("groups-own", &format!("{V1}{V2}"), "7:blkio:/jobs/a\n0::/b\n");
    folders.file("blkio/jobs/a/blkio.bfq.weight", "100\n");
    assert_eq!(folders.tree.own_group("bfq").unwrap(), folders.root.join("blkio/jobs/a"));
    let other = folders.tree.own_group("kyber").unwrap_err().to_string();
    assert_eq!(other, "kyber does not divide by the weights of control groups");
}

#[test]
fn a_container_may_see_a_part_of_the_hierarchy() {
    let part = "38 31 0:35 /jobs {}/blkio rw - cgroup cgroup rw,blkio\n";
    let folders = Folders::with("groups-part", part, "7:cpu,blkio:/jobs/a\n");
    folders.file("blkio/a/blkio.bfq.weight", "100\n");
    assert_eq!(folders.tree.own_group("bfq").unwrap(), folders.root.join("blkio/a"));
}

#[test]
fn threads_have_no_weights_in_version_2() {
    let folders = Folders::with("groups-v2", V2, "0::/\n");
    folders.file("unified/cgroup.controllers", "cpu io memory\n");
    folders.file("unified/io.bfq.weight", "default 100\n");
    let error = folders.tree.own_group("bfq").unwrap_err();
    assert!(matches!(error, NoWeights::OnlyProcesses), "{error}");
    folders.file("unified/cgroup.controllers", "cpu memory\n");
    let error = folders.tree.own_group("bfq").unwrap_err();
    assert!(matches!(error, NoWeights::NoController), "{error}");
    assert!(matches!(
        Folders::new("groups-none").tree.own_group("bfq"),
        Err(NoWeights::NoController)
    ));
}

#[test]
fn weights_keep_their_ratios_where_integers_can() {
    assert_eq!(within(&[1, 1000, 7]), [1, 1000, 7]);
    assert_eq!(within(&[2000, 6000]), [1, 3]);
    assert_eq!(within(&[1, 10_000]), [1, 1000]);
    assert_eq!(within(&[3001, 6001]), [500, 1000]);
}

/// A tree of this machine with notes of the test's own, if classes can have weights here.
fn machine(name: &str) -> Option<Folders> {
    let mut folders = Folders::new(name);
    folders.tree.proc = "/proc".into();
    let group = folders.tree.own_group("bfq").ok()?;
    let writable = rustix::fs::access(&group, rustix::fs::Access::WRITE_OK).is_ok();
    writable.then_some(folders)
}

#[test]
fn a_thread_is_in_the_group_of_its_class_until_it_ends() {
    let Some(folders) = machine("groups-real") else { return };
    let groups = ControlGroups::new_in(&folders.tree, "bfq", &[200, 600]).unwrap();
    assert_eq!(groups.weights(), [200, 600]);
    assert_eq!(left_in(&folders.tree), [], "its process lives");
    let (group, note) = (groups.group.clone(), groups.note.clone());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            groups.enter(1).unwrap();
            let own = fs::read_to_string("/proc/thread-self/cgroup").unwrap();
            assert!(own.contains(&format!("{}/class1\n", name(&group))), "{own}");
        });
    });
    drop(groups);
    assert!(!group.exists() && !note.exists());
}

#[test]
fn groups_of_a_killed_run_are_found_and_removed() {
    let Some(folders) = machine("groups-left") else { return };
    let mut groups = ControlGroups::new_in(&folders.tree, "bfq", &[1, 2]).unwrap();
    let group = groups.group.clone();
    // What a kill does: the lock goes, and nothing else.
    groups.lock = File::open("/dev/null").unwrap();
    std::mem::forget(groups);
    let left = left_in(&folders.tree);
    assert_eq!(left.iter().map(|left| &left.group).collect::<Vec<_>>(), [&group]);
    left[0].remove().unwrap();
    assert!(!group.exists());
    assert_eq!(left_in(&folders.tree), []);
    folders.file("notes/groups.penstock-1-0", "");
    left_in(&folders.tree)[0].remove().unwrap();
    folders.file("notes/groups.penstock-1-0", "/home\n");
    assert_eq!(left_in(&folders.tree), [], "not ours");
}
