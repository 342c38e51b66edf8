# attack 30
# outcome: passed
# levels: isolated uid userns
import fcntl, os, time
open("data/answer", "w").write("42\n")
fd = os.open("data/answer", os.O_RDWR)
fcntl.flock(fd, fcntl.LOCK_EX); fcntl.lockf(fd, fcntl.LOCK_EX)
if os.fork() == 0:
    os.setsid(); fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK); time.sleep(60)
time.sleep(0.05)
