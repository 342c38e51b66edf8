# attack 43
# outcome: failed
# levels: isolated userns
kill -9 $$
