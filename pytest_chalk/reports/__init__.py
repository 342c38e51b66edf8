"""Records made readable: clean text, numbers, tables, JUnit. Nothing here measures or decides."""
