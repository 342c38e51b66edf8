# attack 25
# outcome: passed
# levels: isolated
echo 42 >data/answer; touch -d 1901-12-14 data/answer
