//! Jobs of fio: the conversion of each is a readable text and a valid job, and the page for users
//! of fio has the table of the options.

use std::path::{Path, PathBuf};

use penstock_jobs::{FromFio, Job, convert_fio, fio_options, from_fio};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn accepts() -> bool {
    std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always")
}

/// Checks that the file at `path` has the text `fresh`.
fn current(path: &Path, fresh: &str) {
    if accepts() {
        std::fs::write(path, fresh).unwrap();
    }
    let shown = std::fs::read_to_string(path).unwrap_or_default();
    assert!(shown == fresh, "{} is stale (`make accept` writes it):\n{fresh}", path.display());
}

#[test]
fn each_job_file_becomes_the_job_next_to_it() {
    let folder = root().join("tests/data/fio");
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|ext| ext == "fio")).collect();
    files.sort();
    assert_eq!(files.len(), 12);
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        let made = convert_fio(name, &std::fs::read_to_string(&path).unwrap(), &[]).unwrap();
        current(&path.with_extension("toml"), &made.job);
        let lines = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = lines.lines().collect();
        for note in &made.notes {
            let at = lines[note.line - 1];
            assert!(at.contains(&note.text), "{name}:{}: {at} has no {}", note.line, note.text);
        }
        Job::parse(name, &made.job, &[]).unwrap();
    }
}

#[test]
fn the_page_has_the_table_of_the_options() {
    const BEGIN: &str = "<!-- options -->\n";
    let path = root().join("docs/from-fio.md");
    let shown = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = shown.split_once(BEGIN).expect("a place for the table");
    let (_, tail) = rest.split_once(BEGIN).expect("the end of the table");
    current(&path, &format!("{head}{BEGIN}\n{}\n{BEGIN}{tail}", fio_options()));
}

#[test]
fn what_is_no_job_of_fio_says_where() {
    let wrong = [
        ("rw=read\n", "an option above all sections", 1),
        ("[a]\nrw=read\ninclude other.fio\n", "other files are not included", 3),
        ("[a]\nrw=read\n%include other.fio\n", "other files are not included", 3),
        ("[a]\nbs=4q\n", "`bs`: expected a size, as `4k`, found `4q`", 2),
        ("[a]\nsize=101%\n", "`size`: expected a size, as `1g`, or a percentage", 2),
        ("[a]\nrw=sideways\n", "`rw`: expected read,", 2),
        ("[a]\nrw=read\nruntime=${SECONDS}\n", "`runtime`: expected a time", 3),
        ("[a]\nrw=read\nnumjobs=$ncpus\n", "`numjobs`: expected a whole number", 3),
        ("[a]\nrw=read\nnumjobs=0x10000000\n", "`numjobs`: expected a whole number", 3),
        ("[a]\nrw=read\nsize=(4*1024)\n", "`size`: expected a size", 3),
        ("[a]\nrw=read\nhow many jobs\n", "this is not an option", 3),
        ("[class.a]\n[[agent]]\nop = \"read\"\n", "this is not a job file of fio", 2),
        ("[a]\nwhat=ever\n", "the file has no option of fio", 1),
        ("[global]\nrw=read\n", "the file has no section with a job of fio", 1),
        ("", "the file has no section with a job of fio", 1),
        ("[a\n", "this is not the header of a section", 1),
        ("[]\n", "this is not the header of a section", 1),
        ("; only this\n[a]\nrw=trimwrite\n", "no section can be taken over: its blocks", 3),
        ("[a]\nrw=read\nioengine=sg\n", "no section can be taken over: no engine here", 3),
        (
            "[a]\nrw=randread\nrandom_distribution=zipf:1\n",
            "`random_distribution`: expected `zipf:`",
            3,
        ),
        ("[a]\nrw=randread\nrandom_distribution=zoned:50/50:40/50\n", "add up to 100", 3),
        ("[a]\nrw=read\nbssplit=4k/50:8k/30\n", "add up to 100", 3),
        ("[a]\nrw=read\nbs=2g\n", "is not valid: ", 1),
        ("[a]\nrate=fast\nrw=read\n", "`rate`: expected a rate", 2),
        ("[a]\nrate=1m\nrate_iops=9\n", "`rate`: expected no `rate_iops` with it", 2),
        ("[a]\nrw=read\nprio=8\n", "`prio`: expected a whole number", 3),
    ];
    for (text, message, line) in wrong {
        let error = convert_fio("wrong.fio", text, &[]).expect_err(text);
        assert!(error.to_string().contains(message), "{text}: {error}");
        let at = error.origin().expect(text).line_and_column().0;
        assert_eq!(at, line, "{text}: {error}");
    }
    let error = from_fio(Path::new("/nowhere.fio"), &[]).unwrap_err().to_string();
    assert!(error.contains("cannot read the job file of fio /nowhere.fio"), "{error}");
}

