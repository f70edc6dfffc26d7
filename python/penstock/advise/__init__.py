"""`penstock.advise`: how to set what a policy needs to know, by measurement."""

from penstock.advise.split import Curve, NoiseHidesAnswer, Point, Split, split

__all__ = ["Curve", "NoiseHidesAnswer", "Point", "Split", "split"]
