#!/usr/bin/env python3
"""Seeded edits of plan folders: of statements, control flow, what differs by step, rank and
environment, buffers, kernels, constants, precision, the graph, and planted files. Each is refused by
`hapc check`, or the program trains as before: it is compiled and run, and its losses are those of the
plan. And no edit of what is proved is run before it is checked.

    edits.py [SEED [EDITS]]    50 edits of seed 1; HAP_NIGHTLY=1: 1000 of a seed of today
"""
import datetime
import hashlib
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

hapc = os.environ["HAP_BUILD"] + "/bin/hapc"
STEPS = 4


def npy(path, dtype, shape, data):
    head = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + head.ljust(117).encode() + b"\n" + data)


def safetensors(path, name, values):
    data = struct.pack(f"<{len(values)}f", *values)
    head = json.dumps({name: {"dtype": "F32", "shape": [len(values)], "data_offsets": [0, len(data)]}})
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head.encode() + data)
    return hashlib.sha256(data).hexdigest()


class Plan:
    def __init__(self, work, name, words, inputs, run=()):
        self.folder, self.inputs, self.run_words = f"{work}/{name}", inputs, run
        subprocess.run([hapc, *words, "-o", self.folder, "-q"], check=True)
        self.losses = self.run(self.folder)
        assert self.losses and len(self.losses) == STEPS

    def run(self, folder):
        """Losses, or what is said."""
        words = [hapc, "run", folder, "--unproved", "--json", "--steps", str(STEPS), *self.run_words]
        for i in self.inputs:
            words += ["--input", i]
        p = subprocess.run(words, capture_output=True, text=True)
        losses = [float(x) for x in re.findall(r'"loss":([-0-9.e+]+)', p.stdout)]
        return losses if p.returncode == 0 else p.stderr


# --- edits: each changes a folder and says what it did, or None where there is no place ---


def read(folder, file):
    with open(f"{folder}/{file}", "rb") as f:
        return f.read().decode("latin-1")


def write(folder, file, text):
    with open(f"{folder}/{file}", "wb") as f:
        f.write(text.encode("latin-1"))


STATEMENT = re.compile(r"(?m)^ {4,12}(?:op_|hap_|coll_)[^;{}]*;[^\n]*\n")


def statements(text):
    begin = text.index("while (hap_next_step(r))")
    return [m for m in STATEMENT.finditer(text) if m.start() > begin]


def edit_statement(rng, folder):
    text = read(folder, "program.c")
    m, kind = rng.choice(statements(text)), rng.choice(["left out", "twice", "moved down", "swapped"])
    if kind == "left out":
        new = text[: m.start()] + text[m.end() :]
    elif kind == "twice":
        new = text[: m.end()] + m.group(0) + text[m.end() :]
    else:
        behind = [x for x in statements(text) if x.start() >= m.end()][: 1 if kind == "swapped" else 4]
        if not behind:
            return None
        to = behind[-1]
        new = text[: m.start()] + text[m.end() : to.end()] + m.group(0) + text[to.end() :]
    write(folder, "program.c", new)
    return f"{kind}: {m.group(0).strip()[:60]}"


