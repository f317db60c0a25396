"""Finds the functions of a C++ file: where they are, how long, how nested, how many parameters.

No compiler: it follows braces and relies on clang-format, which writes a space before the brace of
a body and none before the brace of an initialiser.
"""

import dataclasses
import re

RAW_STRING = re.compile(r'R"([^\s()\\]{0,16})\(.*?\)\1"', re.DOTALL)
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
CHARACTER = re.compile(r"'(?:[^'\\\n]|\\.)+'")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
DIRECTIVE = re.compile(r"#(?:[^\n\\]|\\.|\\\n)*", re.DOTALL)

LABEL = re.compile(r"^\s*(?:(?:public|private|protected|default|case\b[^:]*(?:::[^:]*)*):(?!:))")
SCOPE = re.compile(r"^(?:inline\s+)?(?:namespace|class|struct|union|enum|extern\s+\")(?!\w)")
CONTROL = re.compile(r"^(?:if|for|while|switch|do|else|try|catch)\b")
OPERATOR = re.compile(r"\boperator\s*(?:\(\)|\[\]|[^\s\w(]+)")
PREFIX_CALL = re.compile(
    r"\[\[.*?\]\]|\b(?:alignas|explicit|decltype|noexcept|requires|__attribute__)\s*\(", re.DOTALL)


@dataclasses.dataclass
class Function:
    name: str
    line: int
    lines: int = 0
    nesting: int = 0
    parameters: int = 0


@dataclasses.dataclass
class Block:
    kind: str  # scope, function, control, plain, or inner (initialiser or lambda)
    statement: int  # where the statement around it began
    parentheses: int = 0
    function: Function | None = None


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def code_only(text):
    """The text with comments, literals and directives as blanks, every position unchanged."""
    out, position, line_is_blank = [], 0, True
    while position < len(text):
        letter = text[position]
        match = None
        if letter == "/":
            match = COMMENT.match(text, position)
        elif letter == "R" and not (position and re.match(r"\w", text[position - 1])):
            match = RAW_STRING.match(text, position)
        elif letter == '"':
            match = STRING.match(text, position)
        elif letter == "'" and not (position and re.match(r"\w", text[position - 1])):
            match = CHARACTER.match(text, position)
        elif letter == "#" and line_is_blank:
            match = DIRECTIVE.match(text, position)
        piece = match.group(0) if match else letter
        if match and letter == '"':
            out.append('"' + blank(piece[1:-1]) + '"')
        else:
            out.append(blank(piece) if match else piece)
        position += len(piece)
        line_is_blank = letter == "\n" or (line_is_blank and letter.isspace())
    return "".join(out)


def strip_template(head):
    """Without `template <...>` in front."""
    while match := re.match(r"\s*template\s*<", head):
        depth, position = 1, match.end()
        while position < len(head) and depth:
            depth += {"<": 1, ">": -1}.get(head[position], 0)
            position += 1
        head = head[position:]
    return head.strip()


def strip_prefix_calls(head):
    """Without attributes and other things in parentheses that are not the parameters."""
    while match := PREFIX_CALL.search(head):
        end = match.end()
        if not match.group(0).startswith("[["):
            depth = 1
            while end < len(head) and depth:
                depth += {"(": 1, ")": -1}.get(head[end], 0)
                end += 1
        head = head[: match.start()] + " " + head[end:]
    return head


def split_signature(head):
    """(name, parameter texts) of a function head, or None if it is no function."""
    head = strip_prefix_calls(OPERATOR.sub("operator_", strip_template(head))).replace("->", "  ")
    depth, start = 0, None
    for position, letter in enumerate(head):
        if letter == "<":
            depth += 1
        elif letter == ">":
            depth -= 1
        elif letter == "=" and depth == 0:
            return None  # a variable
        elif letter == "(" and depth == 0:
            start = position
            break
    name = re.search(r"([\w:~]+)\s*$", head[:start]) if start is not None else None
    if not name:
        return None
    return name.group(1), split_parameters(head[start + 1:])


def split_parameters(text):
    depth, parameters, current = 0, [], ""
    for letter in text:
        if letter == ")" and depth == 0:
            break
        depth += {"(": 1, "<": 1, "[": 1, "{": 1}.get(letter, 0)
        depth -= {")": 1, ">": 1, "]": 1, "}": 1}.get(letter, 0)
        if letter == "," and depth == 0:
            parameters.append(current)
            current = ""
        else:
            current += letter
    return [one for one in parameters + [current] if one.strip() not in ("", "void")]


class Finder:
    def __init__(self, text):
        self.code = code_only(text)
        self.blocks = [Block("scope", 0)]
        self.statement = 0
        self.functions = []

    def find(self):
        for position, letter in enumerate(self.code):
            top = self.blocks[-1]
            if letter in "()":
                top.parentheses += 1 if letter == "(" else -1
            elif letter == ";" and top.parentheses == 0:
                self.end_of_statement(position)
            elif letter == "{":
                self.open(position)
            elif letter == "}" and len(self.blocks) > 1:
                self.close(position)
        return self.functions

    def head_before(self, position):
        """(text, start) of the statement so far, without labels."""
        start, text = self.statement, self.code[self.statement:position]
        while match := LABEL.match(text):
            start, text = start + match.end(), text[match.end():]
        return text.strip(), start + len(text) - len(text.lstrip())

    def open(self, position):
        top = self.blocks[-1]
        head, start = self.head_before(position)
        block = Block(self.kind_of(head, position), self.statement)
        if block.kind == "function":
            block.function = self.function_at(head, start)
        elif block.kind != "scope":
            block.function = top.function
        self.blocks.append(block)
        self.statement = position + 1
        if block.kind == "control" and block.function:
            depth = 0
            for one in reversed(self.blocks):
                if one.kind in ("function", "scope"):
                    break
                depth += one.kind == "control"
            block.function.nesting = max(block.function.nesting, depth)

    def kind_of(self, head, position):
        top = self.blocks[-1]
        if top.parentheses:
            return "inner"
        if SCOPE.match(strip_template(head)):
            return "scope"
        if top.kind == "scope":
            body = self.code[position - 1].isspace() and split_signature(head)
            return "function" if body else "inner"
        if CONTROL.match(head):
            return "control"
        return "inner" if head else "plain"

    def function_at(self, head, start):
        name, parameters = split_signature(head)
        if re.fullmatch(r"TEST(_[FP])?", name):
            name = ".".join(one.strip() for one in parameters)
            parameters = []
        line = self.code.count("\n", 0, start) + 1
        return Function(name, line, parameters=len(parameters))

    def close(self, position):
        block = self.blocks.pop()
        if block.kind == "function":
            line = self.code.count("\n", 0, position) + 1
            block.function.lines = line - block.function.line + 1
            self.functions.append(block.function)
        # After an initialiser or a lambda the statement goes on.
        self.statement = block.statement if block.kind == "inner" else position + 1

    def end_of_statement(self, position):
        """A pure virtual function has no body anywhere, so its parameters are counted here."""
        head, start = self.head_before(position)
        if self.blocks[-1].kind == "scope" and re.search(r"=\s*0$", head):
            if signature := split_signature(re.sub(r"=\s*0$", "", head)):
                line = self.code.count("\n", 0, start) + 1
                self.functions.append(Function(signature[0], line, parameters=len(signature[1])))
        self.statement = position + 1


def find_functions(text):
    return Finder(text).find()
