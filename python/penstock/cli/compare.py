"""`penstock compare`: one workload under several policies."""

from penstock.cli.options import (
    ArmFor,
    ArmFrom,
    Baseline,
    Dark,
    Detail,
    Job,
    Json,
    Plots,
    Policies,
    Repeat,
    Report,
    Requests,
    Sets,
    Xlsx,
    named,
)
from penstock.cli.running import work
from penstock.cli.target import targeted
from penstock.cli.verb import verb
from penstock.report.outputs import Outputs
from penstock.target import Target

app = verb()


@app.command("compare")
@targeted()
def compare(
    job: Job,
    *,
    policies: Policies = None,
    target: Target,
    repeat: Repeat = None,
    baseline: Baseline = None,
    sets: Sets = None,
    report: Report = None,
    plots: Plots = None,
    dark: Dark = False,
    arm_from: ArmFrom = None,
    arm_for: ArmFor = None,
    xlsx: Xlsx = None,
    requests: Requests = None,
    detail: Detail = False,
    as_json: Json = False,
) -> None:
    """Run one workload under several policies and compare what each class gets.

    On a named device it is simulated, on a real file measured: by the same policies and the same
    workload. Ctrl-C ends the run and shows what there is, marked as partial.
    """
    work(
        job,
        policies=named(policies),
        target=target,
        sets=sets or [],
        record=None,
        outputs=Outputs(
            report=report,
            plots=plots,
            dark=dark,
            xlsx=xlsx,
            requests=requests,
            arm_from=arm_from,
            arm_for=arm_for,
        ),
        detail=detail,
        as_json=as_json,
        repeat=repeat,
        baseline=baseline,
    )
