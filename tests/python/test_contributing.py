"""CONTRIBUTING.md's ways to something new: which files each touches, and that it works."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command import ROOT
from copies import contents, copied, touched
from penstock.papers import PAPERS

BUILT = {".git", "target", ".venv", "demo-data"}
"""What lies next to the sources; deeper down a folder may have such a name of its own."""

TOUCHED = ("crates/policy/src/registry.rs", "crates/policy/src/lib.rs")
"""What a new policy changes of what there is."""

PROSE = ("README.md", "CHANGELOG.md", "docs")
"""Where policies may be listed: nothing fails if one is missing."""


def left_out(folder: str, names: list[str]) -> set[str]:
    """What a copy of the repository does without."""
    return {name for name in names if Path(folder) == ROOT and name in BUILT}


def add_a_policy(copy: Path) -> None:
    """Make the example of 60 lines a policy of the registry: a file, a line, and a line."""
    text = (copy / "examples/policies/lifo.rs").read_text()
    assert len(text.splitlines()) <= 65
    text = text.replace("penstock_policy::", "crate::").replace("std::", "alloc::")
    text = text.replace("use alloc::coll", "use alloc::boxed::Box;\nuse alloc::coll")
    (copy / "crates/policy/src/lifo.rs").write_text(text)
    registry, library = (copy / path for path in TOUCHED)
    listed = re.sub(
        r"^\];", "    crate::lifo::ENTRY,\n];", registry.read_text(), flags=re.MULTILINE
    )
    registry.write_text(listed)
    library.write_text(library.read_text().replace("pub mod noop;", "pub mod lifo;\npub mod noop;"))


def cargo(copy: Path, *words: str, target: Path) -> str:
    """Run cargo in the copy."""
    done = subprocess.run(
        ["cargo", *words],
        cwd=copy,
        env=os.environ | {"CARGO_TARGET_DIR": str(target)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def policies() -> list[str]:
    """The names in the registry."""
    names = re.findall(r"crate::(\w+)::ENTRY", (ROOT / TOUCHED[0]).read_text())
    return [name.replace("_", "-") for name in names]


def test_nothing_but_the_registry_lists_the_policies() -> None:
    """A list of all of them somewhere else would lack the next one."""
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = policies()
    assert len(names) > 10
    lists = []
    for path in files.stdout.splitlines():
        if path.startswith(PROSE) or not (ROOT / path).is_file():
            continue
        text = (ROOT / path).read_bytes().decode(errors="ignore")
        # With one missing it is a list all the same, of a day with one policy less.
        quoted = sum(re.search(f"[\"'`]{name}[\"'`]", text) is not None for name in names)
        if quoted >= len(names) - 1:
            lists.append(path)
    assert not lists, "iterate over the registry, or over tests/golden"


def test_a_policy_is_one_file_and_a_line_in_two_others(tmp_path: Path) -> None:
    """The example of 60 lines becomes a registered policy; its floor is all that is built."""
    copy = tmp_path / "penstock"
    copied(copy, ("crates/core", "crates/policy", "Cargo.lock", "examples/policies/lifo.rs"))
    manifest = (ROOT / "Cargo.toml").read_text()
    members = re.sub(r"^members = .*$", 'members = ["crates/*"]', manifest, flags=re.MULTILINE)
    (copy / "Cargo.toml").write_text(members)
    before = contents(copy)
    add_a_policy(copy)
    found = touched(copy, before)
    assert found.changed == sorted(TOUCHED)
    assert found.new == ["crates/policy/src/lifo.rs"]
    assert found.more_lines == len(TOUCHED)
    cargo(copy, "check", "--offline", "-p", "penstock-policy", target=tmp_path / "target")


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_every_test_holds_with_one_more_policy_and_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole way, with every test of the engine behind it; `make soak` runs it."""
    copy, target = tmp_path / "penstock", tmp_path / "target"
    shutil.copytree(ROOT, copy, ignore=left_out)
    add_a_policy(copy)
    add_a_format(copy)
    packages = ("-p", "penstock-tests", "-p", "penstock-workload")
    tests = ("--test", "all", "--", "golden::", "trace_formats::", "trace_errors::")
    with monkeypatch.context() as patched:
        patched.setenv("INSTA_UPDATE", "always")
        cargo(copy, "test", "--locked", *packages, *tests, target=target)
    table = copy / "tests/golden/lifo.snap"
    assert re.search(r"^lifo: the newest first", table.read_text(), re.MULTILINE)
    requests = copy / "crates/workload/tests/snapshots/all__trace_formats__sample.depot.snap"
    assert "1063:6610407424+65536" in requests.read_text()
    cargo(copy, "test", "--workspace", "--locked", target=target)


