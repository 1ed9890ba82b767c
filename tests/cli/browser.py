# SPDX-License-Identifier: MIT
"""A headless Chromium, driven through chromedriver in plain HTTP."""
import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import urllib.request


def is_installed():
    return bool(shutil.which("chromedriver")) and bool(shutil.which("chromium"))


class Browser:
    """At most one page at a time; what is reported of it starts with open()."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="pawl-browser-")
        # In a group of its own, so that none of its processes can outlive it.
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0", "--log-level=SEVERE"], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, start_new_session=True,
            env=dict(os.environ, HOME=self.profile.name))
        for line in self.driver.stdout:  # "... started successfully on port N."
            if "on port" in line and "successfully" in line:
                self.address = "http://127.0.0.1:" + line.split()[-1].rstrip(".")
                break
        else:
            raise RuntimeError("chromedriver did not start")
        arguments = ["--headless=new", "--disable-gpu", "--hide-scrollbars",
                     "--disable-dev-shm-usage", "--no-first-run",
                     "--user-data-dir=" + self.profile.name]
        if os.getuid() == 0:
            arguments.append("--no-sandbox")  # which root cannot have
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments, "binary": shutil.which("chromium")},
            "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.session = "/session/" + answer["sessionId"]

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            self.address + path, method=method,
            data=None if body is None else json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=300) as answer:
            return json.load(answer)["value"]

    def devtools(self, command, **parameters):
        return self.call("POST", self.session + "/goog/cdp/execute",
                         {"cmd": command, "params": parameters})

    def open(self, path, width, scheme="light", medium="screen"):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=900,
                      deviceScaleFactor=1, mobile=width < 600)
        self.devtools("Emulation.setEmulatedMedia", media=medium, features=[
            {"name": "prefers-color-scheme", "value": scheme}])
        self.call("POST", self.session + "/url", {"url": "file://" + path})

    def ask(self, script):
        """What the function body `script` returns in the page."""
        return self.call("POST", self.session + "/execute/sync", {"script": script, "args": []})

    def console(self):
        return self.call("POST", self.session + "/se/log", {"type": "browser"})

    def middle(self, query):
        """Of the first such element, which is brought into sight."""
        return self.ask(f"""
            const part = document.querySelector({json.dumps(query)});
            part.scrollIntoView({{block: 'center', inline: 'center', behavior: 'instant'}});
            const r = part.getBoundingClientRect();
            return [(r.left + r.right) / 2, (r.top + r.bottom) / 2];""")

    def point(self, query, beside=0):
        x, y = self.middle(query)
        self.devtools("Input.dispatchMouseEvent", type="mouseMoved", x=x + beside, y=y)

    def click(self, query):
        x, y = self.middle(query)
        for what in "mousePressed", "mouseReleased":
            self.devtools("Input.dispatchMouseEvent", type=what, x=x, y=y, button="left",
                          clickCount=1)

    def press(self, key):
        for what in "keyDown", "keyUp":
            self.devtools("Input.dispatchKeyEvent", type=what, key=key)

    def print(self):
        """The page as PDF."""
        return base64.b64decode(self.devtools("Page.printToPDF", printBackground=True)["data"])

    def screenshot(self, path, whole=True):
        """All of the page, or only what a window would show."""
        picture = self.devtools("Page.captureScreenshot", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    def close(self):
        try:
            self.call("DELETE", self.session)
        finally:
            os.killpg(self.driver.pid, signal.SIGKILL)
            self.driver.wait()
            self.driver.stdout.close()
            self.profile.cleanup()
