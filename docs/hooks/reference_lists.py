"""The pages of policies, named devices and trace formats: read from what the command prints."""

import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from markdown_parts import cell, code, module_text, page, sentence, table

Entry = dict[str, Any]

FIGURES = re.compile(r"<!-- figures of (\S+) -->")
"""How a page under devices/ marks the device that it describes."""

FORMAT = re.compile(r'^    name: "(.+)",$', re.MULTILINE)
"""How a source file of trace formats names a format."""


def policies_page(entries: Sequence[Entry], listed: str) -> str:
    """Every policy with its parameters, and what takes a policy's place."""
    return page(
        "# Policies",
        "Name them after `--policies`, or after `--policy` of `penstock run`. A parameter is set "
        "in the job, `[policy.size-priority]`, or on the command line, "
        "`--set size-priority.split=64KiB`. A parameter `group.member` is a member of a table: "
        "`guard = { after = 4 }`. A `list` has a value for each class, in the order of the job, "
        '`iops = ["off", 200]` or `--set token-bucket.iops=off,200`; one value holds for all.',
        "The list is what `penstock list policies` prints; the text of each is what `penstock list "
        "policies NAME` has. To write one, see "
        "[a policy of your own](../how-to/policy.md). [The schedulers of Linux]"
        "(../linux-schedulers.md) compares those that its kernels have or had.",
        *(_policy(entry) for entry in entries),
        "## Instead of a policy",
        _others(entries, listed),
    )


def _policy(entry: Entry) -> str:
    rows = (
        (
            code(param["name"]),
            cell(param["kind"]),
            code(
                str(param["default"]).lower()
                if isinstance(param["default"], bool)
                else param["default"]
            ),
            cell(sentence(param["doc"])),
            cell(param["source"]),
        )
        for param in entry["params"]
    )
    return page(
        f"## {entry['name']}",
        sentence(entry["summary"]),
        *((f"In Linux {entry['linux']}.",) if entry["linux"] else ()),
        entry["text"].strip(),
        table(("parameter", "value", "default", "meaning", "source"), rows),
    )


def _written(default: object) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)


def devices_page(entries: Sequence[Entry], listed: str, pages: Path) -> str:
    """Every named device, and what takes a device's place."""
    described = {
        name: path.name
        for path in sorted(pages.glob("*.md"))
        for name in FIGURES.findall(path.read_text())
    }
    rows = (
        (
            code(entry["name"]),
            cell(sentence(entry["summary"])),
            f"[sources and figures](../devices/{described[entry['name']]})"
            if entry["name"] in described
            else "",
        )
        for entry in entries
    )
    return page(
        "# Named devices",
        'Name one after `--on`, or in a job as `device = "hdd-7200"`. A device of your own is a '
        "file: see [device keys](device-keys.md). A machine is for jobs with files: see "
        "[machine keys](machine-keys.md).",
        "The list is what `penstock list devices` prints.",
        table(("device", "what it is", "its page"), rows),
        "## Instead of a device",
        _others(entries, listed),
    )


def formats_page(entries: Sequence[Entry], sources: Path) -> str:
    """Every format of traces, then the module text of each source file of formats."""
    files = {
        name: path for path in sources.glob("*.rs") for name in FORMAT.findall(path.read_text())
    }
    rows = (
        (code(entry["name"]), cell(entry["summary"]), "yes" if entry["writes"] else "")
        for entry in entries
    )
    sections = groupby((entry["name"] for entry in entries), files.__getitem__)
    return page(
        "# Trace formats",
        "The list is what `penstock trace formats` prints. [Work with traces](../how-to/traces.md) "
        "has packed files, conversion, and what a trace of any format becomes.",
        table(("format", "what it is", "can be written"), rows),
        *(page(f"## {', '.join(names)}", module_text(path)) for path, names in sections),
    )


def _others(entries: Sequence[Entry], listed: str) -> str:
    """Lines of the printed list besides the entries: a name and a sentence each."""
    names = {entry["name"] for entry in entries}
    titles = (line.partition(": ") for line in listed.splitlines() if not line.startswith(" "))
    return "\n".join(
        f"- `{name}`: {text}" for name, _, text in titles if text and name not in names
    )
