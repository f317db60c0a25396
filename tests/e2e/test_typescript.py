"""Programs in TypeScript: without their types they are JavaScript, with the lines they had."""

import pytest

from support_mcp import LEGACY, call

LANGUAGE = "typescript"


def run(server, code, **arguments):
    return server.execute(code, language=LANGUAGE, **arguments)


def succeed(server, code, **arguments):
    record = run(server, code, **arguments)
    assert record["status"] == "ok", record["stderr"] or record
    return record


@pytest.mark.parametrize("name", ["typescript", "ts", "TS", "mts", "cts"])
def test_it_has_several_names(server, name):
    record = server.execute("const x: number = 6; console.log('hi'); x * 7", language=name)
    assert (record["stdout"], record["result"]) == ("hi\n", 42), record
    assert (record["language"], record["runner"]) == ("typescript", "node")


@pytest.mark.parametrize("code, result", [
    ("enum Colour { Red = 1, Blue }\nColour.Blue", 2),
    ("enum Colour { Red = 'r' }\nconst c: Colour = Colour.Red; c", "r"),
    ("enum A { X }\nA[0]", "X"),
    ("const enum A { X = 5 }\nA.X", 5),
    ("namespace N { export const deep = 3; export namespace M { export const x = 4 } }\n"
     "[N.deep, N.M.x]", [3, 4]),
    ("class P { constructor(private readonly a: number, public b = 2) {} sum() "
     "{ return this.a + this.b } }\nnew P(1).sum()", 3),
    ("interface I { a: number }\ntype T = I | null\nconst v: T = { a: 1 }; v!.a as any", 1),
    ("function f<T extends object>(x: T, ...rest: string[]): x is T { return true }\nf({})", True),
    ("abstract class Q { abstract z(): number; y?(): void }\n"
     "class R extends Q { override z() { return 7 } }\nnew R().z()", 7),
    ("const x = { a: 1 } satisfies Record<string, number>; x.a", 1),
    ("import type { Stats } from 'fs'\nimport { type Dirent, sep } from 'path'\nsep", "/"),
    ("import { Unused } from './only-types'\nlet x: Unused = 5; x", 5),
    ("const x: number = await Promise.resolve(4); x", 4),
    ("return 5 as number", 5),
    ("const x: number = await 1\nif (x > 5) { return }\nif (x) return [x, x as any]", [1, 1]),
    ("import fs from 'fs'\nfunction f(): number { return 1 }\nreturn typeof fs + f()", "object1"),
    ("const result: Array<number> = [1]", [1]),
    ("declare const missing: string\nexport const a: number = 1; typeof missing", "undefined"),
    ("import path = require('path')\npath.sep", "/"),
    ("let u!: string; const f = (a?: number): void => {}; f(); typeof u", "undefined"),
    ("const wrong: number = 'types are not checked'; wrong", "types are not checked"),
    ("'päth 😀' as string", "päth 😀")])
def test_the_value_of_a_program(server, code, result):
    assert succeed(server, code)["result"] == result


def test_names_are_those_that_exist(server):
    code = "interface I {}\ntype T = string\nenum E { A }\nconst a: T = ''\nnamespace N { " \
           "export const q = 1 }\nfunction f(x: I) {}"
    assert sorted(succeed(server, code)["variables"]) == ["E", "N", "a", "f"]


@pytest.mark.parametrize("code, kind, message, line", [
    ("interface A {\n  a: string\n\n}\n\nconst x: A | null = null\n\nx!.a", "TypeError",
     "Cannot read properties of null (reading 'a')", 8),
    ("enum E {\n  A,\n  B,\n}\nfunction f(a: number): never {\n  throw new RangeError('far')\n}\n"
     "f(E.B)", "RangeError", "far", 6),
    ("type T = {\n  a: number\n}\nawait 1\n\nconst y: T = missing", "ReferenceError",
     "missing is not defined", 6),
    ("const a = 1\nimport x from 'no-such-package'; x", "Error",
     "Cannot find package 'no-such-package' imported from /workspace/main.mjs", 2),
    ("type T = number\n@sealed\nclass A {}", "SyntaxError", "Decorators are not supported", 2)])
def test_errors_have_the_lines_of_the_source(server, code, kind, message, line):
    record = run(server, code)
    error = record["error"]
    assert (error["type"], error["message"], error["line"]) == (kind, message, line), error
    assert record["exit_code"] == 1
    assert "/workspace/main.ts:" in error["traceback"]
    assert record["stderr"].startswith(f"/workspace/main.ts:{line}\n"), record["stderr"]
    for foreign in ("node:", "bootstrap", "belljar", "swc"):
        assert foreign not in error["traceback"] + record["stderr"], record["stderr"]


@pytest.mark.parametrize("code, line", [
    ("const x: = 5", 1), ("const a = 1\nfunction f(: number) {}", 2), ("interface {\n}", 1),
    ("enum A { B = }", 1), ("const x: number = (\n", 1), ("class A {\n  x: number y\n}", 2)])
def test_a_syntax_error_is_a_result(server, code, line):
    record = run(server, code)
    assert (record["status"], record["exit_code"]) == ("error", 1), record
    assert (record["error"]["type"], record["error"]["line"]) == ("SyntaxError", line), record
    assert record["error"]["message"]


def test_stacks_that_the_program_sees_have_its_lines(server):
    code = "interface A {\n  a: string\n}\nfunction f(a: A) {\n  return new Error('x').stack\n}\n" \
           "f({ a: '' })"
    assert "at f (/workspace/main.ts:5:" in succeed(server, code)["result"]


