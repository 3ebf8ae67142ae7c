"""A FUSE file system over a folder that behaves as one client of NFS: what others did is seen late, unless a file is opened; a
file that another client has removed or replaced while it is open here is stale (ESTALE); one that is removed here while it is open is
renamed (.nfs…) until it is closed; fsync is slow; writes may be short; what was written may be lost, which close or fsync says once.

  nfs_like.py FOLDER MOUNTPOINT [KEY=NUMBER…]    in a mount namespace of its own; prints "ready", ends with its stdin

  see=S      what has been seen of others stays so for so many seconds (names that aren't there, too); 1
  sync=S     fsync takes up to so long; 0.05
  short=P    of a hundred writes, how many write less than was asked
  lose=P     of a hundred times that a written file is closed or synced, how often what was written since is lost (EIO)
  SEED=N

Exit code 77: nothing can be mounted here.
"""
import ctypes
import errno
import fcntl
import os
import random
import stat
import struct
import sys
import threading
import time

BACK, MOUNT = (os.path.realpath(path) for path in sys.argv[1:3])
HOW = {"see": 1.0, "sync": 0.05, "short": 0, "lose": 0, "SEED": 0} | {name: float(value) for name, value in (w.split("=") for w in sys.argv[3:])}
(LOOKUP, FORGET, GETATTR, SETATTR, READLINK, SYMLINK, MKDIR, UNLINK, RMDIR, RENAME, LINK, OPEN, READ, WRITE, STATFS, RELEASE, FSYNC, FLUSH,
 INIT, OPENDIR, READDIR, RELEASEDIR, FSYNCDIR, SETLK, SETLKW, CREATE, INTERRUPT, BATCH_FORGET, RENAME2) = (
     1, 2, 3, 4, 5, 6, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 25, 26, 27, 28, 29, 30, 32, 33, 35, 36, 42, 45)
DIRECT_IO, FLOCK_LOCKS, BIG_WRITES, BY_HANDLE = 1, 1 << 10, 1 << 5, 1
NEW_MOUNTS, PRIVATE = 0x20000, (1 << 18) | 0x4000
libc = ctypes.CDLL(None, use_errno=True)
rng, mutex = random.Random(int(HOW["SEED"])), threading.RLock()


def chance(percent):
    return rng.random() * 100 < percent


class Node:
    def __init__(self, number, path, ino):
        self.number, self.path, self.ino, self.handles = number, path, ino, 0
        self.attr, self.until = None, 0.0


class Handle:
    def __init__(self, node, fd, flags=0):
        self.node, self.fd, self.writes = node, fd, flags & os.O_ACCMODE != os.O_RDONLY
        self.unsynced = None  # the size before what is not on the disk
        self.list = None


nodes, by_ino, names, lists, handles = {}, {}, {}, {}, {}
silly = {}  # node → the name that it has until it is closed
counter = 1


def number():
    global counter
    counter += 1
    return counter


def node_of(path, st):
    node = by_ino.get(st.st_ino)
    if not node or node.number not in nodes:
        node = Node(number(), path, st.st_ino)
        nodes[node.number] = by_ino[st.st_ino] = node
    node.path = path
    return node


def changed(*paths):
    """By us: it is seen at once."""
    for path in paths:
        names.pop(path, None)
        lists.pop(os.path.dirname(path), None)
        for of in (path, os.path.dirname(path)):
            for node in nodes.values():
                if node.path == of:
                    node.until = 0.0


def remember(node, st):
    node.attr, node.until = st, time.monotonic() + HOW["see"]
    return st


def attributes(node, fresh=False):
    if not fresh and node.attr and time.monotonic() < node.until:
        return node.attr
    st = os.lstat(node.path)
    if st.st_ino != node.ino:
        names.pop(node.path, None)
        raise OSError(errno.ESTALE, "")
    return remember(node, st)


def is_stale(handle):
    return os.fstat(handle.fd).st_nlink == 0 and handle.node not in silly


def packed(st):
    def parts(ns):
        return divmod(ns, 1000000000)
    (a, an), (m, mn), (c, cn) = parts(st.st_atime_ns), parts(st.st_mtime_ns), parts(st.st_ctime_ns)
    return struct.pack("=6Q10I", st.st_ino, st.st_size, st.st_blocks, a, m, c, an, mn, cn, st.st_mode, st.st_nlink, st.st_uid, st.st_gid,
                       0, 4096, 0)


def entry(node, st):
    return struct.pack("=4Q2I", node.number, 1, 0, 0, 0, 0) + packed(st)


def attr_out(st):
    return struct.pack("=QII", 0, 0, 0) + packed(st)


def text(data):
    return data.split(b"\0", 1)[0].decode()


def below(node, name):
    return os.path.join(node.path, name)


def lookup(node, data):
    path = below(node, text(data))
    known = names.get(path)
    if known and time.monotonic() < known[1]:
        if known[0] is None:
            raise OSError(errno.ENOENT, "")
        return entry(known[0], attributes(known[0]))
    until = time.monotonic() + HOW["see"]
    try:
        st = os.lstat(path)
    except FileNotFoundError:
        names[path] = (None, until)
        raise
    found = node_of(path, st)
    names[path] = (found, until)
    return entry(found, remember(found, st))


