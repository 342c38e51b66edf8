# attack 40
# outcome: passed
# levels: isolated
import os, time
open("data/answer", "w").write("42\n")
if os.fork() == 0:
    os.setsid()
    for _ in range(100):
        if os.fork() == 0:
            os._exit(0)
    time.sleep(60)
time.sleep(0.1)
