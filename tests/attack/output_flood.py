# class: HostDoS
# tries: write 10 GB to standard output
# expects: ended for its output; the server does not grow
import os

block = b"x" * (1 << 20)
for _ in range(10_000):
    os.write(1, block)
