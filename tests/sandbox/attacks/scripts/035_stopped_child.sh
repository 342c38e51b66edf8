# attack 35
# outcome: passed
# levels: isolated
echo 42 >data/answer; setsid sleep 60 & kill -STOP $!
