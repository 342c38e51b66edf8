# attack 66
# outcome: passed
# levels: isolated uid userns
echo 42 >data/answer; cp /bin/true /var/tmp/chalk-attack; chmod 6755 /var/tmp/chalk-attack
