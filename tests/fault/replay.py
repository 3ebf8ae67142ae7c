"""What a power cut may leave on a disk: a recording of what programs did to one directory (strace), and the states of it
that may be found after each of their calls.

The disk of this model keeps what was synchronised and nothing else for sure. A write, or a truncation, that no fsync or
fdatasync of its file followed is there or not, in any combination, or torn: some of its sectors of 512 bytes are there. A
name that was made, moved or removed, and whose directory nobody synchronised since, is there or not, a rename as a whole.
A file may have grown and be full of zeros. So a state at a moment is a choice among what is pending then; earlier moments
have fewer pending changes. So it is enough to look before each synchronisation and behind each promise, and every state
that the model has is drawn sooner or later. This is stricter than today's file systems, most of which keep names in order.

The memory behind a WAL (-shm) is left out: SQLite makes it anew. The recording is checked: what the calls make
of the first state must be what is in the directory afterwards, or a call was not understood.
"""
import hashlib
import os
import random
import re
import shutil
import stat
import subprocess

SECTOR = 512
CALLS = ("open openat creat write pwrite64 writev pwritev pwritev2 ftruncate truncate fallocate rename renameat renameat2 link linkat "
         "unlink unlinkat mkdir mkdirat rmdir symlink symlinkat mknod mknodat fsync fdatasync sync syncfs msync sync_file_range "
         "copy_file_range sendfile lseek chmod fchmod fchmodat chdir fchdir dup dup2 dup3 close").split()
LINE = re.compile(r"^(\d+)\s+(.*)$")
CALL = re.compile(r"^(\w+)\((.*)\)\s+= (-?\d+|\?)(.*)$")
FD = re.compile(r'^(-?\w+)(?:<(.*?)>(\(deleted\))?)?$')
QUOTED = re.compile(r'"([^"]*)"')


def unhex(text):
    return bytes.fromhex(text.replace("\\x", ""))


class Node:
    """A file, a directory, a link …: what is certainly on the disk, and what is pending since."""

    def __init__(self, kind, mode=0o600):
        self.kind, self.mode = kind, mode
        self.now = {} if kind == "dir" else bytearray()
        self.sure = {} if kind == "dir" else b""
        self.pending = []  # (offset, bytes) or (size, None) of a file; Change of a directory

    def settle(self):
        self.sure = dict(self.now) if self.kind == "dir" else bytes(self.now)
        self.pending = []

    def write(self, at, data):
        if at > len(self.now):
            self.now.extend(bytes(at - len(self.now)))
        self.now[at:at + len(data)] = data
        self.pending.append((at, bytes(data)))

    def cut(self, size):
        del self.now[size:]
        self.now.extend(bytes(size - len(self.now)))
        self.pending.append((size, None))


class Change:
    """What one call did to names: all of it or nothing is on the disk, surely once its last directory is synchronised."""

    def __init__(self, *sets):
        self.sets, self.home = sets, sets[-1][0]
        for folder, name, node in sets:
            if node is None:
                folder.now.pop(name, None)
            else:
                folder.now[name] = node
            if self not in folder.pending:
                folder.pending.append(self)


