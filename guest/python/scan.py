"""Looks for what a person would look at twice in the tree of a program. The reader of a run's own
jar, before the first line runs, and first part of the program that only reads others; nothing of
what is read is executed here.

Names are followed through imports and simple assignments, and texts through what is put together of
constants. That is all: a program that wants to hide something can. Of what is found only the name
of a rule, a line and a name from the program are told, and never a value.
"""

import ast
import base64
import re
import warnings
from itertools import islice

FOLDED_LIMIT = 20_000  # characters of a text that is put together
RULE_LIMIT = 20  # findings of one rule: many of one kind hide none of another
DEPTH_LIMIT = 60  # of names that stand for others
MANY_NAMES = 5  # that nobody can tell from each other

EVALUATED = {"eval", "exec", "compile", "builtins.eval", "builtins.exec", "builtins.compile"}
IMPORTERS = {"__import__", "builtins.__import__", "importlib.import_module", "importlib.__import__"}
LOADERS = {"importlib.util.spec_from_file_location", "importlib.machinery.SourceFileLoader",
           "imp.load_source", "runpy.run_path", "runpy.run_module", "zipimport.zipimporter"}
SPAWNING = re.compile(
    r"(os|posix)\.(system|popen|exec[lv]p?e?|spawn[lv]p?e?|posix_spawnp?|fork|forkpty|startfile)$"
    r"|subprocess\.\w+$|pty\.(spawn|fork)$|asyncio\.create_subprocess_\w+$"
    r"|asyncio\.subprocess\.\w+$|_posixsubprocess\.\w+$|commands\.get\w+$")
HARMLESS_SPAWNING = re.compile(
    r"subprocess\.(PIPE|STDOUT|DEVNULL|\w*Error|TimeoutExpired|list2cmdline)$")
DESERIALIZING = re.compile(
    r"_?pickle\.(loads?|Unpickler)$|cPickle\.loads?$|marshal\.loads?$|dill\.loads?$|shelve\.open$"
    r"|yaml\.(unsafe_load|full_load|unsafe_load_all)$|jsonpickle\.decode$|joblib\.load$"
    r"|torch\.load$"
    r"|pandas\.read_pickle$|cloudpickle\.loads?$")
NATIVE = re.compile(r"(ctypes|_ctypes|cffi)(\.\w+)*$")
SOCKETS = re.compile(
    r"socket\.(socket|create_connection|create_server|socketpair|fromfd)$|_socket\.\w+$"
    r"|asyncio\.(open_connection|start_server|open_unix_connection)$|socketserver\.\w+$"
    r"|http\.server\.\w+$|telnetlib\.\w+$|paramiko\.\w+|ftplib\.FTP\w*$|smtplib\.SMTP\w*$"
    r"|ssl\.(create_default_context|wrap_socket)$|websocket\.\w+$|xmlrpc\.server\.\w+$")
REQUESTS = re.compile(
    r"requests\.(get|post|put|delete|patch|head|request|Session)$|urllib\.request\.\w+$"
    r"|httpx\.\w+$|aiohttp\.\w+$|http\.client\.HTTPS?Connection$|urllib3\.\w+$")
SIGNALS = {"os.kill", "os.killpg", "signal.pthread_kill", "signal.pidfd_send_signal"}
ENVIRONMENT = {"os.environ", "os.getenv", "os.environb", "posix.environ"}
ESCAPES = {"os.unshare", "os.setns", "os.pidfd_getfd", "os.chroot", "os.pivot_root"}
ESCAPE_CALLS = {"unshare", "setns", "ptrace", "process_vm_writev", "bpf", "keyctl", "init_module",
                "finit_module", "kexec_load", "open_by_handle_at", "pivot_root"}
REMOVING = {"shutil.rmtree", "os.remove", "os.unlink", "os.rmdir", "os.removedirs", "os.truncate"}
WALKING = {"os.walk", "os.listdir", "os.scandir", "os.fwalk"}
INTERNALS = {"__globals__", "__builtins__", "f_globals", "f_builtins", "f_back", "gi_frame",
             "cr_frame", "ag_frame", "tb_frame", "__loader__", "_getframe"}
DANGEROUS_WORDS = {"system", "popen", "eval", "exec", "compile", "__import__", "os", "subprocess",
                   "builtins", "__builtins__", "__subclasses__", "__globals__", "Popen", "execve",
                   "socket", "ctypes", "pty", "importlib"}
