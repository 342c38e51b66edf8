# attack 38
# outcome: passed
# levels: isolated uid userns
import os, time
open("data/answer", "w").write("42\n")
if os.fork() == 0:
    os.setsid()
    for _ in range(150):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
    time.sleep(60)
time.sleep(0.2)
