# class: Integrity
# tries: exit with 137, as if the kernel had ended it for its memory
# expects: reported as exit code 137, not as memory
import os

print('{"status": "memory", "signal": 9}')
os._exit(137)