/// Converts one section with these options.
fn convert_one(options: &str) -> FromFio {
    convert_fio("one.fio", &format!("[one]\nsize=1m\n{options}"), &[]).unwrap()
}

/// Checks that the job of a section with these options has these lines.
fn has(options: &str, lines: &[&str]) {
    let FromFio { job, .. } = convert_one(options);
    for line in lines {
        assert!(job.lines().any(|found| found == *line), "{options} has no {line}:\n{job}");
    }
}

#[test]
fn options_have_the_units_and_forms_of_fio() {
    has("bs=4ki", &["size = \"4kB\""]);
    has("bs=4k\nkb_base=1000", &["size = \"4kB\""]);
    has("bs=0x1000", &["size = \"4KiB\""]);
    has("rw=write\nbs=4k,8k", &["size = \"8KiB\""]);
    has("rw=write\nbs=8k,", &["size = \"4KiB\""]);
    has("rw=read\nbs=,8k", &["size = \"4KiB\""]);
    has("runtime=2m\ntime_based", &["duration = \"2min\""]);
    has("runtime=500ms\ntime_based=1", &["duration = \"500ms\""]);
    has("buffered=0", &["cache = \"direct\""]);
    has("direct=0", &["cache = \"buffered\""]);
    has("direct=1\nbuffered=1", &["cache = \"buffered\""]);
    has("", &["op = \"read\"", "pattern = \"sequential\"", "cache = \"buffered\""]);
    has("bs=4k ; four\nioengine=libaio\niodepth=2", &["buffers = 2"]);
    has("ioengine=null", &["cache = \"direct\""]);
    has("ioengine=mmap\ndirect=1", &["cache = \"buffered\""]);
    has("rw=write\nsync=dsync", &["sync = true"]);
    has("prio=2", &["ioprio = \"be:2\""]);
    has("prioclass=1", &["ioprio = \"rt:0\""]);
    has("prioclass=3", &["ioprio = \"idle\""]);
}

#[test]
fn how_much_is_asked_for_is_what_fio_counts() {
    has("", &["region = [\"0B\", \"1MiB\"]", "passes = 1"]);
    has("loops=3", &["passes = 3"]);
    has("io_size=64k\nloops=2", &["total = \"128KiB\""]);
    has("number_ios=5\nloops=2", &["count = 10"]);
    has("number_ios=5000", &["passes = 1"]);
    has("number_ios=50\nio_size=64k", &["total = \"64KiB\""]);
    has("filesize=4m", &["region = [\"0B\", \"4MiB\"]", "total = \"1MiB\""]);
    has("filesize=512k", &["region = [\"0B\", \"512KiB\"]", "total = \"512KiB\""]);
    // Gaps: the same number of bytes, in more than one pass.
    has("rw=write:4k", &["gap = \"4KiB\"", "total = \"1MiB\""]);
    has("rw=read:-8k", &["pattern = \"backwards\"", "total = \"1MiB\""]);
    has("rw=read:-12k", &["pattern = \"backwards\"", "gap = \"4KiB\""]);
    // Whole blocks only.
    has("filesize=10k", &["total = \"8KiB\""]);
}

