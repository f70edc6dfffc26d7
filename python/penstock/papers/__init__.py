"""Papers whose figures are made again."""