class Disk:
    """The directory `top`, as it was when this was made, and as calls change it."""

    def __init__(self, top, kept=lambda path: False):
        self.top, self.kept = os.path.realpath(top), kept
        self.root = self.scan(self.top)
        self.at = {}  # (process, descriptor) → where its next write goes; None: at the end

    def scan(self, path):
        found = os.lstat(path)
        node = Node("dir" if stat.S_ISDIR(found.st_mode) else "link" if stat.S_ISLNK(found.st_mode) else
                    "fifo" if stat.S_ISFIFO(found.st_mode) else "file", stat.S_IMODE(found.st_mode))
        if node.kind == "dir":
            node.now = {name: self.scan(os.path.join(path, name)) for name in os.listdir(path) if not name.endswith("-shm")}
        elif node.kind == "link":
            node.now = bytearray(os.fsencode(os.readlink(path)))
        elif node.kind == "file":
            with open(path, "rb") as f:
                node.now = bytearray(f.read())
        node.settle()
        return node

    def place(self, path, follow=False, depth=0):
        """(directory, name, node or None) of a path; None outside of `top`."""
        path = os.path.normpath(path)
        if path == self.top:
            return self.root, ".", self.root
        if depth > 20 or not path.startswith(self.top + "/"):
            return None
        folder, parts = self.root, path[len(self.top) + 1:].split("/")
        for i, part in enumerate(parts):
            node, last = folder.now.get(part), i == len(parts) - 1
            if node is not None and node.kind == "link" and (follow or not last):
                here = os.path.join(self.top, *parts[:i])
                return self.place(os.path.join(here, os.fsdecode(bytes(node.now)), *parts[i + 1:]), follow, depth + 1)
            if last:
                return folder, part, node
            if node is None or node.kind != "dir":
                return None
            folder = node
        return None

    def make(self, path, kind, mode, data=b""):
        """A name that wasn't there."""
        place = self.place(path)
        if place and place[2] is None and not path.endswith("-shm"):
            node = Node(kind, mode)
            node.now = {} if kind == "dir" else bytearray(data)
            if kind == "link":
                node.settle()
            Change((place[0], place[1], node))

    def remove(self, path):
        place = self.place(path)
        if place and place[2] is not None:
            Change((place[0], place[1], None))

    def rename(self, old, new):
        a, b = self.place(old), self.place(new)
        if a and b and a[2] is not None:
            Change((a[0], a[1], None), (b[0], b[1], a[2]))
        elif a and a[2] is not None:
            raise AssertionError(f"{old} was moved out of {self.top}")

    def settle(self, change):
        """A change of names is on the disk, and those before it that it builds on."""
        names = [(folder, name) for folder, name, _ in change.sets]
        for folder, name in names:
            for earlier in folder.pending[:folder.pending.index(change)] if change in folder.pending else ():
                if any(f is folder and n == name for f, n, _ in earlier.sets):
                    self.settle(earlier)
        for folder, name, made in change.sets:
            if change in folder.pending:
                folder.pending.remove(change)
            if made is None:
                folder.sure.pop(name, None)
            else:
                folder.sure[name] = made

    def synchronised(self, node, ops):
        """All that was pending when the call began is on the disk."""
        if node.kind == "dir":
            for change in [c for c in node.pending if c in ops and c.home is node]:
                self.settle(change)
        else:
            count = len(ops)
            node.sure = written(node.sure, node.pending[:count])
            node.pending = node.pending[count:]

    # --- states --------------------------------------------------------------------------------------

    def state(self, choose):
        """{path: (kind, mode, content)} of one choice among what is pending."""
        out, taken = {}, {}

        def chosen(change):
            if id(change) not in taken:
                taken[id(change)] = choose.name(change)
            return taken[id(change)]

        def add(node, path):
            if node.kind != "dir":
                kept = self.kept(path)
                out[path] = (node.kind, node.mode, bytes(node.now) if kept or node.kind != "file" else choose.content(node))
                return
            out[path] = ("dir", node.mode, b"")
            entries = dict(node.sure)
            for change in node.pending:
                for folder, name, made in change.sets:
                    if folder is node and (self.kept(os.path.join(path, name)) or chosen(change)):
                        if made is None:
                            entries.pop(name, None)
                        else:
                            entries[name] = made
            for name, child in sorted(entries.items()):
                add(child, os.path.join(path, name))

        add(self.root, "")
        return out

    def put(self, state):
        """Make the directory what a state says."""
        for name in os.listdir(self.top):
            path = os.path.join(self.top, name)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
        for path, (kind, mode, content) in state.items():
            full = os.path.join(self.top, path)
            if kind == "dir":
                os.makedirs(full, exist_ok=True)
            elif kind == "link":
                os.symlink(os.fsdecode(content), full)
            elif kind == "fifo":
                os.mkfifo(full)
            else:
                with open(full, "wb") as f:
                    f.write(content)
            if kind != "link" and path:
                os.chmod(full, mode | (0o300 if kind == "dir" else 0))


def written(content, changes):
    out = bytearray(content)
    for at, data in changes:
        if data is None:
            del out[at:]
            out.extend(bytes(at - len(out)))
        else:
            out.extend(bytes(max(0, at - len(out))))
            out[at:at + len(data)] = data
    return bytes(out)


class Choice:
    """How likely a pending name and a pending write are there; `grown`: a file has its last size, whatever is in it."""

    def __init__(self, names, data, grown=0.0, seed=""):
        self.names, self.data, self.grown, self.source = names, data, grown, random.Random(seed)

    def holds(self, likely):
        return likely > 0 and (likely >= 1 or self.source.random() < likely)

    def name(self, _):
        return self.holds(self.names)

    def content(self, node):
        kept = []
        for at, data in node.pending:
            if data is None or self.data in (0, 1):
                if self.holds(self.data):
                    kept.append((at, data))
            elif self.source.random() < 0.4:  # torn
                edges = [0, *range(SECTOR - at % SECTOR, len(data), SECTOR), len(data)]
                kept += [(at + a, data[a:b]) for a, b in zip(edges, edges[1:]) if self.holds(self.data)]
            elif self.holds(self.data):
                kept.append((at, data))
        out = written(node.sure, kept)
        return out + bytes(max(0, len(node.now) - len(out))) if self.holds(self.grown) else out


