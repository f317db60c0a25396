"""Import control: which modules a program may import by itself. Part of the program that runs
guests.

Asked are the program's own text and, under a profile, the files that it brought along; what a
module of the interpreter or an approved tool imports is its own matter. This is policy for programs
that mean well: one that does not gets around it, and the jar is the wall.
"""

REFUSED_LIMIT = 16
REFUSED = []  # modules that this program was refused
CONTROLLED = False
C_NEEDS = frozenset(["collections.abc", "copyreg", "numbers", "time", "warnings"])  # only values


def control_imports(listed, profile):
    """`listed`: top-level modules that the caller names. `profile`: those of its profile, as one
    text, with what is inside of them; besides these there are its own files and approved tools.
    None: no control of that kind. Both must agree."""
    global CONTROLLED
    if CONTROLLED:
        restore_imports()
    CONTROLLED = listed is not None or profile is not None
    if not CONTROLLED:
        return
    original = builtins.__import__
    listed = None if listed is None else frozenset(listed)

    def check(name, fromlist, asking):
        if asks_for_program(asking, profile is not None) and isinstance(name, str):
            modules = None if profile is None else frozenset(profile.split())
            refused = find_refused(name, fromlist, listed, modules)
            if refused is not None:
                note_refusal(refused)
                raise ImportError(f"Import of '{refused}' is not allowed in sandbox", name=refused)

    def checked_import(name, globals=None, locals=None, fromlist=(), level=0):
        if level == 0 and not asks_for_interpreter(name, fromlist):
            asking = globals if globals is not None else sys._getframe(1).f_globals
            check(name, fromlist, asking)
        return original(name, globals, locals, fromlist, level)

    checked_import.original = original
    builtins.__import__ = checked_import
    check_import_module(check)


def restore_imports():
    REFUSED.clear()
    builtins.__import__ = getattr(builtins.__import__, "original", builtins.__import__)
    library = MODULES.get("importlib")
    if library is not None:
        library.import_module = getattr(library.import_module, "original", library.import_module)
        library.__import__ = getattr(library.__import__, "original", library.__import__)


def check_import_module(check):
    import importlib as library

    import_module, import_name = library.import_module, library.__import__

    def checked_module(name, package=None):
        if not isinstance(name, str) or not name.startswith("."):
            check(name, (), sys._getframe(1).f_globals)
        return import_module(name, package)

    def checked_name(name, globals=None, locals=None, fromlist=(), level=0):
        if level == 0:
            check(name, fromlist, sys._getframe(1).f_globals)
        return import_name(name, globals, locals, fromlist, level)

    checked_module.original, checked_name.original = import_module, import_name
    library.import_module, library.__import__ = checked_module, checked_name


def asks_for_interpreter(name, fromlist):
    """Modules written in C import their other half in the name of whoever called them, as
    strptime() does `_strptime` and strftime() `time`; statements never have a list there."""
    return type(fromlist) is list and type(name) is str and (
        name in C_NEEDS or (name.startswith("_") and name in sys.stdlib_module_names))


def asks_for_program(asking, with_files):
    """Whether the code with these globals is the program's."""
    if asking is globals():
        return False
    if not isinstance(asking, dict):
        return True
    if asking.get("__name__", "__main__") == "__main__":
        return True
    return with_files and is_in_workspace(asking.get("__file__"))


def is_in_workspace(file):
    return isinstance(file, str) and file.startswith(WORKSPACE + "/")


def find_refused(name, fromlist, listed, profile):
    """The module that may not be imported, by the name that helps most; None: it may."""
    top = name.partition(".")[0]
    if listed is not None and top not in listed:
        return top
    if profile is None or allows(profile, name) or is_own(top) or is_tool(top):
        return None
    if fromlist and all(allows(profile, f"{name}.{part}") for part in fromlist):
        return None
    return name if any(known.startswith(top + ".") for known in profile) else top


def allows(profile, name):
    while name not in profile:
        name, dot, _ = name.rpartition(".")
        if not dot:
            return False
    return True


def is_own(top):
    """Whether it is a file of the program and hides nothing of the interpreter's."""
    if top in sys.stdlib_module_names:
        return False
    module = MODULES.get(top)
    if module is not None:
        places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
        return any(is_in_workspace(place) for place in places)
    place = os.path.join(WORKSPACE, top)
    return os.path.isfile(place + ".py") or os.path.isdir(place)


def is_tool(top):
    if top in sys.stdlib_module_names:
        return False
    place = os.path.join(TOOLS, top)
    return top == "tools" or os.path.isfile(place + ".py") or os.path.isdir(place)


def note_refusal(name):
    if len(REFUSED) < REFUSED_LIMIT and name not in REFUSED:
        REFUSED.append(clip(name, NAME_LIMIT))

