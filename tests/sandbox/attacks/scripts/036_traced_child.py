# attack 36
# outcome: passed
# levels: isolated
import ctypes, os, signal, time
open("data/answer", "w").write("42\n")
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        ctypes.CDLL(None).ptrace(0, 0, 0, 0); os.kill(os.getpid(), signal.SIGSTOP); time.sleep(60)
    time.sleep(60)
