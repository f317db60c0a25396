# class: HostDoS
# tries: run for ever in several threads, deaf to every signal
# expects: ended when the time is up
import signal
import threading

for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass


def spin():
    while True:
        pass


for _ in range(3):
    threading.Thread(target=spin).start()
spin()
