# attack 15
# outcome: failed
# levels: isolated
(while :; do echo 42 >>data/answer; done) &
sleep 0.05; echo more >>data/answer
