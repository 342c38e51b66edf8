# attack 63
# outcome: passed
# output: refused
# output at uid: reached
# levels: isolated uid userns
import socket
open("data/answer", "w").write("42\n")
try:
    socket.socket(socket.AF_UNIX).connect("\0chalk-attack-@PID@")
    print("reached")
except ConnectionRefusedError:
    print("refused")
