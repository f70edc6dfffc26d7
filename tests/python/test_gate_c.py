"""The gate for C: its header, its examples in C and Go, threads, and messages for wrong calls."""

import ctypes
import errno
import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from command import ROOT
from making import make

CAPI = ROOT / "crates/capi"
EXAMPLES = ROOT / "examples/gate"
REGION = 64 << 10
"""Bytes of each thread of a trace."""

ADDRESSES = ("-fsanitize=address", "-fno-omit-frame-pointer", "-g")


@pytest.fixture(scope="module")
def installed(made_once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """The prefix below which `make capi` has installed the gate."""

    def install(path: Path) -> None:
        ended = make("capi", f"PREFIX={path}")
        assert ended.code == 0, ended.err

    return made_once("capi", install)


def pkg_config(installed: Path, *words: str) -> list[str]:
    """Options of the installed gate."""
    return said(installed, "pkg-config", *words, "penstock_gate").split()


def said(installed: Path, *words: str | Path) -> str:
    """Run a program that finds the installed gate; what it prints."""
    places = {
        "PKG_CONFIG_PATH": str(installed / "lib/pkgconfig"),
        "LD_LIBRARY_PATH": str(installed / "lib"),
    }
    done = subprocess.run(
        words, env=os.environ | places, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def compiled(installed: Path, source: Path, program: Path, *flags: str) -> Path:
    """Compile a program with header, library and pkg-config alone."""
    strict = ("-std=gnu11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread")
    options = pkg_config(installed, "--cflags", "--libs")
    said(installed, "gcc", *strict, *flags, source, *options, "-o", program)
    return program


def check_example(printed: str) -> None:
    assert "read back: transfer 99" in printed
    assert "unknown class `tellrs`" in printed
    assert "did you mean `tellers`?" in printed


@pytest.mark.parametrize("flags", [(), ADDRESSES], ids=["plain", "addresses"])
def test_the_example_in_c_runs(installed: Path, tmp_path: Path, flags: tuple[str, ...]) -> None:
    program = compiled(installed, EXAMPLES / "gate.c", tmp_path / "gate", *flags)
    printed = said(installed, program, tmp_path / "ledger.img")
    check_example(printed)
    stats = json.loads(printed.splitlines()[-1])
    assert "batch: 4194304 bytes" in printed
    assert stats["classes"]["tellers"]["requests"] == 101
    assert stats["classes"]["batch"]["bytes"] == 4 << 20
    assert stats["classes"]["batch"]["pieces"] == 64


def test_a_program_may_have_the_whole_library_in_it(installed: Path, tmp_path: Path) -> None:
    program = tmp_path / "gate"
    static = [
        word for word in pkg_config(installed, "--static", "--libs") if "penstock" not in word
    ]
    include = pkg_config(installed, "--cflags")
    archive = installed / "lib/libpenstock_gate.a"
    said(installed, "gcc", EXAMPLES / "gate.c", *include, archive, *static, "-o", program)
    assert "penstock" not in said(installed, "ldd", program)
    check_example(said(installed, program, tmp_path / "ledger.img"))


@pytest.mark.timeout(600)  # on a new machine Go compiles its own library first
def test_the_example_in_go_runs(installed: Path, tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("there is no `go` in PATH")
    # Go caches a package by its folder, and the path that the library had with it.
    source = shutil.copy(EXAMPLES / "main.go", tmp_path)
    program = tmp_path / "gate"
    said(installed, "go", "build", "-o", program, source)
    check_example(said(installed, program, tmp_path / "ledger.img"))


def check_threads(installed: Path, folder: Path, operations: int, *flags: str) -> None:
    """Take a trace of so many requests through a gate on 32 threads."""
    program = compiled(installed, ROOT / "tests/python/gate_trace.c", folder / "trace", *flags)
    (folder / "data").write_bytes(bytes(32 * REGION))
    numbers, units = random.Random(7), [0] * 32
    with (folder / "trace.spc").open("w") as trace:
        for number in range(operations):
            block = numbers.randrange(REGION // 512)
            most = min(REGION - 512 * block, numbers.choice((100, 5_000, 40_000)))
            unit, op = numbers.randrange(32), numbers.choice("rw")
            units[unit] += 1
            trace.write(f"{unit},{block},{numbers.randint(1, most)},{op},{number / 1e6}\n")
    options = (
        f"path = '{folder / 'data'}'\nadopt = true\npolicy = 'size-priority'\n"
        "parameters = { split = '16KiB' }"
    )
    printed = said(installed, program, options, folder / "trace.spc", "32", str(REGION))
    stats = json.loads(printed)
    assert stats["short"]["requests"] + stats["long"]["requests"] == operations + 32
    assert stats["long"]["pieces"] > stats["long"]["requests"]
    assert stats["flush"]["requests"] == sum(count // 200 for count in units) > 0
    assert stats["short"]["errors"] + stats["long"]["errors"] == 0


@pytest.mark.parametrize("flags", [(), ADDRESSES], ids=["plain", "addresses"])
def test_a_trace_is_taken_on_32_threads(
    installed: Path, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    check_threads(installed, tmp_path, 10_000 if flags else 20_000, *flags)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_long_trace_is_taken_on_32_threads(installed: Path, tmp_path: Path) -> None:
    check_threads(installed, tmp_path, 1_000_000)


TYPES = {
    "*const c_char": "const char *",
    "*mut c_char": "char *",
    "*const c_void": "const void *",
    "*mut c_void": "void *",
    "*mut Handle": "pg_gate *",
    "*mut PgDone": "pg_done *",
    "*mut u64": "uint64_t *",
    "u32": "uint32_t",
    "u64": "uint64_t",
    "usize": "size_t",
    "isize": "ssize_t",
    "c_int": "int",
    "": "void",
}
"""Types of Rust and of C."""


def prototypes() -> dict[str, str]:
    """The functions of the library, by the source that is compiled, as C declares them."""
    text = (CAPI / "src/calls.rs").read_text()
    form = r'extern "C" fn (\w+)\(([^)]*)\)(?: -> ([^{]+))? \{'
    declared = {}
    for name, arguments, result in re.findall(form, text):
        pairs = [pair.split(":", 1) for pair in arguments.split(",") if pair.strip()]
        parts = [f"{TYPES[kind.strip()]} {argument.strip()}" for argument, kind in pairs]
        declared[name] = plain(f"{TYPES[result.strip()]} {name}({', '.join(parts) or 'void'})")
    return declared


def plain(text: str) -> str:
    """A declaration without the spaces that do not matter."""
    return re.sub(r"\s*([*(),])\s*", r"\1", " ".join(text.split()))


def test_the_header_declares_what_the_library_has(installed: Path) -> None:
    header = (installed / "include/penstock_gate.h").read_text()
    bare = re.sub(r"/\*.*?\*/|^#.*?$", "", header, flags=re.DOTALL | re.MULTILINE)
    declared = {
        match[1]: plain(match[0].removesuffix(";"))
        for match in re.finditer(r"[\w][\w *]*?\b(pg_\w+)\([^)]*\);", bare)
    }
    assert declared == prototypes()
    library = installed / "lib/libpenstock_gate.so"
    symbols = said(installed, "nm", "--dynamic", "--defined-only", "--format=just-symbols", library)
    assert set(symbols.split()) == set(declared)


def test_the_header_is_right_in_c_and_in_cpp(installed: Path, tmp_path: Path) -> None:
    """Every function is linked, and numbers and layouts are those of the library."""
    calls = (CAPI / "src/calls.rs").read_text()
    (flag,) = re.findall(r"const SYNC: c_int = (\d+);", calls)
    pointers = ", ".join(f"(void (*)(void)){name}" for name in sorted(prototypes()))
    source = tmp_path / "all.c"
    source.write_text(
        '#include <penstock_gate.h>\n#include <stddef.h>\n#include "penstock_gate.h"\n'
        "#ifdef __cplusplus\n#define _Static_assert static_assert\n#endif\n"
        f'_Static_assert(PG_SYNC == {flag}, "flag");\n'
        '_Static_assert(sizeof(pg_done) == 24 && offsetof(pg_done, bytes) == 8, "layout");\n'
        f"void (*const all[])(void) = {{ {pointers} }};\n"
        "int main(void) { return all[0] == 0; }\n"
    )
    options = pkg_config(installed, "--cflags", "--libs")
    for language in ("c", "c++"):
        words = ("gcc", "-Wall", "-Wextra", "-Werror", "-x", language, source)
        said(installed, *words, "-x", "none", *options, "-o", tmp_path / "all")
        said(installed, tmp_path / "all")
    assert (
        pkg_config(installed, "--modversion")
        == re.findall(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[:1]
    )


class GateLibrary:
    """The library, called as C calls it."""

    def __init__(self, path: Path) -> None:
        """Load it, and declare its functions."""
        self.call = ctypes.CDLL(str(path), use_errno=True)
        size, number = ctypes.c_size_t, ctypes.c_uint64
        text, handle = ctypes.c_char_p, ctypes.c_void_p
        place = (handle, text, ctypes.c_uint32, number)
        self.call.pg_open.restype = handle
        self.call.pg_open.argtypes = (text, ctypes.c_char_p, size)
        self.call.pg_read.restype = ctypes.c_ssize_t
        self.call.pg_read.argtypes = (*place, ctypes.c_char_p, size)
        self.call.pg_write.argtypes = (*place, ctypes.c_char_p, size, ctypes.c_int)
        self.call.pg_submit_read.argtypes = (*place, ctypes.c_char_p, size, number)
        self.call.pg_submit_write.argtypes = (*place, text, size, ctypes.c_int, number)
        self.call.pg_sync.argtypes = place[:3]
        self.call.pg_poll.argtypes = (handle, ctypes.c_void_p, ctypes.c_int)
        self.call.pg_stats.argtypes = self.call.pg_shutdown.argtypes = (handle,)
        self.call.pg_stats.restype = handle
        self.call.pg_close.argtypes = self.call.pg_event_fd.argtypes = (handle,)
        self.call.pg_error.argtypes = (handle, ctypes.c_char_p, size, ctypes.c_void_p)

    def open(self, options: str | bytes) -> tuple[int | None, int, str]:
        """The handle, the number of the error, and its text."""
        message = ctypes.create_string_buffer(4096)
        text = options.encode() if isinstance(options, str) else options
        gate = self.call.pg_open(text, message, len(message))
        return gate, ctypes.get_errno(), message.value.decode()

    def error(self, gate: int) -> tuple[int, str]:
        """The last error: its number, which `errno` has too, and its text."""
        text = ctypes.create_string_buffer(4096)
        number = self.call.pg_error(gate, text, len(text), None)
        return number, text.value.decode()


@pytest.fixture
def library(installed: Path) -> GateLibrary:
    return GateLibrary(installed / "lib/libpenstock_gate.so")


@pytest.fixture
def gate(library: GateLibrary, tmp_path: Path) -> Iterator[int]:
    """A gate with two classes before a file of 5 bytes."""
    (tmp_path / "own").write_bytes(b"-----")
    options = f"path = '{tmp_path / 'own'}'\nadopt = true\n[class.tellers]\n[class.batch]"
    opened, _, message = library.open(options)
    assert opened, message
    yield opened
    library.call.pg_close(opened)


@pytest.mark.parametrize(
    ("options", "number", "text"),
    [
        (
            "pth = 'a'",
            errno.EINVAL,
            "unknown key `pth` in the options of the gate\n --> options:1:1",
        ),
        ("path = 'a'\npolicy = 'fcfz'", errno.EINVAL, "unknown policy `fcfz`"),
        ("parameters = { splt = '4KiB' }", errno.EINVAL, "unknown key `splt`"),
        ("path = '{folder}/none'", errno.EINVAL, "/none: found no file"),
        ("path = '{folder}/none'\nadopt = true", errno.EINVAL, "/none"),
        ("path = '{folder}/own'", errno.EBUSY, "without Penstock's mark"),
        ("path = '{folder}/own'\nadopt = true\nengine = 'psync'", errno.EOPNOTSUPP, "psync"),
        ("", errno.EINVAL, "a gate without a file"),
        (b"path = '\xff'", errno.EINVAL, "options: no UTF-8"),
    ],
)
def test_wrong_options_are_refused_in_words(
    library: GateLibrary, tmp_path: Path, options: str | bytes, number: int, text: str
) -> None:
    (tmp_path / "own").write_bytes(b"another's")
    asked = options.replace("{folder}", str(tmp_path)) if isinstance(options, str) else options
    opened, found, message = library.open(asked)
    assert (opened, found) == (None, number), message
    assert text in message
    assert library.call.pg_open(None, None, 0) is None
    assert ctypes.get_errno() == errno.EINVAL


def test_wrong_calls_are_refused_in_words(library: GateLibrary, gate: int) -> None:
    call = library.call
    room = ctypes.create_string_buffer(8 << 20)
    wrong: dict[tuple[int, str], Callable[[], int]] = {
        (errno.EINVAL, "unknown class `tellrs`; 0 bytes are done\nhint: did you mean `tellers`?"): (
            lambda: call.pg_write(gate, b"tellrs", 0, 0, b"x", 1, 0)
        ),
        (errno.EINVAL, "found no class; 0 bytes are done\nhint: name one of tellers, batch"): (
            lambda: call.pg_sync(gate, None, 0)
        ),
        (errno.EINVAL, "the class: no UTF-8"): lambda: call.pg_sync(gate, b"\xff", 0),
        (errno.ENOENT, "no such file"): lambda: call.pg_read(gate, b"batch", 1, 0, room, 1),
        (errno.EINVAL, "outside its "): (
            lambda: call.pg_write(gate, b"batch", 0, (1 << 64) - 1, b"x", 1, 0)
        ),
        (errno.EINVAL, "found flags 2; expected 0 or PG_SYNC"): (
            lambda: call.pg_write(gate, b"batch", 0, 0, b"x", 1, 2)
        ),
        (errno.EINVAL, "found a null pointer for 1 bytes"): (
            lambda: call.pg_write(gate, b"batch", 0, 0, None, 1, 0)
        ),
        (errno.EINVAL, "more than the 4194304 bytes that one submission may have"): (
            lambda: call.pg_submit_write(gate, b"batch", 0, 0, room.raw, 5 << 20, 0, 1)
        ),
        (errno.EINVAL, "found no room for completions"): lambda: call.pg_poll(gate, None, 1),
    }
    for (number, text), ask in wrong.items():
        assert ask() == -1, text
        assert ctypes.get_errno() == number, text
        found, message = library.error(gate)
        assert found == number
        assert text in message
    assert call.pg_sync(None, b"batch", 0) == -1
    assert ctypes.get_errno() == errno.EINVAL


def test_a_gate_that_is_shut_down_says_so(library: GateLibrary, gate: int) -> None:
    assert library.call.pg_shutdown(gate) == 0
    assert library.call.pg_shutdown(gate) == 0
    asks: tuple[Callable[[], int], ...] = (
        lambda: library.call.pg_write(gate, b"batch", 0, 0, b"x", 1, 0),
        lambda: library.call.pg_submit_write(gate, b"batch", 0, 0, b"x", 1, 0, 7),
    )
    for ask in asks:
        assert ask() == -1
        number, text = library.error(gate)
        assert number == ctypes.get_errno() == errno.ESHUTDOWN
        assert "the gate is closed" in text
    assert library.call.pg_poll(gate, ctypes.create_string_buffer(24), 1) == 0
    assert library.call.pg_stats(gate) is not None


def test_more_requests_than_there_is_room_for_are_refused(
    library: GateLibrary, tmp_path: Path
) -> None:
    """A model that takes a millisecond for each write does not get through them meanwhile."""
    device = tmp_path / "slow.toml"
    device.write_text('[device]\nmodel = "fixed"\nbase = "1ms"\n')
    opened, _, message = library.open(f"emulate = '{device}'\ndepth = 1\npolicy = 'fcfs'")
    assert opened, message
    codes: list[int] = []
    while not codes or (codes[-1] == 0 and len(codes) < 20_000):
        codes.append(library.call.pg_submit_write(opened, None, 0, 0, b"x", 1, 0, len(codes)))
    assert codes[-1] == -1
    assert len(codes) > 1_024
    number, text = library.error(opened)
    assert number == errno.EAGAIN
    assert "too many requests are in flight" in text
    library.call.pg_close(opened)


def test_an_error_of_the_disk_comes_with_a_completion(library: GateLibrary, tmp_path: Path) -> None:
    device = tmp_path / "bad.toml"
    device.write_text('[device]\nmodel = "fixed"\nbase = "1us"\nfaults = { errors = "100%" }\n')
    opened, _, message = library.open(f"emulate = '{device}'")
    assert opened, message
    assert library.call.pg_submit_write(opened, None, 0, 7, b"too short", 9, 0, 42) == 0
    done = (ctypes.c_uint64 * 3)()
    while library.call.pg_poll(opened, done, 1) == 0:
        select.select([library.call.pg_event_fd(opened)], [], [])
    assert (done[0], done[1], done[2] & 0xFFFFFFFF) == (42, 0, errno.EIO)
    number, text = library.error(opened)
    assert number == errno.EIO
    assert "write of 9 bytes at byte 7 of the model" in text
    library.call.pg_close(opened)


def test_a_child_of_a_fork_is_refused_and_takes_nothing_with_it(
    library: GateLibrary, gate: int, tmp_path: Path
) -> None:
    call = library.call
    assert call.pg_write(gate, b"tellers", 0, 0, b"parent", 6, 0) == 0
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # it would hang
        room = ctypes.create_string_buffer(24)
        refused = []
        asks: tuple[Callable[[], int], ...] = (
            lambda: call.pg_write(gate, b"tellers", 0, 0, b"child!", 6, 0),
            lambda: call.pg_read(gate, b"tellers", 0, 0, room, 1),
            lambda: call.pg_poll(gate, room, 1),
            lambda: call.pg_shutdown(gate),
            lambda: call.pg_event_fd(gate),
            lambda: call.pg_stats(gate) or -1,
        )
        for ask in asks:
            result, number = ask(), ctypes.get_errno()
            text = library.error(gate)[1]
            refused.append(
                (result, number) == (-1, errno.EOPNOTSUPP)
                and f"opened by process {os.getppid()}" in text
            )
        call.pg_close(gate)
        os._exit(0 if all(refused) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert call.pg_sync(gate, b"batch", 0) == 0
    assert (tmp_path / "own").read_bytes() == b"parent"


def test_the_page_has_the_whole_interface() -> None:
    page = (ROOT / "docs/how-to/gate-c.md").read_text()
    keys = re.findall(r"^    [A-Z_]+ (\w+): ", (ROOT / "crates/jobs/src/gate.rs").read_text(), re.M)
    assert len(keys) == 10
    for name in [*prototypes(), *keys, "timeout", "class", "PG_SYNC", "PG_SUBMIT_MAX"]:
        assert f"`{name}" in page, name
