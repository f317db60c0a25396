"""The interpreter that has the data science modules imported before there is a program."""

import time

import pytest

from support_binary import environment, wait_until

ARE_IMPORTED = """
import sys
before = [name for name in ('numpy', 'pandas', 'matplotlib.pyplot') if name in sys.modules]
import numpy, threading
before, threading.active_count()
"""


@pytest.fixture(scope="module")
def science(session_place):
    from support_server import Server

    # The switch also selects a profile, under which these programs could not import sys.
    policy = session_place / "science.toml"
    policy.write_text('default_profile = "standard"')
    started = Server(session_place / "science", "--auth", "none",
                     env=environment(SANDBOX_ENABLE_DATA_SCIENCE="true", BELLJAR_POOL_READY="0",
                                     BELLJAR_POLICY_PATH=str(policy)))
    wait_until(lambda: started.execute(ARE_IMPORTED)["result"][0], "the specialist is ready", 60)
    yield started
    assert started.stop() == 0


def test_modules_are_there_before_the_program(science):
    record = science.execute(ARE_IMPORTED)
    assert record["result"] == [["numpy", "pandas", "matplotlib.pyplot"], 1]


def test_other_programs_do_not_have_them(science):
    assert science.execute("import sys\n'num' + 'py' in sys.modules")["result"] is False


def test_no_two_programs_have_the_same_random_numbers(science):
    one, other = (science.execute("import numpy\nlist(numpy.random.rand(3))")["result"]
                  for _ in range(2))
    assert not set(one) & set(other)


def test_plot_is_quick_and_leaves_nothing_behind(science):
    code = ("import matplotlib.pyplot as plt\nplt.title('日本語')\nplt.plot([1, 2])\nplt.show()\n"
            "len(plt.get_fignums())")
    begun = time.monotonic()
    record = science.execute(code)
    assert time.monotonic() - begun < 20
    assert (record["status"], record["result"], record["stderr"]) == ("ok", 0, "")
    assert set(record["outputs"][0]) == {"image/png", "image/svg+xml", "text/plain"}
    assert record["usage"]["cpu_seconds"] < 1
    assert science.execute("import matplotlib.pyplot as plt\nplt.get_fignums()")["result"] == []


def test_table(science):
    record = science.execute("import pandas as pd\npd.DataFrame({'a': [1]})")
    assert record["outputs"][0]["application/json"]["data"] == [[1]]
