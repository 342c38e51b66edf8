# attack 103
# outcome: passed
# output: refused
# levels: isolated
echo 42 >data/answer; ls /proc/1/root /proc/1/fd /proc/1/environ; cat /proc/1/environ || echo refused
