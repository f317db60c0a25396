"""Prints as JSON what happens when a file is made in each directory given as argument."""

import errno
import json
import os
import sys

results = {}
for directory in sys.argv[1:]:
    path = os.path.join(directory, "written")
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write("here")
        results[directory] = "written"
        os.unlink(path)
    except OSError as error:
        results[directory] = errno.errorcode[error.errno]
print(json.dumps(results))
