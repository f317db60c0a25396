"""Programs in JavaScript: what they say, what they are worth and how they end."""

import pytest

LANGUAGE = "javascript"


def run(server, code, **arguments):
    return server.execute(code, language=LANGUAGE, **arguments)


def succeed(server, code, **arguments):
    record = run(server, code, **arguments)
    assert record["status"] == "ok", record["stderr"] or record
    return record


def fail(server, code, **arguments):
    record = run(server, code, **arguments)
    assert record["status"] == "error", record
    return record


@pytest.mark.parametrize("name", ["javascript", "js", "node", "NodeJS", "mjs", "cjs"])
def test_it_has_several_names(server, name):
    record = server.execute("console.log('hi'); 6 * 7", language=name)
    assert (record["stdout"], record["result"]) == ("hi\n", 42), record
    assert (record["language"], record["runner"]) == ("javascript", "node")


@pytest.mark.parametrize("code, result", [
    ("6 * 7", 42),
    ("6 * 7;", 42),
    ("6 * 7 // a comment", 42),
    ("const a = 1\na + 1\n\n", 2),
    ("const result = { a: [1, 2] }", {"a": [1, 2]}),
    ("let result\nresult = 'late'; if (true) { }", "late"),
    ("const result = 1; 2", 2),
    ("return 'early'", "early"),
    ("if (true) return [1]\nthrow new Error('never')", [1]),
    ("const x = await Promise.resolve(5); x", 5),
    ("return await Promise.resolve(6)", 6),
    ("import fs from 'fs'\nreturn typeof fs.readFileSync", "function"),
    ("import fs from 'fs'\nexport const a = 0\nif (a) { return }\n'no line break behind it'",
     "no line break behind it"),
    ("import { sep } from 'node:path'; export const result = sep", "/"),
    ("export default 5; 'last'", "last"),
    ("async function main() { return { deep: true } }\nmain()", {"deep": True}),
    ("({ a: 1 })", {"a": 1}),
    ("'use strict'\nthis === module.exports", True),
    ("`${1 + 1}`", "2"),
    ("'a text alone'", "a text alone"),
    ("'use strict'; 'a text'; var late;;", "a text"),
    ("null", None),
    ("undefined", None),
    ("const x = 5", None),
    ("#!/usr/bin/env node\n7", 7),
    ("var result = 1; setTimeout(() => { result = 'changed later' }, 5)", "changed later"),
    ("(await import('node:os')).EOL", "\n"),
    ("const { createRequire } = await import('node:module');\n"
     "const require = createRequire(import.meta.url); require('path').sep", "/"),
    ("import os from 'os'; const p = require('path'); p.sep + os.EOL", "/\n"),
    ("label: for (;;) { break label }\n1", 1)])
def test_the_value_of_a_program(server, code, result):
    assert succeed(server, code)["result"] == result


@pytest.mark.parametrize("code, shown", [
    ("10n ** 20n", "100000000000000000000n"),
    ("const a = {}; a.self = a; a", "<ref *1> { self: [Circular *1] }"),
    ("new Map([[1, 2]])", "Map(1) { 1 => 2 }"),
    ("new Set([1])", "Set(1) { 1 }"),
    ("({ inside: new Map([[1, 2]]) })", "{ inside: Map(1) { 1 => 2 } }"),
    ("[new Set([1]), /x/]", "[ Set(1) { 1 }, /x/ ]"),
    ("Symbol('s')", "Symbol(s)"),
    ("NaN", "NaN"),
    ("[1, Infinity]", "[ 1, Infinity ]"),
    ("(function named() {})", "[Function: named]"),
    ("({ toJSON() { throw new Error('no') }, a: 1 })", "{ toJSON: [Function: toJSON], a: 1 }"),
    ("new Promise(() => {})", "Promise { <pending> }")])
def test_a_value_that_json_cannot_hold_is_shown(server, code, shown):
    record = succeed(server, code)
    assert (record["result"], record["result_repr"]) == (None, shown)


