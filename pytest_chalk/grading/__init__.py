"""What judges and scorers share: pure functions over text and numbers."""
