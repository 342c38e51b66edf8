# attack 55
# outcome: passed
# output: No such file|denied
# levels: isolated uid userns
echo 42 >data/answer; cat /proc/@PID@/environ
