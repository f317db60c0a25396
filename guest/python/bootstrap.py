"""Runs one program inside a jar and reports what only the interpreter knows.

Descriptor 3 is this file, 4 the request (one line of JSON), 5 the report. A line break ahead of the
report says that the request is awaited: a jar may be made before there is one.

The report carries the value of the last expression, the names that the program defined and the
exception that ended it, with the error number and the path if the system refused something. Nobody
outside trusts it with more than that: whether the program failed, and why, is decided by the
kernel's word.
"""

import __future__
import ast
import base64
import builtins
import json
import linecache
import os
import sys
import traceback
import types

PROGRAM_FD, REQUEST_FD, REPORT_FD = 3, 4, 5
LIBRARY_FD = 4  # of a zygote, which has no request
WORKSPACE = os.getcwd()  # the jar starts its program there; set again in a fork
MAIN = WORKSPACE + "/main.py"
RESULT_LIMIT = 256 * 1024  # bytes of JSON
TEXT_LIMIT = 64 * 1024  # characters of a repr or a traceback
PATH_LIMIT = 4096
CHAIN_LIMIT = 8  # exceptions behind the one that ended the program
NAMES_LIMIT = 1000
DEPTH_LIMIT = 60  # levels of a result; the reader takes 64 in all
TOOLS = "/tools"
FUTURE_FLAGS = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)


def get_ready():
    """Does what can be done before there is a program; says which tools there are."""
    os.close(PROGRAM_FD)
    os.set_inheritable(REPORT_FD, False)
    # What was printed before a deadline must not be lost in a buffer.
    sys.stdout.reconfigure(line_buffering=True)
    return find_tools()


def read_request():
    """The next request; None at the end of the pipe. There is never more than one under way."""
    os.write(REPORT_FD, b"\n")
    line = read_line(REQUEST_FD)
    return json.loads(line) if line else None


def read_line(descriptor):
    """Up to the first line break, or to the end."""
    parts = []
    while part := os.read(descriptor, 1 << 16):
        parts.append(part)
        if part.endswith(b"\n"):
            break
    return b"".join(parts)


