# class: PeerDoS
# tries: the classic :(){ :|:& };: beside an ordinary program
# expects: the limit holds, the program beside it ends well, nothing is left
# needs: process_limit
import subprocess
import time

from attempt import answer, lacks

if lacks("process_limit"):
    verdict = answer(False, "not tried: nothing here limits processes")
else:
    subprocess.Popen(["bash", "-c", ":(){ :|:& };:"], stdin=subprocess.DEVNULL,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1.5)
    verdict = answer(True, "the bomb went off inside")
verdict
