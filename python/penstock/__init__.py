"""Penstock: what happens when online and batch work share a disk, and how to control it.

The engine is compiled and private (`penstock._native`); the command is `penstock.cli`.
"""

from penstock._native import __version__

__all__ = ["__version__"]
