"""Forks until it may not, and fails then."""

import os

while True:
    os.fork()
