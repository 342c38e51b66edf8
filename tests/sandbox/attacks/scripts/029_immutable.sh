# attack 29
# outcome: passed
# output: refused
# levels: isolated userns
echo 42 >data/answer; chattr +i data/answer || echo refused
