"""Results as text: tables, the verdict, figures with their units."""
