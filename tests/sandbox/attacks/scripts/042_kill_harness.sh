# attack 42
# outcome: passed
# output: alive
# levels: isolated uid userns
echo 42 >data/answer; kill -9 @PID@ @PARENT@ 1; echo alive
