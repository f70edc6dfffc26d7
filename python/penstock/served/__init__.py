"""Served block devices: a modelled disk, or a real one behind a policy."""
