"""What is written about an answer: a page, pictures, a workbook, tables."""
