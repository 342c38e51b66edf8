# attack 3
# outcome: misbehaved
# says: is a symlink
# levels: isolated userns
ln -s /nowhere data/answer
