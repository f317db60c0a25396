# class: Lateral
# tries: two jars at once: signal by locks and inotify on the devices that both have
# expects: no signal passes
# needs: root
from locks import play

play([f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "shm", ".")])
