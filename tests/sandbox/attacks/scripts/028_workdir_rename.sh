# attack 28
# outcome: passed
# output: cannot (move|remove)
# levels: isolated uid
echo 42 >data/answer; cd ..; mv @WORKDIR@ stolen; rm -rf @WORKDIR@/shared; rmdir @WORKDIR@
