# attack 10
# outcome: misbehaved
# says: is not a regular file
# levels: isolated userns
import socket; socket.socket(socket.AF_UNIX).bind("data/answer")
