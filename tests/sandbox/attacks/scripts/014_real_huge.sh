# attack 14
# outcome: failed
# output: No space left
# levels: isolated
fallocate -l 1T data/answer