CALLED_ALREADY = {"eval", "exec", "compile", "__import__"}  # have rules of their own
BUILTINS = frozenset(dir(__builtins__) if not isinstance(__builtins__, dict) else __builtins__)
# Of these nothing but the name is looked at.
MERELY_CALLED = BUILTINS - CALLED_ALREADY - {"getattr", "bytes", "bytearray"}
FOREIGN_MODULES = {"os", "sys", "_os", "_sys", "subprocess", "builtins", "codecs", "socket",
                   "importlib", "posix", "shutil"}
DECODING = re.compile(
    r"(base64\.\w*decode\w*|base64\.decodebytes|codecs\.decode|bytes\.fromhex|bytearray\.fromhex"
    r"|zlib\.decompress|gzip\.decompress|bz2\.decompress|lzma\.decompress|marshal\.loads"
    r"|binascii\.(unhexlify|a2b_\w+))$")

# --- texts: what they may have in them

SECRET_PATHS = re.compile(
    r"/etc/(passwd|shadow|sudoers|gshadow|ssh\b)|(^|/)\.ssh/|\bid_(rsa|ed25519|ecdsa)\b"
    r"|\.aws/credentials|\.kube/config|\.docker/config\.json|\.git-credentials|(^|/)\.netrc\b"
    r"|\.pgpass\b|/proc/(self|\d+)/(environ|mem|maps|cmdline|fd)\b|/var/run/secrets|/run/secrets"
    r"|(^|/)\.bash_history\b|wallet\.dat|/root/\.")
ESCAPE_PATHS = re.compile(
    r"/proc/1/(root|ns|environ|cwd)|/proc/sys/kernel/core_pattern|release_agent|notify_on_release"
    r"|/sys/fs/cgroup|docker\.sock|containerd\.sock|crio\.sock|\bnsenter\s+-|\bunshare\s+-"
    r"|/dev/(mem|kmem|kmsg|port)\b|/proc/kcore|/proc/kallsyms|/proc/sysrq-trigger|\bLD_PRELOAD\b"
    r"|/sys/kernel/(debug|uevent_helper)")
METADATA = re.compile(
    r"169\.254\.169\.254|metadata\.google\.internal|fd00:ec2::254|100\.100\.100\.200")
REVERSE_SHELL = re.compile(
    r"/dev/(tcp|udp)/[\w.$]|\b(nc|ncat|netcat)\b[^\n]{0,80}\s-\w*e\s|\b(ba|z|da)?sh\s+-i\b"
    r"|\bsocat\b[^\n]{0,120}\bexec:|mkfifo[^\n]{0,120}\b(nc|ncat)\b", re.IGNORECASE)
SHELL = re.compile(
    r"\brm\s+(-\w+\s+)*-\w*[rf]\w*\s+(-\w+\s+)*(--no-preserve-root\s+)?[\"']?"
    r"(/|~|\*|\$HOME|\.(\s|$))"
    r"|\bmkfs(\.\w+)?\s|\bdd\s+if=[^\n]{0,80}of=/dev/|>\s*/dev/(sd|nvme|vd)|:\(\)\s*\{"
    r"|\b(curl|wget)\b[^\n|]{0,200}\|\s*(sudo\s+)?(ba|z|da)?sh\b"
    r"|base64\s+(-d|--decode)[^\n]{0,80}\|\s*\w*sh\b"
    r"|\bchmod\s+(-R\s+)?[0-7]*777\s+/|\bcrontab\s+-|/etc/(crontab|cron\.d)|authorized_keys"
    r"|\biptables\s+-F|\bhistory\s+-c\b")
MINING = re.compile(
    r"stratum\+(tcp|ssl)://|\bxmrig\b|\bminerd\b|\bcryptonight\b|\bcoinhive\b", re.IGNORECASE)
TRAVERSAL = re.compile(r"(\.\./){3,}|(\.\.\\){3,}")
PLAIN_HTTP = re.compile(r"^http://(?!localhost|127\.|\[::1\])")
SECRETS = [
    ("a cloud access key", re.compile(r"\b(AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("an access token", re.compile(
        r"\bgh[pousr]_[A-Za-z0-9]{36}|\bgithub_pat_\w{22,}|\bglpat-[\w-]{20}"
        r"|\bxox[abprs]-[\w-]{10,}"
        r"|\bhf_[A-Za-z0-9]{30,}|\bnpm_[A-Za-z0-9]{36}|\bSG\.[\w-]{16,}\.[\w-]{16,}")),
    ("an API key", re.compile(
        r"\bsk-[A-Za-z0-9_-]{20,}|\b[sr]k_live_[A-Za-z0-9]{16,}|\bAIza[\w-]{35}")),
    ("a private key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")),
    ("a signed token", re.compile(r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}")),
    ("a password in an address", re.compile(
        r"\b[a-z][a-z0-9+]{2,}://[^\s:/@]{1,64}:(?!\$|\{|<|password@)[^\s:/@]{6,}@")),
]
TEXTS = [("files.secrets", SECRET_PATHS), ("sandbox.escape", ESCAPE_PATHS),
         ("network.metadata", METADATA), ("network.mining", MINING),
         ("network.reverse_shell", REVERSE_SHELL), ("files.traversal", TRAVERSAL)]
