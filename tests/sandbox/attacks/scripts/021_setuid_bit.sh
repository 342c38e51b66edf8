# attack 21
# outcome: passed
# levels: isolated
echo 42 >data/answer; chmod 6777 data/answer
