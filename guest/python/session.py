"""Keeps the state of a conversation: each cell runs in a fork of the state that the last one left.

The first process of the jar is the supervisor. It never runs a cell, so nothing that cells do to
their interpreter reaches it; only it reads orders and writes answers, a line of JSON each. A cell
is run by a fork of the process that holds the state before it and, if it comes to its end, waits
with the state after it: for the order to fork the next cell, or for the end of its channel. If it
dies, the state before it is still there.

Functions that cells may have replaced are not asked for by name after the first cell.
"""

import os  # noqa: E402

FRAME_LIMIT = 24 << 20  # bytes of a report; the reader outside takes less
FILES_LIMIT = 5000  # of the workspace, to tell which a cell has changed
SHOWN_NAMES = 1000
PICKLE_LIMIT = 64 << 20
SHORT_REPR = 120
NOTES = 4  # on what a state lacks of earlier ones
NOTE_LENGTH = 400  # characters
PATIENCE = 5  # seconds for what takes milliseconds
SIGCONT, SIGSTOP, SIGKILL = 18, 19, 9


class Channel:
    """Frames of JSON, each behind its length, between the supervisor and a state."""

    def __init__(self, socket):
        self.socket = socket
        self.send_fds, self.recv_fds = MODULES["socket"].send_fds, MODULES["socket"].recv_fds
        self.number = socket.fileno()
        self.data = b""

    def send(self, message, fds=()):
        self.send_bytes([to_json(message).encode()], fds)

    def send_bytes(self, pieces, fds=()):
        data = b"".join(pieces)
        data = len(data).to_bytes(4, "big") + data
        sent = self.send_fds(self.socket, [data[:4096]], fds)
        self.socket.sendall(data[sent:])

    def receive(self):
        """Waits for a frame, and the descriptor that came with it; None at the end."""
        head, fds, _, _ = self.recv_fds(self.socket, 4, 1)
        if len(head) < 4:
            return None, fds
        size = int.from_bytes(head, "big")
        data = b""
        while len(data) < size:
            if not (part := self.socket.recv(size - len(data))):
                return None, fds
            data += part
        return from_json(data.decode()), fds

    def feed(self):
        """What has come: a frame as text, b"" at the end or if it is none, or None for not yet."""
        part = self.socket.recv(1 << 20)
        if not part:
            return b""
        self.data += part
        if len(self.data) < 4:
            return None
        size = int.from_bytes(self.data[:4], "big")
        if size > FRAME_LIMIT:
            return b""
        return self.data[4 : 4 + size] if len(self.data) >= 4 + size else None


class State:
    """A process that holds the interpreter as a cell left it."""

    def __init__(self, process, channel, cell, files):
        self.process, self.channel, self.cell, self.files = process, channel, cell, files
        self.users = 1  # branches
        self.stopped = False

    def rest(self):
        """No thread of its goes on while another cell is the last."""
        if not self.stopped:
            self.stopped = tell(self.process, SIGSTOP)

    def wake(self):
        if self.stopped:
            tell(self.process, SIGCONT)
            self.stopped = False

    def release(self):
        self.users -= 1
        if self.users == 0:
            self.channel.socket.close()
            tell(self.process, SIGKILL)


def tell(process, signal):
    try:
        os.kill(process, signal)
        return True
    except OSError:
        return False