@pytest.mark.parametrize("code", [
    "'x'.repeat(100e6)", "Array.from({ length: 1e6 }, (_, i) => i)",
    "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; a", "({ ['k'.repeat(70_000)]: 1 })",
    "({ [Symbol.for('nodejs.util.inspect.custom')]() { throw new Error('no') }, a: 1n })",
    "new Proxy({}, { get() { throw new Error('no') }, ownKeys() { throw new Error('no') } })"])
def test_a_value_that_is_too_much_leaves_the_verdict_alone(server, code):
    record = succeed(server, code)
    assert record["result"] is None
    assert len(record["result_repr"]) <= 64 * 1024 + 3


def test_a_deep_value_is_shown(server):
    record = succeed(server, "let a = 1; for (let i = 0; i < 61; i++) a = [a]; a")
    assert record["result"] is None and record["result_repr"]
    assert succeed(server, "let a = 1; for (let i = 0; i < 50; i++) a = [a]; a")["result"]


def test_the_names_of_a_program(server):
    code = """import fs from 'fs'
const { readFileSync } = require('fs')
const a = 1, { b, c: [d = 2, ...e] } = { b: 1, c: [] }
let f; var g
function h() { const inner = 1 }
class I {}
export const j = 1
{ let hidden = 1; var k = 2 }
const _private = 1
"""
    assert sorted(succeed(server, code)["variables"]) == sorted("abdefghIjk")


def test_many_names(server):
    code = "".join(f"var name{number} = {number};\n" for number in range(3000))
    assert len(succeed(server, code)["variables"]) == 1000


@pytest.mark.parametrize("code, code_expected, stdout", [
    ("process.exit(7)", 7, ""),
    ("process.exitCode = 3; console.log('x')", 3, "x\n"),
    ("process.on('exit', code => { console.log('bye', code); process.exitCode = 9 })", 9,
     "bye 0\n"),
    ("throw new Error('x')", 1, ""),
    ("throw 5", 1, ""),
    ("Promise.reject(new Error('x'))", 1, ""),
    ("setTimeout(() => { throw new Error('late') }, 1)", 1, ""),
    ("process.on('uncaughtException', e => console.log('caught', e.message));"
     "setTimeout(() => { throw new Error('late') }, 1)", 0, "caught late\n"),
    ("process.on('unhandledRejection', e => console.log('seen', e.message));"
     "Promise.reject(new Error('x'))", 0, "seen x\n"),
    ("await new Promise(() => {})", 13, ""),
    ("process.listenerCount('uncaughtException') + process.execArgv.length", 0, ""),
    ("console.log(typeof fs, typeof require, typeof module)", 0, "undefined function object\n"),
    ("console.log(this === module.exports, require.main === module)", 0, "true true\n"),
    ("console.log([1, { a: 'x' }], 'y %d', 5); console.error('err')", 0,
     "[ 1, { a: 'x' } ] y %d 5\n"),
    ("console.table([{ a: 1 }])", 0,
     "┌─────────┬───┐\n│ (index) │ a │\n├─────────┼───┤\n│ 0       │ 1 │\n└─────────┴───┘\n"),
    ("process.stdout.write('no break')", 0, "no break")])
def test_it_ends_as_the_bare_interpreter_would_have_it(server, code, code_expected, stdout):
    record = run(server, code)
    assert record["exit_code"] == code_expected, record
    if not code.startswith("console.table"):  # quotes differ between versions
        assert record["stdout"] == stdout


def test_a_signal_ends_it(server):
    record = run(server, "process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 9000)")
    assert record["status"] == "killed", record
    assert record["signal"] in ("SIGTERM", 15), record


def test_standard_input(server):
    read = "console.log(require('fs').readFileSync(0, 'utf8').toUpperCase())"
    assert succeed(server, read, stdin="päth\n")["stdout"] == "PÄTH\n\n"
    lines = ("import readline from 'readline'\nlet n = 0\n"
             "for await (const line of readline.createInterface({ input: process.stdin })) "
             "n += Number(line)\nreturn n")
    assert succeed(server, lines, stdin="1\n2\n39\n")["result"] == 42
    assert succeed(server, "for await (const x of process.stdin) console.log(x); 'end'")[
        "result"] == "end"


