# attack 45
# outcome: passed
# output: cut|x{50}
# levels: isolated
head -c 50000000 /dev/zero | tr '\0' x; echo 42 >data/answer
