"""What a student can call. One tool per module; `registry` knows them by name."""
