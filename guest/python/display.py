"""What programs show besides text: figures, tables, pictures and whatever describes itself.

First part of the program that runs guests. An output is one thing that was shown, as a dictionary
of MIME type to bytes. Outputs are made when they are shown, so that they are in order and do not
change afterwards.

The program may change everything that it can reach: builtins, modules, streams. What is needed when
it has ended is bound here before it begins, and this program has builtins of its own. They hold for
functions that are made after this assignment.
"""

import builtins

__builtins__ = dict(vars(builtins))

import _frozen_importlib_external as finding  # noqa: E402
import io  # noqa: E402
import sys  # noqa: E402
from _json import encode_basestring, make_encoder  # noqa: E402
from binascii import a2b_base64  # noqa: E402
from json import JSONDecoder  # noqa: E402

OUTPUTS_LIMIT = 64
REPRESENTATION_LIMIT = 8 << 20  # bytes
OUTPUTS_SIZE_LIMIT = 16 << 20  # bytes of all of them
JSON_LIMIT = 1 << 20  # bytes of a representation as JSON
SVG_LIMIT = 2 << 20  # a drawing of more is slow to make and slower to show
TEXT_LIMIT = 64 * 1024  # characters of a repr or a traceback
TABLE_ROWS, TABLE_COLUMNS = 1000, 200  # in JSON; as HTML it is what pandas shows
MODULES = sys.modules
scan_json = JSONDecoder().scan_once
SHOWN_BY_METHOD = {
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_latex_": "text/latex",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_json_": "application/json",
    "_repr_javascript_": "application/javascript",
    "_repr_pdf_": "application/pdf",
}
# Fonts that matplotlib may take for characters that its own lack.
MORE_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Noto Sans JP", "Noto Sans KR",
    "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Droid Sans Fallback", "IPAGothic", "NanumGothic",
    "Noto Emoji", "Symbola",
)


class Shown:
    """What one program has shown so far."""

    def __init__(self):
        self.bundles = []
        self.size = 0
        self.omitted = 0
        self.figures = []  # that are among them: a figure is shown once

    def add(self, bundle):
        """Keeps what fits of it."""
        if len(self.bundles) >= OUTPUTS_LIMIT:
            self.omitted += 1
            return
        kept = {}
        for mime, data in bundle.items():
            room = min(REPRESENTATION_LIMIT, OUTPUTS_SIZE_LIMIT - self.size)
            if data is None or len(data) > room:
                self.omitted += 1
            else:
                kept[mime] = data
                self.size += len(data)
        if kept:
            self.bundles.append(kept)


class TooLarge(Exception):
    pass


class BoundedFile(io.BytesIO):
    """For what may become too large: it is given up while it is written."""

    def __init__(self, limit):
        super().__init__()
        self.limit = limit

    def write(self, data):
        if self.tell() + len(data) > self.limit:
            raise TooLarge
        return super().write(data)


shown = Shown()


def collect_outputs():
    """What was shown since the last time, and how much of it did not fit."""
    global shown
    show_open_figures()
    collected, shown = shown, Shown()
    return collected.bundles, collected.omitted


def display(*values, raw=False, **options):
    """Shows each value in all the ways it knows."""
    del options  # of notebooks, which can change what they have shown
    for value in values:
        if is_a(value, "matplotlib.figure", "Figure"):
            show_figure(value)
        else:
            described = to_bundle(value) if raw and type(value) is dict else describe(value)
            shown.add(described or {"text/plain": to_bytes(safe_repr(value))})


def display_value(value):
    """Of the last expression: shown if it is more than its text."""
    show_open_figures()
    if is_a(value, "matplotlib.figure", "Figure"):
        show_figure(value)
    elif bundle := describe(value):
        shown.add(bundle)


def describe(value):
    """All representations, or nothing if there is only text."""
    kind = type(value)
    if issubclass(kind, type) or kind in PLAIN_TYPES:
        return {}
    for module, name, function in SPECIAL_TYPES:
        if is_a(value, module, name):
            bundle = attempt(function, value) or {}
            break
    else:
        bundle = describe_itself(value)
    if bundle and "text/plain" not in bundle:
        bundle["text/plain"] = to_bytes(safe_repr(value))
    return bundle


