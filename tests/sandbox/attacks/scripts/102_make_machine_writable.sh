# attack 102
# outcome: passed
# output: refused
# levels: isolated
echo 42 >data/answer; unshare -Urm mount -o remount,rw,bind / && touch /var/tmp/../x || echo refused
