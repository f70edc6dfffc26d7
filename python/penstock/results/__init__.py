"""Results of comparisons: the types of their JSON, their rounds, their frames."""
