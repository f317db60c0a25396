import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

# Not the look after each test: one server runs for all of them, and each of them only reads what
# the suite has found.
from support_fixtures import (leaves_nothing_at_the_end, pytest_sessionstart,  # noqa: E402, F401
                              session_place)