#[test]
fn the_part_of_the_file_is_that_of_fio() {
    has("offset=1m", &["region = [\"1MiB\", \"2MiB\"]"]);
    has("offset=25%\nsize=50%", &["region = [\"25%\", \"75%\"]"]);
    has("offset=75%\nsize=50%", &["region = [\"75%\", \"100%\"]"]);
    let quarters = "size=25%\nnumjobs=4\nfilename=d\noffset_increment=25%";
    has(quarters, &["region = [\"0%\", \"100%\"]", "copies = 4", "share = \"slices\""]);
    let apart = "size=10%\nnumjobs=2\nfilename=d\noffset_increment=50%";
    has(apart, &["region = [\"0%\", \"10%\"]", "region = [\"50%\", \"60%\"]"]);
    // Each region goes from its own begin to the end of the file.
    let ends = "size=0\nnumjobs=2\nfilename=d\noffset_increment=4m";
    has(ends, &["region = [\"4MiB\", \"100%\"]"]);
    // Without a name each job has a file of its own.
    has("numjobs=4", &["region = [\"0B\", \"4MiB\"]", "copies = 4", "share = \"slices\""]);
    has("numjobs=4\nfilename=d", &["region = [\"0B\", \"1MiB\"]", "copies = 4"]);
    has(
        "numjobs=2\nfilename=d\noffset_increment=1m",
        &["region = [\"0B\", \"2MiB\"]", "share = \"slices\""],
    );
    has(
        "numjobs=2\nfilename=d\noffset_increment=4m",
        &["region = [\"0B\", \"1MiB\"]", "region = [\"4MiB\", \"5MiB\"]"],
    );
}

#[test]
fn rates_and_think_times_are_those_of_fio() {
    let fixed = |rate: &str| format!("arrivals = {{ kind = \"fixed\", rate = \"{rate}/s\" }}");
    has("rate_iops=100", &[&fixed("100")]);
    has("rate=400k", &[&fixed("100")]);
    // Each direction of a mix has the rate, and fio counts in requests of the smallest size.
    has("rw=randrw\nrate_iops=100", &[&fixed("200"), "mix = 0.5"]);
    has("rw=randrw\nrate_iops=100,300", &[&fixed("400"), "mix = 0.25"]);
    has("rate_iops=100\nbssplit=4k/50:16k/50", &[&fixed("40")]);
    has("rate_iops=,100", &["passes = 1"]);
    // A Poisson process counts requests, whatever their sizes.
    let poisson = |rate: &str| format!("arrivals = {{ kind = \"poisson\", rate = \"{rate}/s\" }}");
    let split = "bssplit=4k/50:16k/50\nrate_process=poisson";
    has(&format!("rate=1m\n{split}"), &[&poisson("256")]);
    has(&format!("rate_iops=100\n{split}"), &[&poisson("100")]);
    let think = "arrivals = { kind = \"closed\", depth = 1, think = \"3ms\" }";
    has("thinktime=3000", &[think]);
    has("thinktime=3ms\nioengine=libaio\niodepth=8", &[think, "buffers = 1"]);
    let burst = "arrivals = { kind = \"closed\", depth = 4, think = \"1ms\", burst = 500 }";
    has("thinktime=1ms\nthinktime_blocks=500\nioengine=libaio\niodepth=4", &[burst]);
    has("thinktime=3ms\nthinktime_blocks=1\nioengine=libaio\niodepth=8", &[think]);
    has("rwmixwrite=20\nrw=randrw", &["mix = 0.8"]);
}

#[test]
fn spreads_are_those_of_fio() {
    let random = |law: &str| format!("rw=randread\nrandom_distribution={law}");
    has(&random("pareto:0.2"), &["spread = { pareto = { h = 0.2 } }"]);
    has(
        &random("zoned:50/5:30/15:20/"),
        &["spread = { zoned = [[\"5%\", 50], [\"15%\", 30], [\"80%\", 20]] }"],
    );
    has(&random("zoned:60/:40/"), &["spread = { zoned = [[\"50%\", 60], [\"50%\", 40]] }"]);
    // There are no requests outside the zones.
    has(
        &random("zoned:50/50:50/30"),
        &["spread = { zoned = [[\"50%\", 50], [\"30%\", 50], [\"20%\", 0]] }"],
    );
    has(
        &random("zoned_abs:60/256k:40/768k"),
        &["spread = { zoned = [[\"25%\", 60], [\"75%\", 40]] }"],
    );
    let normal = convert_one(&random("normal:10"));
    assert!(!normal.job.lines().any(|line| line.starts_with("spread")), "{}", normal.job);
    assert!(normal.notes[0].why.contains("fio scatters"), "{:?}", normal.notes);
    has(
        "rw=randread\nbsrange=4k-10k",
        &["size = [[\"4KiB\", 1000], [\"8KiB\", 1000], [\"10KiB\", 500]]"],
    );
    has("rw=randread\nbsrange=4k-4k", &["size = \"4KiB\""]);
}

