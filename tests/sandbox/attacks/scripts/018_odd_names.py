# attack 18
# outcome: failed
# levels: isolated userns
import os
os.mkdir("data/answer")
for name in (b"-rf", b"new\nline", b"\xff\xfe", b"\x1b[2J", b"x" * 255, "\u202e".encode()):
    open(b"data/answer/" + name, "w").close()
