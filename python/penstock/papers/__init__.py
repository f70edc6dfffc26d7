"""What papers did, done again."""
