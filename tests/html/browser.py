"""A headless Chromium for tests of pages: opens files, sets width, media and colours, moves the mouse, takes pictures.

It speaks the DevTools protocol through the two pipes of --remote-debugging-pipe, so neither a driver nor a port is needed.
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome")


def find():
    """Returns the path of a Chromium, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One tab. Problems on the page (errors, rejected promises, console errors, requests of other files) are in problems."""

    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory(prefix="mpistair-chromium-")
        command_read, self.command = os.pipe()
        self.answer, answer_write = os.pipe()
        words = [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={self.folder.name}", "about:blank"]

        def pipes():  # Chromium reads commands from 3 and answers to 4.
            high = [os.dup2(end, 100 + i) for i, end in enumerate((command_read, answer_write))]
            for place, end in zip((3, 4), high):
                os.dup2(end, place)

        self.process = subprocess.Popen(words, preexec_fn=pipes, pass_fds=(3, 4), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(command_read)
        os.close(answer_write)
        self.rest, self.last, self.session, self.loaded, self.problems = b"", 0, None, False, []
        targets = self.send("Target.getTargets")["targetInfos"]
        tab = next(target["targetId"] for target in targets if target["type"] == "page")
        self.session = self.send("Target.attachToTarget", targetId=tab, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.command)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.answer)
        self.folder.cleanup()

    def receive(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self.rest:
            if not select.select([self.answer], [], [], max(end - time.monotonic(), 0))[0]:
                raise TimeoutError("Chromium does not answer")
            part = os.read(self.answer, 1 << 20)
            if not part:
                raise EOFError("Chromium has ended")
            self.rest += part
        text, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(text)
        self.note(message.get("method"), message.get("params", {}))
        return message

    def note(self, method, values):
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            details = values["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and values["type"] in ("error", "warning", "assert"):
            self.problems.append(" ".join(str(a.get("value", a.get("description"))) for a in values["args"]))
        elif method == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
            self.problems.append(values["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not values["request"]["url"].startswith(("file:", "data:", "blob:")):
            self.problems.append("asks for " + values["request"]["url"])

    def send(self, method, seconds=60, **values):
        self.last += 1
        message = {"id": self.last, "method": method, "params": values}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.command, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive(seconds)
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def look(self, width=1280, media="screen", dark=False):
        """Sets these, and waits until a frame is done that was begun after that: with it the page hears of them."""
        colours = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", media=media, features=[colours])
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.ask("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def open(self, path, ready="true"):
        """Opens a file and waits until the expression ready holds; returns the seconds that took."""
        begin = time.monotonic()
        self.loaded, self.problems = False, []
        self.send("Page.navigate", url="file://" + os.path.abspath(path))
        while not self.loaded:
            self.receive(60)
        while not self.ask(ready):
            if time.monotonic() > begin + 60:
                raise TimeoutError(f"{path}: not ready: {ready}; {self.problems}")
            time.sleep(0.02)
        return time.monotonic() - begin

    def ask(self, expression):
        """Evaluates JavaScript on the page; promises are waited for."""
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def mouse(self, kind, x, y, **values):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **values)

    def picture(self, path, whole=True):
        """Writes a PNG of the page, or of what of it is on the screen."""
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
