"""Writes the page of every paper in docs/papers, and its pictures: `make papers`.

With `--live` the programs that run in real time run first, for some minutes, and what they met is
kept: `make papers-live`, on a machine that does nothing else. With names of papers only theirs.
"""

import json
import sys
from pathlib import Path

from command import ROOT, penstock
from penstock.answer.table import markdown
from penstock.papers import PAPERS, claims, files, sensitivity
from penstock.papers.paper import load, part
from penstock.papers.result import Result, simulated
from penstock.papers.study import Study
from penstock.report import pictures

FOLDER = ROOT / "docs/papers"


def place(name: str) -> Path:
    """Where the page of a paper lies."""
    return FOLDER / f"{name}.md"


def page(result: Result) -> str:
    """The page of a paper: `page.md` with its results at their places."""
    paper = result.paper
    tables = {}
    for table in paper.tables(result.ours):
        tables[table.name] = markdown(table)
        remarks = (line.replace("*", "\\*") for line in table.notes)
        tables[f"{table.name}_remarks"] = "\n\n".join(remarks)
    drawn = {
        f"image_{Path(file).stem.replace('-', '_')}": f"![{title}]({paper.name}/{file})"
        for title, file in images(paper)
    }
    return files.text(paper.name, "page.md").format(
        source=files.source(paper.name),
        images="\n".join(drawn.values()),
        claims=markdown(claims.table(result.claims, paper.cases)),
        sensitivity_legend=paper.sensitivity.legend(paper.away) if paper.sensitivity else "",
        sensitivity=markdown(sensitivity.table(result.variants, paper.away)),
        variants="\n".join(f"- {one['variant']}: {one['text']}" for one in result.variants),
        **tables,
        **drawn,
        **_live(result),
    )


def images(paper: Study) -> list[tuple[str, str]]:
    """The title of each picture of the page, and its file."""
    titles = paper.pictures.titles if paper.pictures else {}
    return [(title, f"{name}.png") for name, title in titles.items()]


def _live(result: Result) -> dict[str, str]:
    """What the page says of what runs in real time."""
    name = result.paper.name
    if not PAPERS[name].real_time:
        return {}
    kept = json.loads(files.text(name, "live.json"))
    words: dict[str, str] = part(name, "live_page").words(kept, result.ours)
    return words


def measure(name: str) -> None:
    """Run the programs in real time, and keep their figures."""
    module = part(name, "live_page")
    ended = penstock(*module.WORDS, "--json")
    if ended.code:
        raise SystemExit(ended.err)
    about, figures = module.kept(json.loads(ended.out))
    lines = ",\n".join(f"  {json.dumps(one)}" for one in figures)
    kept = f'{json.dumps(about)[:-1]}, "figures": [\n{lines}\n]}}\n'
    (ROOT / f"papers/{name}/live.json").write_text(kept)


def write(name: str) -> None:
    """Write a page and its pictures."""
    result = simulated(load(name), {}, vary=True)
    place(name).write_text(page(result))
    of = result.paper.pictures
    if of is not None:
        (FOLDER / name).mkdir(parents=True, exist_ok=True)
        for picture in of.pictures(result.ours):
            (FOLDER / f"{name}/{picture.name}.png").write_bytes(pictures.png(picture.chart))


def main() -> None:
    """Write the pages."""
    named = [word for word in sys.argv[1:] if word != "--live"]
    for name in named or PAPERS:
        if "--live" in sys.argv and PAPERS[name].real_time:
            measure(name)
        write(name)


if __name__ == "__main__":
    main()