def choices(count, seed):
    """The five that simple disks would leave, then drawn ones."""
    yield from (Choice(0, 0), Choice(1, 1), Choice(1, 0), Choice(0, 1), Choice(1, 0, 1))
    source = random.Random(seed)
    for i in range(count - 5):
        yield Choice(source.choice((0, 0.5, 1)), source.choice((0.2, 0.5, 0.8)), source.choice((0, 0, 0.3)), f"{seed} {i}")


# --- a recording ---------------------------------------------------------------------------------------

class Recording:
    """Programs that run one after another below strace; then their calls, one by one, on a Disk."""

    def __init__(self, disk, env, folder):
        self.disk, self.env, self.folder = disk, env, folder
        self.traces = []

    def run(self, argv, seconds=60):
        """Run one; what it printed."""
        trace = os.path.join(self.folder, f"trace-{len(self.traces)}")
        ours, theirs = os.pipe()
        told = os.readlink(f"/proc/self/fd/{ours}")
        process = subprocess.Popen(["strace", "-f", "-qq", "-y", "-xx", "-s", "16777216", "--seccomp-bpf", "-o", trace, "-e",
                                    "trace=" + ",".join("?" + call for call in CALLS), *argv], cwd=self.disk.top, env=self.env,
                                   stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE)
        os.close(theirs)
        with os.fdopen(ours, "rb") as f:
            out = f.read()
        err = process.communicate(timeout=seconds)[1]
        self.traces.append((trace, told))
        return out, process.returncode, err

    def moments(self):
        """Apply every call to the disk. Yields "sync" before each synchronisation, ("said", bytes) behind what was printed,
        and ("kept", path) behind what was done to a file that the test keeps."""
        for trace, told in self.traces:
            begun, self.cwd, self.disk.at = {}, {}, {}
            with open(trace, encoding="ascii") as f:
                for line in f:
                    pid, text = LINE.match(line.rstrip("\n")).groups()
                    if text.startswith(("---", "+++")):
                        continue
                    if text.endswith("<unfinished ...>"):
                        text = text[:-len(" <unfinished ...>")].rstrip()
                        begun[pid] = (text, self.begins(text))
                        continue
                    pending = None
                    resumed = re.match(r"^<\.\.\. \w+ resumed>(.*)$", text)
                    if resumed:
                        before, pending = begun.pop(pid)
                        text = before + (" " if before.endswith(",") else "") + resumed.group(1).lstrip()
                    call = CALL.match(text)
                    if call and call.group(3) != "?" and int(call.group(3)) >= 0:
                        yield from self.apply(pid, call.group(1), re.split(r",\s+", call.group(2)), int(call.group(3)), call.group(4), told, pending)

    def node(self, word):
        """(node, path) of a descriptor as strace shows it."""
        fd = FD.match(word.strip())
        if not fd or not fd.group(2) or fd.group(3):
            return None, None
        path = os.fsdecode(unhex(fd.group(2)))
        place = self.disk.place(path) if path.startswith("/") else None
        return place and place[2], path

    def begins(self, text):
        """What a synchronisation that begins now will cover."""
        found = re.match(r"^(?:fsync|fdatasync)\(([^)]*)\)?$", text)
        node = found and self.node(found.group(1))[0]
        return list(node.pending) if node else None

    def path(self, pid, folder, word):
        name = os.fsdecode(unhex(QUOTED.match(word.strip()).group(1)))
        if folder is not None:
            fd = FD.match(folder.strip())
            self.cwd[pid] = os.fsdecode(unhex(fd.group(2))) if fd.group(1) == "AT_FDCWD" else self.cwd.get(pid, self.disk.top)
            return os.path.join(os.fsdecode(unhex(fd.group(2))), name)
        return os.path.join(self.cwd.get(pid, self.disk.top), name)

    def apply(self, pid, name, args, result, rest, told, pending):
        disk = self.disk
        at = name.endswith("at") or name == "renameat2"
        if name in ("fsync", "fdatasync"):
            node, _ = self.node(args[0])
            if node is not None:
                yield "sync"
                disk.synchronised(node, list(node.pending) if pending is None else pending)
        elif name in ("sync", "syncfs", "msync", "sync_file_range", "sendfile", "copy_file_range", "fallocate", "truncate", "link", "linkat"):
            node = self.node(args[0])[0] if args and "<" in args[0] else None
            assert node is None and name not in ("link", "linkat"), f"{name} is not understood"
        elif name in ("open", "openat", "creat"):
            words = args if at else [None, *args]
            flags = words[2] if name != "creat" else "O_CREAT|O_TRUNC"
            path = self.path(pid, words[0], words[1])
            made = self.node(f"{result}{rest.strip()}")[1] or path
            mode = int(words[3], 8) & ~0o022 if len(words) > 3 else 0o644
            if "O_CREAT" in flags:
                disk.make(made, "file", mode)
            place = disk.place(made)
            if place and place[2] is not None and "O_TRUNC" in flags and place[2].now:
                place[2].cut(0)
            disk.at[pid, str(result)] = disk.at["any", made] = None if "O_APPEND" in flags else 0
            if place and disk.kept(os.path.relpath(made, disk.top)):
                yield "kept", made
        elif name in ("write", "writev", "pwrite64", "pwritev", "pwritev2"):
            fd = FD.match(args[0].strip())
            data = b"".join(unhex(text) for text in QUOTED.findall(", ".join(args[1:])))[:result]
            shown = unhex(fd.group(2)).decode(errors="replace") if fd and fd.group(2) else ""
            if shown == told:
                yield "said", data
                return
            node, path = self.node(args[0])
            if node is None or node.kind != "file":
                return
            if name == "pwrite64":
                node.write(int(args[-1]), data)
            else:
                key = (pid, fd.group(1)) if (pid, fd.group(1)) in disk.at else ("any", path)
                where = disk.at.get(key)
                where = len(node.now) if where is None else where
                node.write(where, data)
                if disk.at.get(key) is not None:
                    disk.at[key] = where + len(data)
            if disk.kept(os.path.relpath(path, disk.top)):
                yield "kept", path
        elif name == "lseek":
            fd = FD.match(args[0].strip())
            if disk.at.get((pid, fd.group(1))) is not None:
                disk.at[pid, fd.group(1)] = result
        elif name == "ftruncate":
            node, _ = self.node(args[0])
            if node is not None and int(args[1]) != len(node.now):
                node.cut(int(args[1]))
        elif name in ("rename", "renameat", "renameat2"):
            old, new = (self.path(pid, args[0], args[1]), self.path(pid, args[2], args[3])) if at else \
                (self.path(pid, None, args[0]), self.path(pid, None, args[1]))
            disk.rename(old, new)
        elif name in ("unlink", "unlinkat", "rmdir"):
            disk.remove(self.path(pid, args[0] if at else None, args[1 if at else 0]))
        elif name in ("mkdir", "mkdirat"):
            disk.make(self.path(pid, args[0] if at else None, args[1 if at else 0]), "dir", int(args[-1], 8) & ~0o022)
        elif name in ("mknod", "mknodat"):
            words = args[1:] if at else args
            disk.make(self.path(pid, args[0] if at else None, words[0]), "fifo", 0o600)
        elif name in ("symlink", "symlinkat"):
            target = unhex(QUOTED.match(args[0]).group(1))
            disk.make(self.path(pid, args[1] if at else None, args[2 if at else 1]), "link", 0o777, target)
        elif name in ("chmod", "fchmodat", "fchmod"):
            node = self.node(args[0])[0] if name == "fchmod" else (disk.place(self.path(
                pid, args[0] if at else None, args[1 if at else 0]), True) or (0, 0, None))[2]
            if node is not None:
                node.mode = int(args[1 if name != "fchmodat" else 2], 8) & 0o777
        elif name == "chdir":
            self.cwd[pid] = self.path(pid, None, args[0])
        elif name == "fchdir":
            self.cwd[pid] = os.fsdecode(unhex(FD.match(args[0].strip()).group(2)))

    def check_complete(self, found):
        """The calls lead to what was in the directory afterwards."""
        state = self.disk.state(Choice(1, 1))
        mine = {path: row[2] for path, row in state.items() if row[0] in ("file", "link")}
        theirs = {path: row[2] for path, row in found.items() if row[0] in ("file", "link")}
        wrong = sorted(path for path in mine.keys() | theirs.keys() if mine.get(path) != theirs.get(path))
        assert not wrong, f"the recording doesn't lead to {wrong}: {[(len(mine.get(p, b'')), len(theirs.get(p, b''))) for p in wrong]}"


def explore(recording, count, seed, check):
    """check(said) in every state that is drawn: `count` for each moment. How many moments and states there were."""
    disk, said, seen, moments = recording.disk, [], set(), 0
    found = Disk(disk.top).state(Choice(1, 1))  # before the checks change it
    for moment in recording.moments():
        if moment[0] == "said":
            said.append(moment[1])
        moments += 1
        look(disk, count, f"{seed} {moments}", said, seen, check)
    recording.check_complete(found)
    look(disk, count, f"{seed} end", said, seen, check)
    return moments + 1, len(seen)


def look(disk, count, seed, said, seen, check):
    for number, choice in enumerate(choices(count, seed)):
        state = disk.state(choice)
        key = hashlib.sha256(repr((len(said), sorted(state.items()))).encode()).digest()
        if key not in seen:
            seen.add(key)
            disk.put(state)
            try:
                check(said)
            except AssertionError as e:
                raise AssertionError(f"state {number} of moment {seed!r}: {e}") from e
