"""What ended a program: shown as the interpreter does it, and described for the report. Part of the
program that runs guests.

An exception is the program's own code: its text, its properties and the hook that shows it.
"""

import linecache  # noqa: E402
import os  # noqa: E402
import traceback  # noqa: E402

PATH_LIMIT = 4096
CHAIN_LIMIT = 8  # exceptions behind the one that ended the program
BUILTINS = dict(__builtins__)  # as they were
original_excepthook = sys.excepthook


def guest_frames(trace):
    """From the program's first frame on, and without those of import control."""
    while trace is not None and trace.tb_frame.f_code.co_filename != MAIN:
        trace = trace.tb_next
    own_file = guest_frames.__code__.co_filename
    frame = trace
    while frame is not None:
        while frame.tb_next and frame.tb_next.tb_frame.f_code.co_filename == own_file:
            frame.tb_next = frame.tb_next.tb_next
        frame = frame.tb_next
    return trace


def describe_error(error, shown_frames):
    line = error.lineno if isinstance(error, SyntaxError) else None
    for frame in traceback.walk_tb(shown_frames):
        if frame[0].f_code.co_filename == MAIN:
            line = frame[1]
    described = {
        "type": clip(type(error).__name__, NAME_LIMIT),
        "message": clip(safe_str(error)),
        **describe_refusal(error),
    }
    if type(line) is int:
        described["line"] = line
    return described


def format_error(error, shown_frames):
    """As the interpreter shows it. The program may have taken away what that needs."""
    changed = restore_builtins()
    try:
        lines = traceback.format_exception(type(error), error, shown_frames)
        text = "".join(lines).removesuffix("\n")
        return text + (attempt(suggestion_for, error, text) or "") + "\n"
    except BaseException:
        return f"{type(error).__name__}: {safe_str(error)}\n"
    finally:
        put_back(changed)


def suggestion_for(error, text):
    """What the interpreter says behind the text; before 3.12 nobody else knows of similar names."""
    if sys.version_info >= (3, 12) or not isinstance(error, (NameError, AttributeError)):
        return ""
    stream, sys.stderr = sys.stderr, io.StringIO()
    try:
        original_excepthook(type(error), error, None)
        said = sys.stderr.getvalue()
    finally:
        sys.stderr = stream
    last = text.rpartition("\n")[2]
    behind = said.rstrip("\n").rpartition("\n")[2].removeprefix(last)
    return behind if behind.startswith(". Did you mean: ") else ""


def restore_builtins():
    changed = {}
    present = vars(builtins)
    for name, value in BUILTINS.items():
        if present.get(name) is not value:
            changed[name] = present.get(name, changed)
            present[name] = value
    return changed


def put_back(changed):
    for name, value in changed.items():
        if value is changed:
            del vars(builtins)[name]
        else:
            vars(builtins)[name] = value


def clip_middle(text):
    """What a traceback begins and ends with tells most."""
    if len(text) > TEXT_LIMIT:
        text = text[:TEXT_LIMIT // 4] + "\n...\n" + text[-TEXT_LIMIT * 3 // 4:]
    return clip(text, len(text))


def report_error(error):
    """Shows it where the interpreter would; gives what the report says of it."""
    shown_frames = guest_frames(error.__traceback__)
    attempt(show_line, error)
    text = format_error(error, shown_frames)
    described = attempt(describe_error, error, shown_frames) or {"type": "Error", "message": ""}
    described["traceback"] = clip_middle(text)
    hook = getattr(sys, "excepthook", original_excepthook)
    if hook is not original_excepthook:
        text = call_hook(hook, error, shown_frames, text)
    attempt(write_error, text)
    return described


def show_line(error):
    """The compiler looks for it in a file."""
    if isinstance(error, SyntaxError) and error.filename == MAIN and error.text is None:
        error.text = linecache.getline(MAIN, error.lineno) or None


def call_hook(hook, error, shown_frames, text):
    """The program's own way of showing errors; gives what is left to show."""
    try:
        hook(type(error), error, shown_frames)
        return ""
    except BaseException as failure:
        frames = guest_frames(failure.__traceback__)
        failed = format_error(failure, frames)
        return f"Error in sys.excepthook:\n{failed}\nOriginal exception was:\n{text}"


def write_error(text):
    if text:
        sys.stderr.write(text)
        sys.stderr.flush()


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
        return error.code & 0xFF if -1 << 63 <= error.code < 1 << 63 else 0xFF
    attempt(lambda: write_error(str(error.code) + "\n"))
    return 1

