# class: PeerDoS
# tries: fork four times as often as processes are allowed
# expects: the limit ends it
# needs: process_limit
import os
import signal

from attempt import answer, given

limit = given["limits"]["processes"]
children = []
while len(children) < 4 * limit:  # an end, in case nothing else is one
    try:
        child = os.fork()
    except OSError:
        break
    if child == 0:
        signal.pause()
    children.append(child)
for child in children:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
answer(len(children) < limit, f"{len(children)} forks, {limit} processes are allowed")
