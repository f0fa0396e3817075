"""Headless Chromium, spoken to over two pipes (the Chrome DevTools Protocol): no port, no library.

    with Browser() as browser:
        page = browser.open("file:///tmp/plan/report.html", width=1200, height=900)
        print(page.value("hapcReady"))
"""

import base64
import json
import os
import shutil
import subprocess
import tempfile

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


class Browser:
    def __init__(self):
        program = next((p for p in PROGRAMS if shutil.which(p)), None)
        if not program:
            raise SystemExit("no Chromium: " + ", ".join(PROGRAMS))
        self.profile = tempfile.mkdtemp()
        theirs, self.out = os.pipe()
        self.into, back = os.pipe()
        command = f'exec "$@" 3<&{theirs} 4>&{back}'
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
                 f"--user-data-dir={self.profile}"]
        self.process = subprocess.Popen(["bash", "-c", command, "bash", program, *flags], pass_fds=(theirs, back),
                                        stderr=subprocess.DEVNULL)
        os.close(theirs)
        os.close(back)
        self.sent, self.rest, self.events = 0, b"", []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ask("Browser.close")
        self.process.wait()
        os.close(self.out)
        os.close(self.into)
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self):
        while b"\0" not in self.rest:
            more = os.read(self.into, 1 << 20)
            if not more:
                raise SystemExit("Chromium ended")
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def ask(self, method, session=None, **params):
        """The result of a command."""
        self.sent += 1
        command = {"id": self.sent, "method": method, "params": params}
        if session:
            command["sessionId"] = session
        os.write(self.out, json.dumps(command).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") != self.sent:
                self.events.append(answer)
            elif "error" in answer:
                raise SystemExit(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def open(self, url, width, height, dark=False, phone=False):
        """A page, once it is loaded."""
        return Page(self, url, width, height, dark, phone)


class Page:
    def __init__(self, browser, url, width, height, dark, phone):
        self.browser = browser
        self.target = browser.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.ask("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        self.ask("Page.enable")
        self.ask("Performance.enable", timeDomain="threadTicks")
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        browser.events.clear()
        self.ask("Page.navigate", url=url)
        while not any(e.get("method") == "Page.loadEventFired" for e in browser.events):
            browser.events.append(browser.message())

    def ask(self, method, **params):
        return self.browser.ask(method, self.session, **params)

    def value(self, expression):
        said = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in said:
            raise SystemExit(f"{expression}: {said['exceptionDetails']}")
        return said["result"].get("value")

    def metrics(self):
        """Seconds that the page's main thread has computed, by what for."""
        return {m["name"]: m["value"] for m in self.ask("Performance.getMetrics")["metrics"]}

    def picture(self, height=0, scale=1.0, kind="png", quality=60):
        """The page from its top on, all of it unless a height is given; kind: png or webp."""
        width, all_of_it = self.value("[innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height or all_of_it, all_of_it), "scale": scale}
        more = {"quality": quality} if kind != "png" else {}
        shot = self.ask("Page.captureScreenshot", format=kind, captureBeyondViewport=True, clip=clip, **more)
        return base64.b64decode(shot["data"])

    def pdf(self):
        """The page as it is printed, A4."""
        paper = {"paperWidth": 8.27, "paperHeight": 11.69, "marginTop": 0.4, "marginBottom": 0.4, "marginLeft": 0.4,
                 "marginRight": 0.4}
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=True, **paper)["data"])

    def close(self):
        self.browser.ask("Target.closeTarget", targetId=self.target)
