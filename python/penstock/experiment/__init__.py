"""Experiments: many runs, planned, made on a target or on a cluster, and reduced to figures."""