/// Returns lines and reasons of the notes on `text`.
fn notes(text: &str) -> Vec<(usize, String)> {
    let made = convert_fio("some.fio", text, &[]).unwrap();
    made.notes.into_iter().map(|note| (note.line, note.why)).collect()
}

#[test]
fn each_line_that_is_not_taken_over_has_a_reason() {
    for (options, reason) in [
        ("verify=crc32c", "`verify = \"both\"`"),
        ("rwmixraed=70", "not an option that is known here; did you mean `rwmixread`?"),
        ("ioengine=null", "`--on null`"),
        ("iodepth=4", "its engine has one request in flight"),
        ("ioengine=libaio\niodepth=64", "`--set live.depth=64`"),
        ("ioengine=libaio\nnumjobs=4", "`--policy kernel:as-is --set live.threads=4`"),
        ("nrfiles=4", "its 4 files are one region here"),
        ("filename=a:b", "its 2 files are one region here"),
        ("filename=a\\:b", "`--on a\\:b`"),
        ("directory=/data", "`--on FILE`"),
        ("startdelay=1-5", "at the earliest of these times"),
        ("filesize=1m-2m", "the smallest of these sizes"),
        ("thinktime=1ms\nthinktime_blocks=2\nthinktime_iotime=8", "thinks after each burst"),
        ("thinktime_iotime=8\nthinktime=1ms", "left out: it comes after a time"),
        ("thinktime=1ms\nrate_iops=2000", "it never reaches this rate"),
        ("thinktime_blocks=8", "no effect without `thinktime`"),
        ("rate_process=poisson", "no effect without `rate`"),
        ("rate_iops=10\nthinktime=1ms", "do not wait for a think time"),
        ("offset=10%", "the end is not known without the target"),
        ("numjobs=2\nfilename=d\noffset_increment=10%", "cannot lie apart"),
    ] {
        let found = notes(&format!("[one]\nrw=read\nsize=1m\n{options}\n"));
        let all = found.iter().filter(|(line, why)| *line >= 4 && why.contains(reason)).count();
        let at_size = found.iter().any(|(line, why)| *line == 3 && why.contains(reason));
        assert!(all == 1 || at_size, "{options}: {found:?}");
    }
    for (options, reason) in [
        ("rw=randread:8", "`:8` is left out"),
        ("rw=rw", "fio has a position for each"),
        ("rw=randrw\nbs=4k,8k", "one size here"),
        ("rw=randrw\nrate_iops=,100", "limits one direction"),
        ("rw=randread\npercentage_random=50", "random or sequential"),
        ("rw=randread\nbssplit=4k/50:8k/50", "without `norandommap`"),
        ("rw=randread\nrandom_distribution=zipf:1.2:0.25", "its centre is left out"),
    ] {
        let found = notes(&format!("[one]\nsize=1m\n{options}\n"));
        assert!(found.iter().any(|(_, why)| why.contains(reason)), "{options}: {found:?}");
    }
    let no_effect = "it has no effect: the job is the same with any other value";
    for (options, lines) in [
        ("rw=read\nrwmixread=30\noffset_increment=4k\nsync=1", &[4, 5, 6][..]),
        ("rw=randread\ntime_based\nfdatasync=3", &[4, 5]),
        ("rw=read\ntime_based\nruntime=1\nio_size=4k\nloops=2\nnumber_ios=9", &[6, 7, 8]),
        ("rw=read\nbs=8k\nbs=4k\nnorandommap\nramp_time=0", &[4, 6]),
        ("rw=randrw\nrwmixread=50\nbs=4k\nnumjobs=1\nloops=1\ndirect=0\nsync=1", &[]),
    ] {
        let found = notes(&format!("[one]\nsize=1m\n{options}\n"));
        let noted = found.iter().filter(|(_, why)| why == no_effect).map(|(line, _)| *line);
        assert_eq!(noted.collect::<Vec<_>>(), lines, "{options}");
    }
    assert_eq!(
        notes("[one]\nsize=1m\n")[0],
        (1, "has no `rw`, so it reads, each block behind the one before, as in fio".into())
    );
    // Switches that are off need no note.
    assert_eq!(notes("[one]\nrw=read\nverify=0\nzonemode=none\nthread\ngroup_reporting\n"), []);
}