class Session:
    """The supervisor's side."""

    def __init__(self, names, tools, most):
        self.names, self.tools, self.most = names, tools, most
        self.branches = {}
        self.unread = UNREAD
        self.forgotten = {}  # branch -> states before its first that are gone
        # In a pid namespace everything else that runs belongs to the guest.
        self.alone = os.getppid() <= 1

    def serve(self, order):
        while order and self.answer(order):
            order = self.next_order()
        os._exit(0)

    def next_order(self):
        """None at the end. To stop a cell that has just ended is to do nothing."""
        while True:
            while b"\n" not in self.unread:
                if not (part := os.read(REQUEST_FD, 1 << 16)):
                    return None
                self.unread += part
            line, self.unread = self.unread.split(b"\n", 1)
            order = from_json(line.decode())
            if "stop" not in order:
                return order

    def answer(self, order):
        """Behind a report's size a line of ours, and then the report. Says whether there is
        anybody left to wait for."""
        said = self.obey(order)
        report = said.pop("report", b"")
        line = f"{len(report)} {to_json(said)}\n".encode()
        for piece in (line, report):
            rest = memoryview(piece)
            while rest:
                rest = rest[os.write(REPORT_FD, rest) :]
        return self.branches

    def obey(self, order):
        name = order["branch"]
        branch = self.branches.setdefault(name, [])
        if "code" in order:
            return self.run(branch, order)
        action, count = order["do"], order.get("count", 1)
        if action == "undo":
            return self.undo(name, branch, count)
        if action == "fork":
            for state in branch:
                state.users += 1
            self.branches[order["as"]] = list(branch)
            self.forgotten[order["as"]] = self.forgotten.get(name, 0)
            return {"done": True}
        if action == "diff":
            return self.compare(name, branch, count)
        for state in self.branches.pop(name):
            state.release()
        self.forgotten.pop(name, None)
        if action == "reset":
            self.branches[name] = []
        self.reap()
        return {"done": True}

    def before(self, name, branch, count):
        """The state before the last `count` cells, None for the beginning; -1 if it is gone."""
        if count < len(branch):
            return branch[-1 - count]
        whole = count == len(branch) and not self.forgotten.get(name)
        return None if whole else -1

    def undo(self, name, branch, count):
        if self.before(name, branch, count) == -1:
            return {"refused": self.reach(name, branch)}
        for _ in range(count):
            branch.pop().release()
        self.reap()
        return {"done": True, "cell": branch[-1].cell if branch else 0}

    def reach(self, name, branch):
        kept = len(branch) - (1 if self.forgotten.get(name) else 0)
        return f"only {kept} cells back can be gone; earlier states are not kept"

    def run(self, branch, order):
        files = branch[-1].files if branch else {}
        born = self.bear(branch[-1] if branch else None, {"cell": order})
        if born is None:
            self.branches[order["branch"]] = branch = branch[:-1]
            return {"cell": order["cell"], "died": SIGKILL, "state": "lost"}
        process, channel, parent, left = born
        report, status = self.await_end(process, channel, parent, order)
        found = list_files()
        if report is None:
            channel.socket.close()
            return {"cell": order["cell"], "died": status, "files": changed_files(files, found),
                    "notes": left}
        if branch:
            branch[-1].rest()
        branch.append(State(process, channel, order["cell"], found))
        if len(branch) > self.most:
            branch.pop(0).release()
            self.reap()
            name = order["branch"]
            self.forgotten[name] = self.forgotten.get(name, 0) + 1
        # The report is of the guest's making: it goes on as it is, beside what we say ourselves.
        return {"cell": order["cell"], "done": True, "files": changed_files(files, found),
                "kept": len(branch), "report": report}

    def bear(self, parent, task):
        """A fork of the parent, or of this process, that does the task, with notes on what it lacks
        of earlier states; None if there is none."""
        left = []
        ours, theirs = MODULES["socket"].socketpair()
        if parent is None:
            process = os.fork()
            if process == 0:
                ours.close()
                for number in (REQUEST_FD, REPORT_FD):
                    os.close(number)
                for states in self.branches.values():
                    for state in states:
                        state.channel.socket.close()
                hold(Channel(theirs), self.names, self.tools, task)
        else:
            parent.wake()
            parent.channel.socket.settimeout(PATIENCE)
            try:
                parent.channel.send(task, [theirs.fileno()])
                process = None
                while process is None:  # what it says of the ends of others is of no interest
                    told, _ = parent.channel.receive()
                    process = told.get("born")
                left = [clip(str(note), NOTE_LENGTH) for note in told["left"][:NOTES]]
            except (OSError, AttributeError, KeyError, TypeError, ValueError, StopIteration):
                ours.close()
                theirs.close()
                tell(parent.process, SIGKILL)
                return None
        theirs.close()
        return process, Channel(ours), parent, left

    def await_end(self, process, channel, parent, order):
        """The report, or else the status with which the process died."""
        import select

        try:
            death = os.pidfd_open(process)
        except OSError:
            return None, self.status_of(process, parent)
        poll = select.poll()
        for number in (channel.number, death, REQUEST_FD):
            poll.register(number, select.POLLIN)
        channel.socket.setblocking(False)
        listening = True
        # The only order that comes before the end is to stop; it may have come with the cell.
        stopping, self.unread = bool(self.unread), b""
        try:
            while True:
                ready = set() if stopping else {number for number, _ in poll.poll()}
                if listening and channel.number in ready:
                    frame = channel.feed()
                    if frame:
                        channel.socket.setblocking(True)
                        channel.data = b""
                        return frame, 0
                    if frame == b"":  # it will never report
                        listening = poll.unregister(channel.number)
                        tell(process, SIGKILL)
                if REQUEST_FD in ready:
                    stopping = True
                    if not os.read(REQUEST_FD, 1 << 16):
                        os._exit(0)
                if stopping:
                    stopping = False
                    self.end_others(process)
                    if listening:  # a state that is reported now is held by nobody
                        listening = poll.unregister(channel.number)
                if death in ready:
                    return None, self.status_of(process, parent)
        finally:
            os.close(death)

    def status_of(self, process, parent):
        if parent is None:
            return os.waitpid(process, 0)[1]
        try:
            while True:
                told, _ = parent.channel.receive()
                if told["ended"] == process:
                    return told["status"]
        except (OSError, TypeError, KeyError, ValueError, StopIteration):
            return SIGKILL

    def end_others(self, process):
        """The cell, and all that no state is in: what it and those before it have started."""
        tell(process, SIGKILL)
        if not self.alone:
            try:
                os.killpg(process, SIGKILL)
            except OSError:
                pass
            return
        kept = {1, os.getpid()}
        for states in self.branches.values():
            kept.update(state.process for state in states)
        for _ in range(100):
            others = [int(name) for name in os.listdir("/proc") if name.isdigit()]
            others = [number for number in others if number not in kept]
            if not sum(tell(number, SIGKILL) for number in others):
                return

    def reap(self):
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass

    def compare(self, name, branch, count):
        earlier = self.before(name, branch, count)
        if earlier == -1 or not branch:
            return {"refused": self.reach(name, branch)}
        after = self.describe(branch[-1])
        before = self.describe(earlier) if earlier else {}
        if after is None or before is None:
            return {"refused": "the variables could not be compared within the time for it"}
        shown = {
            "added": [key for key in after if key not in before],
            "changed": [key for key in after if key in before and after[key] != before[key]],
            "removed": [key for key in before if key not in after],
        }
        files = changed_files(earlier.files if earlier else {}, branch[-1].files)
        return {"done": True, "variables": shown, "changed_files": files}

    def describe(self, state):
        import select

        born = self.bear(state, {"describe": True})
        if born is None:
            return None
        process, channel, _, _ = born
        poll = select.poll()
        poll.register(channel.number, select.POLLIN)
        frame = None
        while frame is None and poll.poll(PATIENCE * 1000):
            frame = channel.feed()
        tell(process, SIGKILL)
        self.status_of(process, state)
        channel.socket.close()
        try:
            marks = from_json(frame.decode())
            return {str(key): str(mark) for key, mark in marks.items()}
        except (TypeError, ValueError, AttributeError, StopIteration):
            return None


