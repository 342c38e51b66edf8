# attack 61
# outcome: passed
# output: unreachable
# levels: isolated
echo 42 >data/answer; : >/dev/tcp/192.0.2.1/80
