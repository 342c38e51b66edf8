# attack 57
# outcome: passed
# output: unseen
# output at uid: py
# levels: isolated uid userns
echo 42 >data/answer; cat /proc/@PID@/cmdline || echo unseen
