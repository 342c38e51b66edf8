# attack 32
# outcome: passed
# levels: isolated uid userns
echo 42 >data/answer; (setsid sh -c '(setsid sleep 60 &)' &)
