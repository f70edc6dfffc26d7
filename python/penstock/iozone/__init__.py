"""The tests of IOzone 3: its options, its phases, its lines, its report and a workbook.

The source is IOzone's documentation, which are its manual page and its guide, and outputs that were
published. No line of its code is here.
"""
