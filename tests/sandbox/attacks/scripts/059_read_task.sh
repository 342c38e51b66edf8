# attack 59
# outcome: passed
# output: unread
# levels: isolated
echo 42 >data/answer; cat @TASK@ | grep -c ATTACKS || echo unread
