# class: HostDoS
# tries: write NUL bytes, terminal sequences, half characters, endless lines, and after its end
# expects: an ordinary end; the server does not grow
import os
import time

out, err = 1, 2
os.write(out, b"\x00" * 4096 + b"\x1b]0;title\x07\x1b[2J\x1bc" + b"\xff\xfe\xc3")
os.write(err, b"\r\n" * 1000 + "\u202e".encode() + b"\xed\xa0\x80")
os.write(out, b"y" * (3 << 20))
for _ in range(20_000):
    os.write(out, b"\n")
if os.fork() == 0:
    while True:  # goes on when the program has ended
        os.write(out, b"late\n")
        time.sleep(0.001)
os.close(0)
os.close(err)
