"""The site of the documentation: it builds without a warning, and its reference is complete."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import repository_files
import site_hooks
from command import ROOT, penstock
from markdown_parts import sentence, table
from reference_keys import Schema, device_page, job_page, machine_page, study_page
from reference_results import file_tests_page, merges_page, results_page

REMOTE = re.compile(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=\"?(?:https?:)?//[^>]*>")
"""What a browser would fetch from elsewhere."""


@pytest.fixture(scope="module")
def site(
    made_once: Callable[[str, Callable[[Path], None]], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The built site, over crates that were not documented."""

    def make(path: Path) -> None:
        rust = tmp_path_factory.mktemp("rust") / "doc"
        for name in re.findall(r"\.\./rust/(\w+)/index\.html", site_hooks.RUST.text()):
            (rust / name).mkdir(parents=True, exist_ok=True)
            (rust / name / "index.html").write_text("<!DOCTYPE html>")
        built = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", path],
            cwd=ROOT,
            env=os.environ | {"PENSTOCK_RUST_DOCS": str(rust), "NO_MKDOCS_2_WARNING": "1"},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert built.returncode == 0, built.stderr
        assert "WARNING" not in built.stderr

    return made_once("site", make)


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 50
    for page in pages:
        assert not REMOTE.findall(page.read_text()), page


def test_it_can_be_searched_and_has_two_themes(site: Path) -> None:
    found = json.loads((site / "search/search_index.json").read_text())["docs"]
    assert any(one["location"].startswith("reference/job-keys.html#") for one in found)
    home = (site / "index.html").read_text()
    assert 'data-md-color-scheme="slate"' in home
    assert 'data-md-color-scheme="default"' in home


def test_files_outside_the_documentation_are_shown(site: Path) -> None:
    page = (site / "files/examples/bank-day.toml.html").read_text()
    assert "A bank" in page
    assert (site / "project/ARCHITECTURE.html").exists()
    assert not (site / "hooks").exists()


def test_the_answers_to_a_newcomer_are_one_click_away() -> None:
    rows = re.compile(r"^\| ([^|]+\?[^|]*) \| \[[^]]+\]\(([^)]+)\) \|$", re.MULTILINE)
    readme = rows.findall((ROOT / "README.md").read_text())
    home = rows.findall((ROOT / "docs/README.md").read_text())
    assert len(readme) == 11
    assert [(question, path.removeprefix("docs/")) for question, path in readme] == home


def test_every_command_and_option_is_on_its_page() -> None:
    text = next(page.text() for page in site_hooks.REFERENCE if page.title == "Commands")
    for verb in (("compare",), ("trace", "convert"), ("paper", "online-batch")):
        section = text.partition(f"\n## penstock {' '.join(verb)}\n")[2].partition("\n## ")[0]
        options = re.findall(
            r"^ +(?:-\w, )?(--[a-z-]+)", penstock(*verb, "--help").out, re.MULTILINE
        )
        assert len(options) > 1
        for option in set(options) - {"--help"}:
            assert f"`{option}`" in section
    assert "- 77 this machine cannot run it" in text


def test_every_policy_parameter_and_device_is_on_its_page() -> None:
    pages = {page.title: page.text() for page in site_hooks.REFERENCE}
    for policy in json.loads(penstock("list", "policies", "--json").out):
        section = pages["Policies"].partition(f"\n## {policy['name']}\n")[2].partition("\n## ")[0]
        assert policy["summary"][1:] in section
        assert policy["text"].strip() in section
        assert policy["linux"] is None or f"In Linux {policy['linux']}." in section
        for param in policy["params"]:
            assert f"| `{param['name']}` |" in section
    for device in json.loads(penstock("list", "devices", "--json").out):
        assert f"| `{device['name']}` |" in pages["Named devices"]
    assert "[sources and figures](../devices/ssd-nvme.md)" in pages["Named devices"]
    assert "`kernel:NAME`" in pages["Policies"]
    assert "`null`" in pages["Named devices"]


def test_every_trace_format_is_on_its_page_with_the_text_of_its_module() -> None:
    text = next(page.text() for page in site_hooks.REFERENCE if page.title == "Trace formats")
    titles = ", ".join(re.findall("^## (.+)$", text, re.MULTILINE)).split(", ")
    formats = json.loads(penstock("trace", "formats", "--json").out)
    assert titles == [one["name"] for one in formats]
    writable = re.findall(r"^\| `(.+)` \|.*\| yes \|$", text, re.MULTILINE)
    assert writable == [one["name"] for one in formats if one["writes"]]
    tencent = text.partition("\n## tencent\n")[2]
    assert "whole seconds since 1970" in tencent
    assert "SNIA IOTTA repository" in tencent


