"""What every step of bench/gpu uses: the pack laid out, commands in sessions of their own with a time
limit, their logs, and what is left of the call's time.

A command's processes are ended by its session, which bench/gpu started: a second program on a GPU
would take turns with the one that is measured.
"""

import glob
import os
import re
import signal
import subprocess
import sysconfig
import tarfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOLD = re.compile(r"^[0-9]+%|:[FE]:|WRONG|runs, |all right|faults, seed|wrong value|SUMMARY|off by|makes the first|^hapc: (goes|moved|back)|the worst of")


class Done:
    """How a command ended: `ok`, its seconds and its log."""

    def __init__(self, code, seconds, log):
        self.code, self.seconds, self.log = code, seconds, log
        self.ok = code == 0

    def text(self):
        with open(self.log, errors="replace") as f:
            return f.read()

    def tail(self, n):
        return [line[:300] for line in self.text().splitlines()[-n:]]


def count_gpus():
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    except FileNotFoundError:
        return 0
    return sum(line.startswith("GPU") for line in listed.stdout.splitlines())


def end_session(leader):
    """Kills what is left of the session that `leader` began, whatever it is called."""
    for _ in range(5):
        left = []
        for path in glob.glob("/proc/[0-9]*/stat"):
            try:
                with open(path) as f:
                    fields = f.read().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            if int(fields[3]) == leader and fields[0] != "Z":
                left.append(int(path.split("/")[2]))
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if not left:
            return
        time.sleep(0.2)


class Machine:
    def __init__(self, o):
        self.o, self.root = o, ROOT
        self.backend = o.backend
        self.gpus = o.gpus or count_gpus()
        self.models, self.pack = o.models, o.build or os.path.join(ROOT, ".device")
        self.work = o.work
        self.end = time.monotonic() + o.seconds
        self.summary = []
        os.makedirs(self.work, exist_ok=True)
        os.chdir(ROOT)
        if not o.build:
            self.unpack()
        self.hapc = os.path.join(self.pack, "bin/hapc")
        self.env = self.environment()

    def unpack(self):
        """bench/pack's archive, and its package files told where they lie now."""
        if not os.path.isdir(os.path.join(self.pack, "bin")):
            with tarfile.open(os.path.join(self.pack, "pack.tar.xz")) as t:
                t.extractall(self.pack)
        nvidia = os.path.join(sysconfig.get_path("purelib"), "nvidia")
        cudart = (glob.glob("/usr/local/cuda*/**/libcudart_static.a", recursive=True)
                  + glob.glob(f"{nvidia}/**/libcudart_static.a", recursive=True))
        with open(os.path.join(self.pack, "built-in")) as f:
            built = f.read().strip()
        for path in glob.glob(os.path.join(self.pack, "lib/pkgconfig/*.pc")):
            with open(path) as f:
                text = f.read()
            for old, new in ((r"(?m)^prefix=.*", f"prefix={self.pack}"),
                             (r"(?m)^libdir=.*", f"libdir={self.pack}/lib"),
                             (r"(?m)^includedir=.*", f"includedir={self.pack}/include"),
                             (re.escape(built), self.pack),
                             (r"\S*/libcublasLt\.so\.13", f"{nvidia}/cu13/lib/libcublasLt.so.13"),
                             (r"-Wl,-rpath,\S*", ""),
                             (r"\S*/libnccl\.so\.2", f"{nvidia}/nccl/lib/libnccl.so.2"),
                             (r"\S*/libmpi\.so", "-l:libmpi.so.40"),
                             (r"\S*/libcudart_static\.a", cudart[0] if cudart else "-lcudart_static")):
                text = re.sub(old, new, text)
            with open(path, "w") as f:
                f.write(text)

    def environment(self):
        nvidia = os.path.join(sysconfig.get_path("purelib"), "nvidia")
        e = dict(os.environ)
        libraries = [f"{self.pack}/libs", f"{nvidia}/cu13/lib", f"{nvidia}/nccl/lib",
                     f"{nvidia}/cudnn/lib", e.get("LD_LIBRARY_PATH", "")]
        e.update(LD_LIBRARY_PATH=":".join(x for x in libraries if x),
                 PATH=f"{self.pack}/tools:{e['PATH']}", HAP_BUILD=self.pack, HAPC_DATA=ROOT,
                 CK_FORK="no", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                 OMPI_MCA_btl_vader_single_copy_mechanism="none", NCCL_NVLS_ENABLE="0",
                 OMP_NUM_THREADS="4", TORCHINDUCTOR_CACHE_DIR=os.path.join(self.work, "inductor"))
        return e

    def left(self):
        return self.end - time.monotonic()

    def path(self, name):
        return os.path.join(self.work, name)

    def test(self, name):
        """A test on devices; of --backend cpu the same on CPUs."""
        name = name if self.backend == "cuda" else name.replace("_cuda", "")
        return os.path.join(self.pack, "tests", name)

    def mpirun(self, ranks, *command):
        return ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), *command]

    def start(self, name, command, env=None, out=None, plain=False):
        """A running command; `wait` ends it. Its output goes to NAME.log, or stdout to `out`. `plain`:
        without the pack's libraries (torch brings its own)."""
        log = self.path(name + ".log")
        err = open(log, "w")
        e = dict(self.env, **(env or {}))
        if plain:
            e.pop("LD_LIBRARY_PATH")
        p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=open(out, "w") if out else err,
                             stderr=err, env=e, start_new_session=True)
        p.log, p.began = log, time.monotonic()
        return p

    def wait(self, p, limit):
        try:
            code = p.wait(max(1, min(limit - (time.monotonic() - p.began), self.left())))
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGTERM)
            try:
                p.wait(3)
            except subprocess.TimeoutExpired:
                pass
            code = 124
        end_session(p.pid)
        p.wait()
        return Done(code, time.monotonic() - p.began, p.log)

    def run(self, name, command, limit, **more):
        return self.wait(self.start(name, command, **more), limit)

    def told(self, name, done):
        """Notes how a check ended, and prints what its log says of it."""
        how = {0: "ok", 77: "skipped", 124: "OUT OF TIME"}.get(done.code, f"FAILED ({done.code})")
        self.summary.append(f"{name:26} {how}  {done.seconds:.0f} s")
        print(f"--- {self.summary[-1]}")
        lines = [x for x in done.text().splitlines() if TOLD.search(x)]
        if len(lines) > 25: # what went wrong first, and how it ended
            lines = [*lines[:12], f"... {len(lines) - 24} lines", *lines[-12:]]
        if not done.ok:
            lines += done.tail(12)
        for line in lines:
            print("   ", line[:300], flush=True)

    def failed(self, name, lines):
        """Notes that something that is no check went wrong."""
        self.summary.append(f"{name:26} FAILED")
        print("\n    ".join([f"{name}: FAILED", *lines]), flush=True)

    def check(self, name, command, limit, **more):
        done = self.run(name, command, limit, **more)
        self.told(name, done)
        return done

    def together(self, commands, limit):
        """Checks that may share the devices: {name: (command, env)}."""
        running = {n: self.start(n, c, env=e) for n, (c, e) in commands.items()}
        for name, p in running.items():
            self.told(name, self.wait(p, limit))
