"""`penstock.advise`: how to set what a policy needs to know, by measurement."""

from penstock.advise.split import Curve, LengthPoint, NoiseHidesAnswer, Split, split

__all__ = ["Curve", "LengthPoint", "NoiseHidesAnswer", "Split", "split"]
