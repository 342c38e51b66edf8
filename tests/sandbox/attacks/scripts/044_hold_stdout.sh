# attack 44
# outcome: passed
# levels: isolated userns
echo 42 >data/answer; setsid sleep 60 &