def describe_itself(value):
    kind = type(value)
    bundle = {}
    if getattr(kind, "_repr_mimebundle_", None) is not None:
        described = attempt(lambda: value._repr_mimebundle_(include=None, exclude=None))
        if type(described) is tuple and described:
            described = described[0]
        if isinstance(described, dict):
            bundle = attempt(to_bundle, described) or {}
    for method, mime in SHOWN_BY_METHOD.items():
        if mime not in bundle and getattr(kind, method, None) is not None:
            data = attempt(lambda: represent(mime, getattr(value, method)()))
            if data is not None:
                bundle[mime] = data
    return bundle


def to_bundle(described):
    bundle = {}
    for mime, data in described.items():
        if isinstance(mime, str) and data is not None:
            data = attempt(represent, mime, data)
            if data is not None:
                bundle[mime] = data
    return bundle


def represent(mime, data):
    """As bytes. Notebooks take pictures as bytes or in base64, and metadata beside the data."""
    if type(data) is tuple and data:
        data = data[0]
    if data is None:
        return None
    if mime == "application/json" or mime.endswith("+json"):
        return to_bytes(data if isinstance(data, str) and is_json(data) else to_json(data))
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    if mime.startswith("text/") or mime in ("image/svg+xml", "application/javascript"):
        return to_bytes(data if isinstance(data, str) else "".join(data))
    return a2b_base64(data)


def is_a(value, module, name):
    """Without importing the module."""
    return any(kind.__module__ == module and kind.__qualname__ == name
               for kind in type(value).__mro__ if isinstance(kind.__module__, str))


def attempt(function, *arguments):
    """None if it fails: what values do to describe themselves is their own code."""
    try:
        return function(*arguments)
    except BaseException:
        return None


def to_bytes(text):
    """Half characters, which no output can carry, are written as they would be in a program."""
    return str(text).encode("utf-8", "backslashreplace")


def to_json(value):
    """Raises what the json module does. Nothing here is looked up where programs can change it."""
    encode = make_encoder({}, refuse, encode_basestring, None, ": ", ", ", False, False, False)
    return "".join(encode(value, 0))


def refuse(value):
    raise TypeError(f"{type(value).__name__} is not JSON")


def is_json(text):
    try:
        return scan_json(text, 0)[1] == len(text)
    except (StopIteration, ValueError, RecursionError):
        return False


def clip(text, limit=TEXT_LIMIT):
    """Short enough, and without half characters, which JSON cannot carry."""
    short = text if len(text) <= limit else text[:limit] + "..."
    return short.encode("utf-8", "backslashreplace").decode()


def safe_repr(value):
    try:
        if is_huge(value):
            return clip(short_repr(value, [TEXT_LIMIT], []))
        return clip(repr(value))
    except BaseException as error:  # the program's own __repr__
        return f"<{type(value).__name__}: repr failed with {type(error).__name__}>"


def is_huge(value, room=1 << 20):
    """Whether its text would take more memory than there may be."""
    waiting = [value]
    while waiting and room > 0:
        part = waiting.pop()
        kind = type(part)
        if kind in (str, bytes, bytearray):
            room -= len(part)
        elif kind in (list, tuple, set, frozenset, dict):
            room -= 4 * len(part) + 4
            if room > 0:
                waiting.extend(part)
                if kind is dict:
                    waiting.extend(part.values())
        else:
            room -= 8
    return room <= 0


def short_repr(value, room, around):
    """The beginning of what repr() would give. `room` is what is left of it, in characters."""
    kind = type(value)
    if kind in (str, bytes, bytearray):
        text = repr(value[:max(room[0], 0)])
        room[0] -= len(text)
        return text
    if kind not in BRACKETS:
        text = repr(value)
        room[0] -= len(text)
        return text
    opening, closing = BRACKETS[kind]
    if id(value) in around or len(around) > 50:
        return opening + "..." + closing
    parts = []
    for part in value.items() if kind is dict else value:
        if room[0] <= 0:
            parts.append("...")
            break
        room[0] -= 2
        texts = [short_repr(one, room, [*around, id(value)])
                 for one in (part if kind is dict else (part,))]
        parts.append(": ".join(texts))
    return opening + ", ".join(parts) + closing


