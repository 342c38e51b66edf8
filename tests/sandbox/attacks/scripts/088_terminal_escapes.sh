# attack 88
# outcome: failed
# levels: isolated userns
printf '\033]52;c;eA==\a\033[2J\rPASSED' | tee data/answer