def getattr_(node, data):
    flags, _, handle = struct.unpack_from("=IIQ", data)
    of = flags & BY_HANDLE and handles.get(handle)
    if of and is_stale(of):
        raise OSError(errno.ESTALE, "")
    if of and time.monotonic() >= node.until:
        return attr_out(remember(node, os.fstat(of.fd)))
    return attr_out(node.attr if of else attributes(node))


def setattr_(node, data):
    valid, _, handle, size = struct.unpack_from("=IIQQ", data)
    mode, _, uid, gid = struct.unpack_from("=4I", data, 68)
    of = handles.get(handle) if valid & 64 else None
    where = of.fd if of else node.path
    if valid & 1:
        os.chmod(where, stat.S_IMODE(mode))
    if valid & 6:
        os.chown(where, uid if valid & 2 else -1, gid if valid & 4 else -1)
    if valid & 8:
        os.truncate(where, size)
        if of and of.unsynced is not None:
            of.unsynced = min(of.unsynced, size)
    node.until = 0.0
    return attr_out(remember(node, os.fstat(of.fd)) if of else attributes(node))


def made(path):
    changed(path)
    st = os.lstat(path)
    node = node_of(path, st)
    names[path] = (node, time.monotonic() + HOW["see"])
    return node, remember(node, st)


def mkdir(node, data):
    mode, umask = struct.unpack_from("=II", data)
    path = below(node, text(data[8:]))
    os.mkdir(path)
    os.chmod(path, mode & ~umask & 0o7777)
    return entry(*made(path))


def symlink(node, data):
    name, target = data.split(b"\0")[:2]
    path = below(node, name.decode())
    os.symlink(target.decode(), path)
    return entry(*made(path))


def link(node, data):
    old = nodes[struct.unpack_from("=Q", data)[0]]
    path = below(node, text(data[8:]))
    os.link(old.path, path)
    return entry(*made(path))


def out_of_the_way(path):
    """What is open here, and is to go, gets another name."""
    try:
        found = by_ino.get(os.lstat(path).st_ino)
    except FileNotFoundError:
        return False
    if not found or found.handles == 0 or found in silly or os.path.isdir(path):
        return False
    hidden = os.path.join(os.path.dirname(path), ".nfs%016x" % number())
    os.rename(path, hidden)
    silly[found], found.path = hidden, hidden
    changed(path, hidden)
    return True


def unlink(node, data):
    path = below(node, text(data))
    if not out_of_the_way(path):
        os.unlink(path)
    changed(path)
    return b""


def rmdir(node, data):
    path = below(node, text(data))
    os.rmdir(path)
    changed(path)
    return b""


def rename(node, data, at=8):
    target = nodes[struct.unpack_from("=Q", data)[0]]
    old, new = (word.decode() for word in data[at:].split(b"\0")[:2])
    old, new = below(node, old), below(target, new)
    out_of_the_way(new)
    os.rename(old, new)
    for one in nodes.values():
        if one.path == old or one.path.startswith(old + "/"):
            one.path = new + one.path[len(old):]
    changed(old, new)
    return b""


def opened(node, fd, flags):
    key = number()
    handles[key] = Handle(node, fd, flags)
    node.handles += 1
    return struct.pack("=QII", key, DIRECT_IO, 0)


WAYS = os.O_ACCMODE | os.O_TRUNC


def open_(node, data):
    flags, _ = struct.unpack_from("=II", data)
    attributes(node, fresh=True)  # close-to-open
    return opened(node, os.open(node.path, flags & WAYS), flags)


def create(node, data):
    flags, mode, umask, _ = struct.unpack_from("=4I", data)
    path = below(node, text(data[16:]))
    fd = os.open(path, flags & (WAYS | os.O_EXCL) | os.O_CREAT, mode & ~umask & 0o7777)
    new, st = made(path)
    return entry(new, st) + opened(new, fd, flags)


def read(_, data):
    key, offset, size = struct.unpack_from("=QQI", data)
    if is_stale(handles[key]):
        raise OSError(errno.ESTALE, "")
    return os.pread(handles[key].fd, size, offset)


def write(node, data):
    key, offset, size = struct.unpack_from("=QQI", data)
    handle = handles[key]
    if is_stale(handle):
        raise OSError(errno.ESTALE, "")
    if size > 1 and chance(HOW["short"]):
        size = rng.randrange(1, size)
    if handle.unsynced is None:
        handle.unsynced = os.fstat(handle.fd).st_size
    done = os.pwrite(handle.fd, data[40:40 + size], offset)
    node.until = 0.0
    lists.pop(os.path.dirname(node.path), None)
    return struct.pack("=II", done, 0)


def settle(node, data):
    """Close or fsync: what was written is on the disk, or it is lost, which is said now, and never again."""
    handle = handles[struct.unpack_from("=Q", data)[0]]
    before, handle.unsynced = handle.unsynced, None
    if before is not None and chance(HOW["lose"]):
        os.ftruncate(handle.fd, before)
        node.until = 0.0
        raise OSError(errno.EIO, "")
    return b""


