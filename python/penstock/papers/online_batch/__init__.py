"""The online-batch paper: its simulation, its claims and figures, its programs in real time."""