BRACKETS = {list: "[]", tuple: "()", set: "{}", dict: "{}", frozenset: ("frozenset({", "})")}
PLAIN_TYPES = frozenset({type(None), bool, int, float, complex, str, bytes, list, tuple, dict, set})


# --- matplotlib


def show_figure(figure):
    if not any(figure is one for one in shown.figures):
        shown.figures.append(figure)
        shown.add(attempt(draw, figure) or {"text/plain": to_bytes(safe_repr(figure))})


def draw(figure):
    return {
        "image/png": attempt(save_figure, figure, "png", REPRESENTATION_LIMIT),
        "image/svg+xml": attempt(save_figure, figure, "svg", SVG_LIMIT),
        "text/plain": to_bytes(safe_repr(figure)),
    }


def save_figure(figure, form, limit):
    file = BoundedFile(limit)
    figure.savefig(file, format=form)
    return file.getvalue()


def show_open_figures(block=None, **options):
    """All that pyplot knows; it forgets them. Also what its show() does, unless the program goes on
    with them: at its end they are shown anyway."""
    del options
    helpers = MODULES.get("matplotlib._pylab_helpers")
    if helpers is not None and block is not False:
        attempt(empty_pyplot, helpers.Gcf)


def empty_pyplot(managers):
    for manager in sorted(managers.get_all_fig_managers(), key=lambda one: one.num):
        figure = manager.canvas.figure
        if len(figure.get_children()) > 1:  # the first is its background
            show_figure(figure)
        managers.destroy(manager)


def prepare_matplotlib(module):
    """Its cache and settings are no files of the program's, and there is no screen."""
    del module
    from os import environ

    environ.setdefault("MPLBACKEND", "Agg")
    environ.setdefault("MPLCONFIGDIR", "/tmp/matplotlib")


def choose_fonts(module):
    import matplotlib

    there = {font.name for font in module.fontManager.ttflist}
    families = ["sans-serif", *(name for name in MORE_FONTS if name in there)]
    for settings in (matplotlib.rcParams, matplotlib.rcParamsDefault):
        if settings["font.family"] == ["sans-serif"]:
            settings["font.family"] = families


def replace_show(module):
    module.show = show_open_figures


def draw_something():
    """So that what every drawing needs is loaded. Fonts that are kept would be open files."""
    from matplotlib import font_manager
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1, 1))
    figure.subplots().plot([1, 2])
    draw(figure)
    font_manager._get_font.cache_clear()


# --- other libraries


def describe_table(table):
    return {
        "text/html": attempt(lambda: to_bytes(table._repr_html_())),
        "application/json": attempt(table_as_json, table.iloc[:TABLE_ROWS, :TABLE_COLUMNS]),
        "text/plain": to_bytes(safe_repr(table)),
    }


def describe_series(series):
    return {
        "text/html": attempt(lambda: to_bytes(series.to_frame()._repr_html_())),
        "application/json": attempt(table_as_json, series.iloc[:TABLE_ROWS]),
        "text/plain": to_bytes(safe_repr(series)),
    }


def table_as_json(table):
    text = table.to_json(orient="split", date_format="iso", default_handler=str)
    data = to_bytes(text)
    return data if len(data) <= JSON_LIMIT else None


def describe_picture(picture):
    def save(image):
        file = BoundedFile(REPRESENTATION_LIMIT)
        image.save(file, "PNG")
        return file.getvalue()

    data = attempt(save, picture) or attempt(lambda: save(picture.convert("RGB")))
    return {"image/png": data} if data else {}


def describe_plotly(figure):
    return {
        "application/vnd.plotly.v1+json": to_bytes(figure.to_json()),
        "text/html": attempt(
            lambda: to_bytes(figure.to_html(include_plotlyjs="cdn", full_html=False))),
    }


SPECIAL_TYPES = (
    ("pandas.core.frame", "DataFrame", describe_table),
    ("pandas.core.series", "Series", describe_series),
    ("PIL.Image", "Image", describe_picture),
    ("plotly.basedatatypes", "BaseFigure", describe_plotly),
    ("matplotlib.figure", "Figure", draw),
)


