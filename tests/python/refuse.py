"""A kernel that refuses one of its calls, as it does without memory: seccomp's user notifications.

Every thread of the process is asked about, so a script installs it and then goes on. Source: the
manual pages seccomp(2) and seccomp_unotify(2).
"""

import ctypes
import platform
import struct
import threading
from collections.abc import Callable
from fcntl import ioctl

CALLS = {
    "x86_64": {"seccomp": 317, "io_submit": 209, "clone": 56},
    "aarch64": {"seccomp": 277, "io_submit": 2, "clone": 220},
}
"""Numbers of system calls by machine."""

EVERYWHERE = {"io_uring_setup": 425, "io_uring_enter": 426, "clone3": 435}
"""Numbers that all machines share."""

SET_MODE_FILTER = 1
TSYNC, NEW_LISTENER, TSYNC_ESRCH = 1, 8, 16
NO_NEW_PRIVS = 38
ALLOW, ASK, REFUSE = 0x7FFF_0000, 0x7FC0_0000, 0x0005_0000
RECEIVE, SEND = 0xC050_2100, 0xC018_2101
NOTICE, ANSWER = 80, struct.Struct("=QqiI")
GO_ON = 1


def refuse(call: str, error: int, when: Callable[[], bool] | None = None) -> None:
    """From now on `call` fails with `error`: always, or whenever `when` says so."""
    libc = ctypes.CDLL(None, use_errno=True)
    answer = ASK if when else REFUSE | error
    numbers = EVERYWHERE | CALLS[platform.machine()]
    steps = [(0x20, 0, 0, 0), (0x15, 0, 1, numbers[call]), (6, 0, 0, answer), (6, 0, 0, ALLOW)]
    code = b"".join(struct.pack("=HBBI", *step) for step in steps)
    program = struct.pack(
        "@HP", len(steps), ctypes.addressof(kept := ctypes.create_string_buffer(code))
    )
    flags = TSYNC | (NEW_LISTENER | TSYNC_ESRCH if when else 0)
    libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
    listener = libc.syscall(numbers["seccomp"], SET_MODE_FILTER, flags, program)
    del kept
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    if when:
        threading.Thread(target=_answer, args=(listener, error, when), daemon=True).start()


def _answer(listener: int, error: int, when: Callable[[], bool]) -> None:
    while True:
        notice = bytearray(NOTICE)
        ioctl(listener, RECEIVE, notice)
        (number,) = struct.unpack_from("=Q", notice)
        refused = when()
        ioctl(
            listener,
            SEND,
            ANSWER.pack(number, 0, -error if refused else 0, 0 if refused else GO_ON),
        )
