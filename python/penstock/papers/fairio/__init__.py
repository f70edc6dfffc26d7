"""The FAIRIO report (2011): shares of an array, and how long a cycle should be."""
