"""How much of the online-batch table hangs on when the batch jobs begin."""

from penstock.papers.sensitivity import ModelVariant, Sensitivity

PHASES_MS = range(0, 200, 5)
"""When they begin, in the period of the transactions."""

SENSITIVITY = Sensitivity(
    variants={
        "A": ModelVariant("as it is set", {}),
        "A-pre": ModelVariant(
            "a transaction takes a processor from a batch job at once", {"preempt": "true"}
        ),
        "A0": ModelVariant(
            "all four transactions at one instant", {"online.offsets": "0ms,0ms,0ms,0ms"}
        ),
        "B": ModelVariant(
            "3 transactions every 150 ms at one instant, 6 batch jobs 100 ms apart, lowest "
            "processor",
            {
                "online.offsets": "0ms,0ms,0ms",
                "online.period": "150ms",
                "batch.n": "6",
                "batch.stagger": "100ms",
                "cpu_pick": "lowest",
            },
        ),
        "C": ModelVariant("the disk serves one unit of each request in turn", {"disk": "rr"}),
    },
    points=[{"batch.start": f"{phase}ms"} for phase in PHASES_MS],
    noun="phases",
    about="The batch jobs begin at 40 phases of the transactions' period.",
    help="Also begin the batch jobs at 40 other phases, in five variants: 1,800 runs, some "
    "seconds.",
)
