"""What every verb answers with: its value, its tables, and how a terminal shows them."""