NAMED = ("files.secrets", "sandbox.escape")  # what was found is told


def any_of(patterns):
    """One that finds something wherever one of them does."""
    return re.compile("|".join(
        f"(?i:{one.pattern})" if one.flags & re.IGNORECASE else f"(?:{one.pattern})"
        for one in patterns))


SUSPICIOUS_TEXT = any_of([pattern for _, pattern in SECRETS + TEXTS])
# Nothing of the kind is without one of these, and most texts are.
SUSPICION = re.compile(
    r"[/._:+-]|AKIA|ASIA|AIza|(?i:mkfifo|xmrig|minerd|cryptonight|coinhive)")
SECRET_NAMES = re.compile(
    r"(passw(or)?d|secret|api_?key|access_?key|auth_?token|private_?key|credential)",
    re.IGNORECASE)
PLACEHOLDER = re.compile(
    r"example|change|your|dummy|sample|placeholder|xxx|\*\*\*|<|\$\{|todo|test|\s",
    re.IGNORECASE)
INJECTION = re.compile(
    r"\b(ignore|disregard|forget|override)\b[^.\n]{0,30}"
    r"\b(previous|prior|above|earlier|all|your|the)\b"
    r"[^.\n]{0,20}\b(instructions?|prompts?|rules|guidelines|directions)\b"
    r"|<\|(im_start|im_end|system|endoftext)\|>|\[/?INST\]|<</?SYS>>"
    r"|\b(reveal|print|show|repeat|output|leak)\b[^.\n]{0,30}\b(system|hidden|initial) prompt\b"
    r"|\byou are now (dan|in developer mode|jailbroken|unrestricted)\b"
    r"|\bdo not (tell|inform|alert|mention[^.\n]{0,15} to) the user\b"
    r"|\bnew (system )?instructions\s*:",
    re.IGNORECASE)
# No sentence of that kind in plain letters is without one of these.
INJECTION_HINTS = ("instruction", "prompt", "rules", "guidelines", "directions", "<|", "inst]",
                   "sys>>", "you are now", "do not ")
HIDDEN = re.compile("[\u202a-\u202e\u2066-\u2069]")
BASE64_TEXT = re.compile(r"[A-Za-z0-9+/=\s]{400,}")
CONFUSING_NAME = re.compile(r"[O0Il1_]{6,}$|_0x[0-9a-f]{4,}$")


def name_secret(text):
    return next((kind for kind, pattern in SECRETS if pattern.search(text)), None)


def looks_secret(name, text):
    """A value of a name that says what it is; placeholders are none."""
    return (SECRET_NAMES.search(name) and len(text) >= 12 and not PLACEHOLDER.search(text)
            and re.search(r"[A-Za-z]", text) and re.search(r"\d", text)
            and len(set(text)) >= 8)


def children_of(kind):
    """Names of the fields that may hold parts which somebody looks at: neither contexts nor
    operators."""
    return [name for name in kind._fields if name not in ("ctx", "op", "ops", "type_comment")]


CHILDREN = {kind: children_of(kind) for kind in vars(ast).values()
            if isinstance(kind, type) and issubclass(kind, ast.AST)}


