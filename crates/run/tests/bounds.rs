//! Bounds on jobs and devices: whatever a file says within them, memory suffices.
//!
//! Whole runs at the bounds are tried by `tests/python/test_bounds.py`, with a limit.

use std::fmt::Write;

use penstock_run::{Options, compare_text};

const AGENT: &str =
    "[[agent]]\nclass = \"a\"\nop = \"write\"\nsize = \"4KiB\"\npattern = \"random\"\n";

/// A job of one closed agent; `head` goes before its sections.
fn job(head: &str, sections: &str) -> String {
    format!(
        "duration = \"1ms\"\n{head}\n[class.a]\n{AGENT}arrivals = {{ kind = \"closed\" }}\n{sections}"
    )
}

/// Returns the message of the job when it runs on its own device.
fn refusal(text: &str) -> Option<String> {
    let options = Options { policies: vec!["fcfs".into()], ..Options::default() };
    let result = compare_text("job.toml", text, &[], &options, &mut |_| false);
    result.err().map(|failure| {
        assert_eq!(failure.exit_code(), 2, "{failure}");
        failure.to_string()
    })
}

/// `most` is taken and `more` refused, with what was found and what to do.
fn bounded(most: &str, more: &str, said: &str) {
    assert_eq!(refusal(most), None, "{most}");
    let refusal = refusal(more).unwrap_or_else(|| panic!("taken: {more}"));
    assert!(refusal.contains(said) && refusal.contains("hint: "), "{refusal}\nfor {more}");
}

#[test]
fn classes_are_as_many_as_a_table_can_show() {
    let classes = |count: u32| {
        let mut sections = "device = \"flash\"".to_owned();
        (1..count).for_each(|n| write!(sections, "\n[class.c{n}]").unwrap());
        job(&sections, "")
    };
    bounded(&classes(256), &classes(257), "257 classes; at most 256 may be");
    assert!(refusal(&classes(30_000)).is_some());
}

#[test]
fn requests_outstanding_are_as_many_as_memory_holds() {
    let deep = |most: u64, depth: u64| {
        job(&format!("device = \"flash\"\nmax_outstanding = {most}"), "")
            .replace("\"closed\"", &format!("\"closed\", depth = {depth}"))
    };
    let most = 1 << 22;
    bounded(&deep(most, 1), &deep(most + 1, 1), "from 1 to 4194304, found the number 4194305");
    bounded(&deep(most, 2), &deep(most, most + 1), "from 1 to 4194304, found the number 4194305");
    assert!(refusal(&deep(1 << 28, 1 << 28)).is_some());
}

#[test]
fn a_page_cache_is_as_large_as_its_tables_can_be() {
    let cache =
        |memory: &str| job("device = \"flash\"", &format!("[page_cache]\nmemory = \"{memory}\"\n"));
    bounded(&cache("64GiB"), &cache("65GiB"), "a size from `64KiB` to `64GiB`");
    assert!(refusal(&cache("1TiB")).is_some());
}

#[test]
fn an_array_takes_no_more_memory_than_a_device_may() {
    let array = |device: &str| job(&format!("device = {{ {device} }}"), "");
    let disks = |disks: u32, depth: u32| {
        array(&format!(
            "model = \"hdd\", drive = \"ibm18es\", queue = {{ depth = {depth} }}, \
             array = {{ level = \"raid1\", disks = {disks} }}"
        ))
    };
    let said = "MiB of memory; at most 1024 MiB may be";
    bounded(&disks(256, 4096), &disks(256, 65_536), said);
    let wide = "rpm = 7200, single_seek = \"0.8ms\", average_seek = \"8.5ms\", full_seek = \"16ms\", \
                outer_rate = \"1MB/s\", inner_rate = \"1MB/s\", heads = 1";
    let wide = |disks: u32| {
        array(&format!(
            "model = \"hdd\", drive = {{ capacity = \"50GB\", {wide} }}, \
             array = {{ level = \"raid1\", disks = {disks} }}"
        ))
    };
    bounded(&wide(8), &wide(256), said);
}

#[test]
fn a_drive_of_flash_takes_no_more_memory_than_a_device_may() {
    let flash = |facts: &str| {
        let facts = format!(
            "model = \"ssd\", capacity = \"1TB\", read_time = \"60us\", program_time = \"700us\", \
             link_rate = \"550MB/s\", {facts}"
        );
        job(&format!("device = {{ {facts} }}"), "")
    };
    let said = "MiB of memory; at most 1024 MiB may be";
    bounded(&flash("dies = 65536"), &flash("dies = 65536, queue_depth = 65536"), said);
    bounded(
        &flash("dies = 16, write_buffer = \"128GiB\""),
        &flash("dies = 16, write_buffer = \"1024TiB\""),
        said,
    );
    let fixed = |disks: u32| {
        let device = "model = \"fixed\", base = \"1ms\", depth = 65536";
        let array = format!("array = {{ level = \"jbod\", disks = {disks} }}");
        job(&format!("device = {{ {device}, {array} }}"), "")
    };
    bounded(&fixed(32), &fixed(256), said);
}

