# attack 48
# outcome: passed
# output: \b0\b
# levels: isolated
echo 42 >data/answer; ls -l /proc/$$/fd | grep -vc 'pipe:\|/dev/null\|total'
