#!/usr/bin/env python3
"""What a report.html takes to open in headless Chromium: bench/plan page [RUNS [GRAPH CLUSTER]].

RUNS is 5, the plan that of GPT-3 175B on 1,024 GPUs: 96 layers. Medians of milliseconds: from the
start of the navigation to the page's last line, wall clock, and what the page's main thread computed
until the first picture is drawn. The first counts what else the machine does; the second does not.
"""

import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "script"))
from browser import Browser  # noqa: E402


def opened(browser, path):
    page = browser.open("file://" + path, 1200, 900)
    page.value("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    wall = page.value("hapcReady")
    computed = page.metrics()
    page.close()
    return wall, {k: 1e3 * computed[k] for k in ("TaskDuration", "ScriptDuration", "LayoutDuration")}


def main():
    hapc, arguments = sys.argv[1], sys.argv[2:]
    runs = int(arguments[0]) if arguments else 5
    graph, cluster = arguments[1:3] if len(arguments) > 2 else ("examples/gpt3-175b/graph.json", "gpu1024")
    with tempfile.TemporaryDirectory() as work, Browser() as browser:
        subprocess.run([hapc, graph, cluster, "-q", "-o", work + "/plan"], check=True)
        path = work + "/plan/report.html"
        print(f"{graph} on {cluster}: report.html {os.path.getsize(path) / 2**20:.2f} MiB")
        opened(browser, path)  # the browser's own beginning
        seen = [opened(browser, path) for _ in range(runs)]
    load = os.getloadavg()[0]
    print(f"open: {statistics.median(w for w, _ in seen):.0f} ms wall, {min(w for w, _ in seen):.0f} the least"
          f" of {runs} (load {load:.1f})")
    computed = {k: statistics.median(c[k] for _, c in seen) for k in seen[0][1]}
    print(f"computed by its main thread: {computed['TaskDuration']:.0f} ms, of it scripts"
          f" {computed['ScriptDuration']:.0f}, layout {computed['LayoutDuration']:.0f}")


if __name__ == "__main__":
    main()
