"""Studies: factors and levels become runs, and runs become advice that can be checked."""