def edit_number(rng, folder, file="program.c"):
    text = read(folder, file)
    bare = re.sub(r"//[^\n]*|\"[^\"\n]*\"|#[^\n]*", lambda m: " " * len(m.group(0)), text)
    m = rng.choice(list(re.finditer(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])", bare)))
    old = m.group(0)
    new = rng.choice([old + "1", "0", "1", "2", str(float(old) * 2) if "." in old else str(int(float(old)) + 1)])
    write(folder, file, text[: m.start()] + new + text[m.end() :])
    return f"{file}: {old} is {new} at {m.start()}" if new != old else None


def edit_name(rng, folder):
    text = read(folder, "program.c")
    m = rng.choice(statements(text))
    words = re.findall(r"[a-z]\w+", re.sub(r"//[^\n]*", "", m.group(0)))[1:]
    tensors = re.findall(r"\*(\w+)", re.search(r"static hap_tensor [^;]*;", read(folder, "buffers.h")).group(0))
    words = [w for w in words if w in tensors]
    if not words:
        return None
    old, new = rng.choice(words), rng.choice(tensors)
    write(folder, "program.c", text[: m.start()] + re.sub(rf"\b{old}\b", new, m.group(0), count=1) + text[m.end() :])
    return f"{old} is {new} in {m.group(0).strip()[:40]}" if old != new else None


CONDITIONS = [
    "static int n; if (n++ < 1) {s}",
    "static int n; if (n++ % 2) {s}",
    "if (hap_step(r)->step == 1) {s}",
    "if (*(int *)r == 0) {s}",
    "if (getenv(\"X\")) {s}",
    "if (0) {s}",
    "if (1) {s}",
    "for (int k = 0; k < 2; k++) {s}",
    "for (int k = 0; k < 1; k++) {s}",
    "while (0) {s}",
    "goto end; {s} end:;",
    "{s} return;",
    "int k = 1; if (k == 0) {s}",
    "(void)system(\"true\"); {s}",
    "{s} __asm__(\"\");",
    "\n#ifdef X\n{s}\n#endif\n",
    "\n#ifndef X\n{s}\n#endif\n",
    "/* {s} */",
    "\n??=if 0\n{s}\n??=endif\n",
    "// \\\n{s}",
    "(rand() & 1 ? (void)0 : (void)0); {s}",
]


def edit_flow(rng, folder):
    text = read(folder, "program.c")
    m, c = rng.choice(statements(text)), rng.choice(CONDITIONS)
    bare = re.sub(r"//[^\n]*", "", m.group(0)).strip()
    write(folder, "program.c", text[: m.start()] + c.replace("{s}", bare) + "\n" + text[m.end() :])
    return c.strip() + " " + bare[:30]


def edit_head(rng, folder):
    line = rng.choice(
        ["#include <stdlib.h>", "#define op_add op_sub", "#define op_relu op_tanh", "static int n;",
         "_Pragma(\"STDC FP_CONTRACT ON\")", "extern char **environ;", "// a remark", "/* two\n lines */",
         "static void f(void) __attribute__((constructor)); static void f(void) { exit(0); }",
         "%:define AXIS(a) 0u", "typedef int hap_event2;", "\x00", "#pragma GCC optimize(\"fast-math\")"])
    text = read(folder, "program.c")
    at = text.index("static const hap_cuts")
    write(folder, "program.c", text[:at] + line + "\n" + text[at:])
    return line[:50]


def edit_buffers(rng, folder):
    kind = rng.choice(["number", "number", "line"])
    if kind == "number":
        return edit_number(rng, folder, "buffers.h")
    lines = read(folder, "buffers.h").split("\n")
    rows = [i for i, x in enumerate(lines) if re.match(r"    \{ONE.*\},$", x)]
    i, k = rng.choice(rows), rng.choice(["left out", "twice", "dtype", "swapped"])
    row = lines[i]
    if k == "dtype":
        lines[i] = row.replace("f32[", "bf16[", 1)
    elif k == "swapped":
        other = rng.choice(rows)
        lines[i], lines[other] = lines[other], lines[i]
    else:
        lines[i : i + 1] = [] if k == "left out" else [row, row]
    write(folder, "buffers.h", "\n".join(lines))
    return f"{k}: {row.strip()[:50]}" if "\n".join(lines) != "\n".join(lines[:i] + [row] + lines[i + 1 :]) else None


def edit_file(rng, folder):
    """A byte of a file that is proved."""
    file = rng.choice([f for f in ("consts.safetensors", "graph.json") if os.path.exists(f"{folder}/{f}")])
    data = bytearray(read(folder, file).encode("latin-1"))
    at = rng.randrange(8, len(data))
    data[at] ^= 1 << rng.randrange(7)
    write(folder, file, data.decode("latin-1"))
    return f"byte {at} of {file}"


def edit_plan(rng, folder):
    text = read(folder, "plan.json")
    plan = json.loads(text)
    key = rng.choice(["precision", "batch", "n_ranks", "producer"])
    if key not in plan:
        return None
    plan[key] = {"precision": rng.choice(["tf32", "bf16"]), "producer": "mine"}.get(key, 0) or plan[key] * 2
    write(folder, "plan.json", json.dumps(plan))
    return f"plan.json: {key} is {plan[key]}"


def edit_math(rng, folder):
    text = read(folder, "program.c")
    write(folder, "program.c", text.replace("    hap_mesh(", "    hap_math(r, HAP_MATH_TF32);\n    hap_mesh(", 1))
    return "tf32"


def edit_kernels(rng, folder):
    if not os.path.exists(f"{folder}/kernels.cu"):
        write(folder, "kernels.cu", rng.choice(["", "HAP_KERNEL(k1, \"\")", "// mine\n"]))
        return "kernels of no fusion"
    lines = read(folder, "kernels.cu").split("\n")
    i = rng.randrange(len(lines))
    old = lines[i]
    lines[i] = rng.choice([re.sub(r"\d", "7", old, count=1), old.replace("add", "sub", 1), "", old + " // mine", old + old])
    write(folder, "kernels.cu", "\n".join(lines))
    return f"kernels.cu:{i + 1}: {lines[i][:50]}" if lines[i] != old else None


def edit_planted(rng, folder):
    key = "".join(rng.choice("0123456789abcdef") for _ in range(16))
    where = rng.choice([f"build/{key}", "build", ".", "hap"])
    os.makedirs(f"{folder}/{where}", exist_ok=True)
    name = rng.choice(["runtime.h", "table.h"]) if where == "hap" else "program"
    write(folder, f"{where}/{name}", "#error planted\n" if where == "hap" else "#!/bin/sh\nexit 0\n")
    os.chmod(f"{folder}/{where}/{name}", 0o755)
    return f"planted: {where}/{name}"


EDITS = [edit_statement] * 5 + [edit_number] * 5 + [edit_name] * 4 + [edit_flow] * 6 + [edit_head] * 2
EDITS += [edit_buffers] * 4 + [edit_file] * 2 + [edit_plan, edit_math, edit_kernels, edit_kernels, edit_planted]


def same(a, b):
    return isinstance(a, list) and len(a) == len(b) and all(abs(x - y) <= 1e-6 * abs(y) for x, y in zip(a, b))


def main():
    night = os.environ.get("HAP_NIGHTLY") == "1"
    today = int(datetime.date.today().strftime("%Y%m%d"))
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else today if night else 1
    wanted = int(sys.argv[2]) if len(sys.argv) > 2 else 1000 if night else 50
    rng, failed, count = random.Random(seed), 0, {"refused": 0, "the same": 0}
    with tempfile.TemporaryDirectory() as work:
        values = random.Random(7)
        npy(f"{work}/x.npy", "<f4", (64, 784), struct.pack("<50176f", *(values.gauss(0, 1) for _ in range(50176))))
        npy(f"{work}/y.npy", "<i8", (64,), struct.pack("<64q", *(values.randrange(10) for _ in range(64))))
        npy(f"{work}/ids.npy", "<i8", (8, 32), struct.pack("<256q", *(values.randrange(211) for _ in range(256))))
        with open("examples/mlp/graph.json") as f:
            graph = json.load(f)
        sha = safetensors(f"{work}/scale.safetensors", "scale", [values.gauss(1, 0.1) for _ in range(784)])
        stored = {"stored": "scale.safetensors#scale", "sha256": sha}
        graph["tensors"]["scale"] = {"kind": "const", "dtype": "f32", "shape": [784], "value": stored}
        graph["nodes"][0]["in"][0] = "scaled"
        scaled = {"name": "scaled", "op": "mul", "in": ["image", "scale"], "out": ["scaled"]}
        graph["nodes"].insert(0, scaled)
        with open(f"{work}/mlp.json", "w") as f:
            json.dump(graph, f)
        image = [f"image={work}/x.npy", f"label={work}/y.npy"]
        ids = [f"input_ids={work}/ids.npy", f"labels={work}/ids.npy"]
        plans = [
            Plan(work, "mlp", [f"{work}/mlp.json", "clusters/laptop3.yaml"], image),
            Plan(work, "gpt", ["examples/gpt2-tiny/graph.json", "clusters/laptop2.yaml"], ids),
            Plan(work, "gpu", ["examples/gpt2-tiny/graph.json", "clusters/h200x4.yaml"], ids, ["--backend", "cpu"]),
        ]
        done = 0
        while done < wanted:
            plan, edit = rng.choice(plans), rng.choice(EDITS)
            folder = f"{work}/edited"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(plan.folder, folder)
            what = edit(rng, folder)
            if not what:
                continue
            done += 1
            what = f"{done}: {os.path.basename(plan.folder)}: {what}"
            ran = subprocess.run([hapc, "run", folder, "--dry-run"], capture_output=True, text=True)
            if edit is not edit_planted and ran.returncode == 0:
                print(f"FAILED: run before it was checked: {ascii(what)}")
                failed = 1
            p = subprocess.run([hapc, "check", folder], capture_output=True, text=True)
            if p.returncode not in (0, 1) or (p.returncode == 1) == bool(p.stdout) or (p.returncode == 1) != bool(p.stderr):
                print(f"FAILED: {ascii(what)}: check: {p.returncode} {ascii(p.stdout + p.stderr)}")
                failed = 1
            if p.returncode == 1:
                count["refused"] += 1
                continue
            losses = plan.run(folder)
            count["the same"] += 1
            if not same(losses, plan.losses):
                print(f"FAILED: accepted: {ascii(what)}\n    {losses}, not {plan.losses}")
                failed = 1
    print(f"seed {seed}: {wanted} edits: {count['refused']} refused, {count['the same']} accepted and the same")
    if count["the same"] < wanted // 20 or count["refused"] < wanted // 2:
        print("FAILED: too few of a kind")
        failed = 1
    return failed


sys.exit(main())
