"""Metrics for Prometheus: what is written, and where it goes."""
