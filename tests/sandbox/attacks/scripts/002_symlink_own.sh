# attack 2
# outcome: misbehaved
# says: is a symlink
# levels: isolated userns
echo 42 >data/real; ln -s real data/answer