#[test]
fn a_stripe_unit_is_no_smaller_than_a_sector() {
    let striped = |stripe: &str| {
        let array = format!("{{ level = \"raid0\", disks = 4, stripe = \"{stripe}\" }}");
        job(&format!("device = {{ model = \"fixed\", base = \"1ms\", array = {array} }}"), "")
    };
    bounded(&striped("512B"), &striped("1B"), "a size from `512B` to `1GiB`, found");
}

#[test]
fn programs_under_way_are_as_many_as_requests_may_be_outstanding() {
    let text = "duration = \"1s\"\ndevice = \"flash\"\nmax_outstanding = 1000\n[class.a]\n\
                [[program]]\nclass = \"a\"\nphases = [{ cpu = \"1ms\" }]\n\
                arrivals = { kind = \"once\", count = COUNT }\n";
    let run = |count: u32| {
        let text = text.replace("COUNT", &count.to_string());
        let options = Options { policies: vec!["fcfs".into()], ..Options::default() };
        compare_text("job.toml", &text, &[], &options, &mut |_| true)
    };
    assert_eq!(run(1000).unwrap().runs[0].classes[0].programs.as_ref().unwrap().n, 1000);
    for count in [1001, u32::MAX] {
        let failure = run(count).unwrap_err();
        assert_eq!(failure.exit_code(), 1);
        let said = "class a found 1000 programs under way at 0.000 s under fcfs";
        assert!(failure.to_string().contains(said), "{failure}");
    }
}

/// Sums of nanoseconds are of 64 bits, which are 584 years.
#[test]
fn no_length_of_time_wraps() {
    let device = |facts: &str| job(&format!("device = {{ {facts} }}"), "");
    let overhead = |days: u32| {
        device(&format!("model = \"hdd\", drive = \"ibm18es\", overheads = \"{days}d\""))
    };
    let said = "is too large";
    assert_eq!(refusal(&overhead(10_000)), None);
    for days in [10_001, 106_751, 213_503] {
        let refused = refusal(&overhead(days)).expect("it is too long");
        assert!(refused.contains(said), "{refused}");
    }
    let fixed = |law: &str| device(&format!("model = \"fixed\", {law}"));
    let said = "more than a hundred years for the longest requests";
    bounded(&fixed("base = \"10000d\""), &fixed("base = \"10000d\", depth = 4"), said);
    bounded(
        &fixed("base = \"0s\", per_mb = \"8d\""),
        &fixed("base = \"0s\", per_mb = \"9d\""),
        said,
    );
    let flash = |depth: u32| {
        device(&format!(
            "model = \"ssd\", capacity = \"1TB\", dies = 1, page = \"512B\", read_time = \"1s\", \
             program_time = \"1s\", link_rate = \"1GB/s\", queue_depth = {depth}"
        ))
    };
    bounded(&flash(375), &flash(376), "more than a hundred years for the longest reads");
}

#[test]
fn a_run_that_goes_on_for_centuries_ends_with_an_error() {
    let text = "duration = \"1s\"\ndevice = { model = \"fixed\", base = \"10000d\" }\n[class.a]\n"
        .to_owned()
        + AGENT
        + "arrivals = { kind = \"fixed\", rate = \"COUNT/s\" }\n";
    let run = |count: u32| {
        let text = text.replace("COUNT", &count.to_string());
        let options = Options { policies: vec!["fcfs".into()], ..Options::default() };
        compare_text("job.toml", &text, &[], &options, &mut |_| true)
    };
    let run_of = |count| run(count).unwrap().runs.remove(0);
    assert!((run_of(3).duration_s - 30_000.0 * 86_400.0).abs() < 1.0);
    let failure = run(40).unwrap_err();
    assert_eq!(failure.exit_code(), 1);
    let said = "37 requests are outstanding after a hundred years under fcfs";
    assert!(failure.to_string().contains(said), "{failure}");
}

#[test]
fn a_trace_that_would_last_for_centuries_is_refused() {
    let path = std::env::temp_dir().join(format!("penstock-centuries-{}.txt", std::process::id()));
    std::fs::write(&path, "254,0 1 1 0.0 1 Q R 0 + 8 [a]\n254,0 1 1 31536000.0 1 Q R 0 + 8 [a]\n")
        .unwrap();
    let at = |speed: &str| {
        let file =
            format!("[trace]\nfile = {path:?}\nformat = \"blkparse\"\ntiming.speed = {speed}\n");
        refusal(&format!("device = \"flash\"\n{file}"))
    };
    let (slow, slower) = (at("0.02"), at("1e-9"));
    // One that waits for the device would last as long.
    let lines = |s: u64| format!("254,0 1 1 {s}.0 1 Q R 0 + 8 [a]\n");
    std::fs::write(&path, lines(0) + &lines(4_000_000_000)).unwrap();
    let text = format!(
        "device = \"flash\"\n[trace]\nfile = {path:?}\nformat = \"blkparse\"\n\
         timing = {{ latency = \"1ms\" }}\n"
    );
    let closed = refusal(&text);
    std::fs::remove_file(&path).unwrap();
    assert!(closed.unwrap().contains("after more than a hundred years\nhint: "));
    assert_eq!(slow, None, "fifty years");
    assert!(slower.unwrap().contains("after more than a hundred years\nhint: "));
}