NEW_PAPER = ("python/penstock/papers/mean_wait", "papers/mean-wait", "docs/papers")
"""Where the files of a new paper lie."""


def add_a_paper(copy: Path) -> None:
    """Make the example a paper of the registry: two folders and a line."""
    shutil.copytree(copy / "examples/paper/module", copy / NEW_PAPER[0])
    shutil.copytree(copy / "examples/paper/files", copy / NEW_PAPER[1])
    registry = copy / "python/penstock/papers/__init__.py"
    line = '    "mean-wait": Listed("The mean wait of Poisson arrivals (1930)."),\n}'
    registry.write_text(re.sub(r"^}", line, registry.read_text(), flags=re.MULTILINE))


def python(copy: Path, *words: str) -> str:
    """Run Python with the package of the copy; what it prints."""
    paths = {"PYTHONPATH": str(copy / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=copy,
        env=os.environ | paths,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(300)
def test_a_paper_is_two_folders_and_a_line(tmp_path: Path) -> None:
    """The example becomes a registered paper; the tests of every paper hold of it."""
    copy = tmp_path / "penstock"
    copied(copy, ("python", "papers", "docs", "tests/python", "examples/paper", "pyproject.toml"))
    (native,) = (ROOT / "python/penstock").glob("*.so")
    (copy / "python/penstock" / native.name).symlink_to(native)
    before = contents(copy)
    add_a_paper(copy)
    python(copy, "tests/python/papers.py", "mean-wait")
    found = touched(copy, before)
    assert found.changed == ["python/penstock/papers/__init__.py"]
    assert found.more_lines == 1
    assert all(path.startswith(NEW_PAPER) for path in found.new), found.new
    assert set(found.new) >= {"docs/papers/mean-wait.md", "docs/papers/mean-wait/wait.png"}
    help_ = python(copy, "-m", "penstock", "paper", "--help")
    assert re.search(r"^  mean-wait +The mean wait of Poisson arrivals", help_, re.MULTILINE)
    words = ("-q", "-p", "no:cacheprovider", "-n", "0", "tests/python/test_every_paper.py")
    others = " and ".join(f"not {name}" for name in PAPERS)
    ran = python(copy, "-m", "pytest", *words, "-k", others)
    (passed,) = re.findall(r"^(\d+) passed", ran, re.MULTILINE)
    assert int(passed) >= 10


SOURCE = {
    "crates/run/tests/main.rs": [("mod traces;\n", "{}mod volley;\n")],
    "crates/workload/src/lib.rs": [("pub mod trace;\n", "{}pub mod volley;\n")],
    "crates/jobs/src/workload/mod.rs": [
        ("pub mod traces;\n", "{}pub mod volley;\n"),
        (
            "use self::traces::{{RULE, TRACE, TraceSpec}};\n",
            "{}use self::volley::{{VOLLEY, VolleySpec}};\n",
        ),
        ("&MERGE, &TRACE, &RULE", "{}, &VOLLEY"),
        ("    Trace(TraceSpec),\n", "{}    /// Reads in volleys.\n    Volley(VolleySpec),\n"),
        ("    Programs,\n    Trace,\n", "{}    Volley,\n"),
        (
            "        reader.refuse(&[&RULE],",
            "        if reader.node(&VOLLEY).is_some() {{\n"
            '            let why = "belongs to a job without volleys";\n'
            '            reader.refuse(&[&AGENT, &PROGRAM, &CPU, &RULE], why, "leave it out")?;\n'
            "            return Ok(Self::Volley);\n"
            "        }}\n{}",
        ),
        (
            "            Self::Trace => WorkloadSpec",
            "            Self::Volley => {{\n"
            "                WorkloadSpec::Volley(VolleySpec::read(reader, classes)?)\n"
            "            }}\n{}",
        ),
        (
            "            Self::Programs(_) => false,\n",
            "{}            Self::Volley(_) => false,\n",
        ),
        (
            "            Self::Merge(merges) => merges.jobs as usize,\n",
            "{}            Self::Volley(_) => 1,\n",
        ),
        (
            "            Self::Trace(trace) => trace.write(out, classes),\n",
            "{}            Self::Volley(volley) => volley.write(out, classes),\n",
        ),
        ("Json); 3]", "Json); 4]"),
        (
            "        (&PROGRAM, with_duration(",
            "        (&VOLLEY, with_duration(&[], &[&RULE, &AGENT, &PROGRAM, &CPU])),\n{}",
        ),
    ],
    "crates/run/src/workload/mod.rs": [
        ("mod trace;\n", "{}mod volley;\n"),
        (
            "        WorkloadSpec::Trace(spec) =>",
            "        WorkloadSpec::Volley(spec) => Ok(volley::load(job, spec, capacity)),\n{}",
        ),
    ],
}
"""What a new source of requests changes in files that exist: a text, and what stands there then."""

MEASURE = {
    "crates/run/src/measures/mod.rs": [
        ("mod detail;\n", "{}mod most_outstanding;\n"),
        (
            "        detail::measure(subject),\n",
            "{}        Some(most_outstanding::measure(subject)),\n",
        ),
    ],
    "crates/run/src/result/mod.rs": [
        (
            "    /// Figures of each class, in the order of the job.\n    pub classes",
            "    /// The most requests that were outstanding at once after the warm-up.\n"
            "    pub most_outstanding: u64,\n{}",
        ),
    ],
}
"""What a new statistic changes; the types of results in Python are written anew from it."""

FORMAT = {
    "crates/workload/src/trace/formats/mod.rs": [
        ("mod csv;\n", "{}mod depot;\n"),
        ("    alibaba::FORMAT,\n", "{}    depot::FORMAT,\n"),
    ],
    "tests/data/traces/NOTICE.md": [
        ("| `sample.csv`,", "| `sample.depot` | depot | made by hand |\n{}"),
    ],
}
"""What a new trace format changes."""

NEW_FORMAT = {
    "crates/workload/src/trace/formats/tencent.rs": "crates/workload/src/trace/formats/depot.rs",
    "fuzz/seeds/tencent/ends": "fuzz/seeds/depot/ends",
    "fuzz/src/bin/tencent.rs": "fuzz/src/bin/depot.rs",
    "tests/data/traces/sample.tencent": "tests/data/traces/sample.depot",
}
"""The files of a small format, and those of the new one, which has other words for operations."""


def add_a_format(copy: Path) -> None:
    """Make a format of its own out of a small one."""
    edit(copy, FORMAT)
    for small, new in NEW_FORMAT.items():
        text = (copy / small).read_text().replace('"tencent"', '"depot"')
        for digit, word in (("0", "get"), ("1", "put")):
            text = text.replace(f'b"{digit}"', f'b"{word}"')
            text = re.sub(rf"^(\d+,\d+,\d+),{digit},", rf"\1,{word},", text, flags=re.MULTILINE)
        (copy / new).parent.mkdir(exist_ok=True)
        (copy / new).write_text(text)


DEVICE = {
    "crates/device/src/lib.rs": [
        ("mod array;\n", "{}mod drum;\n"),
        (
            "pub use array::{{Array, ArrayError, Level}};\n",
            "{}pub use drum::{{Drum, DrumFacts}};\n",
        ),
    ],
    "crates/jobs/src/devices.rs": [
        ("mod cache;\n", "{}mod drum;\n"),
        ("pub use self::faults::FaultSpec;\n", "pub use self::drum::DrumSpec;\n{}"),
        (
            "        (linear::ENTRY.name, linear::ENTRY.name),\n",
            "{}        (drum::ENTRY.name, drum::ENTRY.name),\n",
        ),
        ("[ModelEntry<Model>; 4]", "[ModelEntry<Model>; 5]"),
        (
            "    linear::ENTRY.into(|reader| (linear::ENTRY.read)(reader).map(Model::Linear)),\n",
            "{}    drum::ENTRY.into(|reader| (drum::ENTRY.read)(reader).map(Model::Drum)),\n",
        ),
        ("    Linear(LinearSpec),\n", "{}    /// A drum.\n    Drum(DrumSpec),\n"),
        (
            "            Model::Linear(spec) => spec.build(seed, number, watch),\n",
            "{}            Model::Drum(spec) => spec.build(seed, number, watch),\n",
        ),
        (
            "            Model::Linear(_) => LinearSpec::memory(),\n",
            "{}            Model::Drum(_) => DrumSpec::memory(),\n",
        ),
        (
            "            Model::Linear(spec) => "
            "spec.rows(rows(linear::ENTRY.name, linear::ENTRY.keys)),\n",
            "{}            Model::Drum(spec) => "
            "spec.rows(rows(drum::ENTRY.name, drum::ENTRY.keys)),\n",
        ),
    ],
    "tests/python/schema_samples.py": [
        ('    "linear": LINEAR,\n', '{}    "drum": LINEAR.replace("linear", "drum"),\n'),
    ],
}
"""What a new device model changes."""

NEW_DEVICE = ("crates/device/src/drum.rs", "crates/jobs/src/devices/drum.rs")
"""The files of a device model: the model and its keys."""


def add_a_device(copy: Path) -> None:
    """Make a device model of its own out of a small one."""
    edit(copy, DEVICE)
    for path in NEW_DEVICE:
        text = (copy / path.replace("drum", "linear")).read_text()
        text = text.replace("Linear", "Drum").replace("linear", "drum")
        latency = re.compile(r"/// The wait of an access for the platter\.\n#.*?\n}\n", re.DOTALL)
        (copy / path).write_text(latency.sub("pub use crate::linear::Latency;\n", text, count=1))


TARGET_OPTION = {
    "crates/run/src/ask/target_options.rs": [
        (
            "    pub engine: Option<String>,\n",
            "{}    /// Whether the target is only opened.\n    pub nothing: bool,\n",
        ),
        (
            "    fn of_a_target(&self) -> [(&'static str, bool, bool); 5] {{\n        [\n",
            "    fn of_a_target(&self) -> [(&'static str, bool, bool); 6] {{\n        [\n"
            '            ("--nothing", self.nothing, true),\n',
        ),
    ],
    "crates/run/src/place/target.rs": [
        (
            "    if options.read_only {{\n",
            "    if options.nothing {{\n"
            '        return Err(Failure::wrong("nothing was to be done", "leave it out"));\n'
            "    }}\n{}",
        ),
    ],
    "python/penstock/target.py": [
        (
            "    engine: Annotated[\n",
            '    nothing: Annotated[bool, Flag(help="Only open the target.")]\n{}',
        ),
    ],
}
"""What a new option of targets changes."""

NEW_SOURCE = {
    "examples/source/source.rs": "crates/workload/src/volley.rs",
    "examples/source/section.rs": "crates/jobs/src/workload/volley.rs",
    "examples/source/load.rs": "crates/run/src/workload/volley.rs",
    "examples/measures/most_outstanding.rs": "crates/run/src/measures/most_outstanding.rs",
    "examples/source/test.rs": "crates/run/tests/volley.rs",
}
"""The files of the examples, and where they go."""


def edit(copy: Path, edits: dict[str, list[tuple[str, str]]]) -> None:
    """Change files of the copy; in what stands there then, {} is what stood there."""
    for path, changes in edits.items():
        text = (copy / path).read_text()
        for old, new in changes:
            what = old.replace("{{", "{").replace("}}", "}")
            assert text.count(what) == 1, (path, what)
            braces = what.replace("{", "{{").replace("}", "}}")
            text = text.replace(what, new.replace("{}", braces).format())
        (copy / path).write_text(text)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the engine with one more of each that has a way of its own in CONTRIBUTING.md."""
    copy = tmp_path_factory.mktemp("engine") / "penstock"
    copied(copy, ("crates", "examples", "papers", "python", "Cargo.lock", "clippy.toml"))
    copied(copy, ("fuzz/src", "fuzz/seeds", "tests/data/traces", "tests/python/schema_samples.py"))
    manifest = (ROOT / "Cargo.toml").read_text()
    members = re.sub(r"^members = .*$", 'members = ["crates/*"]', manifest, flags=re.MULTILINE)
    (copy / "Cargo.toml").write_text(members)
    for example, place in NEW_SOURCE.items():
        shutil.copy(copy / example, copy / place)
    for edits, most in ((SOURCE, 4), (MEASURE, 2), (TARGET_OPTION, 3)):
        before = contents(copy)
        edit(copy, edits)
        found = touched(copy, before)
        assert found.changed == sorted(edits)
        assert len(found.changed) <= most
    before = contents(copy)
    add_a_format(copy)
    found = touched(copy, before)
    assert found.changed == sorted(FORMAT)
    assert len(found.changed) <= 2
    assert found.new == sorted(NEW_FORMAT.values())
    before = contents(copy)
    add_a_device(copy)
    found = touched(copy, before)
    assert found.changed == sorted(DEVICE)
    assert len(found.changed) <= 3
    assert found.new == sorted(NEW_DEVICE)
    return copy


def test_an_option_of_targets_touches_three_files(engine: Path) -> None:
    """Verbs and programs take the option, and no other declaration of Rust and Python lacks it."""
    (native,) = (ROOT / "python/penstock").glob("*.so")
    (engine / "python/penstock" / native.name).symlink_to(native)
    for verb in ("run", "calibrate"):
        help_ = python(engine, "-m", "penstock", verb, "--help")
        assert re.search("--nothing +Only open the target", help_), help_
    program = (
        "import inspect, penstock; from penstock.target import Target;"
        'print(Target(on="null", options={"nothing": True}).json());'
        'print(inspect.signature(penstock.compare).parameters["nothing"])'
    )
    given, shown = python(engine, "-c", program).splitlines()
    assert {"on": "null", "nothing": True}.items() <= json.loads(given).items()
    assert shown == "nothing: bool = False"


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_the_new_source_runs_and_is_measured(engine: Path) -> None:
    """All that was added compiles, a job with the section runs, and its result has the field."""
    target = ROOT / "target"
    cargo(
        engine, "test", "--offline", "-p", "penstock-run", "--test", "all", "volley", target=target
    )


def test_a_verb_is_a_file_and_a_line(tmp_path: Path) -> None:
    """The example becomes a verb that runs a job at several depths."""
    copy = tmp_path / "penstock"
    copied(copy, ("python", "examples/verb", "examples/bank-day.toml"))
    (native,) = (ROOT / "python/penstock").glob("*.so")
    (copy / "python/penstock" / native.name).symlink_to(native)
    before = contents(copy)
    shutil.copy(copy / "examples/verb/depths.py", copy / "python/penstock/cli")
    line = '    "depths": "Show the throughput of a job at several queue depths.",\n    "compare":'
    edit(copy, {"python/penstock/cli/app.py": [('    "compare":', line)]})
    found = touched(copy, before)
    assert (found.changed, found.more_lines) == (["python/penstock/cli/app.py"], 1)
    assert found.new == ["python/penstock/cli/depths.py"]
    words = ("--on", "ssd-sata", "--depths", "1,2", "--set", "duration=1s", "--json")
    job = str(copy / "examples/bank-day.toml")
    rates = json.loads(python(copy, "-m", "penstock", "depths", job, *words))
    assert list(rates) == ["1", "2"]
    assert min(rates.values()) > 0
    help_ = python(copy, "-m", "penstock", "--help")
    assert re.search("^  depths +Show the throughput", help_, re.MULTILINE)
