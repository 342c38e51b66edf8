# attack 26
# outcome: passed
# output: no fuse
# levels: isolated
echo 42 >data/answer; [ -e /dev/fuse ] || echo no fuse