const GROUPS: &str = "\
[global]
size=1m
rw=read
time_based
runtime=2
[a]
ramp_time=1
[b]
startdelay=1
[c]
stonewall
[d]
[e]
stonewall
startdelay=7
";

#[test]
fn sections_that_wait_begin_when_it_is_known_that_the_others_have_ended() {
    let made = convert_fio("groups.fio", GROUPS, &[]).unwrap();
    let starts: Vec<_> = made.job.lines().filter(|line| line.starts_with("start")).collect();
    assert_eq!(starts, ["start = \"1s\"", "start = \"3s\"", "start = \"3s\"", "start = \"7s\""]);
    assert!(made.job.contains("duration = \"9s\""), "{}", made.job);
    // The second one reads its file once, so the time of its end is not known, and the others have
    // a `runtime` that would count from then.
    let text = GROUPS.replace("startdelay=1\n", "time_based=0\n");
    let made = convert_fio("groups.fio", &text, &[]).unwrap();
    assert_eq!(made.agents, 2, "{}", made.job);
    let left: Vec<_> = made.notes.iter().filter(|note| note.why.contains("is left out")).collect();
    assert_eq!(left.iter().map(|note| note.line).collect::<Vec<_>>(), [11, 12, 14]);
    assert!(left[0].why.contains("`runtime`") && left[0].why.contains("`--section`"), "{left:?}");
    let alone = convert_fio("groups.fio", &text, &["c".into(), "d".into()]).unwrap();
    assert_eq!(alone.agents, 2, "{}", alone.job);
    assert!(!alone.job.contains("start ="), "{}", alone.job);
}

#[test]
fn sections_come_after_those_whose_end_depends_on_the_device() {
    let text = "[global]\nsize=1m\nbs=4k\nexitall\n[lay out]\nrw=write\n[r]\nnumjobs=4\nrw=read\nstonewall\n\
                [s]\nrw=randread\n[last]\nrw=write\nwait_for=s\n";
    let made = convert_fio("passes.fio", text, &[]).unwrap();
    let order: Vec<_> = made
        .job
        .lines()
        .filter(|line| ["class =", "after", "ends_class"].iter().any(|key| line.starts_with(key)))
        .collect();
    let expected = [
        "class = \"lay-out\"",
        "class = \"r\"",
        "after = [\"lay-out\"]",
        "ends_class = true",
        "class = \"s\"",
        "after = [\"lay-out\"]",
        "class = \"last\"",
        "after = [\"lay-out\", \"s\"]",
    ];
    assert_eq!(order, expected, "{}", made.job);
    let notes: Vec<_> = made.notes.iter().map(|note| (note.line, &*note.why)).collect();
    assert!(
        notes.iter().any(|(line, why)| *line == 4 && why.contains("other sections")),
        "{notes:?}"
    );
}

#[test]
fn a_section_waits_for_the_one_that_it_names() {
    let text = |based: &str| {
        format!("[a]\nrw=read\nsize=1m\nruntime=2\n{based}[b]\nrw=read\nsize=1m\nwait_for=a\n")
    };
    assert!(
        convert_fio("a.fio", &text("time_based\n"), &[]).unwrap().job.contains("start = \"2s\"")
    );
    let made = convert_fio("a.fio", &text(""), &[]).unwrap();
    assert!(made.job.contains("after = [\"a\"]"), "{}", made.job);
}

#[test]
fn sections_are_chosen_by_name() {
    let error = convert_fio("groups.fio", GROUPS, &["f".into()]).unwrap_err().to_string();
    assert!(error.contains("there is no section `f`") && error.contains("known: a, b"), "{error}");
}

#[test]
fn agents_and_requests_in_flight_are_counted() {
    let made =
        convert_one("numjobs=3\nioengine=libaio\niodepth=4\nfilename=d\noffset_increment=2m");
    assert_eq!((made.agents, made.in_flight), (3, 12));
}
