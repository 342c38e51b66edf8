# attack 37
# outcome: passed
# levels: isolated uid userns
# Hops from pid to pid: its parent is gone before anybody has looked.
import os, time
open("data/answer", "w").write("42\n")
end = time.monotonic() + 20
if os.fork() == 0:
    os.setsid()
    while time.monotonic() < end:
        if os.fork():
            os._exit(0)
time.sleep(0.05)
