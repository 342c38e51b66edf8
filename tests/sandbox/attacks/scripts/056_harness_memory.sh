# attack 56
# outcome: passed
# output: No such file|denied
# levels: isolated uid userns
echo 42 >data/answer; head -c 1 /proc/@PID@/mem
