"""Charts of comparisons and of traces, and how all of them look."""
