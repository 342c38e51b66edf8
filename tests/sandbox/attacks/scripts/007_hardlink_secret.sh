# attack 7
# outcome: failed
# output: ln: failed to create hard link
# levels: isolated uid userns
ln /etc/passwd data/answer
