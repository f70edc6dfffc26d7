"""What the page of the IOAgent paper says of its runs in real time."""

from typing import Any

from penstock.answer.table import markdown
from penstock.papers.ioagent import live_json, live_table
from penstock.papers.study import Ours

WORDS = ("paper", "ioagent", "live", "--on", ".", "--budget", "10min")
"""The command whose figures the page shows."""

LISTS = {"patterns": "pattern", "claims": "id"}
"""What `live.json` keeps a line of each, and a key that only such have."""


def kept(document: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns what `live.json` keeps of the printed JSON: about all of it, and the others.

    These are a line for each pattern and each claim. The rates of the cells are not kept.
    """
    about = {key: value for key, value in document.items() if key not in (*LISTS, "rows")}
    return {"words": WORDS, **about}, [line for name in LISTS for line in document[name]]


def words(kept: dict[str, Any], _: Ours) -> dict[str, str]:
    """The texts at the places of `page.md` that begin with `live_`."""
    lists = {name: [line for line in kept["figures"] if key in line] for name, key in LISTS.items()}
    study = live_json.read({**kept, **lists})
    command = " ".join(kept["words"])
    details = [f"{live_table.answer(study)}.", *(f"{line}." for line in live_table.details(study))]
    lines = "\n".join(f"- {detail[0].upper()}{detail[1:]}" for detail in details)
    return {
        "live_command": f"$ penstock {command}",
        "live_machine": study.machine,
        "live_verdict": f"**{live_table.verdict(study)}**\n\n{lines}",
        "live_patterns": markdown(live_table.patterns(study)),
        "live_effects": markdown(live_table.effects(study)),
        "live_claims": markdown(live_table.claims(study)),
        "live_marks": live_table.MARKS,
        "live_notes": "\n".join(f"- {note}" for note in live_table.notes(study)),
    }
