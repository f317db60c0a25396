"""Runs one program inside a jar and reports what only the interpreter knows.

Descriptor 3 is this file, 4 the request (one line of JSON), 5 the report. A line break ahead of the
report says that the request is awaited: a jar may be made before there is one.

If the request has an order to read the program, a line of its own comes first: what was found in
it. Nothing of the program has run then, and nothing will if the order says so.

The report is one line of JSON and then the bytes of the outputs, whose sizes the line tells. It
repeats the mark of the request, which a program that writes to the descriptor does not know. It
carries the value of the last expression, the names that the program defined and the exception that
ended it, with the error number and the path if the system refused something. Nobody outside trusts
it with more than that: whether the program failed, and why, is decided by the kernel's word.
"""

import __future__
import ast
import linecache
import os
import types
from _weakref import ref

PROGRAM_FD, REQUEST_FD, REPORT_FD = 3, 4, 5
LIBRARY_FD = 4  # of a zygote, which has no request
WORKSPACE = os.getcwd()  # the jar starts its program there; set again in a fork
MAIN = WORKSPACE + "/main.py"
RESULT_LIMIT = 256 * 1024  # bytes of JSON
NAME_LIMIT = 256
NAMES_LIMIT = 1000
DEPTH_LIMIT = 60  # levels of a result; the reader takes 64 in all
KEY_LIMIT = 64 * 1024  # bytes of a name in a result
NUMBER_LIMIT = 1023  # bits of an integer in it: the reader has to find a double near it
REHEARSALS = 20  # after which the interpreter has chosen the short forms of all that is rehearsed
# What these modules do after a fork is for a process with threads, or done by reseed().
KNOW_OF_FORKS = {"threading", "logging", "random", "concurrent.futures.thread"}
IDLE_SECONDS = 0.002  # longer than a request takes that waited for this guest
SHORT = 1000  # characters
REPEATING = "for", "while", "def", "import", "lambda", "map"
INTERRUPTED = -2  # an exit code: by this signal, as the interpreter does it
TOOLS = "/tools"
# What programs say that have their own file read again: by themselves, or by the processes of a
# pool, which are not forked by default from 3.14 on.
OWN_FILE = ["__file__", "argv[0]", "spawn", "forkserver", "set_start_method"]
if sys.version_info >= (3, 14):
    OWN_FILE += ["multiprocessing", "ProcessPoolExecutor"]
OLD_RESULT = None
LOGGING = None  # in a zygote's guest, and how many handlers it has by itself
HANDLERS = 0
READER = None  # the names of the program that reads others
READS = False  # whether programs are expected that have to be read
PARSED = None  # of a program that was read before it runs: its tree, or why it has none
UNREAD = b""  # of the request's descriptor: the order to stop a session's first cell
FUTURE_FLAGS = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
STREAMS = sys.stdout, sys.stderr
write_to, read_from, close, exit_now, own_number = os.write, os.read, os.close, os._exit, os.getpid


def get_ready():
    """Does what can be done before there is a program; says whether there are approved tools."""
    os.set_inheritable(REPORT_FD, False)
    return has_tools()


def announce():
    """From now on a request may come."""
    write_to(REPORT_FD, b"\n")


def read_request():
    """The next request; None at the end of the pipe. There is never more than one under way."""
    line = read_line(REQUEST_FD)
    return from_json(line.decode()) if line else None


def read_line(descriptor):
    """Up to the first line break, or to the end. What came behind it is UNREAD."""
    global UNREAD
    parts = []
    size = 1 << 12  # of most requests, so that no memory is taken that is not the guest's own yet
    while part := read_from(descriptor, size):
        parts.append(part)
        size = 1 << 16
        if b"\n" in part:
            break
    line, _, UNREAD = b"".join(parts).partition(b"\n")
    return line


