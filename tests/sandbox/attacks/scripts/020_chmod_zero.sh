# attack 20
# outcome: passed
# levels: isolated uid
echo 42 >data/answer; chmod 0 data/answer