def show_pictures_here(module):
    module._show = lambda image, **options: display(image)


def show_plots_here(module):
    module.BaseFigure.show = lambda figure, *arguments, **options: display(figure)


# --- IPython, if it is not there


IPYTHON = 8, 24, 0  # that it says it is: libraries ask


def offer_package(module):
    module.__path__ = []
    module.version_info, module.__version__ = IPYTHON, ".".join(map(str, IPYTHON))
    module.get_ipython = lambda: None
    module.display = __import__("IPython.display", fromlist=["display"])


def offer_display(module):
    """The names of IPython.display that programs use."""

    class Displayed:
        mime = "text/plain"

        def __init__(self, data=None, url=None, filename=None, **options):
            del url, options
            if filename is not None or (isinstance(data, str) and self.is_file(data)):
                with open(filename or data, "rb") as file:
                    data = file.read()
            self.data = data

        def is_file(self, data):
            return False

        def _repr_mimebundle_(self, include=None, exclude=None):
            return {self.mime: self.data}

    class Image(Displayed):
        def is_file(self, data):
            return len(data) < 1024

        def _repr_mimebundle_(self, include=None, exclude=None):
            data = bytes(self.data)
            for beginning, form in ((b"\x89PNG", "png"), (b"\xff\xd8", "jpeg"), (b"GIF8", "gif"),
                                    (b"RIFF", "webp")):
                if data.startswith(beginning):
                    return {"image/" + form: data}
            return {}

    class Math(Displayed):
        mime = "text/latex"

        def _repr_mimebundle_(self, include=None, exclude=None):
            return {self.mime: f"$\\displaystyle {self.data.strip('$')}$"}

    module.__path__ = []
    module.Image, module.Math, module.DisplayObject = Image, Math, Displayed
    for name, mime in (("HTML", "text/html"), ("Markdown", "text/markdown"),
                       ("Latex", "text/latex"), ("SVG", "image/svg+xml"),
                       ("JSON", "application/json"), ("Pretty", "text/plain"),
                       ("Javascript", "application/javascript")):
        kind = type(name, (Displayed,), {"mime": mime, "__module__": module.__name__})
        setattr(module, name, kind)
    module.display = display
    module.clear_output = lambda wait=False: None
    for name, kind in (("display_html", "HTML"), ("display_markdown", "Markdown"),
                       ("display_png", "Image"), ("display_svg", "SVG"), ("display_json", "JSON"),
                       ("display_latex", "Latex")):
        setattr(module, name, shower(getattr(module, kind)))


def shower(kind):
    def show(*values, raw=False, **options):
        display(*((kind(value) for value in values) if raw else values))

    return show


class Substitute:
    """Loads a module that is not installed."""

    def __init__(self, fill):
        self.fill = fill

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        self.fill(module)

    @staticmethod
    def leave_empty(module):
        module.__path__ = []


class Imports:
    """Follows the import of a few modules, and offers approved tools and what is missing of
    IPython."""

    before = {"matplotlib": prepare_matplotlib}
    after = {
        "matplotlib.font_manager": choose_fonts,
        "matplotlib.backends.backend_agg": replace_show,
        "PIL.Image": show_pictures_here,
        "plotly.basedatatypes": show_plots_here,
    }
    missing = {
        "IPython": offer_package,
        "IPython.core": Substitute.leave_empty,
        "IPython.display": offer_display,
        "IPython.core.display": offer_display,
    }

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name == "tools":
            return find_package_of_tools()
        if name in cls.before:
            attempt(cls.before[name], None)
        elif name in cls.missing:
            return cls.find_or_substitute(name, path, target)
        elif name in cls.after:
            return cls.find_and_follow(name, path, target)
        return None

    @classmethod
    def find_or_substitute(cls, name, path, target):
        spec = finding.PathFinder.find_spec(name, path, target)
        if spec is None:
            spec = type(sys.__spec__)(name, Substitute(cls.missing[name]), origin="belljar")
        return spec

    @classmethod
    def find_and_follow(cls, name, path, target):
        spec = finding.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            attempt(cls.after[name], module)

        spec.loader.exec_module = exec_module
        return spec
