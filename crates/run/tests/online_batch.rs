//! The evaluation programs: each does what the paper says, in every mode, over a model that is
//! twenty times as fast as the paper's disk.

use penstock_core::Span;
use penstock_run::TargetOptions;
use penstock_run::papers::online_batch::{Trial, TrialResult, run};

fn cell(mode: &str, online: u32, batch: u32) -> Trial {
    Trial {
        target: TargetOptions::on("emulated:paper-disk@20"),
        mode: mode.into(),
        online,
        batch,
        online_cpu: Span::from_us(100),
        batch_cpu: Span::from_us(300),
        cpu_priority: true,
        overlap: Span::from_secs(60),
        writes: true,
    }
}

fn made(cell: &Trial) -> TrialResult {
    run(cell, &mut || true).unwrap()
}

#[test]
fn each_program_writes_what_the_paper_says_in_every_mode() {
    for (mode, pieces) in
        [("fifo", 1), ("split", 100), ("prio", 1), ("split+prio", 100), ("split-rr", 100)]
    {
        let result = made(&cell(mode, 2, 1));
        assert_eq!((result.long.count, result.batch_ns.len()), (10, 1), "{mode}");
        assert_eq!(result.gate.long.pieces, 10 * pieces, "{mode}");
        assert!(result.transaction.count >= 2 * 50, "{mode}");
        assert_eq!(result.short.count, 2 * result.transaction.count, "{mode}");
        assert_eq!(result.gate.short.requests, result.short.count, "{mode}");
        assert_eq!(result.gate.short.bytes, 1_000 * result.short.count, "{mode}");
        assert_eq!(result.writes.len() as u64, result.short.count + result.long.count, "{mode}");
        // The disk does one at a time: no program is faster than it.
        assert!(result.short.ns.min >= 926_000 / 20, "{mode}: {} ns", result.short.ns.min);
        assert!(result.writes.iter().all(|write| write.online == (write.program < 2)), "{mode}");
    }
}

#[test]
fn online_programs_go_on_until_the_batch_has_ended_if_they_are_to() {
    let together = made(&cell("split+prio", 1, 2));
    assert!(together.transaction.count > 50, "the batch takes far longer than 50 transactions");
    let apart = made(&Trial { overlap: Span::ZERO, ..cell("split+prio", 1, 2) });
    assert_eq!(apart.transaction.count, 50);
}

#[test]
fn short_writes_go_first_without_exception_as_in_the_paper() {
    for mode in ["prio", "split+prio"] {
        // More than the disk can do: with a guard long writes would go by.
        let result = made(&Trial { overlap: Span::ZERO, ..cell(mode, 6, 2) });
        assert_eq!(result.gate.long_first, 0, "{mode}");
        assert_eq!(result.long.count, 20, "{mode}: the batch goes when they have ended");
        assert!(!result.outlasted, "{mode}");
    }
    assert!(made(&cell("split", 6, 2)).gate.long_first > 0);
}

#[test]
fn online_programs_that_keep_the_batch_from_the_disk_end_some_time() {
    // Six writes are asked for, or on their way back, while the disk does one.
    let result = made(&Trial {
        target: TargetOptions::on("emulated:paper-disk"),
        online_cpu: Span::ZERO,
        overlap: Span::from_ms(300),
        ..cell("split+prio", 6, 1)
    });
    assert!(result.outlasted);
    assert_eq!(result.long.count, 10, "the batch goes when they have ended");
    assert!(
        !made(&cell("split+prio", 1, 1)).outlasted,
        "with one online program there is room for the batch"
    );
}

#[test]
fn the_caller_may_end_it() {
    let mut asked = 0;
    let target = TargetOptions::on("emulated:paper-disk");
    let result = run(&Trial { target, ..cell("fifo", 1, 10) }, &mut || {
        asked += 1;
        asked < 3
    });
    let result = result.unwrap();
    assert!(result.interrupted && result.long.count < 100, "{} long writes", result.long.count);
}

#[test]
fn what_cannot_be_run_is_refused() {
    let refused = |cell: Trial| run(&cell, &mut || true).unwrap_err().to_string();
    let message = refused(cell("split+pri", 1, 1));
    assert!(message.contains("unknown mode split+pri"), "{message}");
    assert!(message.contains("did you mean `split+prio`?"), "{message}");
    assert!(refused(cell("fifo", 0, 0)).contains("found 0 programs"));
}
