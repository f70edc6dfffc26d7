//! Trees like `/sys`, and changes of their settings.

use std::path::PathBuf;

use super::*;

/// A folder with a disk `sda` under `mq-deadline`, as `/sys` shows it.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str) -> (Self, Places) {
        let root = std::env::temp_dir().join(format!("penstock-{name}-{}", std::process::id()));
        let places =
            Places { sys: root.join("sys"), notes: root.join("notes"), purpose: Purpose::Run };
        fs::create_dir_all(places.sys.join("block/sda/queue")).unwrap();
        fs::create_dir(places.queue("sda").join(TUNABLES)).unwrap();
        let attributes = [
            ("scheduler", "none [mq-deadline] kyber\n"),
            ("nr_requests", "256\n"),
            ("rotational", "0\n"),
            ("iosched/read_expire", "500\n"),
            ("max_sectors_kb", "1280\n"),
            ("discard_max_bytes", "4096\n"),
        ];
        for (attribute, text) in attributes {
            fs::write(places.queue("sda").join(attribute), text).unwrap();
        }
        (Self(root), places)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("the folder is ours");
    }
}

fn held(places: &Places, scheduler: &str, settings: &[(&str, &str)]) -> Result<Held, QueueError> {
    let setting = |&(key, value): &(&str, &str)| Setting { key: key.into(), value: value.into() };
    let settings = settings.iter().map(setting).collect();
    let step = SchedulerStep { scheduler: scheduler.into(), settings };
    Held::new(places.clone(), vec!["sda".into()], &[step])
}

fn raw(places: &Places, attribute: &str) -> String {
    fs::read_to_string(places.queue("sda").join(attribute)).unwrap()
}

fn put(places: &Places, attribute: &str, text: &str) {
    fs::write(places.queue("sda").join(attribute), text).unwrap();
}

#[test]
fn a_switch_lasts_as_long_as_it_is_held() {
    let (_tree, places) = Tree::new("switch");
    let changed = held(&places, "kyber", &[]).unwrap();
    assert_eq!(raw(&places, "scheduler"), "kyber");
    let note = "switch mq-deadline scheduler mq-deadline\n\
                switch mq-deadline iosched/read_expire 500\n\
                switch mq-deadline nr_requests 256\n";
    assert_eq!(fs::read_to_string(places.note("sda")).unwrap(), note);
    drop(changed);
    assert_eq!(raw(&places, "scheduler"), "mq-deadline");
    assert_eq!(fs::read_dir(&places.notes).unwrap().count(), 0, "no note stays");
}

#[test]
fn a_switch_by_another_program_is_reported_and_undone() {
    let (_tree, places) = Tree::new("changed");
    let changed = held(&places, "kyber", &[]).unwrap();
    put(&places, "scheduler", "none mq-deadline [kyber]\n");
    changed.check().unwrap();
    put(&places, "scheduler", "[none] mq-deadline kyber\n");
    let error = changed.check().unwrap_err();
    assert_eq!(error.exit_code(), 1);
    assert!(error.to_string().starts_with("sda: found scheduler at none when the run"), "{error}");
    drop(changed);
    assert_eq!(raw(&places, "scheduler"), "mq-deadline");
}

#[test]
fn a_disk_that_has_it_is_taken_all_the_same() {
    let (_tree, places) = Tree::new("same");
    let changed = held(&places, "mq-deadline", &[]).unwrap();
    assert_eq!(raw(&places, "scheduler"), "none [mq-deadline] kyber\n", "not even written");
    let other = held(&places, "kyber", &[]).unwrap_err();
    assert_eq!(other.exit_code(), 5, "nor by another run meanwhile: {other}");
    drop(changed);
    assert_eq!(raw(&places, "scheduler"), "none [mq-deadline] kyber\n", "nor put back");
}

#[test]
fn an_unknown_scheduler_puts_back_what_was_switched_before_it() {
    let (_tree, places) = Tree::new("unknown");
    fs::create_dir_all(places.queue("sdb")).unwrap();
    fs::write(places.queue("sdb").join("scheduler"), "none\n").unwrap();
    let disks = vec!["sda".into(), "sdb".into()];
    let step = SchedulerStep { scheduler: "kyber".into(), settings: vec![] };
    let error = Held::new(places.clone(), disks, &[step]).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert_eq!(error.to_string(), "sdb has no scheduler kyber; it has none");
    assert_eq!(raw(&places, "scheduler"), "mq-deadline");
}

