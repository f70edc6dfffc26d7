"""The merge-placement paper: merges side by side in many settings, and its model of a race."""
