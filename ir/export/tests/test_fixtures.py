"""The committed op fixtures are what op_fixtures.py makes, and cover the op table."""

import json
import os

import pytest
import torch

import op_fixtures
from conftest import ROOT
from hap_export import ops, safetensors

OPS = os.path.join(ROOT, "tests", "torch", "ops")


@pytest.mark.parametrize("build", op_fixtures.FAMILIES, ids=lambda f: f.__name__)
def test_fresh(build):
    f, doc, loss, grads = op_fixtures.make(build)
    with open(os.path.join(OPS, f"{f.name}.json")) as file:
        assert json.load(file) == json.loads(json.dumps(doc))
    with open(os.path.join(OPS, "losses.json")) as file:
        assert json.load(file)[f.name] == pytest.approx(loss.item(), rel=1e-9)
    stored = safetensors.load(os.path.join(OPS, f"{f.name}.grads.safetensors"))
    init = safetensors.load(os.path.join(OPS, f"{f.name}.init.safetensors"))
    assert set(stored) == set(grads) == set(init)
    for n, g in grads.items():
        assert torch.equal(init[n], f.values[n]) and torch.allclose(stored[n], g, rtol=1e-6, atol=1e-7), n


def test_covers_the_table():
    used = {n["op"] for build in op_fixtures.FAMILIES for n in op_fixtures.make(build)[1]["nodes"]}
    assert set(ops.table()) - used == {"dropout"}
