"""What happens next in a run, and in what order. Knows no pytest, no database and no HTTP."""
