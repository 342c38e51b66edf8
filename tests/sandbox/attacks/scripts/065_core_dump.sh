# attack 65
# outcome: passed
# output: cannot modify limit
# levels: isolated userns
echo 42 >data/answer; ulimit -c unlimited
