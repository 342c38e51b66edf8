# attack 50
# outcome: passed
# output: end
# levels: isolated uid
# Takes more than the machine's memory would leave to others; the test allows 200 MiB.
import os, time
open("data/answer", "w").write("42\n")
os.system("echo end")
if os.fork() == 0:
    os.setsid()
    taken = bytearray(400 << 20)
    taken[::4096] = taken[::4096]
    time.sleep(60)
time.sleep(2)
