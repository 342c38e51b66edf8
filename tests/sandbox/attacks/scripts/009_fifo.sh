# attack 9
# outcome: misbehaved
# says: is not a regular file
# levels: isolated uid userns
mkfifo data/answer
