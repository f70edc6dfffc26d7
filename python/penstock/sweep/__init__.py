"""`penstock.sweep`: one workload in many settings, and the trade-off between two figures."""

from penstock.sweep.run import Sweep, sweep

__all__ = ["Sweep", "sweep"]
