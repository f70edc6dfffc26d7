"""What is said of failures, and which of them fail a run."""

from penstock.results.json_types import Class
from penstock.text import failures
from sample import error_count, one_class, one_run


def failing(*, requests: int, **codes: int) -> Class:
    """A class with so many errors of each kind."""
    one = one_class("a", requests=requests, errors=sum(codes.values()))
    one["error_codes"] = {
        name: error_count(n, at_s=1 / n, start=n * 4096) for name, n in codes.items()
    }
    return one


def test_several_kinds_are_reported_by_their_number_and_the_first_of_all_by_its_time() -> None:
    assert failures.errors(failing(requests=1, EIO=2, ENOSPC=1_000)) == (
        "1,000 ENOSPC, 2 EIO; first a write of 4,096 bytes at byte 4,096,000 after 1.00 ms"
    )


def test_a_flush_has_no_range() -> None:
    one = failing(requests=1, EIO=2)
    one["error_codes"]["EIO"]["first"]["op"] = "flush"
    assert failures.errors(one) == "EIO; first a flush after 500 ms"


def test_a_run_in_which_some_requests_failed_is_a_result() -> None:
    classes = [failing(requests=1, EIO=5), one_class("b"), one_class("idle", requests=0)]
    assert list(failures.fatal(one_run("noop", classes))) == []


def test_a_class_that_got_nothing_but_errors_fails_the_run() -> None:
    (why,) = failures.fatal(one_run("noop", [failing(requests=0, EROFS=5), one_class("b")]))
    assert why.startswith("under noop every request of a failed: EROFS; first a write of 4,096")


def test_a_device_that_went_away_fails_the_run() -> None:
    classes = [failing(requests=100, ENODEV=1, ENXIO=2), failing(requests=9, ENODEV=4)]
    (why,) = failures.fatal(one_run("cfq", classes))
    assert why == "under cfq the device went away (ENODEV)"


def test_why_a_run_is_partial() -> None:
    run = one_run("noop", [], interrupted=True)
    assert failures.why_partial(run) == "interrupted"
    run["ended"] = "resized"
    assert failures.why_partial(run) == "the target's length changed"
