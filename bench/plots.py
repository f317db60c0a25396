"""Plots as SVG, written by hand: they need no library and follow the reader's light or dark."""

import math
import xml.sax.saxutils

import ratios
import tables

WIDTH = 860
MOST_MARKS = 8
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600; font-size: 15px }
.quiet { fill: #57606a; font-size: 12px }
.grid { stroke: #d0d7de; stroke-width: 1 }
.ours { fill: #0969da } .theirs { fill: #8c959f }
.line { fill: none; stroke-width: 2 }
.ours-line { stroke: #0969da } .theirs-line { stroke: #8c959f; stroke-dasharray: 5 4 }
.second-line { stroke: #bf8700 } .second { fill: #bf8700 }
.middle { stroke: #ffffff; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .quiet { fill: #9198a1 } .grid { stroke: #3d444d }
  .ours { fill: #4493f8 } .ours-line { stroke: #4493f8 }
  .theirs { fill: #7d8590 } .theirs-line { stroke: #7d8590 }
  .second { fill: #d29922 } .second-line { stroke: #d29922 } .middle { stroke: #0d1117 }
}
"""


class Picture:
    """Shapes that are collected and written as one file."""

    def __init__(self, height, description):
        self.height, self.description, self.parts = height, description, []

    def shape(self, kind, style, **attributes):
        written = " ".join(f'{name.replace("_", "-")}="{number(value)}"'
                           for name, value in attributes.items())
        self.parts.append(f'<{kind} class="{style}" {written}/>')

    def text(self, x, y, words, style="", anchor="start"):
        self.parts.append(f'<text class="{style}" x="{number(x)}" y="{number(y)}" '
                          f'text-anchor="{anchor}">{xml.sax.saxutils.escape(words)}</text>')

    def __str__(self):
        words = xml.sax.saxutils.escape(self.description)
        lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
                 f'width="{WIDTH}" height="{self.height}" role="img">',
                 f"<title>{words}</title>", f"<style>{STYLE}</style>", *self.parts, "</svg>"]
        return "\n".join(lines) + "\n"


def number(value):
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


class Scale:
    """Values to places, by their logarithm unless `linear`."""

    def __init__(self, values, start, end, linear=False):
        self.linear, self.start, self.end = linear, start, end
        if linear:
            self.low, self.high = 0.0, max(values) * 1.1
        else:
            self.low = math.floor(math.log10(min(values)) * 3) / 3
            self.high = max(math.ceil(math.log10(max(values)) * 3) / 3, self.low + 1 / 3)

    def __call__(self, value):
        place = value if self.linear else math.log10(value)
        return self.start + (place - self.low) / (self.high - self.low) * (self.end - self.start)

    def marks(self):
        """Round numbers within the scale: 1, 2 and 5 times a power of ten."""
        if self.linear:
            step = next(one for one in round_numbers() if self.high / one <= 5)
            return [step * count for count in range(int(self.high / step) + 1)]
        found = [one for one in round_numbers() if self.low - 1e-9 <= math.log10(one) <= self.high]
        if len(found) <= MOST_MARKS:
            return found
        return [one for one in found if math.log10(one).is_integer()]


def round_numbers():
    return [factor * 10.0 ** power for power in range(-3, 7) for factor in (1, 2, 5)]


def label(value):
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:g}"


def latency(result):
    """A row per candidate: the bar holds 90 of 100 runs, the notch is the median."""
    rows = [(key, row) for key, row in result["latency"].items() if row.get("quantiles_ms")]
    rows.sort(key=lambda pair: pair[1]["p50_ms"])
    left, right, top, step = 270, WIDTH - 70, 64, 30
    bottom = top + step * len(rows)
    picture = Picture(bottom + 50, "How long one hello takes, by candidate")
    picture.text(16, 26, "One hello, from the question to the answer", "title")
    picture.text(16, 46, "milliseconds, logarithmic; the bar holds 90 of 100 runs, the notch is "
                         "the median, the dots are p99 and the slowest", "quiet")
    scale = Scale([value for _, row in rows for value in row["quantiles_ms"]], left, right)
    for mark in scale.marks():
        picture.shape("line", "grid", x1=scale(mark), y1=top, x2=scale(mark), y2=bottom)
        picture.text(scale(mark), bottom + 18, label(mark), "quiet", "middle")
    for index, (key, row) in enumerate(rows):
        draw_row(picture, scale, top + step * index + step / 2, key, row)
    return picture


def draw_row(picture, scale, middle, key, row):
    style = "ours" if ratios.is_ours(key) else "theirs"
    quantiles = row["quantiles_ms"]
    picture.text(16, middle + 4, row["label"])
    start, end = scale(quantiles[5]), scale(quantiles[95])
    picture.shape("rect", style, x=start, y=middle - 8, width=max(end - start, 3.0), height=16,
                  rx=3)
    picture.shape("line", "middle", x1=scale(row["p50_ms"]), y1=middle - 8, x2=scale(row["p50_ms"]),
                  y2=middle + 8)
    for value, size in ((quantiles[99], 3), (quantiles[100], 2)):
        picture.shape("circle", style, cx=scale(value), cy=middle, r=size)
    picture.text(WIDTH - 8, middle + 4, tables.figure(row["p50_ms"]), "", "end")


class Panel:
    """One small diagram over the number of callers."""

    WIDTH, TOP, BOTTOM = 222, 70, 270

    def __init__(self, picture, index, title, callers):
        self.picture, self.left = picture, 50 + index * (self.WIDTH + 62)
        self.callers = callers
        picture.text(self.left - 34, 48, title, "title")

    def x(self, callers):
        """Evenly spaced: it is steps of load, not a quantity."""
        step = (self.WIDTH - 20) / max(1, len(self.callers) - 1)
        return self.left + 10 + step * self.callers.index(callers)

    def axes(self, values, linear):
        self.scale = Scale(values, self.BOTTOM, self.TOP, linear)
        for mark in self.scale.marks():
            y = self.scale(mark)
            self.picture.shape("line", "grid", x1=self.left, y1=y, x2=self.left + self.WIDTH, y2=y)
            self.picture.text(self.left - 5, y + 4, label(mark), "quiet", "end")
        for callers in self.callers:
            self.picture.text(self.x(callers), self.BOTTOM + 20, str(callers), "quiet", "middle")

    def line(self, values, style, name="", below=0):
        points = [(self.x(callers), self.scale(value))
                  for callers, value in zip(self.callers, values, strict=True)]
        self.picture.shape("polyline", f"line {style}-line",
                           points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points))
        for x, y in points:
            self.picture.shape("circle", style, cx=x, cy=y, r=3)
        self.picture.text(points[0][0] - 6, points[0][1] - 8 + below, name, "quiet")

    def level(self, value, words):
        """A line across, for something that does not depend on the callers."""
        y = self.scale(value)
        self.picture.shape("line", "line theirs-line", x1=self.left, y1=y,
                           x2=self.left + self.WIDTH, y2=y)
        self.picture.text(self.left + self.WIDTH, y - 6, words, "quiet", "end")


def load(result):
    """Runs per second, latency and processor time over the number of callers."""
    rows = [row for row in ratios.python_loads(result) if row.get("p50_ms")]
    theirs = max(result["load"]["bubblewrap"], key=lambda row: row["per_second"], default=None)
    callers = [row["callers"] for row in rows]
    picture = Picture(330, "Runs per second, latency and processor time by number of callers")
    picture.text(16, 22, "Cost against load: callers who ask again as soon as they are answered",
                 "quiet")
    panel = Panel(picture, 0, "runs per second", callers)
    rates = [row["per_second"] for row in rows]
    panel.axes([*rates, *([theirs["per_second"]] if theirs else [])], linear=True)
    panel.line(rates, "ours")
    if theirs:
        panel.level(theirs["per_second"], "bubblewrap at its best")
    panel = Panel(picture, 1, "milliseconds per hello", callers)
    panel.axes([row[name] for row in rows for name in ("p50_ms", "p99_ms")], linear=False)
    panel.line([row["p50_ms"] for row in rows], "ours", "p50", below=25)
    panel.line([row["p99_ms"] for row in rows], "second", "p99")
    panel = Panel(picture, 2, "CPU ms per run, whole machine", callers)
    costs = [row["cpu_ms_per_run"] for row in rows]
    panel.axes([*costs, *([theirs["cpu_ms_per_run"]] if theirs else [])], linear=True)
    panel.line(costs, "ours")
    if theirs:
        panel.level(theirs["cpu_ms_per_run"], "bubblewrap at its best")
    picture.text(WIDTH / 2, 318, "callers", "quiet", "middle")
    return picture


def of(result):
    """{name: SVG text}"""
    return {"latency": str(latency(result)), "load": str(load(result))}
