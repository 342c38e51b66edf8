# attack 13
# outcome: misbehaved
# says: is too large
# levels: isolated uid userns
truncate -s 1T data/answer
