# attack 12
# outcome: failed
# levels: isolated
mkdir -p data/answer; echo 42 >data/answer/answer
