# class: Integrity
# tries: close every descriptor, the one for its result among them
# expects: an ordinary end without a result
import os

os.closerange(3, 65536)
{"held": True, "seen": "this result cannot be sent"}
