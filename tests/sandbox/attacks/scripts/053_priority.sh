# attack 53
# outcome: passed
# output: [Pp]ermission denied
# levels: isolated
echo 42 >data/answer; nice -n -5 true
