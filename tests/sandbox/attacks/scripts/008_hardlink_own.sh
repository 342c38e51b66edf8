# attack 8
# outcome: passed
# levels: isolated userns
echo 42 >other; ln other data/answer
