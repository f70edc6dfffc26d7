"""Sessions: one target for many jobs."""

import json
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import penstock
from penstock.job import Agent, Job
from penstock.results.steps import Step
from penstock.session import Session
from penstock.target import Target


def job(seed: int, *, duration: str = "2s", device: str | None = "hdd-7200") -> Job:
    agent = Agent(
        class_="all",
        op="read",
        size="4KiB",
        pattern="random",
        arrivals={"kind": "closed", "depth": 4},
    )
    return Job(duration=duration, seed=seed, classes=["all"], agents=[agent], device=device)


@contextmanager
def on_one_processor() -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def runs(jobs: list[Job]) -> list[str]:
    """All results of modelled jobs, as text."""
    with closing(Session(Target(), policies=["fcfs", "sptf"], detail=True)) as session:
        return [json.dumps(json.loads(text)["runs"]) for text in session.run(jobs)]


def test_modelled_runs_are_equal_whatever_the_number_of_processors() -> None:
    jobs = [job(seed) for seed in range(1, 8)]
    many = runs(jobs)
    with on_one_processor():
        assert runs(jobs) == many
    assert len(set(many)) == len(jobs)


def test_a_target_is_free_when_its_session_ends(disk: Path) -> None:
    short = job(1, duration="10ms", device=None)

    def other() -> None:
        penstock.compare(short, policies=["noop"], on=disk)

    with closing(
        Session(Target(on=str(disk), options={"create": "1MiB"}), [short], policies=["noop"])
    ) as session:
        with pytest.raises(penstock.PenstockError, match="in use by another run"):
            other()
        (text,) = session.run([short])
        assert json.loads(text)["runs"][0]["classes"][0]["requests"]
        with pytest.raises(penstock.PenstockError, match="in use by another run"):
            other()
    other()


def test_what_fails_or_is_stopped_ends_the_session() -> None:
    many = Job(
        duration="1s",
        max_outstanding=1,
        classes=["all"],
        agents=[
            {
                "class": "all",
                "op": "read",
                "size": "4KiB",
                "pattern": "random",
                "arrivals": {"kind": "poisson", "rate": "1000/s"},
            }
        ],
        device="hdd-7200",
    )
    with closing(Session(Target(), policies=["fcfs"])) as session:
        with pytest.raises(penstock.PenstockError, match="found 1 requests outstanding") as caught:
            session.run([job(1), many, job(2)])
        assert caught.value.exit_code == 1
        with pytest.raises(RuntimeError, match="the session has ended"):
            session.run([job(1)])

    def stop(step: Step) -> None:
        if step["step"] == "finished":
            raise KeyboardInterrupt

    with closing(Session(Target(), policies=["fcfs"])) as session:
        with pytest.raises(KeyboardInterrupt):
            session.run([job(1), job(2)], progress=stop)
        with pytest.raises(RuntimeError, match="the session has ended"):
            session.run([job(1)])
