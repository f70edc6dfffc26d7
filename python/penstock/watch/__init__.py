"""A run that is watched while it goes on: on a screen, or in plain lines where there is none."""