def place_files(files):
    for path, content in files.items():
        place = os.path.join(WORKSPACE, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as file:
            file.write(a2b_base64(content))


def place_program(request):
    """For a program that may ask for its own file; who brought one of that name keeps it."""
    code = request["code"]
    if not request.get("session") and any(word in code for word in OWN_FILE):
        with open(MAIN, "xb") as file:
            file.write(code.encode())


def load_reader():
    """It stands behind this file, and is compiled where it is needed."""
    global READER
    text = os.pread(PROGRAM_FD, os.fstat(PROGRAM_FD).st_size, 0).partition(b"\0")[2]
    READER = {"__builtins__": builtins}
    exec(compile(text, "reader.py", "exec"), READER)


def read_first(request):
    """Tells what is in the program, as far as somebody wants to know that before it runs. False: it
    must not run."""
    order = request.get("reading")
    if order is None:
        return True
    if READER is None:
        load_reader()
    reading = read_program(request, order)
    send_all(tell_reading(request, reading))
    return reading["runs"]


def tell_reading(request, reading):
    if not reading["findings"] and reading["runs"]:
        return b'{"mark":"%b","findings":[],"runs":true}\n' % request["mark"].encode()
    return to_json({"mark": request["mark"], **reading}).encode() + b"\n"


def read_program(request, order):
    global PARSED
    source = source_of(request)
    show_source(source)
    try:
        PARSED = parse_program(source)
    except BaseException as error:
        PARSED = error
    modules = [a2b_base64(content).decode(errors="replace")
               for path, content in request["files"].items() if path.endswith(".py")]
    return READER["read_before_run"](PARSED, source, modules, order)


def source_of(request):
    return request["code"].removeprefix("\ufeff")  # as the interpreter reads a file


def prepare(request, tools):
    place_files(request["files"])
    attempt(place_program, request)
    for name, value in request["env"].items():
        os.environ[name] = value
    sys.argv = ["main.py", *request["args"]]
    if WORKSPACE not in sys.path[:1]:
        sys.path.insert(0, WORKSPACE)
    if tools and TOOLS not in sys.path:
        sys.path.append(TOOLS)  # behind all others: they hide nothing
    control_imports(request["allowed_imports"], request.get("profile_imports"))


def install():
    """What every program finds, besides what its language has."""
    # What was printed before a deadline must not be lost in a buffer.
    sys.stdout.reconfigure(line_buffering=True)
    builtins.display = display
    sys.meta_path.insert(0, Imports)


def has_tools():
    try:
        return bool(os.listdir(TOOLS))
    except OSError:
        return False  # not every way of starting guests shows them


def find_package_of_tools():
    """The package that holds approved modules, once it is imported: most programs need not wait
    until somebody has looked whether files of theirs have its name."""
    if TOOLS not in sys.path or has_file("tools") or has_file("tools.py"):
        return None
    package = type(sys.__spec__)("tools", None, is_package=True)
    package.submodule_search_locations.append(TOOLS)
    return package


def has_file(name):
    return os.access(f"{WORKSPACE}/{name}", os.F_OK)


def new_main():
    module = types.ModuleType("__main__")
    module.__file__ = MAIN
    module.__builtins__ = builtins
    sys.modules["__main__"] = module
    return module.__dict__


def parse_program(source):
    """What was read before is not read again."""
    global PARSED
    parsed, PARSED = PARSED, None
    if isinstance(parsed, BaseException):
        raise parsed
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST
    return parsed or compile(source, MAIN, "exec", flags, dont_inherit=True)


def compile_program(source):
    """The statements and, apart from them, the last expression if the program ends with one. None:
    there are none."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    if may_be_expression(source):
        try:
            return None, compile(source, MAIN, "eval", flags, dont_inherit=True)
        except SyntaxError:
            pass  # it is a statement, or an error that the next attempt tells
    tree = parse_program(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    is_empty = last is not None and not tree.body
    body = None if is_empty else compile(tree, MAIN, "exec", flags, dont_inherit=True)
    if last is None:
        return body, None
    features = 0 if is_empty else body.co_flags & FUTURE_FLAGS
    value = compile(ast.Expression(last.value), MAIN, "eval", flags | features, dont_inherit=True)
    return body, value


def may_be_expression(source):
    """Whether to try that first, which takes half of the time, but if it is none, the source is
    read twice. A backslash may be warned of each time."""
    return (PARSED is None and len(source) <= SHORT and "\n" not in source.strip()
            and "\\" not in source)


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
    if body is not None:
        exec(body, names)
    return eval(value, names) if value is not None else None


def as_json(value):
    """The value if JSON can hold it and the other side reads it, else None."""
    if is_huge(value):
        return None
    try:
        text = to_json(value)
        plain = from_json(text)
        size = len(text.encode())
    except BaseException:  # also what the program's own mappings and numbers raise
        return None
    return plain if size <= RESULT_LIMIT and is_readable(plain, DEPTH_LIMIT) else None


def from_json(text):
    return scan_json(text, 0)[0]


def is_readable(value, levels):
    """Whether the other side takes it: so deep, and with such names and numbers."""
    if isinstance(value, int):
        return value.bit_length() <= NUMBER_LIMIT
    if not isinstance(value, (dict, list)):
        return True
    if isinstance(value, dict):
        if any(len(key.encode()) > KEY_LIMIT for key in value):
            return False
        value = value.values()
    return levels > 0 and all(is_readable(part, levels - 1) for part in value)


def forget_result(names):
    """A `result` that was there before the program came is not its result."""
    global OLD_RESULT
    OLD_RESULT = names.get("result")


def describe_result(value, names):
    if value is None and names.get("result") is not OLD_RESULT:
        value = names.get("result")
    if value is None:
        return {}
    display_value(value)
    return {"result": as_json(value), "repr": safe_repr(value)}


def describe_names(names):
    described = []
    for name in list(names):
        hidden = type(name) is not str or name.startswith("_")
        if not hidden and not issubclass(type(names.get(name)), types.ModuleType):
            described.append(clip(name, NAME_LIMIT))
            if len(described) == NAMES_LIMIT:
                break
    return described


def show_source(source):
    """For tracebacks: the program is in no file, as a rule."""
    lines = (source if source.endswith("\n") else source + "\n").splitlines(True)
    linecache.cache[MAIN] = (len(source), None, lines, MAIN)


def run_program(request, names):
    """Runs its code with these names. Gives the report, and the exit code with which the
    interpreter would end."""
    source = source_of(request)
    report = {"mark": request.get("mark")}
    code = 0
    show_source(source)
    try:
        body, value = compile_program(source)
        gaps = fill_gaps() if may_repeat(source) else None
        report.update(describe_result(run(body, value, names), names))
        del gaps
    except SystemExit as error:
        code = exit_code_of(error)
        report.update(describe_result(None, names))
    except BaseException as error:
        code = INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
        attempt(show_source, source)
        report["error"] = report_error(error)
    report["variables"] = attempt(describe_names, names) or []
    if REFUSED:
        report["refused_imports"] = list(REFUSED)
    report["outputs"], report["omitted"] = collect_outputs()
    return report, code


def bind_tools(bound, code, names):
    """Approved modules that the program may use without an import, as far as it mentions them."""
    for name in bound:
        if name in code and os.path.exists(os.path.join(TOOLS, f"{name}.py")):
            names[name] = __import__(name)


def prepare_and_run(request, tools, names):
    try:
        bound = request["env"].pop("BELLJAR_BIND", "").split()
        prepare(request, tools)
        bind_tools(bound, request["code"], names)
    except BaseException as error:
        return {"mark": request.get("mark"), "error": report_error(error)}, 1
    return run_program(request, names)


def pack(report):
    """One line, and then what is too large for a line, in pieces."""
    bundles = report.get("outputs", [])
    sizes = [[[clip(mime, NAME_LIMIT), len(data)] for mime, data in bundle.items()]
             for bundle in bundles]
    line = to_json({**report, "outputs": sizes}).encode()
    return [line + b"\n", *(data for bundle in bundles for data in bundle.values())]


def send(report):
    try:
        for piece in pack(report):
            send_all(piece)
    except OSError:
        pass  # the program closed it; what can be seen from outside is still true


def send_all(piece):
    rest = memoryview(piece)
    while rest:
        rest = rest[write_to(REPORT_FD, rest):]


def use_file(name):
    """What the program is called from now on, where it says its own lines."""
    global MAIN
    MAIN = name


def main(is_fork=False):
    tools = get_ready()
    announce()
    if is_fork and is_idle():
        make_own(tools)
    names = new_main()
    request = read_request()
    if request is None:
        return 1
    runs = read_first(request)
    close(PROGRAM_FD)
    if not runs:
        return 0
    if request.get("session"):
        serve_session(request, names, tools)
    close(REQUEST_FD)
    number = own_number()
    report, code = prepare_and_run(request, tools, names)
    if own_number() == number:  # a child that comes to its end, too, is not the one to report
        send(report)
    attempt(close, REPORT_FD)
    return code


def be_zygote(modules):
    """Imports what most programs need and then waits; comes back in each guest, as if it had just
    started there. No code of a guest's ever runs in the zygote itself."""
    global WORKSPACE, MAIN, LAST_PRELOADED, READS, atexit, gc, select, threading
    register, strangers = os.register_at_fork, note_fork_hooks()
    import atexit
    import gc
    import importlib
    import threading
    from select import select

    library = load_library()
    library.gather()
    READS = modules[:1] == ["--reads"]
    for name in modules[READS:]:
        try:
            importlib.import_module(name)
        except ImportError:
            pass  # not part of every installation
    if "matplotlib.pyplot" in MODULES:
        attempt(draw_something)
    os.register_at_fork = register
    LAST_PRELOADED = next(reversed(sys.modules))
    load_reader()
    put_off_logging()
    for _ in range(REHEARSALS):
        rehearse(tools=True)
    os.environ.pop("LD_BIND_NOW", None)  # it was for us
    linecache.cache.clear()
    gc.collect()
    gc.freeze()
    library.serve(bool(strangers))
    reseed()
    threading.main_thread()._set_native_id()
    WORKSPACE = os.getcwd()
    MAIN = WORKSPACE + "/main.py"


def note_fork_hooks():
    """Gives what modules register from now on to be called around a fork, besides those that are
    known."""
    register, strangers = os.register_at_fork, []

    def note(**hooks):
        if sys._getframe(1).f_globals.get("__name__") not in KNOW_OF_FORKS:
            strangers.append(hooks)
        register(**hooks)

    os.register_at_fork = note
    return strangers


def reseed():
    """In each guest: no two begin with the same random numbers."""
    for name in ("random", "numpy.random"):
        if name in MODULES:
            MODULES[name].seed()


def load_library():
    import importlib.machinery
    import importlib.util

    path = "/workspace/belljar_zygote.so"
    with open(path, "wb") as file:
        file.write(os.pread(LIBRARY_FD, os.fstat(LIBRARY_FD).st_size, 0))
    loader = importlib.machinery.ExtensionFileLoader("belljar_zygote", path)
    spec = importlib.util.spec_from_loader("belljar_zygote", loader)
    library = importlib.util.module_from_spec(spec)
    os.remove(path)
    return library


def is_idle():
    """Whether no program comes for a moment."""
    return not select([REQUEST_FD], [], [], IDLE_SECONDS)[0]


def make_own(tools):
    """Memory is shared with the zygote until it is written to. What every program writes to is the
    guest's own afterwards, which a program that is here already does not wait for."""
    global GAPS
    rehearse(tools)
    gc.collect()
    GAPS = fill_gaps()
    gc.freeze()


def rehearse(tools):
    """What main() does with a program, with one that does nothing."""
    reading, writing = os.pipe()
    nothing = {"code": "print('text'[:0], end='')\n0", "args": [], "env": {}, "files": {},
               "allowed_imports": None, "mark": "-" * 36}
    if READS:
        nothing["profile_imports"] = "math " * 80
        nothing["reading"] = {"stops": [], "builtins": ["breakpoint", "eval", "exec"]}
    os.write(writing, to_json(nothing).encode())
    os.close(writing)
    request = from_json(read_line(reading).decode())
    os.close(reading)
    if READS:
        tell_reading(request, read_program(request, request["reading"]))
    path, arguments, names = sys.path[:], sys.argv, new_main()
    report, _ = prepare_and_run(request, tools, names)
    pack(report)
    control_imports(None, None)
    rehearse_end(names)
    sys.path[:], sys.argv = path, arguments


def rehearse_end(names):
    flush_streams()
    names.clear()
    end_logging()


def fill_gaps():
    """Takes what is free between objects of the size of numbers, so that those of the program come
    from a pool with room. From one with a single free place, each calculation would take the pool
    off its list and put it back, and loops would be a tenth slower than elsewhere."""
    size, most = 32, 20000  # bytes, and more than there can be
    gaps = []
    while len(gaps) < most:
        more = [complex(1, 1) for _ in range(64)]
        gaps += more
        if id(more[-1]) - id(more[-16]) == 15 * size:  # one behind the other
            break
    return gaps


def may_repeat(source):
    """Whether it is worth the time; no more than a guess."""
    return any(word in source for word in REPEATING)


def leave(code):
    """As the interpreter ends, without taking apart what it had before the program came: threads,
    exit functions, the program's own objects, streams."""
    if len(threading._active) + len(threading._limbo) > 1 or threading._threading_atexits:
        threading._shutdown()
    atexit._run_exitfuncs()
    attempt(end_logging)
    attempt(forget_program)
    end(code if flush_streams() else code or 120)  # as the interpreter says it


def put_off_logging():
    """What it registers for the end is the oldest of all, and so the last. Few programs have
    something to log: for the others nobody looks through it."""
    global LOGGING, HANDLERS
    LOGGING = MODULES.get("logging")
    if LOGGING is not None:
        HANDLERS = len(LOGGING._handlerList)
        atexit.unregister(LOGGING.shutdown)


def end_logging():
    if LOGGING is not None and len(LOGGING._handlerList) != HANDLERS:
        LOGGING.shutdown()


def forget_program():
    """In the interpreter's order: what ends with the program still finds the program's names, as
    long as nothing but the program holds them."""
    main = attempt(ref, MODULES.pop("__main__", None))
    # From the end: to look at the others would be to write to their memory, which is shared.
    while MODULES and (name := next(reversed(MODULES))) != LAST_PRELOADED:
        del MODULES[name]
    gc.collect()
    if main is not None and (module := main()) is not None:
        empty_module(vars(module))


def empty_module(names):
    for name in list(names):
        if name != "__builtins__":  # finalizers need them
            names[name] = None


def flush_streams():
    """Those of the program, and then those that it may have replaced."""
    written = True
    for stream in (getattr(sys, "stdout", None), getattr(sys, "stderr", None)):
        try:
            if stream is not None and not getattr(stream, "closed", False):
                stream.flush()
        except BaseException:
            written = False
    for stream in STREAMS:
        attempt(stream.flush)
    return written


def end(code):
    if code == INTERRUPTED:
        import signal

        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    exit_now(code & 0xFF)


def leave_interpreter(code):
    """The same where nobody else needs the interpreter."""
    if code == INTERRUPTED:
        import atexit as exits

        exits._run_exitfuncs()
        flush_streams()
        end(code)
    sys.exit(code)


install()
if sys.argv[1:2] == ["zygote"]:
    be_zygote(sys.argv[2:])
    leave(main(is_fork=True))
leave_interpreter(main())
