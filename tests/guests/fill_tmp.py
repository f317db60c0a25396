"""Writes to /tmp until it is full; prints the error and how many bytes there were room for."""

import errno
import os

written = 0
chunk = b"x" * (1 << 20)
descriptor = os.open("/tmp/big", os.O_WRONLY | os.O_CREAT)
try:
    while written < 1 << 30:
        written += os.write(descriptor, chunk)
except OSError as error:
    print(errno.errorcode[error.errno], written)
