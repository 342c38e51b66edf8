# attack 39
# outcome: passed
# levels: isolated uid
echo 42 >data/answer; setsid unshare -Urpf --mount-proc sleep 60 & sleep 0.2
