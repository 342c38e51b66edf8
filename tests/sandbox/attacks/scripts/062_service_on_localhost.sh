# attack 62
# outcome: passed
# output: refused
# output at uid: reached
# levels: isolated uid userns
echo 42 >data/answer; : >/dev/tcp/127.0.0.1/@PORT@ && echo reached