#[test]
fn settings_are_put_back_the_last_first_and_what_a_switch_changed_after_it() {
    let (_tree, places) = Tree::new("settings");
    let changed = held(&places, "none", &[("rotational", "1"), ("nr_requests", "4")]).unwrap();
    assert_eq!((&*raw(&places, "rotational"), &*raw(&places, "nr_requests")), ("1", "4"));
    let note = fs::read_to_string(places.note("sda")).unwrap();
    assert!(note.ends_with("\nset none rotational 0\nset none nr_requests 256\n"), "{note}");
    put(&places, "iosched/read_expire", "40\n");
    drop(changed);
    assert_eq!(raw(&places, "scheduler"), "mq-deadline");
    assert_eq!((&*raw(&places, "rotational"), &*raw(&places, "nr_requests")), ("0", "256"));
    assert_eq!(raw(&places, "iosched/read_expire"), "500");
}

#[test]
fn settings_that_are_to_stay_stay_and_the_old_ones_are_returned() {
    let (_tree, places) = Tree::new("stay");
    let settings = [("read_expire", "50"), ("rotational", "1")];
    let before = held(&places, "mq-deadline", &settings).unwrap().keep();
    let old: Vec<_> = before.settings.iter().map(|old| (&*old.key, &*old.value)).collect();
    assert_eq!(before.scheduler, "mq-deadline");
    assert_eq!(old, [("read_expire", "500"), ("rotational", "0")]);
    assert_eq!((raw(&places, "iosched/read_expire"), left_in(&places)), ("50".into(), vec![]));
}

#[test]
fn steps_are_undone_from_the_last_and_each_under_its_own_scheduler() {
    let (_tree, places) = Tree::new("steps");
    let depth = Setting { key: "nr_requests".into(), value: "4".into() };
    let steps = [
        SchedulerStep { scheduler: "none".into(), settings: vec![depth] },
        SchedulerStep { scheduler: "none".into(), settings: vec![] },
    ];
    let changed = Held::new(places.clone(), vec!["sda".into()], &steps).unwrap();
    let note = fs::read_to_string(places.note("sda")).unwrap();
    assert!(note.ends_with("\nset none nr_requests 256\n"), "{note}");
    assert_eq!(changed.settings().count(), 0, "the depth may look otherwise by now");
    drop(changed);
    assert_eq!(
        (raw(&places, "scheduler"), raw(&places, "nr_requests")),
        ("mq-deadline".into(), "256".into())
    );
}

#[test]
fn what_is_held_for_a_run_is_put_back_before_what_is_held_for_serving() {
    let (_tree, places) = Tree::new("purposes");
    let serving = Places { purpose: Purpose::Serving, ..places.clone() };
    let served = held(&serving, "none", &[("nr_requests", "4")]).unwrap();
    drop(held(&places, "none", &[("rotational", "1")]).unwrap());
    assert_eq!(
        (raw(&places, "scheduler"), raw(&places, "nr_requests")),
        ("none".into(), "4".into())
    );
    drop(served);
    assert_eq!(raw(&places, "nr_requests"), "256");
}

#[test]
fn what_a_switch_back_would_not_restore_is_returned_too() {
    let (_tree, places) = Tree::new("lost");
    let before = held(&places, "kyber", &[]).unwrap().keep();
    let old: Vec<_> = before.settings.iter().map(|old| (&*old.key, &*old.value)).collect();
    assert_eq!(old, [("read_expire", "500"), ("nr_requests", "256")]);
}

#[test]
fn an_unknown_setting_is_refused_and_nothing_stays_changed() {
    for key in ["low_latency", "scheduler", "../nr_requests", "iosched/read_expire"] {
        let (_tree, places) = Tree::new("no-setting");
        let error = held(&places, "kyber", &[("rotational", "1"), (key, "0")]).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{key}");
        assert!(error.to_string().contains("of kyber; expected read_expire"), "{error}");
        assert_eq!(
            (raw(&places, "scheduler"), raw(&places, "rotational")),
            ("mq-deadline".into(), "0".into())
        );
    }
}

#[test]
fn a_line_that_a_kill_cut_does_not_count() {
    let line = "set none nr_requests 128\n";
    assert!(Noted::parse(line).is_some_and(|noted| noted.line() == line));
    for cut in 0..line.len() {
        assert_eq!(Noted::parse(&line[..cut]), None);
    }
}

