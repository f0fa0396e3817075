#!/usr/bin/env python3
"""The models of zoo.py, exported, planned, proved and trained beside PyTorch.

    zoo_run.py [FAMILY…] [--hapc build-release/bin/hapc] [--strategies auto,dp-prop,zero,tp]
               [--cluster clusters/laptop.yaml] [--stages 0@left,1@right:4 …] [--plan=OPTION …] [--crowd S]

For each family and strategy: 10 steps of AdamW (of SGD, where a family says so) on 4 unequal CPU ranks; with --stages in stages, each time
with as many micro-batches as stand behind the colon. --plan: options of every plan. --crowd: the rows of routers that
make an expert's number, of the first expert of each, are S times as large, so that it is among the first or the
last choices of all. Losses must be PyTorch's to 1e-5 of themselves (to
`close` of a family that says so), in stages to 1e-6, and the buffers that steps update likewise; `hapc
check` must prove the plan, and the gradients of step 1 (of the first strategy) must be PyTorch's. Modules
are in eval mode (dropout has PyTorch's own random numbers), but for those with batch norm; --export also
exports each in train mode, with the dropout of its configuration, and plans that.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
for folder in (HERE, os.path.join(ROOT, "ir", "export")):
    sys.path.insert(0, folder)
warnings.filterwarnings("ignore")

import zoo  # noqa: E402
from hap_export import ExportError, export, safetensors  # noqa: E402
from hap_export.front import Call  # noqa: E402

STEPS, RATE = 10, 1e-3
CLOSE, CLOSE_IN_STAGES = 1e-5, 1e-6  # of a loss
NEAR_ZERO = 1e-3  # the norm of a buffer that is 0 but for rounding: the mean of what a norm of mean 0 makes
GRADIENT = 1e-4  # of a gradient's norm, beside 1e-6 of all gradients' norm


class Wrong(Exception):
    pass


def prepared(name: str, train=False):
    group, make, how = zoo.FAMILIES[name]
    module, inputs = make()
    module.train(train or how.get("train", False))
    return module, inputs, how.get("loss")


def crowd(module, times: float) -> None:
    for name, p in module.named_parameters():
        if name.endswith("mlp.gate.weight"):
            p.data[0] *= times


def optimizer_of(module, name: str):
    trained = [p for p in module.parameters() if p.requires_grad]
    rate = zoo.FAMILIES[name][2].get("sgd")
    if rate:
        return torch.optim.SGD(trained, lr=rate, momentum=0.9, weight_decay=1e-4)
    return torch.optim.AdamW(trained, lr=RATE, weight_decay=0.01)


def by_torch(name: str, module, inputs, loss):
    """Losses of all steps, gradients of the first, the loss in eval mode behind them; the module is trained."""
    call = Call(module, (), inputs, loss, None)
    tensors = call.tensors(call.batch)
    optimizer = optimizer_of(module, name)
    losses, grads = [], {}
    for step in range(STEPS):
        optimizer.zero_grad()
        value = call.run(module, tensors)
        value.backward()
        if step == 0:
            grads = {n: p.grad.clone() for n, p in module.named_parameters() if p.grad is not None}
        losses.append(value.item())
        optimizer.step()
    with torch.no_grad():
        return losses, grads, call.run(copy.deepcopy(module).eval(), tensors).item()


def hapc(*args, cwd=None) -> str:
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, cwd=cwd)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Wrong(f"{os.path.basename(str(args[0]))} {args[1]}: exit {done.returncode}: " + " ".join(said[-3:]))
    return done.stdout


class Family:
    """One family in a folder of its own: graph, weights and inputs as files, and what PyTorch says."""

    def __init__(self, name: str, folder: str, options):
        self.name, self.folder, self.options = name, folder, options
        module, inputs, loss = prepared(name)
        crowd(module, options.crowd)
        trained = copy.deepcopy(module)
        self.doc = export(
            module, (), self.at("graph.json"), kwargs=inputs, loss=loss,
            optimizer=optimizer_of(module, name), weights=self.at("init.safetensors"),
        )  # fmt: skip
        call = Call(module, (), inputs, loss, None)
        self.inputs, self.eval = [], []
        for n, t in zip(call.names, call.tensors(call.batch)):
            if self.doc["tensors"].get(n, {}).get("kind") == "input":
                np.save(self.at(f"{n}.npy"), t.numpy())
                self.inputs += ["--input", f"{n}={self.at(n)}.npy"]
                self.eval += ["--eval", f"{n}={self.at(n)}.npy"]
        self.losses, self.grads, self.evaluated = by_torch(name, trained, inputs, loss)
        self.buffers = {n: b for n, b in trained.named_buffers() if n in self.doc.get("updates", {})}
        self.close = zoo.FAMILIES[name][2].get("close", CLOSE)

    def at(self, file: str) -> str:
        return os.path.join(self.folder, file)

    def train(self, strategy: str, grads: bool, stages: str = "") -> float:
        """The largest relative difference of a loss."""
        o, plan = self.options, self.at(f"plan-{strategy}-{stages}")
        more = ["--keep-grads"] if grads else []
        if stages:
            of, micro_batches = stages.split(":")
            more += ["--stages", of, "--micro-batches", micro_batches]
        hapc(o.hapc, self.at("graph.json"), o.cluster, "-q", "-o", plan, "--strategy", strategy, *more, *o.plan)
        hapc(o.hapc, "check", plan)
        init = ["--init", self.at("init.safetensors"), *self.inputs]
        saved = self.at("saved.safetensors")
        out = hapc(o.hapc, "run", plan, "--steps", STEPS, "--json", *init, "--save", saved, *self.eval)
        lines = [json.loads(x) for x in out.splitlines() if x.startswith('{"step"')]
        losses = [x["loss"] for x in lines if "loss" in x]
        if len(losses) != STEPS:
            raise Wrong(f"{strategy}: {len(losses)} steps")
        worst = max(abs(a - b) / max(abs(b), 1e-3) for a, b in zip(losses, self.losses))
        if not worst <= (CLOSE_IN_STAGES if stages else self.close):
            raise Wrong(f"{strategy}: a loss is {worst:.1e} from PyTorch's: {losses} {self.losses}")
        for evaluated in (x["eval_loss"] for x in lines if "eval_loss" in x):
            if not abs(evaluated - self.evaluated) <= 10 * self.close * abs(self.evaluated):
                raise Wrong(f"{strategy}: the loss of an evaluation is {evaluated}, not {self.evaluated}")
        mine = safetensors.load(saved) if self.buffers else {}
        for n, b in self.buffers.items():
            off = float((mine[n] - b).float().norm() / max(b.float().norm(), NEAR_ZERO))
            if not off <= 10 * self.close:
                raise Wrong(f"{strategy}: {n} is {off:.1e} from PyTorch's")
        if grads:
            hapc(o.hapc, "run", plan, "--steps", 1, "--json", *init, "--save-grads", self.at("grads"))
            self.compare(safetensors.load(self.at("grads")), strategy)
        return worst

    def compare(self, mine: dict, strategy: str) -> None:
        total = torch.stack([g.norm() for g in self.grads.values()]).norm()
        for name, g in self.grads.items():
            if name not in mine:
                if g.norm() > 1e-6 * total:
                    raise Wrong(f"{strategy}: no gradient of {name}")
                continue
            if (mine[name] - g).norm() > GRADIENT * g.norm() + 1e-6 * total:
                raise Wrong(f"{strategy}: the gradient of {name} is {float((mine[name] - g).norm() / g.norm()):.1e} off")


def try_family(name: str, options) -> dict:
    """{"nodes": …, strategy: difference}, or "wrong": why."""
    out: dict = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            family = Family(name, folder, options)
            out["nodes"] = len(family.doc["nodes"])
            out["ops"] = sorted({n["op"] for n in family.doc["nodes"]})
            for i, strategy in enumerate(options.strategies):
                out[strategy] = max(family.train(strategy, i == 0, x) for x in options.stages or [""])
            if options.export:
                module, inputs, loss = prepared(name, train=True)
                graph = os.path.join(folder, "train.json")
                export(module, (), graph, kwargs=inputs, loss=loss, optimizer=optimizer_of(module, name))
                hapc(options.hapc, graph, options.cluster, "-q", "-o", os.path.join(folder, "train"))
            if "refused" in zoo.FAMILIES[name][2]:
                out["wrong"] = "is exported, and zoo.py says that it is refused"
        except ExportError as e:
            why = zoo.FAMILIES[name][2].get("refused")
            out["refused" if why and why in str(e) else "wrong"] = str(e)
        except Exception as e:
            out["wrong"] = f"{type(e).__name__}: {e}"
    return out


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("families", nargs="*")
    parser.add_argument("--hapc", default=os.path.join(os.environ.get("HAP_BUILD", "build-release"), "bin", "hapc"))
    parser.add_argument("--cluster", default=os.path.join(ROOT, "clusters", "laptop.yaml"))
    parser.add_argument("--strategies", type=lambda s: [x for x in s.split(",") if x], default=["auto", "dp-prop", "zero", "tp"])
    parser.add_argument("--stages", action="append")
    parser.add_argument("--plan", action="append", default=[])
    parser.add_argument("--crowd", type=float, default=1.0)
    parser.add_argument("--export", action="store_true", help="also with dropout: exported and planned")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in options.families:
        if name not in zoo.FAMILIES:
            parser.error(f"no family {name!r}: {', '.join(zoo.FAMILIES)}")
    wrong = 0
    for name in options.families or zoo.FAMILIES:
        out = try_family(name, options)
        wrong += "wrong" in out
        worst = max([out[s] for s in options.strategies if s in out], default=None)
        said = f"{out.get('nodes')} nodes" + ("" if worst is None else f", {worst:.1e}")
        said = out.get("wrong") or (f"refused: {out['refused']}" if "refused" in out else said)
        print(f"{name}: {said}", flush=True)
    print(f"{len(options.families or zoo.FAMILIES)} families, {wrong} wrong")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
