"""What programs show besides text: through MCP over stdio and HTTP, and through `POST /execute`."""

import base64
import io
import json
import xml.etree.ElementTree

import pytest
from PIL import Image

from support_binary import belljar
from support_mcp import StdioServer, call, initialize, modern

PLOT = """
import matplotlib.pyplot as plt
figure = plt.figure(figsize=(3, 2), dpi=50, facecolor='#ff0000')
plt.plot([1, 2, 3])
"""


def shown(server, code, **arguments):
    record = server.execute(code, **arguments)
    assert record["status"] == "ok", record["stderr"]
    assert "report" not in record and "outputs_omitted" not in record
    return record["outputs"]


def decoded(data):
    picture = Image.open(io.BytesIO(base64.b64decode(data, validate=True)))
    picture.load()
    return picture.convert("RGB")


def assert_is_the_plot(data):
    picture = decoded(data)
    assert picture.size == (150, 100)
    assert picture.getpixel((1, 1)) == (255, 0, 0)
    assert picture.getpixel((75, 50)) != (255, 0, 0)


# --- the same picture on every way

def test_open_figure_over_rest(open_server):
    outputs = shown(open_server, PLOT)
    assert len(outputs) == 1
    assert_is_the_plot(outputs[0]["image/png"])
    root = xml.etree.ElementTree.fromstring(outputs[0]["image/svg+xml"])
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert outputs[0]["text/plain"] == "<Figure size 150x100 with 1 Axes>"


def assert_is_the_answer(result):
    text, picture = result["content"]
    assert text["type"] == "text"
    assert (picture["type"], picture["mimeType"]) == ("image", "image/png")
    assert_is_the_plot(picture["data"])
    assert_is_the_plot(result["structuredContent"]["outputs"][0]["image/png"])
    assert not result["isError"]


def test_open_figure_over_mcp_on_stdio():
    server = StdioServer()
    server.ask(initialize())
    assert_is_the_answer(server.ask(call(2, PLOT))["result"])
    assert server.finish()[0] == 0


def test_open_figure_over_mcp_on_http(open_server):
    message = modern(call(1, PLOT))
    headers = {"Accept": "application/json, text/event-stream", "Mcp-Method": "tools/call",
               "Mcp-Name": "execute_code", "MCP-Protocol-Version": "2026-07-28"}
    answer = open_server.request("POST", "/mcp", message, headers)
    assert answer.status == 200, answer
    assert_is_the_answer(answer.json["result"])


def test_every_form_if_asked_for(open_server):
    del open_server
    server = StdioServer()
    server.ask(initialize())
    result = server.ask(call(2, PLOT, output="full"))["result"]
    assert server.finish()[0] == 0
    assert [block["type"] for block in result["content"]] == ["text", "image", "resource", "text"]
    assert "<svg" in result["content"][2]["resource"]["text"]


def test_terminal_shows_no_pictures_but_json_has_them(place):
    program = place / "plot.py"
    program.write_text(PLOT + "\nprint('done')")
    plain = belljar("run", str(program))
    assert (plain.returncode, plain.stdout) == (0, b"done\n")
    record = json.loads(belljar("run", "--json", str(program)).stdout)
    assert_is_the_plot(record["outputs"][0]["image/png"])


# --- figures

def test_figures_are_shown_in_order_and_once(open_server):
    outputs = shown(open_server, """
import matplotlib.pyplot as plt
first = plt.figure(figsize=(1, 1)); plt.plot([1])
plt.show()
display('between')
second = plt.figure(figsize=(2, 1)); plt.plot([1])
third = plt.figure(figsize=(3, 1)); plt.plot([1])
second
""")
    assert [output["text/plain"] for output in outputs] == [
        "<Figure size 100x100 with 1 Axes>", "'between'", "<Figure size 200x100 with 1 Axes>",
        "<Figure size 300x100 with 1 Axes>"]


@pytest.mark.parametrize("last", ["plt.gca()", "plt.gcf()", "plt.plot([1, 2])", "plt.show()"])
def test_figure_as_last_expression_comes_once(open_server, last):
    code = f"import matplotlib.pyplot as plt\nplt.plot([1, 2])\n{last}"
    assert len(shown(open_server, code)) == 1


def test_figure_that_pyplot_does_not_know(open_server):
    outputs = shown(open_server, "from matplotlib.figure import Figure\n"
                                 "figure = Figure(figsize=(1, 1))\nfigure.subplots()\nfigure")
    assert decoded(outputs[0]["image/png"]).size == (100, 100)


@pytest.mark.parametrize("step", ["plt.pause(0.01)", "plt.show(block=False)", "plt.show(False)"])
def test_figure_that_a_program_goes_on_with_stays(open_server, step):
    outputs = shown(open_server, f"""
import matplotlib.pyplot as plt
figure, axes = plt.subplots(figsize=(1, 1))
for i in range(3):
    axes.plot([i, 1])
    {step}
plt.savefig('a.png')
assert plt.gcf() is figure and len(axes.lines) == 3
""")
    assert [output["text/plain"] for output in outputs] == ["<Figure size 100x100 with 1 Axes>"]


