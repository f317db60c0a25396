# class: Lateral
# tries: two jars at once: signal by flock, record locks, leases and inotify on files both can read
# expects: no signal passes
# needs: namespaces
from attempt import given
from locks import play

play([*given["shared_files"], "/", "/usr", "/usr/bin", "/usr/lib", "/etc", "/etc/passwd",
      "/etc/alternatives", "/proc", "/proc/self/ns/uts", "/proc/self/ns/user"])
