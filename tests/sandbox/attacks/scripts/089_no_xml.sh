# attack 89
# outcome: failed
# levels: isolated uid userns
printf '\000\357\277\276]]>\357\277\277' >data/answer
