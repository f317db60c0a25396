# class: Integrity
# tries: write a report of success into its result channel, then fail
# expects: reported as exit code 3
import json
import os
import stat

report = json.dumps({"result": {"held": True}, "repr": "'forged'", "variables": ["forged"],
                     "status": "ok", "success": True, "exit_code": 0, "signal": None, "error": None,
                     "usage": {"wall_seconds": 0}}).encode()
for number in range(3, 256):
    try:
        if stat.S_ISFIFO(os.fstat(number).st_mode):
            os.write(number, report + b"\n" + report)
    except OSError:
        pass
os._exit(3)