def test_closed_and_empty_figures_are_not_shown(open_server):
    assert shown(open_server, "import matplotlib.pyplot as plt\nplt.figure()\n"
                              "plt.figure(); plt.plot([1]); plt.close()") == []


def test_figure_of_a_program_that_fails_is_shown(open_server):
    record = open_server.execute(PLOT + "\n1/0")
    assert record["status"] == "error"
    assert_is_the_plot(record["outputs"][0]["image/png"])


def test_own_backend_changes_nothing(open_server):
    code = "import matplotlib\nmatplotlib.use('svg')\n" + PLOT
    assert_is_the_plot(shown(open_server, code)[0]["image/png"])


def test_plots_leave_no_files_in_the_workspace(open_server):
    assert open_server.execute(PLOT + "\nimport os\nos.listdir('.')")["result"] == []


def test_characters_that_the_usual_font_lacks(open_server):
    record = open_server.execute("import matplotlib.pyplot as plt\n"
                                 "plt.title('日本語 中文 한국어 ☃ 😀')\nplt.show()")
    assert record["status"] == "ok"
    assert record["stderr"] == "", "a missing glyph is warned of"
    assert len(record["outputs"]) == 1


# --- tables, pictures

def test_table(open_server):
    record = open_server.execute(
        "import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', None]})")
    bundle, = record["outputs"]
    assert bundle["application/json"] == {
        "columns": ["a", "b"], "index": [0, 1], "data": [[1, "x"], [2, None]]}
    assert "<table" in bundle["text/html"] and "<td>x</td>" in bundle["text/html"]
    assert bundle["text/plain"] == record["result_repr"] == "   a     b\n0  1     x\n1  2  None"
    assert record["result"] is None


def test_series(open_server):
    bundle, = shown(open_server, "import pandas as pd\npd.Series([1.5, 2], name='s')")
    assert bundle["application/json"] == {"name": "s", "index": [0, 1], "data": [1.5, 2]}
    assert "<table" in bundle["text/html"] and "Name: s" in bundle["text/plain"]


def test_large_table_is_bounded(open_server):
    bundle, = shown(open_server, "import pandas as pd\npd.DataFrame({'a': range(100_000)})")
    assert len(bundle["application/json"]["data"]) == 1000
    assert len(bundle["text/html"]) < 100_000


def test_table_in_mcp_is_not_told_twice():
    server = StdioServer()
    server.ask(initialize())
    result = server.ask(call(2, "import pandas as pd\npd.DataFrame({'a': [1]})"))["result"]
    assert server.finish()[0] == 0
    assert len(result["content"]) == 1
    assert "=>    a\n0  1" in result["content"][0]["text"]


@pytest.mark.parametrize("mode", ["RGB", "L", "1", "P", "CMYK", "F", "RGBA"])
def test_picture(open_server, mode):
    bundle, = shown(open_server, f"from PIL import Image\nImage.new({mode!r}, (4, 3))")
    assert decoded(bundle["image/png"]).size == (4, 3)


def test_picture_that_is_to_be_shown_in_a_window(open_server):
    bundle, = shown(open_server, "from PIL import Image\n"
                                 "Image.new('RGB', (4, 3), (1, 2, 3)).show()")
    assert decoded(bundle["image/png"]).getpixel((0, 0)) == (1, 2, 3)


PLOTLY = {"plotly/__init__.py": "", "plotly/basedatatypes.py": """
class BaseFigure:
    def to_json(self): return '{"data": [], "layout": {}}'
    def to_html(self, **options): return '<div>' + str(sorted(options)) + '</div>'
    def show(self): raise RuntimeError('there is no browser')
"""}


@pytest.mark.parametrize("last", ["figure", "figure.show()"])
def test_plotly(open_server, last):
    code = f"from plotly.basedatatypes import BaseFigure\nfigure = BaseFigure()\n{last}"
    bundle, = shown(open_server, code, files=PLOTLY)
    assert bundle["application/vnd.plotly.v1+json"] == {"data": [], "layout": {}}
    assert bundle["text/html"].startswith("<div>")


# --- what describes itself

def test_every_method_of_representation(open_server):
    bundle, = shown(open_server, """
PNG = b'\\x89PNG\\r\\n\\x1a\\n....'
class Thing:
    def __repr__(self): return 'thing'
    def _repr_html_(self): return '<b>ü</b>'
    def _repr_markdown_(self): return '**x**'
    def _repr_latex_(self): return '$x$'
    def _repr_svg_(self): return '<svg/>'
    def _repr_png_(self): return PNG
    def _repr_jpeg_(self): return b'\\xff\\xd8\\xff...'
    def _repr_json_(self): return {'a': [1, None]}
    def _repr_pdf_(self): return b'%PDF'
Thing()
""")
    assert bundle == {
        "text/html": "<b>ü</b>", "text/markdown": "**x**", "text/latex": "$x$",
        "image/svg+xml": "<svg/>", "application/json": {"a": [1, None]}, "text/plain": "thing",
        "image/png": base64.b64encode(b"\x89PNG\r\n\x1a\n....").decode(),
        "image/jpeg": base64.b64encode(b"\xff\xd8\xff...").decode(),
        "application/pdf": base64.b64encode(b"%PDF").decode()}


