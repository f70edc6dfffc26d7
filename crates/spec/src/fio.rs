//! What users of fio write: its words, and the keys that do the same here.

/// A word of fio, and what to write instead.
const WORDS: [(&[&str], &str); 23] = [
    (
        &["rw", "readwrite"],
        "write `op = \"read\"` and `pattern = \"random\"` for `randread`, `mix = 0.5` for `randrw`",
    ),
    (&["bs", "blocksize"], "write `size = \"4KiB\"`"),
    (&["bssplit"], "write `size = [[\"4KiB\", 60], [\"64KiB\", 40]]`"),
    (&["iodepth"], "write `buffers = 4`"),
    (&["numjobs"], "write an `[[agent]]` for each, or a larger `buffers` in one"),
    (&["rwmixread", "rwmixwrite"], "write `mix = 0.7` in place of `op`: the share of reads"),
    (&["io_size"], "write `total = \"1GiB\"`"),
    (&["number_ios"], "write `count = 10000`"),
    (&["loops"], "write `passes = 2`"),
    (&["fsync", "fdatasync"], "write `flush = 100`: a flush after so many writes"),
    (&["runtime"], "write `duration = \"60s\"` at the head of the job"),
    (&["ramp_time"], "write `warmup = \"1s\"` at the head of the job"),
    (
        &["time_based"],
        "leave it out: an agent runs for the `duration`, unless it has a `total`, `count` or `passes`",
    ),
    (&["thinktime"], "write `kind = \"closed\", think = \"1ms\"` in its `arrivals`"),
    (&["rate_iops"], "write `kind = \"poisson\", rate = \"100/s\"` in its `arrivals`"),
    (&["startdelay"], "write `start = \"1s\"`"),
    (&["offset"], "write `region = [\"1GiB\", \"2GiB\"]`"),
    (&["randseed"], "write `seed = 1` at the head of the job"),
    (&["zipf", "random_distribution"], "write `spread = { zipf = { theta = 1.2 } }`"),
    (&["thinktime_type"], "write `think = { exponential = \"1ms\" }` in its `arrivals`"),
    (&["global"], HINT),
    (&["ioengine"], "name it with `--engine` when the job runs on a real target"),
    (&["filename", "directory"], "name a real target with `--on` when the job runs"),
];

/// What to do with a job file of fio.
pub(crate) const HINT: &str = "a job of Penstock is TOML: `[class.reader]`, then `[[agent]]` with class, op, \
    size, pattern and arrivals";

/// What to write instead of fio's `word`.
pub(crate) fn instead_of(word: &str) -> Option<String> {
    let (_, instead) = WORDS.iter().find(|(words, _)| words.contains(&word))?;
    Some(format!("`{word}` is a word of fio: {instead}"))
}

/// Whether `text` is a job file of fio: sections of options without quotes.
pub(crate) fn wrote(text: &str) -> bool {
    let lines = || text.lines().map(str::trim);
    let bare_option = |line: &str| {
        line.split_once('=').is_some_and(|(word, value)| {
            let bare = !value.trim_start().starts_with(['"', '\'', '{', '[']);
            bare && instead_of(word.trim()).is_some()
        })
    };
    lines().any(|line| line.starts_with('[')) && lines().any(bare_option)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_job_files_are_recognised() {
        assert!(wrote("[global]\nioengine=libaio\n[reader]\nrw=randread\n"));
        assert!(wrote("; a test\n[reader]\nbs=4k\n"));
        for ours in ["[class.a]\n[[agent]]\nsize = \"4KiB\"\n", "[a]\nbs = \"4k\"\n", "rw=read", ""]
        {
            assert!(!wrote(ours), "{ours}");
        }
    }
}
