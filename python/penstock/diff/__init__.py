"""Differences between two results: what changed, by how much, and whether it is more than noise."""
