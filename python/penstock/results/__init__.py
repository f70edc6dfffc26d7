"""What a comparison measured: its JSON as types, its rounds, its frames."""
