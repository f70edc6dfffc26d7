"""Models that may explain a target, the simplest first."""

from penstock.calibrate.models.fixed import FIXED
from penstock.calibrate.models.hdd import HDD
from penstock.calibrate.models.model import Guess, Known, Model
from penstock.calibrate.models.ssd import SSD

MODELS: tuple[Model, ...] = (FIXED, SSD, HDD)
"""Each has more parts than the one before it."""

__all__ = ["MODELS", "Guess", "Known", "Model"]
