"""What came of the runs on this machine, as JSON has it, and read again."""

from collections.abc import Mapping
from typing import Any

from penstock.papers.claims import Claim
from penstock.papers.ioagent import live_table
from penstock.papers.ioagent.live_claims import JudgedClaim, undecided
from penstock.papers.ioagent.live_fraction import LeftOut
from penstock.papers.ioagent.live_results import MachineEffect, MachineStudy, PatternResult
from penstock.study.difference import Ranks
from penstock.study.drift import Drift

FIGURES = ("budget_s", "seconds", "planned", "runs", "stopped", "part", "files", "file_bytes")
"""Figures of all runs together, which have their names in the JSON too."""


def plain(live: MachineStudy) -> dict[str, Any]:
    """All of it."""
    return {
        "on": live.folder,
        "machine": live.machine,
        "verdict": live_table.verdict(live).value,
        **{name: getattr(live, name) for name in FIGURES},
        "patterns": [_pattern(pattern) for pattern in live.patterns],
        "claims": [
            {
                "id": name,
                "text": judged.claim["text"],
                "here": _judged(judged),
                "model": _judged(live.model[name]) if name in live.model else None,
            }
            for name, judged in live.here.items()
        ],
        "not_judged": [
            {"id": name, "text": text, "why": why} for name, text, why in undecided(live.here)
        ],
        "left_out": [{"cell": left_out.cell, "why": left_out.why} for left_out in live.left_out],
        "remarks": [{"remark": remark, "runs": runs} for remark, runs in live.remarks],
        "rows": live.rows,
    }


def read(data: Mapping[str, Any]) -> MachineStudy:
    """Reads an evaluation from its JSON; `rows` may be missing."""
    return MachineStudy(
        folder=data["on"],
        machine=data["machine"],
        **{name: data[name] for name in FIGURES},
        patterns=[_read_pattern(pattern) for pattern in data["patterns"]],
        here={claim["id"]: _read_judged(claim, "here") for claim in data["claims"]},
        model={
            claim["id"]: _read_judged(claim, "model") for claim in data["claims"] if claim["model"]
        },
        left_out=[LeftOut(left_out["cell"], left_out["why"]) for left_out in data["left_out"]],
        remarks=[(remark["remark"], remark["runs"]) for remark in data["remarks"]],
        rows=data.get("rows", []),
    )


def _pattern(pattern: PatternResult) -> dict[str, Any]:
    return {
        "pattern": pattern.pattern,
        "cells": pattern.cells,
        "possible": pattern.possible,
        "coefficients": pattern.coefficients,
        "spearman": None if pattern.ranks is None else pattern.ranks._asdict(),
        "references": pattern.references,
        "noise_pct": pattern.noise_pct,
        "drift": None if pattern.drift is None else pattern.drift._asdict(),
        "here": [_effect(effect) for effect in pattern.here],
        "model": [_effect(effect) for effect in pattern.model],
    }


def _read_pattern(data: Mapping[str, Any]) -> PatternResult:
    same = ("pattern", "cells", "possible", "coefficients", "references", "noise_pct")
    ranks, drift = data["spearman"], data["drift"]
    return PatternResult(
        **{name: data[name] for name in same},
        ranks=None if ranks is None else Ranks(**ranks),
        drift=None if drift is None else Drift(**drift),
        here=[_read_effect(effect) for effect in data["here"]],
        model=[_read_effect(effect) for effect in data["model"]],
    )


def _effect(effect: MachineEffect) -> dict[str, Any]:
    return {
        "factor": effect.factor,
        "level": effect.level,
        "effect_pct": effect.percent,
        "low_pct": effect.low,
        "high_pct": effect.high,
    }


def _read_effect(data: Mapping[str, Any]) -> MachineEffect:
    ends = {"low": data["low_pct"], "high": data["high_pct"]}
    return MachineEffect(
        factor=data["factor"], level=data["level"], percent=data["effect_pct"], **ends
    )


def _judged(claim: JudgedClaim) -> dict[str, Any]:
    return {
        "holds": claim.claim["holds"],
        "certainty": claim.certainty,
        "certain": claim.certain,
        "numbers": claim.claim["numbers"],
    }


def _read_judged(data: Mapping[str, Any], machine: str) -> JudgedClaim:
    verdict = data[machine]
    claim: Claim = {
        "id": data["id"],
        "text": data["text"],
        "holds": verdict["holds"],
        "numbers": verdict["numbers"],
    }
    return JudgedClaim(claim=claim, certainty=verdict["certainty"], certain=verdict["certain"])