def test_bundle_with_metadata(open_server):
    bundle, = shown(open_server, """
class Thing:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {'text/plain': 'p', 'application/vnd.own.v1+json': {'k': 1}}, {'meta': 1}
Thing()
""")
    assert bundle == {"text/plain": "p", "application/vnd.own.v1+json": {"k": 1}}


def test_representation_that_fails_is_contained(open_server):
    record = open_server.execute("""
class Thing:
    def __repr__(self): return 'thing'
    def _repr_mimebundle_(self, **options): raise SystemExit(3)
    def _repr_html_(self): raise KeyboardInterrupt
    def _repr_png_(self): return 5
    def _repr_json_(self): return {1, 2}
    def _repr_markdown_(self): return 'works'
Thing()
""")
    assert (record["status"], record["exit_code"]) == ("ok", 0)
    assert record["outputs"] == [{"text/markdown": "works", "text/plain": "thing"}]


@pytest.mark.parametrize("code", ["class A:\n    def _repr_html_(self): return 'x'\nA",
                                  "from unittest.mock import MagicMock\nMagicMock()", "5", "'x'"])
def test_values_without_another_form_are_no_outputs(open_server, code):
    assert shown(open_server, code) == []


def test_display(open_server):
    outputs = shown(open_server, "display(1, 'two', [3])\ndisplay({'text/html': '<i>'}, raw=True)\n"
                                 "display()")
    assert outputs == [{"text/plain": "1"}, {"text/plain": "'two'"}, {"text/plain": "[3]"},
                       {"text/html": "<i>"}]


def test_names_of_ipython(open_server):
    outputs = shown(open_server, """
from IPython.display import HTML, JSON, SVG, Image, Latex, Markdown, Math, clear_output, display
from IPython.core.display import display as same
from IPython import get_ipython
import IPython
assert get_ipython() is None
assert IPython.version_info[:2] >= (8, 24) and IPython.__version__ == "8.24.0"
clear_output(wait=True)
display(HTML('<b>'), Markdown('# h'), Latex('$a$'), Math('b'), SVG('<svg/>'), JSON({'a': 1}))
same(Image(data=b'\\x89PNG\\r\\n\\x1a\\n...'))
HTML('last')
""")
    for output in outputs:
        output.pop("text/plain")
    assert outputs == [
        {"text/html": "<b>"}, {"text/markdown": "# h"}, {"text/latex": "$a$"},
        {"text/latex": "$\\displaystyle b$"}, {"image/svg+xml": "<svg/>"},
        {"application/json": {"a": 1}},
        {"image/png": base64.b64encode(b"\x89PNG\r\n\x1a\n...").decode()}, {"text/html": "last"}]


# --- limits

def test_too_many_outputs_are_counted(open_server):
    record = open_server.execute("for i in range(100): display(i)")
    assert record["status"] == "ok"
    assert len(record["outputs"]) == 64 and record["outputs_omitted"] == 36


@pytest.mark.parametrize(("size", "count", "kept"), [(9, 1, 0), (8, 1, 1), (7, 3, 2)])
def test_too_large_outputs_are_counted(open_server, size, count, kept):
    record = open_server.execute(
        f"for i in range({count}): display({{'text/html': 'x' * ({size} << 20)}}, raw=True)",
        memory_limit="512m")
    assert record["status"] == "ok"
    assert len(record["outputs"]) == kept
    assert record.get("outputs_omitted", 0) == count - kept


@pytest.mark.parametrize("bundle", [
    "{'text': b'x'}", "{'text/html; charset=utf-8': 'x'}", "{'TEXT/HTML': b'x'}", "{'a/b/c': b'x'}",
    "{'/': b'x'}", "{'text/' + 'x' * 200: 'x'}", "{'text/html': b'\\xff'}",
    "{'image/png': b'no picture'}", "{'application/json': '[' * 100 + ']' * 100}"])
def test_outputs_that_are_not_what_they_say_are_counted(open_server, bundle):
    record = open_server.execute(f"display({bundle}, raw=True)\n5")
    assert (record["status"], record["result"]) == ("ok", 5)
    assert record["outputs"] == [] and record["outputs_omitted"] == 1


def test_the_set_for_work_with_data(open_server):
    record = open_server.execute("import numpy, pandas, scipy.stats, matplotlib\n"
                                 "float(scipy.stats.norm.cdf(0))", timeout=60)
    assert record["result"] == 0.5, record["stderr"]
