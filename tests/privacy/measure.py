"""Precision and recall of what a masker has done to a labelled set."""

import collections
import dataclasses
import re

MARKS = {"EMAIL": "email", "PHONE": "phone", "SSN": "ssn", "CC": "credit_card", "IP": "ip_address",
         "IBAN": "iban", "KEY": "api_key", "MAC": "mac_address"}
MARK = re.compile(r"\[(" + "|".join(MARKS) + r")_REDACTED\]")


@dataclasses.dataclass
class Score:
    """Of one type."""

    found: int = 0
    missed: int = 0
    false: int = 0
    examples: list = dataclasses.field(default_factory=list)

    @property
    def recall(self):
        return self.found / max(1, self.found + self.missed)

    @property
    def precision(self):
        return self.found / max(1, self.found + self.false)


def spans_of(text, masked):
    """Where in the text the marks stand: (begin, end, type)."""
    pieces = MARK.split(masked)
    form = "(.+?)".join(re.escape(piece) for piece in pieces[::2])
    aligned = re.fullmatch(form, text, re.DOTALL)
    assert aligned, (text, masked)
    return [(*aligned.span(at + 1), MARKS[mark]) for at, mark in enumerate(pieces[1::2])]


def score(lines, masked_lines):
    """What was found counts only if nothing of it is left and its type is right."""
    scores = collections.defaultdict(Score)
    assert len(lines) == len(masked_lines)
    for line, masked in zip(lines, masked_lines):
        marks = spans_of(line.text, masked)
        for begin, end, kind in line.spans:
            hit = any(mark[0] <= begin and mark[1] >= end and mark[2] == kind for mark in marks)
            scores[kind].found += hit
            scores[kind].missed += not hit
            if not hit:
                scores[kind].examples.append(("missed", line.text, masked))
        for begin, end, kind in marks:
            if not any(begin < span[1] and end > span[0] and kind == span[2]
                       for span in line.spans):
                scores[kind].false += 1
                scores[kind].examples.append(("false", line.text, masked))
    return dict(sorted(scores.items()))


def table(scores):
    """Lines of a Markdown table."""
    yield "| type | values | recall | precision |"
    yield "|---|---|---|---|"
    for kind, one in scores.items():
        yield f"| {kind} | {one.found + one.missed} | {one.recall:.3f} | {one.precision:.3f} |"
