# attack 54
# outcome: passed
# output: cannot set date
# levels: isolated userns
echo 42 >data/answer; date -s 2001-01-01
