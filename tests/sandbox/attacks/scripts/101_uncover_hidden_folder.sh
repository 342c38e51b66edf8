# attack 101
# outcome: passed
# output: refused
# levels: isolated
echo 42 >data/answer
unshare -Urm sh -c 'umount @HIDDEN@ || echo refused; ls -A @HIDDEN@'
