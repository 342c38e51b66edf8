# attack 41
# outcome: failed
# levels: isolated
kill -9 -1
