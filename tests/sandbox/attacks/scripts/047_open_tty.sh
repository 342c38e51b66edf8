# attack 47
# outcome: passed
# output: no tty
# levels: isolated userns
echo 42 >data/answer; (: </dev/tty) 2>/dev/null || echo no tty