def test_imports_are_controlled(server):
    record = run(server, "type T = string\nimport fs from 'fs'\nfs", allowed_imports=["path"])
    assert record["error"]["message"] == "Import of 'fs' is not allowed in sandbox"
    assert record["error"]["line"] == 2
    assert succeed(server, "import { sep } from 'node:path'\nsep as string",
                   allowed_imports=["path"])["result"] == "/"


def test_input_arguments_files_and_exit(server):
    record = run(server, "import { x } from './x.mjs'\nimport fs from 'fs'\n"
                         "const text: string = fs.readFileSync(0, 'utf8')\n"
                         "console.log(text, process.argv.slice(2), x)\nprocess.exit(x as number)",
                 stdin="in", args=["a"], files={"x.mjs": "export const x = 3"})
    assert (record["stdout"], record["exit_code"]) == ("in [ 'a' ] 3\n", 3)


def test_files_with_types(server):
    files = {"lib/shape.ts": "import { unit } from './unit'\nexport interface Shape { a: number }\n"
                             "export enum Kind { Round = 3 }\nexport const area = (s: Shape) => "
                             "s.a * unit",
             "lib/unit.ts": "export const unit: number = 2\nexport function fail(): never {\n"
                            "  throw new Error('deep')\n}",
             "lib/index.ts": "export * from './shape.js'"}
    record = succeed(server, "import { area, Kind, type Shape } from './lib'\n"
                             "import { unit } from './lib/unit.ts'\nimport fs from 'fs'\n"
                             "const s: Shape = { a: 4 };\n"
                             "[area(s), Kind.Round, unit, fs.readdirSync('lib').length]",
                     files=files)
    assert record["result"] == [8, 3, 2, 3]
    record = succeed(server, "const { unit } = await import('./lib/unit')\nreturn unit as number",
                     files=files)
    assert record["result"] == 2
    record = run(server, "import { fail } from './lib/unit'\n\nfail()", files=files)
    assert "at fail (/workspace/lib/unit.ts:3:9)" in record["error"]["traceback"], record
    record = run(server, "import { x } from './bad'\nx", files={"bad.ts": "export const x: = 1"})
    assert record["error"]["message"].startswith("/workspace/bad.ts:1: Unexpected token"), record
    record = succeed(server, "import { unit } from './lib/unit'\nunit", files=files,
                     allowed_imports=["unit"])
    assert record["result"] == 2


HELLO = 'const greeting: string = "Hello, World!";\nconsole.log(greeting);'
FIBONACCI = """
function fibonacci(n: number): number {
  if (n <= 1) return n;
  return fibonacci(n - 1) + fibonacci(n - 2);
}

const result: number[] = Array.from({ length: 10 }, (_, i) => fibonacci(i));
console.log("Fibonacci sequence:", result);
"""
VALIDATE_PATH = """
import path from 'path';
function validatePath(requestedPath: string): boolean {
  const normalized = path.normalize(requestedPath);
  const allowed = ['/workspace/', '/servers/', '/skills/'];

  return allowed.some(prefix => normalized.startsWith(prefix));
}
[validatePath('/workspace/x'), validatePath('/workspace/../etc/passwd')]
"""
SCAN_CODE = r"""
interface SecurityAlert { severity: string; pattern: string; message: string }
// Monitor for suspicious patterns
const suspiciousPatterns = [
  /eval\(/,                    // Dynamic code evaluation
  /child_process/,             // Process spawning
  /require\(['"]fs['"]\)/,     // Filesystem access
  /\$\{.*\}/,                  // Template injection
  /fetch\(['"]http:/,          // Non-HTTPS requests
];

function scanCode(code: string): SecurityAlert[] {
  const alerts: SecurityAlert[] = [];

  for (const pattern of suspiciousPatterns) {
    if (pattern.test(code)) {
      alerts.push({
        severity: 'high',
        pattern: pattern.source,
        message: 'Suspicious pattern detected'
      });
    }
  }

  return alerts;
}
class SecurityError extends Error {}
const agentCode = process.argv[2];
// Scan before execution
const scanResult = await scanCode(agentCode);

if (scanResult.some(alert => alert.severity === 'high')) {
  throw new SecurityError('High-severity security alert');
}
"""
FIBONACCI_FOUND = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]


def test_samples_of_the_documents(server):
    assert succeed(server, HELLO)["stdout"] == "Hello, World!\n"
    record = succeed(server, FIBONACCI)
    assert record["result"] == FIBONACCI_FOUND
    assert "".join(record["stdout"].split()) == (
        "Fibonaccisequence:[0,1,1,2,3,5,8,13,21,34]")
    assert succeed(server, VALIDATE_PATH)["result"] == [True, False]
    assert succeed(server, SCAN_CODE, args=["1 + 1"])["stdout"] == ""
    record = run(server, SCAN_CODE, args=["eval(x)"])
    assert record["error"]["message"] == "High-severity security alert"
    thrown = "  throw new SecurityError('High-severity security alert');"
    assert record["error"]["line"] == SCAN_CODE.splitlines().index(thrown) + 1


def test_a_sample_by_mcp(server):
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": LEGACY[-1]}
    answer = server.request("POST", "/mcp", call(1, FIBONACCI, language="typescript"), headers)
    assert answer.status == 200, answer
    assert answer.json["result"]["structuredContent"]["result"] == FIBONACCI_FOUND
