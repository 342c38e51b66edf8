# attack 76
# outcome: passed
# scored by: script
# levels: isolated
mkdir -p bin; for p in python python3 cat env; do echo 'exit 3' >bin/$p; chmod +x bin/$p; done
export PATH=$HOME/bin; echo 42 >data/answer
