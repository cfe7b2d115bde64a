"""Chromium without a window, driven over the DevTools protocol through a pipe."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-extensions", "--hide-scrollbars", "--remote-debugging-pipe"]


class Chromium:
    def __init__(self):
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        assert program, "there is no chromium: apt-get install -y chromium"
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        (theirs_in, self.to), (self.back, theirs_out) = os.pipe(), os.pipe()

        def as_3_and_4():
            # Above both numbers first: one of the pipes may have them.
            come, go = os.dup2(theirs_in, 100), os.dup2(theirs_out, 101)
            os.dup2(come, 3), os.dup2(go, 4)

        self.process = subprocess.Popen([program, *FLAGS, f"--user-data-dir={self.profile.name}", "about:blank"], close_fds=False,
                                        preexec_fn=as_3_and_4, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(theirs_in), os.close(theirs_out)
        self.number, self.rest, self.events = 0, b"", []
        target = self.send("Target.createTarget", session=False, url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", session=False, targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.send(f"{domain}.enable")

    def close(self):
        try:
            self.send("Browser.close", session=False)
            self.process.wait(10)
        except (OSError, AssertionError, subprocess.TimeoutExpired):
            self.process.kill()
        self.process.wait()
        self.profile.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def receive(self):
        while b"\0" not in self.rest:
            block = os.read(self.back, 1 << 20)
            assert block, "chromium has ended"
            self.rest += block
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, session=True, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self.events.append(answer)

    def wait(self, event, seconds=30):
        end = time.monotonic() + seconds
        while not any(one.get("method") == event for one in self.events):
            assert time.monotonic() < end, f"{event} has not come"
            self.events.append(self.receive())

    def screen(self, width, height, scheme="light", scale=1):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=width < 600)
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, url):
        """Loads a page; what happened before is forgotten."""
        self.events.clear()
        self.send("Page.navigate", url=url)
        self.wait("Page.loadEventFired")
        self.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")

    def run(self, script):
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key):
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38,
                 "ArrowRight": 39, "ArrowDown": 40}
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        common = {"key": key, "code": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0]))}
        self.send("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **common)
        self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    def picture(self, path, whole=False):
        shot = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def messages(self):
        """What the page wrote to the console, what went wrong in it, and what the browser complained of."""
        kinds = {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}
        return [one["params"] for one in self.events if one.get("method") in kinds]

    def requests(self):
        return [one["params"]["request"]["url"] for one in self.events if one.get("method") == "Network.requestWillBeSent"]
