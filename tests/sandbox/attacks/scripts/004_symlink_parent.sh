# attack 4
# outcome: misbehaved
# says: which is a symlink
# levels: isolated uid userns
mkdir real; echo 42 >real/answer; rm -rf data; ln -s real data