def release(node, data):
    handle = handles.pop(struct.unpack_from("=Q", data)[0])
    os.close(handle.fd)
    node.handles -= 1
    if node.handles == 0 and node in silly:
        hidden = silly.pop(node)
        os.unlink(hidden)
        changed(hidden)
    return b""


def opendir(node, _):
    key = number()
    handles[key] = Handle(node, -1)
    return struct.pack("=QII", key, 0, 0)


def readdir(node, data):
    key, offset, size = struct.unpack_from("=QQI", data)
    handle = handles[key]
    if handle.list is None:
        known = lists.get(node.path)
        if not known or time.monotonic() >= known[1]:
            known = lists[node.path] = (os.listdir(node.path), time.monotonic() + HOW["see"])
        handle.list = [".", ".."] + known[0]
    out = b""
    for at, name in list(enumerate(handle.list))[offset:]:
        row = struct.pack("=QQII", 1, at + 1, len(name.encode()), 0) + name.encode()
        row += bytes(-len(row) % 8)
        if len(out) + len(row) > size:
            break
        out += row
    return out


def releasedir(_, data):
    handles.pop(struct.unpack_from("=Q", data)[0])
    return b""


def setlk(_, data):
    key, _, _, _, kind = struct.unpack_from("=QQQQI", data)
    handle = handles[key]
    if is_stale(handle):
        raise OSError(errno.ESTALE, "")
    if kind == fcntl.F_WRLCK and not handle.writes:
        raise OSError(errno.EBADF, "")  # locks of NFS are of byte ranges
    how = {fcntl.F_RDLCK: fcntl.LOCK_SH, fcntl.F_WRLCK: fcntl.LOCK_EX, fcntl.F_UNLCK: fcntl.LOCK_UN}[kind]
    fcntl.flock(handle.fd, how | fcntl.LOCK_NB)
    return b""


def statfs(_node, _data):
    st = os.statvfs(BACK)
    return struct.pack("=5Q4I", st.f_blocks, st.f_bfree, st.f_bavail, st.f_files, st.f_ffree, st.f_bsize, 255, st.f_frsize, 0) + bytes(24)


def init(_, data):
    major, minor = struct.unpack_from("=II", data)
    assert major == 7 and minor >= 23, (major, minor)
    return struct.pack("=IIIIHHIIHHI", 7, 23, 4096, FLOCK_LOCKS | BIG_WRITES, 0, 0, 1 << 17, 1, 0, 0, 0) + bytes(24)


ACTS = {
    LOOKUP: lookup, GETATTR: getattr_, SETATTR: setattr_, READLINK: lambda node, _: os.readlink(node.path).encode(), SYMLINK: symlink,
    MKDIR: mkdir, UNLINK: unlink, RMDIR: rmdir, RENAME: rename, RENAME2: lambda node, data: rename(node, data, 16), LINK: link, OPEN: open_,
    READ: read, WRITE: write, STATFS: statfs, RELEASE: release, FSYNC: settle, FLUSH: settle, INIT: init, OPENDIR: opendir,
    READDIR: readdir, RELEASEDIR: releasedir, FSYNCDIR: lambda _node, _data: b"", SETLK: setlk, CREATE: create,
}


def answer(device, request):
    size, opcode, unique, node = struct.unpack_from("=IIQQ", request)
    if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
        return
    if opcode in (FSYNC, FSYNCDIR):
        time.sleep(rng.random() * HOW["sync"])
    try:
        with mutex:
            out, number_of = ACTS[opcode](nodes.get(node), request[40:size]), 0
    except KeyError:
        out, number_of = b"", errno.ENOSYS
    except (OSError, AttributeError) as problem:
        out, number_of = b"", getattr(problem, "errno", None) or errno.ESTALE
        if isinstance(problem, AttributeError) and node in nodes:
            raise
    try:
        os.write(device, struct.pack("=IiQ", 16 + len(out), -number_of, unique) + out)
    except OSError as problem:
        if problem.errno != errno.ENOENT:  # who asked has gone
            raise


def serve(device):
    while True:
        try:
            request = os.read(device, 1 << 18)
        except InterruptedError:
            continue
        except OSError:
            os._exit(0)
        answer(device, request)


def mount():
    def call(*words):
        if libc.mount(*words) != 0:
            sys.stderr.write("nothing can be mounted here: %s\n" % os.strerror(ctypes.get_errno()))
            sys.exit(77)
    if libc.unshare(NEW_MOUNTS) != 0 or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        sys.stderr.write("no mount namespaces, or no /dev/fuse here\n")
        sys.exit(77)
    call(b"none", b"/", b"none", PRIVATE, None)
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    call(b"nfs_like", MOUNT.encode(), b"fuse", 0, b"fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % device)
    return device


def main():
    nodes[1] = Node(1, BACK, os.stat(BACK).st_ino)
    device = mount()
    answer(device, os.read(device, 1 << 18))
    for _ in range(6):
        threading.Thread(target=serve, args=(device,), daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()
    os._exit(0)


main()
