"""What the page of the IOAgent paper says of its runs in real time."""

from typing import Any

from penstock.answer.table import markdown
from penstock.papers.ioagent import live_json, live_table

WORDS = ("paper", "ioagent", "live", "--on", ".", "--budget", "10min")
"""The command whose figures the page shows."""

LISTS = {"patterns": "pattern", "claims": "id"}
"""What `live.json` keeps a line of each, and a key that only such have."""


def kept(document: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns what `live.json` keeps of the printed JSON: about all of it, and the others.

    These are a line for each pattern and each claim. The rates of the cells are not kept.
    """
    about = {key: value for key, value in document.items() if key not in (*LISTS, "rows")}
    return {"words": WORDS, **about}, [one for name in LISTS for one in document[name]]


def words(kept: dict[str, Any]) -> dict[str, str]:
    """The texts at the places of `page.md` that begin with `live_`."""
    lists = {name: [one for one in kept["figures"] if key in one] for name, key in LISTS.items()}
    found = live_json.read({**kept, **lists})
    command = " ".join(kept["words"])
    details = [f"{live_table.answer(found)}.", *(f"{one}." for one in live_table.details(found))]
    lines = "\n".join(f"- {one[0].upper()}{one[1:]}" for one in details)
    return {
        "live_command": f"$ penstock {command}",
        "live_machine": found.machine,
        "live_verdict": f"**{live_table.verdict(found)}**\n\n{lines}",
        "live_patterns": markdown(live_table.patterns(found)),
        "live_effects": markdown(live_table.effects(found)),
        "live_claims": markdown(live_table.claims(found)),
        "live_marks": live_table.MARKS,
        "live_notes": "\n".join(f"- {one}" for one in live_table.notes(found)),
    }
