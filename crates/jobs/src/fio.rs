//! The options of fio, and the key here that replaces each. Job files of fio are converted with
//! this table; messages and the page for users of fio have its texts.

use std::fmt::Write;

use self::Fate::{Anyway, Left, Ours};

/// The counterpart of an option of fio.
pub(crate) enum Fate {
    /// A key here, which this text shows.
    Ours(&'static str),
    /// Needs nothing: the option changes nothing that a job says, or is so here anyway.
    Anyway(&'static str),
    /// There is no counterpart; the text says why.
    Left(&'static str),
}

/// Options of fio, each with its other names and its counterpart.
pub(crate) const OPTIONS: &[(&[&str], Fate)] = &[
    (
        &["rw", "readwrite"],
        Ours(
            "write `op = \"read\"` and `pattern = \"random\"` for `randread`, `mix = 0.5` for `randrw`",
        ),
    ),
    (&["bs", "blocksize"], Ours("write `size = \"4KiB\"`")),
    (
        &["bssplit", "bsrange", "blocksize_range"],
        Ours("write `size = [[\"4KiB\", 60], [\"64KiB\", 40]]`"),
    ),
    (&["blockalign", "ba"], Ours("write `align = \"4KiB\"`")),
    (&["size"], Ours("write `region = [\"0B\", \"1GiB\"]` and `passes = 1`")),
    (&["filesize"], Ours("write `region = [\"0B\", \"1GiB\"]`")),
    (&["nrfiles", "nr_files"], Ours("write one `region` as large as all of the files")),
    (&["offset", "fileoffset"], Ours("write `region = [\"1GiB\", \"2GiB\"]`")),
    (&["offset_increment"], Ours("write `share = \"slices\"`, or an `[[agent]]` for each part")),
    (&["io_size", "io_limit"], Ours("write `total = \"1GiB\"`")),
    (&["number_ios"], Ours("write `count = 10000`")),
    (&["loops"], Ours("write `passes = 2`")),
    (&["runtime", "timeout"], Ours("write `duration = \"60s\"` at the head of the job")),
    (
        &["time_based"],
        Ours(
            "leave it out: an agent runs for the `duration`, unless it has a `total`, `count` or `passes`",
        ),
    ),
    (&["ramp_time"], Ours("write `warmup = \"1s\"` at the head of the job")),
    (&["startdelay"], Ours("write `start = \"1s\"`")),
    (&["iodepth"], Ours("write `buffers = 4`")),
    (&["numjobs"], Ours("write `copies = 4`")),
    (&["rwmixread", "rwmixwrite"], Ours("write `mix = 0.7` in place of `op`: the share of reads")),
    (&["random_distribution", ZIPF], Ours("write `spread = { zipf = { theta = 1.2 } }`")),
    (&["fdatasync"], Ours("write `flush = 100`: a flush after so many writes")),
    (&["fsync"], Ours("write `flush = 100`, and `fsync = true` in `[live]`")),
    (&["end_fsync", "fsync_on_close"], Ours("write `stop = \"durable\"` at the head of the job")),
    (&["sync"], Ours("write `sync = true`")),
    (&["direct", "buffered"], Ours("write `cache = \"direct\"` or `cache = \"buffered\"`")),
    (&["mem", "iomem"], Ours("write `huge_pages = true` in `[live]` for those in huge pages")),
    (&["nowait"], Ours("write `nowait = true` in `[live]`")),
    (&["invalidate"], Ours("write `page_cache = \"keep\"` in `[live]`")),
    (&["thinktime"], Ours("write `kind = \"closed\", think = \"1ms\"` in its `arrivals`")),
    (
        &["thinktime_blocks"],
        Ours("write `kind = \"closed\", burst = 500, think = \"1ms\"` in its `arrivals`"),
    ),
    (&["rate_iops"], Ours("write `kind = \"poisson\", rate = \"100/s\"` in its `arrivals`")),
    (
        &["rate"],
        Ours("write requests a second: `kind = \"fixed\", rate = \"100/s\"` in its `arrivals`"),
    ),
    (&["rate_process"], Ours("write `kind = \"fixed\"` or `kind = \"poisson\"` in its `arrivals`")),
    (&["randseed"], Ours("write `seed = 1` at the head of the job")),
    (&["ioengine"], Ours("write `engine = \"libaio\"`")),
    (&["filename", "directory"], Ours("name a real target with `--on` when the job runs")),
    (&["prio", "prioclass"], Ours("write `ioprio = \"be:4\"` in its class")),
    (&["kb_base"], Ours("write sizes with their units: KiB is 1024 bytes, kB is 1000")),
    (&[GLOBAL], Ours(HINT)),
    (
        &["norandommap"],
        Ours("write `spread = \"uniform\"`; without it fio does what `spread = \"once\"` does"),
    ),
    (
        &["group_reporting", "new_group"],
        Anyway("copies of an agent are reported together, by class"),
    ),
    (&["name", "description"], Anyway("a class has the name of its section")),
    (&["thread"], Anyway("an engine has the threads that it needs")),
    (
        &["randrepeat", "allrandrepeat"],
        Anyway("equal seeds give equal requests; another `--set seed=N` others"),
    ),
    (
        &[
            "clat_percentiles",
            "lat_percentiles",
            "slat_percentiles",
            "percentile_list",
            "disk_util",
            "gtod_reduce",
            "disable_lat",
            "disable_clat",
            "disable_slat",
            "disable_bw",
            "clocksource",
            "unified_rw_reporting",
            "significant_figures",
            "write_bw_log",
            "write_lat_log",
            "write_iops_log",
            "log_avg_msec",
            "per_job_logs",
            "bwavgtime",
            "iopsavgtime",
            "write_hist_log",
            "log_hist_msec",
            "log_hist_coarseness",
            "log_offset",
            "log_prio",
            "log_max_value",
            "log_entries",
            "log_compression",
            "log_store_compressed",
            "log_unix_epoch",
            "stats",
            "unit_base",
            "disable_bw_measurement",
            "gtod_cpu",
            "block_error_percentiles",
        ],
        Anyway("results have what they have: `--json`, `--report`"),
    ),
    (
        &["stonewall", "wait_for_previous", "wait_for"],
        Ours("write `after = \"class\"`: the agent begins when those of the class have ended"),
    ),
    (
        &["exitall", "exit_what"],
        Ours("write `ends_class = true` in the agents of a class that end with the first of them"),
    ),
    (
        &["percentage_random"],
        Ours("write two agents, one with `pattern = \"random\"` and one with `\"sequential\"`"),
    ),
    (
        &["bs_unaligned", "blocksize_unaligned", "bs_is_seq_rand"],
        Left("requests begin at multiples of their `align`"),
    ),
    (&["verify"], Left("write `verify = \"both\"`, which stamps and compares blocks of 4 KiB")),
    (&["fadvise_hint"], Left("where it is 0, write `advice = \"none\"` in `[live]`")),
    (
        &[
            "do_verify",
            "verify_fatal",
            "verify_interval",
            "verify_pattern",
            "verify_dump",
            "verify_backlog",
            "verify_backlog_batch",
            "verify_async",
            "verify_offset",
            "verify_only",
            "verify_state_save",
            "verify_state_load",
            "experimental_verify",
            "verify_async_cpus",
            "trim_verify_zero",
            "serialize_overlap",
        ],
        Left("an agent that verifies its data reads all of it again at the end"),
    ),
    (
        &[
            "zonemode",
            "zonesize",
            "zoneskip",
            "zonerange",
            "zonecapacity",
            "read_beyond_wp",
            "max_open_zones",
            "job_max_open_zones",
            "ignore_zone_limits",
            "zone_reset_threshold",
            "zone_reset_frequency",
        ],
        Left(
            "devices here have no zones; for a part of the requests in a part of the file write `spread = { zoned = … }`",
        ),
    ),
    (&["rate_ignore_thinktime"], Left("a rate or a think time holds, whichever asks for less")),
    (
        &["thinktime_spin", "thinktime_blocks_type", "thinktime_iotime"],
        Left("an agent thinks after each burst of requests, without using a processor"),
    ),
    (
        &["rate_min", "rate_iops_min", "rate_cycle", "ratecycle", "ratemin"],
        Left("a rate that is missed shows in the results; it ends no run"),
    ),
    (
        &[
            "iodepth_batch",
            "iodepth_batch_submit",
            "iodepth_batch_complete",
            "iodepth_batch_complete_min",
            "iodepth_batch_complete_max",
            "iodepth_low",
            "io_submit_mode",
            "hipri",
            "fixedbufs",
            "registerfiles",
            "sqthread_poll",
            "nonvectored",
            "userspace_reap",
            "force_async",
        ],
        Left(
            "how an engine submits is its own matter; `live.batch` bounds what it submits at once",
        ),
    ),
    (
        &[
            "buffer_compress_percentage",
            "buffer_compress_chunk",
            "buffer_pattern",
            "refill_buffers",
            "scramble_buffers",
            "zero_buffers",
            "dedupe_percentage",
            "iomem_align",
            "mem_align",
            "hugepage-size",
            "lockmem",
            "dedupe_mode",
            "dedupe_global",
            "dedupe_working_set_percentage",
            "write_hint",
        ],
        Left("buffers and their data are the engine's"),
    ),
    (
        &[
            "nice",
            "cpus_allowed",
            "cpumask",
            "cpus_allowed_policy",
            "numa_cpu_nodes",
            "numa_mem_policy",
            "cgroup",
            "cgroup_weight",
            "uid",
            "gid",
            "ioscheduler",
            "cgroup_nodelete",
        ],
        Left(
            "a job does not set processors, groups or users; schedulers of the kernel are `kernel:NAME`",
        ),
    ),
    (
        &[
            "fallocate",
            "create_on_open",
            "create_serialize",
            "create_fsync",
            "create_only",
            "overwrite",
            "file_append",
            "unlink",
            "unlink_each_loop",
            "openfiles",
            "file_service_type",
            "filename_format",
            "opendir",
            "lockfile",
            "pre_read",
            "fill_device",
            "allow_file_create",
            "allow_mounted_write",
            "unique_filename",
            "fill_fs",
        ],
        Left("a target is one file or device that exists or is made with `--create`"),
    ),
    (
        &[
            "read_iolog",
            "read_iolog_chunked",
            "replay_redirect",
            "replay_no_stall",
            "replay_time_scale",
            "replay_align",
            "replay_scale",
            "replay_skip",
            "merge_blktrace_file",
            "merge_blktrace_scalars",
            "merge_blktrace_iters",
        ],
        Left("a trace is a job of its own: `[trace]`, `penstock trace`"),
    ),
    (&["write_iolog"], Left("`penstock trace make` writes what a job asks for")),
    (
        &[
            "latency_target",
            "latency_window",
            "latency_percentile",
            "latency_run",
            "max_latency",
            "steadystate",
            "ss",
            "steadystate_duration",
            "steadystate_ramp_time",
            "ss_dur",
            "ss_ramp",
            "continue_on_error",
            "ignore_error",
            "error_dump",
            "flow",
            "flow_id",
            "flow_sleep",
            "exec_prerun",
            "exec_postrun",
            "cpuload",
            "cpuchunks",
            "sync_file_range",
            "write_barrier",
            "random_generator",
            "softrandommap",
            "rw_sequencer",
            "offset_align",
            "atomic",
            "exitall_on_error",
            "profile",
            "trim_percentage",
            "trim_backlog",
            "trim_backlog_batch",
            "cmdprio",
            "cmdprio_class",
            "cmdprio_percentage",
            "cmdprio_bssplit",
        ],
        Left("a job has no key for this"),
    ),
];

/// A distribution of fio that users take for an option.
const ZIPF: &str = "zipf";

/// The section whose options apply to all sections behind it: a word of fio, though no option.
pub(crate) const GLOBAL: &str = "global";

/// Hint for a job file of fio.
pub(crate) const HINT: &str = "`penstock job from-fio` makes a job of a job file of fio; jobs are TOML: \
    `[class.reader]`, then `[[agent]]` with class, op, size, pattern and arrivals";

/// Returns a text that says what to write instead of `word`, an option of fio.
pub(crate) fn instead_of(word: &str) -> Option<String> {
    match fate(word)? {
        Ours(instead) => Some(format!("`{word}` is a word of fio: {instead}")),
        Anyway(_) | Left(_) => None,
    }
}

/// Returns the names of all options.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    OPTIONS.iter().flat_map(|(names, _)| names.iter().copied())
}

/// Returns the counterpart of the option called `word`.
pub(crate) fn fate(word: &str) -> Option<&'static Fate> {
    option(word).map(|(_, fate)| fate)
}

fn option(word: &str) -> Option<&'static (&'static [&'static str], Fate)> {
    OPTIONS.iter().find(|(names, _)| names.contains(&word))
}

/// Returns the table of the options as Markdown.
pub fn table() -> String {
    let mut out = String::from("| fio | here |\n|---|---|\n");
    for (names, fate) in OPTIONS.iter().filter(|(names, _)| names[0] != GLOBAL) {
        let names = names.iter().filter(|name| **name != ZIPF);
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        let text = match fate {
            Ours(text) => (*text).to_owned(),
            Anyway(text) => format!("needs nothing: {text}"),
            Left(text) => format!("not taken over: {text}"),
        };
        writeln!(out, "| {} | {text} |", names.join(", ")).expect("a string takes everything");
    }
    out
}

/// Options of fio whose names are also keys here.
const KEYS_TOO: [&str; 6] = ["size", "rate", "name", "prio", "sync", "timeout"];

/// Whether `text` is a job file of fio: sections of options without quotes.
pub(crate) fn is_job_file(text: &str) -> bool {
    let lines = || text.lines().map(str::trim);
    let bare_option = |line: &str| {
        line.split_once('=').is_some_and(|(word, value)| {
            let bare = !value.trim_start().starts_with(['"', '\'', '{', '[']);
            bare && !KEYS_TOO.contains(&word.trim()) && instead_of(word.trim()).is_some()
        })
    };
    let ours = |line: &str| line.starts_with("[[") || line.starts_with("[class.");
    let header = |line: &str| line.starts_with('[');
    lines().any(header) && !lines().any(ours) && lines().any(bare_option)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_job_files_are_recognised() {
        assert!(is_job_file("[global]\nioengine=libaio\n[reader]\nrw=randread\n"));
        assert!(is_job_file("; a test\n[reader]\nbs=4k\n"));
        for ours in ["[class.a]\n[[agent]]\nsize = \"4KiB\"\n", "[a]\nbs = \"4k\"\n", "rw=read", ""]
        {
            assert!(!is_job_file(ours), "{ours}");
        }
    }
}
