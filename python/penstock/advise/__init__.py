"""`penstock.advise`: how to set what a policy needs to know, by measurement."""

from penstock.advise.split import Curve, Point, Split, split

__all__ = ["Curve", "Point", "Split", "split"]
