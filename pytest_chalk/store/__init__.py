"""Results on disk. One door for each: the session's directory, a run's transcript, the journal."""
