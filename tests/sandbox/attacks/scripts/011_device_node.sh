# attack 11
# outcome: failed
# output: not permitted
# levels: isolated uid userns
mknod data/answer c 1 5