class Scan:
    """Of one program."""

    __slots__ = ("tree", "source", "names", "values", "depth", "found", "counts", "imports",
                 "docstrings", "modules", "builtins", "looked_at", "texts")

    def __init__(self, tree, source):
        self.tree, self.source = tree, source
        self.names = {}  # name in the program -> what it stands for
        self.values = {}  # name that is assigned once -> node
        self.depth = 0
        self.found = {}  # (rule, line, subject), in order
        self.counts = {}  # by rule
        self.imports = []  # beside the statements
        self.docstrings = set()
        self.modules = set()
        self.builtins = []  # calls of them; which of them matter is the profile's to say
        self.looked_at = []  # (how, node)
        self.texts = []  # nodes that are texts, or may be put together to one

    def run(self):
        self.walk()
        for name, value in self.values.items():
            target = self.dotted(value) if value is not None else None
            if target is not None and name not in self.names and target != name:
                self.names[name] = target
        self.modules = set(self.names.values())
        self.look_at_all()
        spawns = self.found and any(
            found[0] in ("process.spawn", "code.eval", "code.obfuscated") for found in self.found)
        for node in self.texts:
            if type(node) is ast.Constant:
                self.look_at_text(node, spawns)
            else:
                self.look_at_folded(node, spawns)
        self.look_at_source()
        self.look_at_names()
        return [*self.found, *self.called_builtins()]

    def add(self, rule, node, subject=""):
        line = node if isinstance(node, int) else getattr(node, "lineno", 0)
        count = self.counts.get(rule, 0)
        if count < RULE_LIMIT and (rule, line, subject) not in self.found:
            self.found[rule, line, subject] = None
            self.counts[rule] = count + 1

    def called_builtins(self):
        """Each once, where it is first called."""
        first = {}
        for line, name in self.builtins:
            first.setdefault(name, line)
        return [("code.builtin", line, name) for name, line in first.items()]

    def walk(self):
        """As ast.walk(), level by level. Gives all nodes, and learns what names stand for."""
        nodes = [self.tree]
        for node in nodes:
            names, learn, look, is_text = KINDS[type(node)]
            for name in names:
                part = getattr(node, name, None)
                if type(part) is list:
                    nodes += [one for one in part if type(one) in KINDS]
                elif type(part) in KINDS:
                    nodes.append(part)
            if learn is not None:
                learn(self, node)
            if look is not None:
                self.looked_at.append((look, node))
            if is_text:
                self.texts.append(node)
        return nodes

    # --- what names stand for

    def learn_import(self, node):
        for one in node.names:
            self.names[one.asname or one.name.partition(".")[0]] = (
                one.name if one.asname else one.name.partition(".")[0])

    def learn_import_from(self, node):
        if node.module and node.level == 0:
            for one in node.names:
                self.names[one.asname or one.name] = f"{node.module}.{one.name}"

    def learn_definition(self, node):
        self.learn_docstring(node)
        self.values[node.name] = None

    def learn_docstring(self, node):
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            self.docstrings.add(first.value)

    def learn_assignment(self, node):
        if len(node.targets) == 1:
            self.learn_value(node.targets[0], node.value)

    def learn_walrus(self, node):
        self.learn_value(node.target, node.value)

    def learn_value(self, target, value):
        if isinstance(target, ast.Name):
            self.values[target.id] = None if target.id in self.values else value

    def dotted(self, node, depth=0):
        """The dotted name of what an expression is, as far as it can be told."""
        if depth > 20 or self.depth > DEPTH_LIMIT:
            return None
        self.depth += 1
        try:
            return self.name_of(node, depth)
        finally:
            self.depth -= 1

    def name_of(self, node, depth):
        if isinstance(node, ast.Name):
            return self.names.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            base = self.dotted(node.value, depth + 1)
            return None if base is None else f"{base}.{node.attr}"
        if isinstance(node, ast.Call):
            return self.dotted_call(node, depth)
        if isinstance(node, ast.Subscript):
            base = self.dotted(node.value, depth + 1)
            key = self.fold(node.slice)
            if base is None or not key:
                return None
            if base in ("__builtins__", "globals()", "__builtins__.__dict__") or base.endswith(
                    "sys.modules"):
                return key
            if base.endswith(".__dict__"):
                return f"{base.removesuffix('.__dict__')}.{key}"
        return None

    def dotted_call(self, node, depth):
        function = self.dotted(node.func, depth + 1)
        if function in ("globals", "locals", "vars") and not node.args:
            return "globals()"
        if function == "getattr" and len(node.args) >= 2:
            base, name = self.dotted(node.args[0], depth + 1), self.fold(node.args[1])
            return f"{base}.{name}" if base is not None and name else None
        if function in IMPORTERS and node.args:
            return self.fold(node.args[0])
        return None

    # --- what texts are put together to

    def fold(self, node, depth=0):
        """The text that an expression is, as far as it is made of constants; None if not."""
        if depth > 40 or self.depth > DEPTH_LIMIT:
            return None
        self.depth += 1
        try:
            return self.text_of(node, depth)
        finally:
            self.depth -= 1

    def text_of(self, node, depth):
        if isinstance(node, ast.Constant):
            if isinstance(node.value, bytes):
                return node.value.decode("latin-1")
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.Name):
            value = self.values.get(node.id)
            return self.fold(value, depth + 5) if value is not None else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self.fold(node.left, depth + 1), self.fold(node.right, depth + 1)
            return None if left is None or right is None else (left + right)[:FOLDED_LIMIT]
        if isinstance(node, ast.JoinedStr):
            parts = [self.fold(getattr(part, "value", None) if isinstance(part, ast.FormattedValue)
                               else part, depth + 1) for part in node.values]
            return None if None in parts else "".join(parts)[:FOLDED_LIMIT]
        if isinstance(node, ast.Subscript) and is_reversal(node.slice):
            text = self.fold(node.value, depth + 1)
            return None if text is None else text[::-1]
        if isinstance(node, ast.Call):
            return self.fold_call(node, depth)
        return None

    def fold_call(self, node, depth):
        function = self.dotted(node.func)
        if function == "chr" and node.args and isinstance(node.args[0], ast.Constant):
            number = node.args[0].value
            return chr(number) if isinstance(number, int) and 0 <= number < 0x110000 else None
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if method == "join" and node.args:
            return self.fold_join(node, depth)
        if method == "decode" and not DECODING.match(function or ""):
            return self.fold(node.func.value, depth + 1)
        if function is not None and DECODING.match(function) and node.args:
            text = self.fold(node.args[0], depth + 1)
            return None if text is None else decode_text(function, text)
        return None

    def fold_join(self, node, depth):
        glue = self.fold(node.func.value, depth + 1)
        parts = node.args[0]
        if glue is None:
            return None
        if isinstance(parts, (ast.List, ast.Tuple)):
            texts = [self.fold(part, depth + 1) for part in parts.elts]
            return None if None in texts else glue.join(texts)[:FOLDED_LIMIT]
        if isinstance(parts, (ast.GeneratorExp, ast.ListComp, ast.Call)):
            return self.fold_characters(parts, glue)
        return None

    def fold_characters(self, parts, glue):
        """`''.join(chr(c) for c in [...])` and `''.join(map(chr, [...]))`."""
        if isinstance(parts, ast.Call):
            mapped = self.dotted(parts.func) == "map" and len(parts.args) == 2
            numbers = parts.args[1] if mapped and self.dotted(parts.args[0]) == "chr" else None
        else:
            makes = parts.elt
            is_chr = isinstance(makes, ast.Call) and self.dotted(makes.func) == "chr"
            numbers = parts.generators[0].iter if is_chr else None
        if isinstance(numbers, ast.Name):
            numbers = self.values.get(numbers.id)
        if not isinstance(numbers, (ast.List, ast.Tuple)):
            return None
        values = [getattr(one, "value", None) for one in numbers.elts[:FOLDED_LIMIT]]
        if not all(isinstance(one, int) and 0 <= one < 0x110000 for one in values):
            return None
        return glue.join(map(chr, values))

    # --- what is looked for

    def look_at_all(self):
        for look, node in self.looked_at:
            look(self, node)

    def look_at_name(self, node):
        if isinstance(node.ctx, ast.Load):
            self.look_at_use(node, self.names.get(node.id, node.id))
            if node.id == "__builtins__":
                self.add("code.internals", node, node.id)

    def look_at_subscript(self, node):
        base = self.dotted(node.value)
        if base is not None and (base == "sys.modules" or base.endswith(".sys.modules")):
            self.add("code.internals", node, "sys.modules")
        self.look_at_use(node, self.dotted(node))

    def look_at_use(self, node, name):
        """Of anything by its dotted name, called or handed on."""
        if name is None or "." not in name:
            return
        if SPAWNING.match(name) and not HARMLESS_SPAWNING.match(name):
            self.add("process.spawn", node, name)
        elif DESERIALIZING.match(name):
            self.add("code.deserialize", node, name)
        elif NATIVE.match(name):
            self.add("code.native", node, name)
        elif SOCKETS.match(name):
            self.add("network.socket", node, name)
        elif name in ENVIRONMENT:
            self.add("process.environment", node, name)
        elif name in ESCAPES:
            self.add("sandbox.escape", node, name)
        elif name in SIGNALS:
            self.add("process.signal", node, name)
        elif name in EVALUATED:
            self.add("code.eval", node, name.rpartition(".")[2])

    def look_at_attribute(self, node):
        name = self.dotted(node)
        self.look_at_use(node, name)
        base = name.rpartition(".")[0] if name else None
        if node.attr in INTERNALS and not (node.attr == "tb_frame"):
            self.add("code.internals", node, node.attr)
        elif node.attr == "__subclasses__" and not is_class_name(node.value):
            self.add("code.internals", node, node.attr)
        elif node.attr in ("__mro__", "__bases__", "__base__") and is_dunder(node.value):
            self.add("code.internals", node, node.attr)
        elif node.attr == "__code__" and isinstance(node.ctx, ast.Store):
            self.add("code.internals", node, node.attr)
        elif base in self.modules and node.attr in FOREIGN_MODULES and base not in ("os", "sys"):
            self.add("code.internals", node, name)
        if node.attr in ESCAPE_CALLS and NATIVE.match(self.maker(node.value) or ""):
            self.add("sandbox.escape", node, node.attr)

    def maker(self, node):
        """Of `libc`, if that is ctypes.CDLL(...)."""
        if isinstance(node, ast.Name) and self.values.get(node.id) is not None:
            node = self.values[node.id]
        return self.dotted(node.func) if isinstance(node, ast.Call) else self.dotted(node)

    def look_at_call(self, node):
        name = self.dotted(node.func)
        if name is None:
            return
        if name in MERELY_CALLED:
            self.look_at_builtin(node, name)
            self.look_at_handed(node)
            return
        plain = name.removeprefix("builtins.")
        if plain in ("eval", "exec", "compile") and (plain == name or name.startswith("builtins.")):
            if not self.is_defined(plain):
                self.add("code.eval", node, plain)
                self.look_at_evaluated(node)
        elif name in IMPORTERS:
            self.look_at_import(node, plain)
        elif name in LOADERS:
            self.add("code.dynamic_import", node, name)
        elif plain == "getattr" and len(node.args) >= 2:
            computed = not isinstance(node.args[1], ast.Constant)
            if computed and self.fold(node.args[1]) in DANGEROUS_WORDS:
                self.add("code.obfuscated", node)
        elif REQUESTS.match(name):
            self.add("network.request", node, name)
            address = self.fold(node.args[0]) if node.args else None
            if address and PLAIN_HTTP.match(address):
                self.add("network.plain_http", node)
        elif name == "yaml.load" and not any(
                "Safe" in target_name(part.value) for part in node.keywords):
            self.add("code.deserialize", node, name)
        elif name in REMOVING or name in WALKING:
            self.look_at_place(node, name)
        elif plain in ("bytearray", "bytes") and node.args and number_of(node.args[0]) >= 10**9:
            self.add("resource.memory", node)
        elif name == "os.dup2" and "socket" in " ".join(self.names.values()):
            self.add("network.reverse_shell", node)
        if plain in BUILTINS and plain not in CALLED_ALREADY:
            self.look_at_builtin(node, plain)
        self.look_at_handed(node)

    def look_at_builtin(self, node, name):
        if type(node.func) is ast.Name and node.func.id == name and name not in self.values:
            self.builtins.append((node.lineno, name))

    def is_defined(self, name):
        return name in self.values

    def look_at_evaluated(self, node):
        for argument in node.args[:1]:
            if self.hides(argument):
                self.add("code.obfuscated", node)
            text = self.fold(argument)
            if text is not None:
                self.look_inside(node, text)

    def hides(self, node, depth=0):
        """Whether what is run is decoded first."""
        if depth > 5:
            return False
        for part in ast.walk(node):
            if isinstance(part, ast.Call):
                name = self.dotted(part.func) or ""
                if DECODING.match(name) or name == "chr":
                    return True
            elif isinstance(part, ast.Subscript) and is_reversal(part.slice):
                return True
            elif isinstance(part, ast.Name) and self.values.get(part.id) is not None and depth < 3:
                if self.hides(self.values[part.id], depth + 1):
                    return True
        return False

    def look_inside(self, node, text):
        """A program within the program."""
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        inner = Scan(tree, "")
        inner.names.update(self.names)
        nodes = inner.walk()
        inner.look_at_all()
        for rule, _, subject in inner.found:
            self.add(rule, node, subject)
        for part in nodes:
            self.imports += [(node.lineno, one) for one in plain_imports(part)]

    def look_at_import(self, node, name):
        text = self.fold(node.args[0]) if node.args else None
        self.add("code.dynamic_import", node, name)
        if text is not None:
            self.imports.append((node.lineno, text))
            if not isinstance(node.args[0], ast.Constant):
                self.add("code.obfuscated", node)

    def look_at_place(self, node, name):
        place = self.fold(node.args[0]) if node.args else None
        if place is None and node.args and isinstance(node.args[0], ast.Call):
            home = self.dotted(node.args[0].func) in ("os.path.expanduser", "pathlib.Path.home")
            place = "~" if home else None
        if place is None:
            return
        own = place.startswith(("/tmp/", "/workspace/", "/data/", "/dev/shm/"))
        foreign = place.startswith(("/", "~")) or place in (".", "..", "*")
        if name in REMOVING and foreign and not own:
            self.add("files.destructive", node, name)
        elif name in WALKING and place in ("/", "~", "/home", "/root", "/etc"):
            self.add("files.traversal", node)

    def look_at_handed(self, node):
        """Builtins by another way: map(eval, ...)."""
        for argument in node.args:
            is_name = isinstance(argument, (ast.Name, ast.Attribute))
            name = self.dotted(argument) if is_name else None
            if name in EVALUATED and not self.is_defined(name):
                self.add("code.eval", argument, name.rpartition(".")[2])

    def look_at_loop(self, node):
        if not (isinstance(node.test, ast.Constant) and node.test.value) or leaves(node.body):
            return
        calls = [self.dotted(part.func) or "" for part in ast.walk(node)
                 if isinstance(part, ast.Call)]
        methods = [part.func.attr for part in ast.walk(node)
                   if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)]
        if any(SPAWNING.match(name) or name == "multiprocessing.Process" for name in calls):
            self.add("resource.fork_bomb", node)
        elif any(method in ("append", "extend") for method in methods) or any(
                isinstance(part, ast.AugAssign) and isinstance(part.op, (ast.Add, ast.Mult))
                and not isinstance(part.value, ast.Constant) for part in ast.walk(node)):
            self.add("resource.memory", node)
        else:
            self.add("resource.endless_loop", node)

    def look_at_size(self, node):
        if not isinstance(node.op, ast.Mult):
            return
        for one, other in ((node.left, node.right), (node.right, node.left)):
            filled = isinstance(one, ast.List) or (
                isinstance(one, ast.Constant) and isinstance(one.value, (str, bytes)))
            if filled and number_of(other) >= 10**9:
                self.add("resource.memory", node)

    def look_at_assignment(self, node):
        pairs = []
        if isinstance(node, ast.keyword):
            pairs = [(node.arg or "", node.value)]
        elif isinstance(node, ast.Dict):
            pairs = [(getattr(key, "value", ""), value)
                     for key, value in zip(node.keys, node.values)]
        else:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            pairs = [(target_name(target), node.value) for target in targets]
        for name, value in pairs:
            text = value.value if isinstance(value, ast.Constant) else None
            if isinstance(name, str) and isinstance(text, str) and looks_secret(name, text):
                self.add("secret.in_code", value, "a password or key")

    def look_at_text(self, node, spawns):
        text = node.value
        if isinstance(text, bytes):
            text = text.decode("latin-1")
        elif not isinstance(text, str):
            return
        is_docstring = node in self.docstrings
        self.look_at_words(node, text, spawns, is_docstring)
        if len(text) > 400 and spawns and BASE64_TEXT.fullmatch(text):
            self.add("code.obfuscated", node)

    def look_at_folded(self, node, spawns):
        if isinstance(node, ast.Call) and not isinstance(node.func, ast.Attribute):
            return
        text = self.fold(node)
        if text is not None and len(text) >= 6:
            self.look_at_words(node, text, spawns, False)

    def look_at_words(self, node, text, spawns, is_docstring):
        if len(text) < 4:
            return
        if SUSPICION.search(text) and SUSPICIOUS_TEXT.search(text):
            self.look_at_suspicious(node, text, is_docstring)
        if spawns and not is_docstring and SHELL.search(text):
            is_bomb = ":()" in text.replace(" ", "")
            self.add("resource.fork_bomb" if is_bomb else "process.shell", node)

    def look_at_suspicious(self, node, text, is_docstring):
        kind = name_secret(text)
        if kind is not None:
            self.add("secret.in_code", node, kind)
        for rule, pattern in TEXTS if not is_docstring else ():
            found = pattern.search(text)
            if found:
                self.add(rule, node, found.group().strip("/ ") if rule in NAMED else "")

    def look_at_source(self):
        is_plain = self.source.isascii()
        lowered = self.source.lower()
        for hint in INJECTION_HINTS:
            if not is_plain or hint in lowered:
                self.look_for("text.prompt_injection", INJECTION)
                break
        if not is_plain:
            self.look_for("code.hidden_text", HIDDEN)

    def look_for(self, rule, pattern):
        for found in islice(pattern.finditer(self.source), RULE_LIMIT):
            self.add(rule, self.source.count("\n", 0, found.start()) + 1)

    def look_at_names(self):
        if len(self.looked_at) < MANY_NAMES:
            return
        names = {node.id for _, node in self.looked_at if type(node) is ast.Name}
        confusing = [name for name in names
                     if CONFUSING_NAME.match(name) and not set(name) <= {"_"}]
        if len(confusing) >= MANY_NAMES:
            self.add("code.obfuscated", 0)


