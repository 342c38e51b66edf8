# attack 19
# outcome: failed
# levels: isolated
import os
os.mkdir("data/answer"); os.chdir("data/answer")
for _ in range(25):
    os.mkdir("n" * 250); os.chdir("n" * 250)
open("answer", "w").write("42")