def test_arguments_environment_and_files(server):
    record = succeed(server, "import { half } from './lib/half.mjs'\nimport data from 'mine'\n"
                             "[process.argv, process.env.COLOUR, half(4), data.name, "
                             "require('./old.cjs')]",
                     args=["a b", "--flag"], env={"COLOUR": "blue"},
                     files={"lib/half.mjs": "export const half = x => x / 2",
                            "old.cjs": "module.exports = __filename",
                            "node_modules/mine/package.json": '{"main": "index.js"}',
                            "node_modules/mine/index.js": "module.exports = { name: 'mine' }"})
    assert record["result"] == [["/usr/bin/node", "/workspace/main.mjs", "a b", "--flag"], "blue",
                                2, "mine", "/workspace/old.cjs"]


def test_the_names_of_its_file(server):
    assert succeed(server, "[__filename, __dirname, process.cwd()]")["result"] == [
        "/workspace/main.cjs", "/workspace", "/workspace"]
    assert succeed(server, "import.meta.url")["result"] == "file:///workspace/main.mjs"
    # One that does not ask leaves no file; what comes from the caller stays.
    listing = "import fs from 'fs'; fs.readdirSync('.')"
    assert succeed(server, listing)["result"] == []
    record = succeed(server, "import fs from 'fs'; fs.readFileSync('main.mjs', 'utf8')",
                     files={"main.mjs": "// mine"})
    assert record["result"] == "// mine"


def test_threads_and_children(server):
    code = """const { Worker, isMainThread, parentPort } = require('worker_threads')
if (isMainThread) {
    new Worker(__filename).on('message', answer => console.log(answer))
} else {
    parentPort.postMessage(6 * 7)
}"""
    assert succeed(server, code)["stdout"] == "42\n"
    code = """import { execFileSync } from 'child_process'
execFileSync('/bin/sh', ['-c', 'ls /proc/self/fd'], { encoding: 'utf8' })"""
    seen = succeed(server, code)["result"].split()
    assert "5" not in seen, "the report is for this process alone"


@pytest.mark.parametrize("code, kind, message, line", [
    ("const a = 1\nnull.x", "TypeError", "Cannot read properties of null (reading 'x')", 2),
    ("function f() {\n  throw new RangeError('far')\n}\nf()", "RangeError", "far", 2),
    ("await 1\nmissing", "ReferenceError", "missing is not defined", 2),
    ("import fs from 'fs'\n\nfs.readFileSync('/nope')", "Error",
     "ENOENT: no such file or directory, open '/nope'", 3),
    ("const x = ;", "SyntaxError", "Unexpected token ';'", 1),
    ("const a = 1\nawait a\nconst b = (", "SyntaxError", "Unexpected end of input", 3),
    ("\nimport { nope } from 'fs'", "SyntaxError",
     "The requested module 'fs' does not provide an export named 'nope'", 2),
    ("\nimport x from 'no-such-package'", "Error",
     "Cannot find package 'no-such-package' imported from /workspace/main.mjs", 2),
    ("class Own extends Error { get name() { return 'Own' } }\nthrow new Own('x')", "Own", "x", 2),
    ("let a = 1\nlet a = 2", "SyntaxError", "Identifier 'a' has already been declared", 2),
    ("return 1\nimport fs from 'fs'\n}", "SyntaxError", "Unexpected token", 3)])
def test_errors_say_where(server, code, kind, message, line):
    record = fail(server, code)
    error = record["error"]
    assert (error["type"], error["message"], error["line"]) == (kind, message, line), error
    assert record["exit_code"] == 1 and record["stdout"] == ""
    for foreign in ("node:", "bootstrap", "belljar", "acorn"):
        assert foreign not in error["traceback"] + record["stderr"], record["stderr"]


def test_a_trace_shows_the_programs_own_lines(server):
    record = fail(server, "function outer() { inner() }\nfunction inner() { throw new Error('x') }"
                          "\nouter()")
    assert record["error"]["traceback"] == """Error: x
    at inner (/workspace/main.cjs:2:26)
    at outer (/workspace/main.cjs:1:20)
    at Object.<anonymous> (/workspace/main.cjs:3:1)
"""
    assert record["stderr"].startswith("/workspace/main.cjs:2\nfunction inner() {")


