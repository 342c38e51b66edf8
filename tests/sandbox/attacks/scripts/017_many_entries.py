# attack 17
# outcome: misbehaved
# says: more than 10000 entries
# levels: isolated
import os
os.mkdir("data/answer")
for number in range(10_001):
    os.close(os.open(f"data/answer/{number}", os.O_CREAT))