LEARNED = {ast.Import: Scan.learn_import, ast.ImportFrom: Scan.learn_import_from,
           ast.FunctionDef: Scan.learn_definition, ast.AsyncFunctionDef: Scan.learn_definition,
           ast.ClassDef: Scan.learn_definition, ast.Module: Scan.learn_docstring,
           ast.Assign: Scan.learn_assignment, ast.NamedExpr: Scan.learn_walrus}
LOOKED_AT = {ast.Call: Scan.look_at_call, ast.Attribute: Scan.look_at_attribute,
             ast.Name: Scan.look_at_name, ast.Subscript: Scan.look_at_subscript,
             ast.While: Scan.look_at_loop, ast.BinOp: Scan.look_at_size,
             ast.Assign: Scan.look_at_assignment, ast.AnnAssign: Scan.look_at_assignment,
             ast.keyword: Scan.look_at_assignment, ast.Dict: Scan.look_at_assignment}
TEXTUAL = {ast.Constant, ast.BinOp, ast.Call, ast.JoinedStr}
KINDS = {kind: (names, LEARNED.get(kind), LOOKED_AT.get(kind), kind in TEXTUAL)
         for kind, names in CHILDREN.items()}


def is_reversal(node):
    return (isinstance(node, ast.Slice) and node.lower is None and node.upper is None
            and isinstance(node.step, ast.UnaryOp) and isinstance(node.step.op, ast.USub)
            and isinstance(node.step.operand, ast.Constant) and node.step.operand.value == 1)


