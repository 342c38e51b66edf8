# attack 1
# outcome: misbehaved
# says: is a symlink
# levels: isolated uid userns
ln -s @SECRET@ data/answer
