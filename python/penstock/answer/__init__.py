"""Answers of verbs: their values, their tables and pictures, and how a terminal shows them."""
