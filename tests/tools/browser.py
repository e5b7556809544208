"""A browser for tests: Chromium, controlled by chromedriver through the WebDriver protocol.

Uses only the standard library, because the protocol is JSON over HTTP (w3.org/TR/webdriver2).
"""

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the protocol's key for an element
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "Home": "\ue011", "End": "\ue010",
        "Left": "\ue012", "Up": "\ue013", "Right": "\ue014", "Down": "\ue015", "Control": "\ue009"}


def why_not():
    """Returns the reason why no browser can run, or None."""
    if shutil.which("chromedriver") is None:
        return "chromedriver is not here; it comes with the package chromium-driver"
    if chromium() is None:
        return "Chromium is not here; it comes with the package chromium"
    return None


def chromium():
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Browser:
    """One browser window. Use it in a `with`."""

    def __enter__(self):
        port = free_port()
        self.server = f"http://127.0.0.1:{port}"
        self.session = ""
        self.driver = subprocess.Popen(
            ["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.wait_for_driver()
            self.begin()
        except BaseException:
            self.driver.kill()
            self.driver.wait()
            raise
        return self

    def __exit__(self, *error):
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait(60)

    def wait_for_driver(self):
        for _ in range(300):
            try:
                self.request("GET", "/status")
                return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        raise RuntimeError("chromedriver does not answer")

    def begin(self):
        # Chromium runs without a sandbox, because CI runs the tests as root in a container.
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--hide-scrollbars", "--force-prefers-reduced-motion"]
        options = {"args": arguments, "binary": chromium()}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options,
                  "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        answer = self.request("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = f"/session/{answer['sessionId']}"

    def request(self, method, path, body=None):
        request = urllib.request.Request(
            self.server + path, method=method, headers={"Content-Type": "application/json"},
            data=None if body is None else json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def call(self, method, path, body=None):
        return self.request(method, self.session + path, body)

    def devtools(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def size(self, width, height):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height,
                      deviceScaleFactor=1, mobile=width < 600)

    def media(self, scheme, kind=""):
        self.devtools("Emulation.setEmulatedMedia", media=kind,
                      features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path):
        self.call("POST", "/url", {"url": path.as_uri()})

    def js(self, script, *arguments):
        """Returns the result of the script."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def frame(self):
        """Waits until pending changes are drawn."""
        self.call("POST", "/execute/async",
                  {"script": "const done = arguments[0];"
                             "requestAnimationFrame(() => requestAnimationFrame(() => done()));",
                   "args": []})

    def find(self, selector):
        return self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def actions(self, *sources):
        self.call("POST", "/actions", {"actions": list(sources)})
        self.call("DELETE", "/actions")
        self.frame()

    def pointer(self, *steps):
        self.actions({"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
                      "actions": list(steps)})

    def centre(self, selector):
        """Scrolls an element into view and returns its center in the window."""
        return self.js("const found = document.querySelector(arguments[0]);"
                       "if (!found) throw new Error(`no ${arguments[0]}`);"
                       "const seen = (box) => box.top >= 0 && box.bottom <= innerHeight;"
                       "if (!seen(found.getBoundingClientRect())) found.scrollIntoView({block: 'center'});"
                       "const box = found.getBoundingClientRect();"
                       "return [Math.round(box.x + box.width / 2), Math.round(box.y + box.height / 2)];",
                       selector)

    def hover(self, selector):
        x, y = self.centre(selector)
        self.frame()
        x, y = self.centre(selector)
        # Moves to another place first: a mouse that does not move triggers no hover.
        self.pointer({"type": "pointerMove", "duration": 0, "x": x + 3, "y": y},
                     {"type": "pointerMove", "duration": 20, "x": x, "y": y})

    def click(self, selector):
        x, y = self.centre(selector)
        self.frame()
        x, y = self.centre(selector)
        self.pointer({"type": "pointerMove", "duration": 0, "x": x, "y": y},
                     {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0})

    def drag(self, selector, dx, dy):
        x, y = self.centre(selector)
        self.pointer({"type": "pointerMove", "duration": 0, "x": x, "y": y},
                     {"type": "pointerDown", "button": 0},
                     {"type": "pointerMove", "duration": 50, "x": x + dx, "y": y + dy},
                     {"type": "pointerUp", "button": 0})

    def touch(self, *fingers):
        """Moves fingers that go down and up together; each finger is [(x, y), ...]."""
        self.actions(*({"type": "pointer", "id": f"finger {i}", "parameters": {"pointerType": "touch"}, "actions": [
            {"type": "pointerMove", "duration": 0, "x": way[0][0], "y": way[0][1]},
            {"type": "pointerDown", "button": 0},
            *({"type": "pointerMove", "duration": 60, "x": x, "y": y} for x, y in way[1:]),
            {"type": "pointerUp", "button": 0}]} for i, way in enumerate(fingers)))

    def tap(self, selector):
        self.centre(selector)
        self.frame()
        self.touch([tuple(self.centre(selector))])

    def swipe(self, selector, dx, dy):
        x, y = self.centre(selector)
        self.touch([(x, y), (x + dx // 2, y + dy // 2), (x + dx, y + dy)])

    def spread(self, selector, before, after):
        """Moves two fingers apart or together: from `before` to `after` pixels from an element's
        center."""
        x, y = self.centre(selector)
        self.touch([(x - before, y), (x - (before + after) // 2, y), (x - after, y)],
                   [(x + before, y), (x + (before + after) // 2, y), (x + after, y)])

    def wheel(self, selector, delta, with_control):
        x, y = self.centre(selector)
        keys = {"type": "key", "id": "keys", "actions": [
            {"type": "keyDown", "value": KEYS["Control"]}, {"type": "pause"},
            {"type": "keyUp", "value": KEYS["Control"]}]}
        wheel = {"type": "wheel", "id": "wheel", "actions": [
            {"type": "pause"}, {"type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": delta},
            {"type": "pause"}]}
        self.actions(*([keys] if with_control else []), wheel)

    def press(self, *keys):
        """Presses keys by name ("Tab") or character ("+"), in the focused element."""
        steps = []
        for key in keys:
            value = KEYS.get(key, key)
            steps += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self.actions({"type": "key", "id": "keys", "actions": steps})

    def type_in(self, selector, text):
        element = self.find(selector)
        self.call("POST", f"/element/{element}/clear", {})
        if text:
            self.call("POST", f"/element/{element}/value", {"text": text})
        self.frame()

    def console(self):
        """Returns the console messages since the last call."""
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})]

    def addresses(self):
        """Returns all addresses requested since the last call."""
        found = []
        for entry in self.call("POST", "/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found
