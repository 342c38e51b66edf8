# attack 64
# outcome: passed
# output: True
# levels: isolated uid userns
import ctypes
open("data/answer", "w").write("42\n")
libc = ctypes.CDLL(None)
print(min(libc.shmget(0, 4096, 0o1666), libc.semget(0, 1, 0o1666), libc.msgget(0, 0o1666)) >= 0)
