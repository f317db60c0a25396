"""What a guest tells of its program before it runs. Last part of the reader, behind scan.py.

Most programs are short, and have nothing in them that any rule of the scanner asks for. That can be
told by their words alone, in a tenth of the time that it takes to walk through their tree.
"""

PLAIN_LIMIT = 2000  # characters; what is longer is walked through
WORD = re.compile(r"\w+")
# Without one of these no name leads to anything that the scanner knows.
TELLING_WORDS = frozenset("""
    os _os posix sys _sys subprocess _posixsubprocess pty commands asyncio multiprocessing
    signal shutil pickle _pickle cPickle marshal dill shelve yaml jsonpickle joblib torch
    pandas cloudpickle ctypes _ctypes cffi socket _socket socketserver http telnetlib paramiko
    ftplib smtplib ssl websocket xmlrpc requests urllib httpx aiohttp urllib3 importlib imp
    runpy zipimport builtins codecs base64 zlib gzip bz2 lzma binascii nsenter unshare eval
    exec compile getattr globals locals vars chr bytes bytearray fromhex decode while f_globals
    f_builtins f_back gi_frame cr_frame ag_frame tb_frame _getframe
    """.split())
# Nor does a number, or what only looks like a name, or what is meant for a reader.
TELLING_SIGNS = re.compile(
    r"""[\\\r]|__|\'{3}|"{3}|\*[^*]*\*|<<|:\s*:|\d_|0[xXoObB]|\d{9}|[O0Il1_]{6}|_0x"""
    r"|AKIA|ASIA|AIza|(?i:mkfifo|xmrig|minerd|cryptonight|coinhive"
    r"|passw|secret|api_?key|access_?key|auth_?token|private_?key|credential"
    r"|instruction|prompt|rules|guidelines|directions|<\||inst\]|sys>>|you are now|do not )")
# Where there is nothing of that, a text ends in the line where it begins.
TEXT = re.compile(r"""'[^'\n]*'|"[^"\n]*\"""")
# What a text needs to be a path, an address or a key: more than the signs of a sentence, or of how
# a number is shown.
TELLING_TEXT = re.compile(
    r"""[/_+]|-(?![\s"'])|:(?![\s"']|[,<>^]?\d*,?(?:\.\d+)?[a-z%]?\})|\.(?![\s"']|\d+[a-z%]?\})""")
# Two texts may be put together to one of those.
ASSEMBLING_SIGNS = re.compile(r"""\+|join|[fF][rR]?["']|["']\s*["']""")


def is_plain(source, builtins):
    """Whether the scanner finds nothing in it, and no call of `builtins`."""
    if len(source) > PLAIN_LIMIT or not source.isascii():
        return False
    words = WORD.findall(source)
    if not TELLING_WORDS.isdisjoint(words) or any(name in words for name in builtins):
        return False
    if TELLING_SIGNS.search(source):
        return False
    texts = TEXT.findall(source)
    if source.count("'") + source.count('"') != 2 * len(texts):
        return False  # one within another
    if len(texts) > 1 and ASSEMBLING_SIGNS.search(source):
        return False
    return not any(TELLING_TEXT.search(text) for text in texts)


def read_before_run(parsed, source, more, order):
    """What is found in a program that is about to run, and whether it may. `parsed` is its tree, or
    why it has none: what is no program says so itself when it is run."""
    stops, builtins = order["stops"], order["builtins"]
    if isinstance(parsed, ast.AST):
        if not more and is_plain(source, builtins):
            return {"findings": [], "runs": True}
        found = find_in(parsed, source)
    else:
        is_none = isinstance(parsed, (SyntaxError, ValueError))
        found = [] if is_none else [("code.unreadable", 0, "")]
    if more:
        found += find_in_modules(more)
    findings = [one for one in described(found)
                if one["rule"] != "code.builtin" or one["subject"] in builtins]
    return {"findings": findings, "runs": not any(one["rule"] in stops for one in findings)}
