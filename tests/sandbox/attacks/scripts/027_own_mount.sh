# attack 27
# outcome: passed
# output: mounted
# levels: isolated
echo 42 >data/answer
unshare -Urm sh -c 'mount -t tmpfs none data && echo 13 >data/answer && echo mounted'
