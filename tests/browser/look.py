"""Look at a page with headless Chromium, over pipes, with Python alone.

look.py PAGE FOLDER [--quick]   puts pictures into FOLDER, and prints one JSON object (--quick: axe-core is not asked):
    load_ms   how long the page took to load
    console   what the page complained of         requests   what it asked the network for
    overflow  {width: pixels beyond the window}   axe        what axe-core found wrong; null: it isn't installed
    text      what a reader sees                  tabs       what the Tab key reaches, in order
    bars      {width: how wide, in pixels, the bars of charts are}

Exit status 77: there is no Chromium. axe-core is the package that package.json pins: installed by npm where it is
missing; without npm `axe` is null.
"""
import base64
import contextlib
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time

AXE = pathlib.Path(__file__).parent / "node_modules/axe-core/axe.min.js"
WIDTHS = (400, 1200)
LIMIT_S = 120


class Browser:
    """The DevTools protocol on descriptors 3 and 4: JSON, each message ended by NUL."""

    def __init__(self, program, home):
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        self.read_fd, self.write_fd, self.rest, self.count, self.events = ours_in, ours_out, b"", 0, []

        def connect():
            # the numbers may already be what the other end shall be
            a, b = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(a, 3), os.dup2(b, 4)
            os.set_inheritable(3, True), os.set_inheritable(4, True)

        argv = [program, "--headless", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe",
                f"--user-data-dir={home}", "--force-color-profile=srgb", "about:blank"]
        if os.getuid() == 0:
            argv.insert(1, "--no-sandbox")
        self.process = subprocess.Popen(argv, preexec_fn=connect, close_fds=False, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env={**os.environ, "HOME": str(home)})
        os.close(theirs_in), os.close(theirs_out)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    session = None

    def message(self, end):
        while b"\0" not in self.rest:
            if not select.select([self.read_fd], [], [], max(end - time.monotonic(), 0))[0]:
                raise TimeoutError("the browser says nothing")
            got = os.read(self.read_fd, 1 << 20)
            if not got:
                raise EOFError("the browser has ended")
            self.rest += got
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, **params):
        self.count += 1
        request = {"id": self.count, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.write_fd, data):]
        end = time.monotonic() + LIMIT_S
        while True:
            answer = self.message(end)
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError((method, answer["error"]))
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def wait_for(self, name):
        end = time.monotonic() + LIMIT_S
        while not any(e.get("method") == name for e in self.events):
            self.events.append(self.message(end))

    def close(self):
        self.process.kill()
        self.process.wait()


def look(browser, page, folder, quick):
    for domain in ("Page", "Runtime", "Log", "Network"):
        browser.call(f"{domain}.enable")
    url = pathlib.Path(page).resolve().as_uri()
    began = time.monotonic()
    browser.call("Page.navigate", url=url)
    browser.wait_for("Page.loadEventFired")
    found = {"overflow": {}, "bars": {}, "axe": None, "load_ms": round((time.monotonic() - began) * 1000)}
    for width in WIDTHS:
        for theme in ("light", "dark"):
            browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
            browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
            picture = browser.call("Page.captureScreenshot", format="png")["data"]
            (folder / f"{pathlib.Path(page).stem}-{width}-{theme}.png").write_bytes(base64.b64decode(picture))
        found["overflow"][width] = browser.evaluate("document.documentElement.scrollWidth - innerWidth")
        found["bars"][width] = browser.evaluate("[...document.querySelectorAll('.days s')].map(e => e.getBoundingClientRect().width)")
    found["text"] = browser.evaluate("document.body.innerText")
    found["title"] = browser.evaluate("document.title")
    found["scripts"] = browser.evaluate("document.querySelectorAll('script,iframe,object,img,link,[onclick],[onerror]').length")
    found["tabs"] = browser.evaluate("[...document.querySelectorAll('a[href],summary,[tabindex]')].slice(0, 20).map(e => e.localName)")
    found["console"] = [e["params"] for e in browser.events
                        if e.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")]
    found["requests"] = [e["params"]["request"]["url"] for e in browser.events
                         if e.get("method") == "Network.requestWillBeSent" and e["params"]["request"]["url"] != url]
    if not quick and AXE.exists():
        found["axe"] = []
        for theme in ("light", "dark"):
            browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
            # the page's own policy forbids scripts: they run beside it
            browser.evaluate(AXE.read_text(encoding="utf-8"))
            found["axe"] += browser.evaluate("axe.run().then(r => r.violations.map(v => [v.id, v.nodes.length, v.nodes[0].html]))")
    return found


def install_axe():
    """One at a time: tests run side by side."""
    if AXE.exists() or not shutil.which("npm"):
        return
    with open(AXE.parents[2] / "package.json", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not AXE.exists():
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=AXE.parents[2], timeout=300, check=False,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if not program:
        print("no chromium", file=sys.stderr)
        sys.exit(77)
    folder, quick = pathlib.Path(sys.argv[2]), "--quick" in sys.argv
    if not quick:
        install_axe()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True) as home:
        browser = Browser(program, home)
        try:
            print(json.dumps(look(browser, sys.argv[1], folder, quick)))
        finally:
            browser.close()


if __name__ == "__main__":
    main()