@pytest.mark.parametrize("code", [
    "throw undefined", "throw null", "throw { get message() { throw 1 } }", "throw 'text'",
    "const e = new Error('x'); Object.defineProperty(e, 'stack', { get() { throw 1 } }); throw e",
    "Error.prepareStackTrace = () => { throw 1 }; throw new Error('x')",
    "JSON.stringify = null; Array.isArray = null; Object.values = null; throw new Error('x')",
    "throw new Proxy(new Error('x'), { get() { throw 1 } })",
    "const e = new Error('x'); e.name = 5; e.cause = e; throw e"])
def test_strange_errors_are_errors(server, code):
    record = fail(server, code)
    assert record["exit_code"] == 1 and record["error"]


@pytest.mark.parametrize("code", [
    "require('fs').writeSync(5, 'nonsense'); 1", "require('fs').closeSync(5); 1",
    "require('fs').writeSync(5, '{\"result\": 1}\\n{\"error\": {}}'); 1",
    "process.removeAllListeners('exit'); 1", "process.reallyExit(0)",
    "globalThis.JSON = undefined; globalThis.Buffer = undefined; 1",
    "Object.prototype.toJSON = () => { throw 1 }; ({ a: 1 })",
    "require('fs').closeSync(1); require('fs').closeSync(2); 1",
    "process.stdout.write = () => {}; process.stdout = null; 1",
    "Object.defineProperty(globalThis, '__belljar', { value: 1 }); 1"])
def test_what_it_does_to_the_report_leaves_the_verdict_alone(server, code):
    record = run(server, code)
    assert (record["status"], record["exit_code"]) == ("ok", 0), record


def test_the_heap_ends_with_the_memory(server):
    record = run(server, "const all = []; for (;;) all.push(new Array(1e5).fill(all.length))",
                 timeout=30)
    assert record["status"] == "memory", record


def test_garbage_is_collected_within_the_memory(server):
    code = """let sum = 0
for (let i = 0; i < 3000; i++) sum += new Array(1e5).fill(i).length
sum"""
    assert succeed(server, code, timeout=30)["result"] == 300000000


def test_an_endless_loop_is_ended(server):
    record = run(server, "console.log('begun'); for (;;) { }", timeout=1)
    assert (record["status"], record["stdout"]) == ("timeout", "begun\n"), record


def test_much_output(server):
    record = succeed(server, "for (let i = 0; i < 20000; i++) console.log('line', i)")
    assert record["stdout"].startswith("line 0\nline 1\n")


@pytest.mark.parametrize("code, module", [
    ("import fs from 'fs'", "fs"), ("import fs from 'node:fs/promises'", "fs"),
    ("require('fs')", "fs"), ("await import('fs')", "fs"), ("import('node:fs')", "fs"),
    ("function f() { return require('os') }\nf()", "os"), ("export * from 'os'", "os"),
    ("import x from './mine.mjs'", "./mine.mjs"), ("import x from '@a/b/c'", "@a/b"),
    ("import p from 'path'; require('os')", "os")])
def test_other_modules_are_refused(server, code, module):
    record = fail(server, code, allowed_imports=["path"])
    assert record["error"]["type"] == "ImportError", record
    assert record["error"]["message"] == f"Import of '{module}' is not allowed in sandbox"
    assert record["error"]["line"] == (1 if "\n" not in code else 1)


@pytest.mark.parametrize("code", [
    "import p from 'path'; p.sep", "import p from 'node:path/posix'; p.sep",
    "require('path').sep", "(await import('path')).sep", "import m from './mine.mjs'; m"])
def test_allowed_modules_work(server, code):
    files = {"mine.mjs": "import { sep } from 'path'; import 'fs'; export default sep"}
    record = succeed(server, code, allowed_imports=["path", "mine"], files=files)
    assert record["result"] == "/"


def test_bad_texts(server):
    assert succeed(server, "// nothing")["result"] is None
    assert succeed(server, "'\ud83d\ude00' + '\u2028'")["result"] == "\U0001f600\u2028"
    assert succeed(server, "'\\ud83d'")["result"] == "\ufffd"
    assert fail(server, "if (" * 3000)["error"]["type"] == "SyntaxError"
