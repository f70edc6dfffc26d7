"""What MkDocs calls while it builds the site: pages that are generated, and the Rust reference.

Reference pages are made of the declarations when the site is built, so they cannot be out of date.
"""

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page as SitePage

import repository_files
from markdown_parts import module_text, page, sentence, table
from penstock import papers
from reference_commands import commands_page
from reference_keys import Schema, device_page, job_page, machine_page, study_page
from reference_lists import Entry, devices_page, formats_page, policies_page
from reference_results import file_tests_page, merges_page, results_page

DOCS = repository_files.ROOT / "docs"

FORMATS = repository_files.ROOT / "crates/workload/src/trace/formats"


class GeneratedPage(NamedTuple):
    """A page that is generated."""

    title: str
    path: str
    text: Callable[[], str]


def printed(*words: str) -> str:
    """The output of `penstock`."""
    command = [sys.executable, "-m", "penstock", *words]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout


def schema(kind: str) -> Schema:
    """The JSON Schema of this kind."""
    parsed: Schema = json.loads(printed("schema", kind))
    return parsed


def entries(kind: str) -> list[Entry]:
    """The entries of `penstock list` for this kind."""
    listed: list[Entry] = json.loads(printed("list", kind, "--json"))
    return listed


REFERENCE = (
    GeneratedPage("Commands", "reference/commands.md", commands_page),
    GeneratedPage("Job keys", "reference/job-keys.md", lambda: job_page(schema("job"))),
    GeneratedPage("Device keys", "reference/device-keys.md", lambda: device_page(schema("device"))),
    GeneratedPage(
        "Machine keys", "reference/machine-keys.md", lambda: machine_page(schema("machine"))
    ),
    GeneratedPage("Study keys", "reference/study-keys.md", lambda: study_page(schema("study"))),
    GeneratedPage(
        "Result fields", "reference/result-fields.md", lambda: results_page(schema("result"))
    ),
    GeneratedPage(
        "Merge fields", "reference/merge-fields.md", lambda: merges_page(schema("merge"))
    ),
    GeneratedPage(
        "File test fields",
        "reference/file-test-fields.md",
        lambda: file_tests_page(schema("file-test")),
    ),
    GeneratedPage(
        "Policies",
        "reference/policies.md",
        lambda: policies_page(entries("policies"), printed("list", "policies")),
    ),
    GeneratedPage(
        "Named devices",
        "reference/devices.md",
        lambda: devices_page(entries("devices"), printed("list", "devices"), DOCS / "devices"),
    ),
    GeneratedPage(
        "Trace formats",
        "reference/trace-formats.md",
        lambda: formats_page(json.loads(printed("trace", "formats", "--json")), FORMATS),
    ),
)
"""The generated pages of the section "Reference", in their order. A page more is an entry more."""

RUST = GeneratedPage(
    "Rust crates", "reference/rust.md", lambda: rust_page(repository_files.ROOT / "crates")
)


def rust_page(crates: Path) -> str:
    """The crates, each with the first sentence of its documentation."""
    rows = []
    for manifest in sorted(crates.glob("*/Cargo.toml")):
        crate = tomllib.loads(manifest.read_text())
        name = crate.get("lib", {}).get("name", crate["package"]["name"].replace("-", "_"))
        paragraph = module_text(manifest.parent / "src/lib.rs").partition("\n\n")[0]
        first = " ".join(paragraph.splitlines()).partition(". ")[0]
        rows.append((f"[`{name}`](../rust/{name}/index.html)", sentence(first)))
    return page(
        "# Rust crates",
        "The reference of the crates, built by `cargo doc`. The traits of "
        "[`penstock_core`](../rust/penstock_core/index.html) are the contract of policies and "
        "devices.",
        table(("crate", "what it is"), rows),
    )


def papers_page() -> str:
    """The papers, each with its line."""
    rows = ((f"[{name}]({name}.md)", paper.line) for name, paper in papers.PAPERS.items())
    return page(
        "# Papers",
        "These pages reproduce the figures of papers, next to the published ones. "
        "[To add a paper](../project/CONTRIBUTING.md#a-paper-of-your-own) takes two folders and a "
        "line.",
        table(("paper", "what it is about"), rows),
    )


PAPERS = GeneratedPage("Papers", "papers/README.md", papers_page)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the generated pages, the papers and the decisions into the navigation."""
    sections = {name: inner for section in config.nav or () for name, inner in section.items()}
    sections["Reference"] += [{generated.title: generated.path} for generated in (*REFERENCE, RUST)]
    sections["Papers"] += [f"papers/{name}.md" for name in papers.PAPERS]
    decisions = sorted((DOCS / "decisions").glob("0*.md"))
    sections["Decisions"] += [path.relative_to(DOCS).as_posix() for path in decisions]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, files of the repository that are linked to, the Rust reference."""
    for generated in (*REFERENCE, RUST, PAPERS):
        files.append(File.generated(config, generated.path, content=generated.text()))
    waiting = list(repository_files.DOCUMENTS[:-1])
    for file in files.documentation_pages():
        waiting += repository_files.outside(file.content_string, f"docs/{file.src_uri}")
    added: set[str] = set()
    while waiting:
        path = waiting.pop()
        if path in added:
            continue
        added.add(path)
        text = repository_files.shown(path)
        files.append(File.generated(config, repository_files.place(path), content=text))
        source = (
            (repository_files.ROOT / path).read_text()
            if path in repository_files.DOCUMENTS
            else text
        )
        waiting += repository_files.linked(source, path)
    rust = repository_files.ROOT / config.extra["rust_docs"]
    for path in sorted(rust.rglob("*")):
        if path.is_file() and not path.name.startswith("."):
            name = f"rust/{path.relative_to(rust).as_posix()}"
            files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: SitePage, config: MkDocsConfig, files: Files) -> str:
    """Lead links out of docs/ to the pages that show these files."""
    if page.file.generated_by is not None:
        return markdown
    return repository_files.rewritten(markdown, f"docs/{page.file.src_uri}")