def test_every_key_of_a_schema_is_on_its_page() -> None:
    kinds = ("job", "device", "machine")
    job, device, machine = (json.loads(penstock("schema", kind).out) for kind in kinds)
    pages = (job_page(job), device_page(device), machine_page(machine))
    own = {*machine["properties"]["machine"]["properties"]}
    keys = ({*job["properties"]} - {"policy"}, {*device["$defs"]["device"]["properties"]}, own)
    for page, expected in zip(pages, keys, strict=True):
        assert expected
        assert [key for key in expected if f"| `{key}` |" not in page] == []
    assert "| `rate` | rate above zero |" in pages[0].partition("[agent.arrivals]")[2]
    ssd = pages[1].partition('## `model = "ssd"`')[2].partition("\n## ")[0]
    assert "| `dies` | whole number, 1 to 65,536 | required |" in ssd
    assert "`drive`" not in ssd


def test_every_key_of_a_study_is_on_its_page() -> None:
    schema = json.loads(penstock("schema", "study").out)
    text = study_page(schema)
    factor = schema["properties"]["factor"]["additionalProperties"]
    for part in (schema["properties"]["study"], factor):
        assert [key for key in part["properties"] if f"| `{key}` |" not in text] == []


def test_a_result_is_a_page_with_a_section_for_each_object_in_it() -> None:
    schema = {
        "properties": {"runs": {"$ref": "#/$defs/Run", "description": "one."}},
        "required": ["runs"],
        "$defs": {
            "Run": {
                "description": "One run.",
                "properties": {
                    "ended": {"$ref": "#/$defs/Ended", "description": "Why it ended."},
                    "failure": {"type": ["string", "null"], "description": "What failed."},
                },
                "required": ["failure"],
            },
            "Ended": {
                "description": "Why.",
                "oneOf": [{"const": "asked", "description": "By Ctrl-C."}],
            },
        },
    }
    assert results_page(schema).partition("## The result itself\n\n")[2] == (
        "| field | value | left out | meaning |\n| --- | --- | --- | --- |\n"
        "| `runs` | [Run](#run) |  | one. |\n\n"
        "## Run\n\nOne run.\n\n"
        "| field | value | left out | meaning |\n| --- | --- | --- | --- |\n"
        "| `failure` | text or `null` |  | What failed. |\n"
        "| `ended` | [Ended](#ended) | may be | Why it ended. |\n\n"
        "## Ended\n\nWhy.\n\n"
        "| value | meaning |\n| --- | --- |\n| `asked` | By Ctrl-C. |\n"
    )


@pytest.mark.parametrize(
    ("kind", "made"),
    [("result", results_page), ("merge", merges_page), ("file-test", file_tests_page)],
)
def test_every_field_of_a_result_is_on_its_page(kind: str, made: Callable[[Schema], str]) -> None:
    schema = json.loads(penstock("schema", kind).out)
    text = made(schema)
    for name, one in {"The result itself": schema, **schema["$defs"]}.items():
        section = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert section, name
        assert [key for key in one.get("properties", {}) if f"| `{key}` |" not in section] == []


def test_links_out_of_the_documentation_lead_to_pages_of_the_site() -> None:
    text = (
        "[a](../../examples/bank-day.toml) [b](../../SECURITY.md#x) [c](gate.md) [d](https://e.f)"
    )
    assert repository_files.rewritten(text, "docs/how-to/job.md") == (
        "[a](../files/examples/bank-day.toml.md) [b](../project/SECURITY.md#x) [c](gate.md) "
        "[d](https://e.f)"
    )
    assert list(repository_files.outside(text, "docs/how-to/job.md")) == [
        "examples/bank-day.toml",
        "SECURITY.md",
    ]
    inside = repository_files.rewritten("[d](docs/decisions)", "ARCHITECTURE.md")
    assert inside == "[d](../decisions/README.md)"


def test_parts_of_pages() -> None:
    assert sentence("bytes of it") == "Bytes of it."
    assert table(("a", "b"), [("1", "2")]) == "| a | b |\n| --- | --- |\n| 1 | 2 |\n"
    assert table(("a",), []) == ""
