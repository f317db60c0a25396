"""The view of a run, in a real browser and with results of real runs."""

import pytest

from support_browser import show
from support_mcp_client import ModernClient

CALL = "parent.postMessage('out', '*')"
HOSTILE = f'<img src=x onerror="{CALL}"><script>{CALL}</script>'


@pytest.fixture
def client(server):
    return ModernClient(server)


@pytest.fixture
def view(client):
    (part,) = client.ask("resources/read", uri="ui://belljar/run")["contents"]
    return part["text"]


def result_of(result):
    return {"method": "ui/notifications/tool-result", "params": result}


def shown(place, view, client, code, **arguments):
    return show(place, view, result_of(client.tool("execute_code", code=code, **arguments)))


def test_the_view_and_its_host_agree(place, view, client):
    told = shown(place, view, client, "print('hello')\n6*7")
    assert told["methods"][0] == "ui/initialize"
    assert told["initialize"]["protocolVersion"] == "2026-01-26"
    assert "ui/notifications/initialized" in told["methods"] and "answer 77" in told["methods"]
    assert told["scheme"] == "dark"
    assert all(size["width"] > 0 and size["height"] > 0 for size in told["sizes"]) and told["sizes"]
    assert told["titles"] == ["Output", "Value"]
    assert "hello" in told["text"] and "42" in told["text"] and "ok" in told["text"]


def test_figures_and_tables(place, view, client):
    told = shown(place, view, client, (
        "import pandas, matplotlib.pyplot as plot\nplot.plot([1, 2])\nplot.show()\n"
        "pandas.DataFrame({'a': [1, 2], 'b': ['x', '<b>y</b>']})"))
    assert told["pictures"] and all(width > 0 and done for width, done in told["pictures"])
    assert {"a", "b"} <= set(told["columns"])
    assert "<b>y</b>" in told["cells"] and "b" not in told["names"]


def test_files_denials_and_errors(place, view, client):
    told = shown(place, view, client, "open('a.txt', 'w').write('12345')\nopen('/etc/x', 'w')",
                 conversation_id="view")
    assert {"Error", "Refused", "Files"} <= set(told["titles"])
    assert "a.txt (5 bytes)" in told["items"]
    assert any("/etc/x" in item for item in told["items"])


def test_what_a_program_writes_is_never_markup(place, view, client):
    code = (f"text = {HOSTILE!r}\nprint(text)\nimport sys\nprint(text, file=sys.stderr)\n"
            "class Page:\n    def _repr_html_(self): return text\n"
            "    def __repr__(self): return text\n"
            "display(Page())\n[{text: text}]")
    told = shown(place, view, client, code)
    assert HOSTILE in told["text"]
    assert not {"script", "iframe", "img"} & set(told["names"])
    assert told["strange"] == []


def test_what_has_no_record_is_shown_by_its_blocks(place, view):
    refused = {"content": [{"type": "text", "text": HOSTILE}], "isError": True}
    told = show(place, view, result_of(refused))
    assert HOSTILE in told["text"] and told["strange"] == []


@pytest.mark.parametrize("params", [{}, {"content": 5}, {"structuredContent": [1]},
                                    {"structuredContent": {"status": 5, "stdout": None}}], ids=str)
def test_a_strange_result_does_not_break_it(place, view, client, params):
    good = result_of(client.tool("execute_code", code="print('after')"))
    told = show(place, view, result_of(params), good)
    assert "after" in told["text"]


def test_a_cancelled_call(place, view):
    told = show(place, view, {"method": "ui/notifications/tool-cancelled", "params": {}})
    assert "cancelled" in told["text"]