/// The state after a run was killed under `kyber`.
fn killed(places: &Places) {
    fs::create_dir_all(&places.notes).unwrap();
    let note = "switch mq-deadline scheduler mq-deadline\n";
    fs::write(places.note("sda"), note).unwrap();
    put(places, "scheduler", "none mq-deadline [kyber]\n");
}

#[test]
fn what_a_killed_run_left_behind_is_found_and_put_back() {
    let (_tree, places) = Tree::new("left");
    let alive = held(&places, "kyber", &[]).unwrap();
    assert_eq!(left_in(&places), [], "it lives");
    drop(alive);
    killed(&places);
    let left = left_in(&places);
    assert_eq!((left.len(), &*left[0].disk, &*left[0].scheduler), (1, "sda", "mq-deadline"));
    restore_in(&places, &left[0]).unwrap();
    assert_eq!(raw(&places, "scheduler"), "mq-deadline");
    assert_eq!(left_in(&places), []);
}

#[test]
fn the_next_run_puts_back_what_a_killed_one_switched() {
    let (_tree, places) = Tree::new("next");
    killed(&places);
    drop(held(&places, "none", &[]).unwrap());
    assert_eq!(raw(&places, "scheduler"), "mq-deadline", "its own, not what it was found under");
}

#[test]
fn a_note_of_a_disk_that_has_gone_is_dropped() {
    let (_tree, places) = Tree::new("gone");
    killed(&places);
    fs::remove_dir_all(places.sys.join("block/sda")).unwrap();
    let left = left_in(&places);
    restore_in(&places, &left[0]).unwrap();
    assert_eq!(left_in(&places), []);
}

fn held_disk(
    places: &Places,
    scheduler: Option<&str>,
    settings: &[(&str, &str)],
) -> Result<Held, QueueError> {
    let settings = settings.iter().map(|&(key, value)| Setting::new(key, value)).collect();
    hold_disk_in(places.clone(), "sda", scheduler, settings)
}

#[test]
fn a_depth_is_that_of_the_device_and_the_tunables_stay() {
    let (_tree, places) = Tree::new("depth");
    put(&places, "iosched/read_expire", "70\n");
    let settings = [("max_sectors_kb", "128"), ("nr_requests", "8")];
    let changed = held_disk(&places, None, &settings).unwrap();
    let taken: Vec<_> = changed.taken().map(|it| format!("{}={}", it.key, it.value)).collect();
    let expected =
        ["scheduler=none", "nr_requests=8", "scheduler=mq-deadline", "max_sectors_kb=128"];
    assert_eq!(taken, expected);
    assert_eq!(raw(&places, "scheduler"), "mq-deadline");
    drop(changed);
    assert_eq!(raw(&places, "max_sectors_kb"), "1280", "the kernel of this tree chooses 0");
    assert_eq!(
        (&*raw(&places, "nr_requests"), &*raw(&places, "scheduler")),
        ("256", "mq-deadline")
    );
    // A kernel makes the tunables anew with every switch.
    put(&places, "scheduler", "none [mq-deadline] kyber\n");
    let changed = held_disk(&places, None, &[("nr_requests", "8")]).unwrap();
    put(&places, "iosched/read_expire", "500\n");
    changed.disks[0].keep_tunables(&places).unwrap();
    assert_eq!(raw(&places, "iosched/read_expire"), "70");
}

#[test]
fn a_setting_without_a_way_back_is_refused_with_the_reason() {
    let (_tree, places) = Tree::new("no-way-back");
    let reasons =
        [("discard_max_bytes", "at 0 the kernel forgets"), ("rotational", "its way back was not")];
    for (key, reason) in reasons {
        let settings = [("nr_requests", "8"), (key, "0")];
        let error = held_disk(&places, Some("kyber"), &settings).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let text = error.to_string();
        assert!(
            text.starts_with(&format!("sda: found {key}; expected a setting that can")),
            "{text}"
        );
        assert!(text.contains(&format!("hint: {key} is not one: {reason}")), "{text}");
    }
    for key in ["low_latency", "scheduler", "../queue/rotational"] {
        assert_eq!(held_disk(&places, None, &[(key, "1")]).unwrap_err().exit_code(), 2, "{key}");
    }
    assert_eq!(raw(&places, "nr_requests"), "256\n", "nothing was set");
    assert_eq!(left_in(&places), []);
}
