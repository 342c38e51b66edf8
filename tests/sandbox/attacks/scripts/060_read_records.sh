# attack 60
# outcome: passed
# output: unread
# levels: isolated userns
echo 42 >data/answer; cat @RECORDS@/* || echo unread
