# attack 49
# outcome: passed
# output: refused
# levels: isolated
echo 42 >data/answer; echo '* * * * * true' | crontab - || echo refused
