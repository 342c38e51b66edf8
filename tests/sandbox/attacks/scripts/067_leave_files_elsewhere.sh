# attack 67
# outcome: passed
# levels: isolated uid userns
echo 42 >data/answer
for d in /tmp /var/tmp /dev/shm /run/lock; do mkdir $d/chalk-attack && touch $d/chalk-attack/x; done
