# attack 46
# outcome: passed
# levels: isolated userns
cat; echo 42 >data/answer
