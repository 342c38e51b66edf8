# attack 33
# outcome: passed
# levels: isolated uid userns
import os, time
open("data/answer", "w").write("42\n")
if os.fork() == 0:
    os.setsid()
    for number in range(100_000):
        open("data/next", "w").write("42\n"); os.rename("data/next", "data/answer")
    os._exit(0)