def hold(channel, names, tools, task):
    """The life of a process after the fork: does the task, then waits with its state for others."""
    import select

    fork, leave, wait, own_number = os.fork, os._exit, os.waitpid, os.getpid
    watch, forget = os.pidfd_open, os.close
    socket_type, channel_type, poll_type = MODULES["socket"].socket, Channel, select.poll
    family = MODULES["socket"].AF_UNIX
    kind = MODULES["socket"].SOCK_STREAM
    readable = select.POLLIN
    children, lacking = {}, []
    while True:
        if "describe" in task:
            channel.send(mark_values(names))
            leave(0)
        number = own_number()
        report = run_cell(task["cell"], names, tools)
        if own_number() != number:  # a child of the cell's, which holds no state
            leave(report["exit_code"])
        channel.send_bytes(pack(report))
        # From here on nothing is done by names that the cell may have replaced.
        while True:
            poll = poll_type()
            poll.register(channel.number, readable)
            for number in children:
                poll.register(number, readable)
            ready = {number for number, _ in poll.poll()}
            for number in ready & children.keys():
                process, status = wait(children.pop(number), 0)
                forget(number)
                channel.send({"ended": process, "status": status})
            if channel.number not in ready:
                continue
            task, fds = channel.receive()
            if task is None:
                leave(0)
            luck = keep_luck()
            left = left_behind(children.values())
            process = fork()
            if process == 0:
                channel.socket.close()
                for number in children:
                    forget(number)
                children.clear()
                channel = channel_type(socket_type(family, kind, fileno=fds[0]))
                give_back_luck(luck)
                lacking = (left + lacking)[:NOTES]
                if "cell" in task:
                    task["cell"]["left"] = left
                break
            forget(fds[0])
            children[watch(process)] = process
            channel.send({"born": process, "left": left + lacking})


def keep_luck():
    """A fork seeds `random` anew; for a session the next cell goes on where the last one was."""
    module = MODULES.get("random")
    try:
        return module._inst.getstate() if module else None
    except AttributeError:
        return None


def give_back_luck(luck):
    if luck is not None:
        MODULES["random"]._inst.setstate(luck)


