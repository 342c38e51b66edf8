# attack 6
# outcome: passed misbehaved
# says: symlink|^$
# levels: isolated uid userns
# The answer is a file and a link to a secret in turn, never missing.
import os, time
os.chdir("data")
open("answer", "w").write("42\n")
if os.fork() == 0:
    os.setsid()
    end = time.monotonic() + 20
    while time.monotonic() < end:
        os.symlink("@SECRET@", "next"); os.rename("next", "answer")
        open("next", "w").write("42\n"); os.rename("next", "answer")
    os._exit(0)
time.sleep(0.05)