def place_files(files):
    for path, content in files.items():
        place = os.path.join(WORKSPACE, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as file:
            file.write(base64.b64decode(content))


def prepare(request, tools):
    place_files(request["files"])
    for name, value in request["env"].items():
        os.environ[name] = value
    sys.argv = ["main.py", *request["args"]]
    sys.path.insert(0, WORKSPACE)
    if tools:
        offer_tools()
    control_imports(request["allowed_imports"])
    source = request["code"]
    linecache.cache[MAIN] = (len(source), None, source.splitlines(True), MAIN)
    return source


def find_tools():
    try:
        return os.listdir(TOOLS)
    except OSError:
        return []  # not every way of starting guests shows them


def offer_tools():
    """Approved modules, by their own names and as parts of a package. They hide nothing: neither
    what the interpreter brings nor files of the program."""
    sys.path.append(TOOLS)
    if any(os.path.exists(os.path.join(WORKSPACE, name)) for name in ("tools", "tools.py")):
        return
    import importlib.machinery
    import importlib.util

    package = importlib.machinery.ModuleSpec("tools", None, is_package=True)
    package.submodule_search_locations.append(TOOLS)
    sys.modules["tools"] = importlib.util.module_from_spec(package)


def control_imports(allowed):
    """Refuses all other modules to the program itself, but not to the modules that it imports.
    This is policy for programs that mean well: one that does not gets around it, and the jar is the
    wall."""
    if allowed is None:
        return
    names = frozenset(allowed)
    original = builtins.__import__
    own_globals = globals()

    def checked_import(name, globals=None, locals=None, fromlist=(), level=0):
        asking = globals if globals is not None else sys._getframe(1).f_globals
        module = name.partition(".")[0] if isinstance(name, str) else ""
        of_program = asking is not own_globals and asking.get("__name__") == "__main__"
        if of_program and level == 0 and module not in names:
            raise ImportError(f"Import '{module}' is not allowed", name=module)
        return original(name, globals, locals, fromlist, level)

    builtins.__import__ = checked_import


def new_main():
    module = types.ModuleType("__main__")
    module.__file__ = MAIN
    module.__builtins__ = __builtins__
    sys.modules["__main__"] = module
    return module.__dict__


def compile_program(source):
    """The statements and, apart from them, the last expression if the program ends with one."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    tree = compile(source, MAIN, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    body = compile(tree, MAIN, "exec", flags, dont_inherit=True)
    if last is None:
        return body, None
    features = body.co_flags & FUTURE_FLAGS
    value = compile(ast.Expression(last.value), MAIN, "eval", flags | features, dont_inherit=True)
    return body, value


async def await_both(body, value, names):
    import inspect

    result = None
    for code in (body, value):
        if code is not None:
            result = eval(code, names)
            if code.co_flags & inspect.CO_COROUTINE:
                result = await result
    return result if value is not None else None


def run(body, value, names):
    coroutine_flag = 0x80  # inspect.CO_COROUTINE
    if any(code is not None and code.co_flags & coroutine_flag for code in (body, value)):
        import asyncio

        return asyncio.run(await_both(body, value, names))
    exec(body, names)
    return eval(value, names) if value is not None else None


def clip(text):
    """Short enough, and without half characters, which JSON cannot carry."""
    short = text if len(text) <= TEXT_LIMIT else text[:TEXT_LIMIT] + "..."
    return short.encode("utf-8", "backslashreplace").decode()


def safe_repr(value):
    try:
        return clip(repr(value))
    except BaseException as error:  # the program's own __repr__
        return f"<{type(value).__name__}: repr failed with {type(error).__name__}>"


def as_json(value):
    """The value if JSON can hold it and the other side reads it, else None."""
    try:
        data = json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
        plain = json.loads(data)
    except (TypeError, ValueError, RecursionError):
        return None
    return plain if len(data) <= RESULT_LIMIT and is_flat_enough(plain, DEPTH_LIMIT) else None


def is_flat_enough(value, levels):
    if not isinstance(value, (dict, list)):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(is_flat_enough(part, levels - 1) for part in inner)


def describe_result(value, names):
    if value is None:
        value = names.get("result")
    if value is None:
        return {}
    return {"result": as_json(value), "repr": safe_repr(value)}


def describe_names(names):
    def is_defined(name, value):
        hidden = not isinstance(name, str) or name.startswith("_")
        return not hidden and not isinstance(value, types.ModuleType)

    return [clip(name) for name, value in names.items() if is_defined(name, value)][:NAMES_LIMIT]


def guest_frames(trace):
    """From the program's first frame on, and without those of checked_import()."""
    while trace is not None and trace.tb_frame.f_code.co_filename != MAIN:
        trace = trace.tb_next
    own_file = guest_frames.__code__.co_filename
    frame = trace
    while frame is not None:
        while frame.tb_next and frame.tb_next.tb_frame.f_code.co_filename == own_file:
            frame.tb_next = frame.tb_next.tb_next
        frame = frame.tb_next
    return trace


def describe_error(error):
    frames = guest_frames(error.__traceback__)
    text = "".join(traceback.format_exception(type(error), error, frames))
    line = error.lineno if isinstance(error, SyntaxError) else None
    for frame in traceback.walk_tb(frames):
        if frame[0].f_code.co_filename == MAIN:
            line = frame[1]
    described = {
        "type": type(error).__name__,
        "message": clip(safe_str(error)),
        "traceback": clip(text),
        **describe_refusal(error),
    }
    if isinstance(line, int):
        described["line"] = line
    return described


def describe_refusal(error):
    """What the system said, if that is why the program failed; libraries wrap it in their own."""
    try:
        for cause in chain_of(error):
            if isinstance(cause, OSError) and isinstance(cause.errno, int):
                return describe_system_error(cause)
    except BaseException:  # the exception's own properties
        pass
    return {}


def chain_of(error):
    for _ in range(CHAIN_LIMIT):
        if not isinstance(error, BaseException):
            return
        yield error
        reason = getattr(error, "reason", None)
        inner = reason if isinstance(reason, BaseException) else error.__cause__
        error = inner or error.__context__


def describe_system_error(error):
    described = {"errno": error.errno} if abs(error.errno) < 1 << 16 else {}
    if isinstance(error.filename, (str, bytes)):
        described["path"] = clip(os.fsdecode(error.filename)[:PATH_LIMIT])
    return described


def safe_str(error):
    try:
        return str(error)
    except BaseException:
        return "<the exception's own text failed>"


def exit_code_of(error):
    """What the interpreter would make of a SystemExit."""
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    print(error.code, file=sys.stderr)
    return 1


def send(report):
    data = json.dumps(report).encode()
    try:
        with open(REPORT_FD, "wb", closefd=True) as file:
            file.write(data)
    except OSError:
        pass  # the program closed it; what can be seen from outside is still true


def main():
    names = new_main()
    report = {}
    code = 0
    try:
        tools = get_ready()
        request = read_request()
        os.close(REQUEST_FD)
        source = prepare(request, tools)
        body, value = compile_program(source)
        report.update(describe_result(run(body, value, names), names))
    except SystemExit as error:
        code = exit_code_of(error)
    except BaseException as error:
        code = 1
        report["error"] = describe_error(error)
        print(report["error"]["traceback"], end="", file=sys.stderr)
    report["variables"] = describe_names(dict(names))
    send(report)
    return code


def be_zygote(modules):
    """Imports what most programs need and then waits; comes back in each guest, as if it had just
    started there. No code of a guest's ever runs in the zygote itself."""
    global WORKSPACE, MAIN, LAST_PRELOADED
    import gc
    import importlib.machinery
    import importlib.util

    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError:
            pass  # not part of every installation
    path = "/workspace/belljar_zygote.so"
    with open(path, "wb") as file:
        file.write(os.pread(LIBRARY_FD, os.fstat(LIBRARY_FD).st_size, 0))
    loader = importlib.machinery.ExtensionFileLoader("belljar_zygote", path)
    spec = importlib.util.spec_from_loader("belljar_zygote", loader)
    library = importlib.util.module_from_spec(spec)
    os.remove(path)
    LAST_PRELOADED = next(reversed(sys.modules))
    gc.collect()
    gc.freeze()
    library.serve()
    WORKSPACE = os.getcwd()
    MAIN = WORKSPACE + "/main.py"


def rehearse():
    """What main() does with a program, with one that does nothing. Memory is shared with the zygote
    until it is written to; what every program writes to is the guest's own afterwards. A program
    that is here already does not wait for that."""
    global GAPS
    import gc
    import select

    if select.select([REQUEST_FD], [], [], 0)[0]:
        return
    reading, writing = os.pipe()
    os.write(writing, json.dumps({"code": "print(end='')\n0", "files": {}, "args": []}).encode())
    os.close(writing)
    request = json.loads(read_line(reading))
    os.close(reading)
    names = new_main()
    report = describe_result(run(*compile_program(request["code"]), names), names)
    report["variables"] = describe_names(dict(names))
    json.dumps(report).encode()
    gc.collect()
    GAPS = fill_gaps()


def fill_gaps():
    """Takes what is free between objects of the size of numbers, so that those of the program come
    from a new pool. From one with a single free place, each calculation would take the pool off its
    list and put it back, and loops would be a tenth slower than elsewhere."""
    pool, head, most = 16384, 48, 20000  # bytes, bytes, and more than there can be
    gaps = []
    while id(number := complex(1, 1)) % pool != head and len(gaps) < most:
        gaps.append(number)
    return gaps


def leave(code):
    """As the interpreter ends, without taking apart what it had before the program came: threads,
    exit functions, the program's own objects, streams."""
    import atexit
    import gc
    import threading

    if threading.active_count() > 1 or threading._threading_atexits:
        threading._shutdown()
    atexit._run_exitfuncs()
    sys.modules["__main__"].__dict__.clear()
    # From the end: to look at the others would be to write to their memory, which is shared.
    while sys.modules and (name := next(reversed(sys.modules))) != LAST_PRELOADED:
        del sys.modules[name]
    gc.collect()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            code = code or 120  # what the interpreter says of a stream that cannot be written
    os._exit(code)


if sys.argv[1:2] == ["zygote"]:
    be_zygote(sys.argv[2:])
    rehearse()
    leave(main())
sys.exit(main())