def left_behind(forks):
    """What of this state a fork does not bring along, in words."""
    notes = []
    others = attempt(other_children, forks)
    if others:
        notes.append(
            f"{len(others)} process(es) of an earlier cell still run ({clip(others[0])}): a cell "
            "runs in a copy of the state, which is not their parent and cannot wait for them "
            "(returncode says nothing); wait in the cell that starts them"
        )
    threading = MODULES.get("threading")
    try:
        others = [thread.name for thread in threading.enumerate()][1:] if threading else []
    except Exception:
        others = []
    if others:
        notes.append(
            f"{len(others)} thread(s) of an earlier cell did not come along ({clip(others[0])}): "
            "a cell runs in a copy of the state, and threads are not copied; join them in the cell "
            "that starts them"
        )
    return notes


def other_children(forks):
    """The processes that this one has started, besides its forks, and that have not ended."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in forks:
            command, state, parent = attempt(read_status, name) or ("", "Z", 0)
            if parent == os.getpid() and state not in "ZX":
                found.append(f"{command}, {name}")
    return found


def read_status(number):
    with open(f"/proc/{number}/stat", errors="replace") as file:
        before, _, after = file.read().rpartition(") ")
    state, parent = after.split()[:2]
    return before.partition(" (")[2], state, int(parent)


def run_cell(order, names, tools):
    os.setsid()
    take_stdin(order.get("stdin") or "")
    forget_result(names)
    use_file(f"<cell {order['cell']}>")
    report, code = prepare_and_run(order, tools, names)
    flush_streams()
    # An interrupt ends a program, but not a session.
    return {**report, "exit_code": code if code >= 0 else 1,
            "notes": order.get("left", []) + open_sockets()}


def take_stdin(text):
    import io

    number = os.memfd_create("stdin")
    with open(number, "wb", closefd=False) as file:
        file.write(text.encode("utf-8", "surrogateescape"))
    os.lseek(number, 0, os.SEEK_SET)
    os.dup2(number, 0)
    os.close(number)
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), encoding="utf-8")


def open_sockets():
    """Connections are shared by all copies of a state, and what one reads the others miss."""
    import stat

    try:
        numbers = [int(name) for name in os.listdir("/proc/self/fd")]
        count = -1  # the channel
        for number in numbers:
            try:
                count += stat.S_ISSOCK(os.fstat(number).st_mode)
            except OSError:
                pass
    except OSError:
        return []
    if count <= 0:
        return []
    return [f"{count} open socket(s): copies of the state share them, so undo and fork do not "
            "bring back what was read or sent"]


def list_files():
    """Path -> what changes with the file. Of what the guest made, so names may be anything."""
    found = {}
    places = [WORKSPACE]
    while places and len(found) < FILES_LIMIT:
        place = places.pop()
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    if len(found) >= FILES_LIMIT:
                        break
                    if entry.is_dir(follow_symlinks=False):
                        places.append(entry.path)
                        continue
                    status = entry.stat(follow_symlinks=False)
                    name = entry.path[len(WORKSPACE) + 1 :]
                    found[name] = [status.st_size, status.st_mtime_ns, status.st_ino]
        except OSError:
            pass
    return found


def changed_files(before, after):
    def shown(names):
        return sorted(clip(name) for name in names)[:SHOWN_NAMES]

    return {
        "added": shown(after.keys() - before.keys()),
        "changed": shown(name for name in after.keys() & before.keys()
                         if after[name] != before[name]),
        "removed": shown(before.keys() - after.keys()),
    }


def mark_values(names):
    """Name -> a text that differs if the value does."""
    import hashlib

    marks = {}
    for name, value in list(names.items()):
        if isinstance(name, str) and not name.startswith("_") and len(marks) < SHOWN_NAMES:
            if not isinstance(value, types.ModuleType):
                marks[clip(name)] = f"{type(value).__name__} {mark_value(value, hashlib.sha256())}"
    return marks


def mark_value(value, digest):
    import pickle

    class Sink:
        size = 0

        def write(self, data):
            data = memoryview(data)
            Sink.size += data.nbytes
            if Sink.size > PICKLE_LIMIT:
                raise OverflowError
            digest.update(data)

    try:
        if isinstance(value, types.FunctionType):
            digest.update(value.__code__.co_code + repr(value.__code__.co_consts).encode())
        elif isinstance(value, type):
            for part in sorted(vars(value).items()):
                code = getattr(part[1], "__code__", None)
                digest.update(repr((part[0], code.co_code if code else repr(part[1]))).encode())
        else:
            pickle.Pickler(Sink(), protocol=5).dump(value)
        return digest.hexdigest()
    except BaseException:  # what cannot be pickled is told apart by where it is
        return f"at {id(value)}"


def serve_session(request, names, tools):
    """Never returns."""
    import select  # noqa: F401
    import socket  # noqa: F401: both are looked for among the modules

    Session(names, tools, max(2, request["checkpoints"])).serve(request)


