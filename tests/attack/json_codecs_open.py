# class: HostLeak
# tries: json.codecs.open('/etc/passwd'), which broke an earlier system that hid open
# expects: the jar's own file, or refused; no account of the host
import json

from attempt import answer, given

try:
    with json.codecs.open("/etc/passwd", encoding="utf-8") as file:
        accounts = [line.split(":")[0] for line in file]
except OSError as error:
    accounts = []
    seen = f"refused ({error.errno})"
else:
    seen = f"accounts {accounts[:5]}"
strangers = sorted(set(accounts) & set(given["accounts"]))
for flag in given["flags"]:
    try:
        with json.codecs.open(flag) as file:
            strangers.append(file.read())
    except OSError:
        pass
answer(not strangers, f"{strangers[:5]} of the host" if strangers else seen)
