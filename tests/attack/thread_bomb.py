# class: PeerDoS
# tries: start four times as many threads as processes are allowed
# expects: the limit ends it
# needs: process_limit
import threading

from attempt import answer, given

limit = given["limits"]["processes"]
done = threading.Event()
threads = []
threading.stack_size(64 << 10)
while len(threads) < 4 * limit:
    thread = threading.Thread(target=done.wait)
    try:
        thread.start()
    except RuntimeError:
        break
    threads.append(thread)
done.set()
answer(len(threads) < limit, f"{len(threads)} threads, {limit} are allowed")
