"""`penstock replay-decisions`: prove that a recorded run and its simulation decide alike."""

import json
from typing import Annotated

import typer

from penstock import _native
from penstock.answer.value import Answer
from penstock.cli.answering import give
from penstock.cli.options import Json, Sets
from penstock.cli.verb import verb
from penstock.errors import DIFFERS
from penstock.results.answers import Replay
from penstock.text.units import count

app = verb()

Record = Annotated[
    str,
    typer.Argument(metavar="FILE", help="What `penstock run --record` wrote.", show_default=False),
]


@app.command("replay-decisions")
def replay_decisions(record: Record, *, sets: Sets = None, as_json: Json = False) -> None:
    """Feed a recorded run to its policy in virtual time and compare every decision.

    Exit code 0 if all are alike, 4 at the first that differs. With --set the replay's policy is
    another one: what would it have decided?
    """
    text = _native.replay_decisions(record, sets=sets or [])
    replay: Replay = json.loads(text)
    give(
        Answer(
            data=lambda: text,
            blocks=[words(replay).splitlines()],
            exit_code=0 if replay["first_difference"] is None else DIFFERS,
        ),
        as_json=as_json,
    )


def words(replay: Replay) -> str:
    """A replay in words."""
    requests = f"{count(replay['requests'])} requests, recorded by penstock {replay['recorded_by']}"
    difference = replay["first_difference"]
    if difference is None:
        return f"{replay['policy']}: all {count(replay['decisions'])} decisions alike ({requests})"
    return (
        f"{replay['policy']}: decision {count(difference['decision'])} differs, after "
        f"{count(replay['alike'])} alike ({requests})\n"
        f"  recorded: {difference['recorded'] or 'nothing more'}\n"
        f"  replayed: {difference['replayed'] or 'nothing more'}"
    )
