# attack 104
# outcome: passed
# output: \b[1-9]\b
# levels: isolated
echo 42 >data/answer
unshare -Urpf --mount-proc sh -c 'ls -d /proc/[0-9]* | wc -l'