def is_class_name(node):
    """A class of the program's own; registries ask it for its subclasses."""
    return (isinstance(node, ast.Name) and node.id not in ("object", "type")) or (
        isinstance(node, ast.Attribute) and not node.attr.startswith("__"))


def is_dunder(node):
    return isinstance(node, ast.Attribute) and node.attr.startswith("__")


def target_name(node):
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def number_of(node):
    """A whole number that is written out; 0 if it is none."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int) else 0
    if isinstance(node, ast.BinOp):
        left, right = number_of(node.left), number_of(node.right)
        if isinstance(node.op, ast.Pow):
            return left**right if 0 <= right <= 64 and abs(left) <= 1 << 32 else 0
        if isinstance(node.op, ast.Mult):
            return left * right if abs(left) < 1 << 200 and abs(right) < 1 << 200 else 0
        if isinstance(node.op, ast.LShift):
            return left << right if 0 <= right <= 128 else 0
    return 0


LEAVING = (ast.Break, ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await)


def leaves(body):
    """Whether a loop can be left from inside."""
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, LEAVING):
            return True
        if isinstance(node, ast.Call):
            if target_name(node.func) in ("exit", "quit", "_exit", "next", "input"):
                return True
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(node))
    return False


def decode_text(function, text):
    try:
        if "fromhex" in function or "unhexlify" in function or "a2b_hex" in function:
            return bytes.fromhex(text).decode("latin-1")[:FOLDED_LIMIT]
        if "64" in function or function == "base64.decodebytes":
            return base64.b64decode(text, validate=False).decode("latin-1")[:FOLDED_LIMIT]
    except ValueError:
        pass
    return None


def plain_imports(node):
    if isinstance(node, ast.Import):
        return [one.name for one in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        return [node.module]
    return []


def find_in(tree, source):
    """Whatever goes wrong here, nobody knows then what is in the program."""
    try:
        return Scan(tree, source).run()
    except Exception:
        return [("code.unreadable", 0, "")]


def find_in_module(source):
    """In a file that comes along; where in it is not told."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return []  # it cannot be imported
    except (RecursionError, MemoryError):
        return [("code.unreadable", 0, "")]
    return [(rule, 0, subject) for rule, _, subject in find_in(tree, source)
            if rule != "code.builtin"]


def find_in_modules(sources):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are for whoever imports it
        return [found for source in sources for found in find_in_module(source)]


def described(findings):
    """Each once, and of each rule no more than can be said; builtins are few by themselves."""
    if not findings:
        return []
    counts = {}
    told = []
    for rule, line, subject in dict.fromkeys(findings):
        counts[rule] = counts.get(rule, 0) + 1
        if counts[rule] <= RULE_LIMIT or rule == "code.builtin":
            told.append({"rule": rule, "line": line, "subject": subject})
    return told
