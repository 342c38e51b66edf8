# attack 23
# outcome: failed
# levels: isolated
printf '\377\376\000' >data/answer
