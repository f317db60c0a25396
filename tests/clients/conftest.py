import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

# Not the look after each test: a client stays for several of them and keeps its connections.
from support_fixtures import (leaves_nothing_at_the_end, place,  # noqa: E402, F401
                              pytest_sessionstart, server, session_place)
