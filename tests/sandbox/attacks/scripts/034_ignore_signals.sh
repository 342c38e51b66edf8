# attack 34
# outcome: passed
# levels: isolated userns
echo 42 >data/answer; (trap '' TERM HUP INT QUIT USR1; sleep 60) &
