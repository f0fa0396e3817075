"""Whole models: the written graph, computed by interp.py, must be the module."""

import json
import os
import re

import numpy as np
import pytest
import torch

import interp
import models
import philox
from conftest import ROOT, export
from hap_export import ExportError, load_into, safetensors, save_weights

transformers = pytest.importorskip("transformers")


def gpt2(**more):
    config = dict(
        n_layer=2, n_head=2, n_embd=12, vocab_size=37, n_positions=10,
        attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0, bos_token_id=0, eos_token_id=0, use_cache=False,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(**{**config, **more})).train()


def bert(**more):
    config = dict(
        num_hidden_layers=2, num_attention_heads=2, hidden_size=12, intermediate_size=20, vocab_size=37,
        max_position_embeddings=10, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    return transformers.BertForMaskedLM(transformers.BertConfig(**{**config, **more})).train()


def ids(batch, length=10, vocab=37):
    g = torch.Generator().manual_seed(batch)
    x = torch.randint(1, vocab, (batch, length), generator=g)
    labels = x.clone()
    labels[torch.rand(labels.shape, generator=g) < 0.3] = -100
    return {"input_ids": x, "labels": labels}


def assert_same(module, doc, inputs, folder="."):
    """Loss and every gradient, at whatever batch size the inputs have."""
    module.zero_grad()
    out = module(**inputs)
    want = out if isinstance(out, torch.Tensor) else out[0]
    want.backward()
    own = dict(module.named_parameters()) | dict(module.named_buffers())
    leaves = {}
    for name, t in doc["tensors"].items():
        if t["kind"] == "input":
            leaves[name] = inputs[name]
        elif t["kind"] != "const":
            leaves[name] = own[name].detach().clone()
            leaves[name].requires_grad_(t["kind"] == "param")
    batch = next(len(inputs[n]) for n, t in doc["tensors"].items() if t["kind"] == "input")
    got = interp.run(doc, leaves, batch, folder)[doc["loss"]]
    got.backward()
    assert torch.allclose(got, want, rtol=1e-5)
    total = torch.stack([p.grad.norm() for p in own.values() if p.requires_grad and p.grad is not None]).norm()
    for name, p in own.items():
        if p.requires_grad and p.grad is not None:
            diff = (leaves[name].grad - p.grad).norm()
            assert diff <= 1e-4 * p.grad.norm() + 1e-6 * total, name
    return got


def ops(doc):
    return [n["op"] for n in doc["nodes"]]


@pytest.mark.parametrize("make", [gpt2, bert])
@pytest.mark.parametrize("batch", [4, 3])
def test_loss_and_gradients(make, batch, tmp_path):
    module = make()
    doc = export(module, (), tmp_path / "g.json", kwargs=ids(4))
    assert doc == json.loads((tmp_path / "g.json").read_text())
    assert_same(module, doc, ids(batch))


def test_gpt2_says_it_shortly(tmp_path):
    doc = export(gpt2(), (), tmp_path / "g.json", kwargs=ids(4))
    attention = [n for n in doc["nodes"] if n["op"] == "sdpa"]
    assert all(n["attrs"]["causal"] and len(n["in"]) == 3 for n in attention) and len(attention) == 2
    assert ops(doc).count("gelu") == 2 and "tanh" not in ops(doc) and "pow_scalar" not in ops(doc)
    assert all(n["attrs"]["tanh"] for n in doc["nodes"] if n["op"] == "gelu")
    assert ops(doc).count("linear") == 9
    assert doc["alias"] == {"lm_head.weight": "transformer.wte.weight"}
    consts = {k: t for k, t in doc["tensors"].items() if t["kind"] == "const"}
    assert [t["value"] for t in consts.values()] == [{"iota": [0, 1]}]
    assert doc["tensors"]["input_ids"]["shape"] == ["B", 10]


def test_blocks_have_the_same_names(tmp_path):
    for make, block in ((gpt2, r"transformer\.h\.(\d)\."), (bert, r"bert\.encoder\.layer\.(\d)\.")):
        doc = export(make(), (), tmp_path / "g.json", kwargs=ids(4))
        by_layer = {}
        for n in doc["nodes"]:
            found = re.match(block, n["name"])
            if found:
                key = n["name"].replace(found[0], "", 1), n["op"], n["from"]
                by_layer.setdefault(found[1], []).append(key)
        assert len(by_layer) == 2 and by_layer["0"] == by_layer["1"]


def test_padding_mask_is_an_input(tmp_path):
    module, inputs = bert(), ids(4)
    inputs["attention_mask"] = torch.ones(4, 10, dtype=torch.long)
    inputs["attention_mask"][0, 7:] = 0
    inputs["attention_mask"][2, 3:] = 0
    doc = export(module, (), tmp_path / "g.json", kwargs=inputs)
    assert all(len(n["in"]) == 4 for n in doc["nodes"] if n["op"] == "sdpa")
    assert_same(module, doc, inputs)


def test_eager_attention(tmp_path):
    """Attention spelt out as matmul, add of a causal mask, softmax, matmul."""
    module = gpt2(attn_implementation="eager")
    doc = export(module, (), tmp_path / "g.json", kwargs=ids(4))
    assert "softmax" in ops(doc) and "sdpa" not in ops(doc)
    assert {n["attrs"]["trans"] for n in doc["nodes"] if n["op"] == "matmul"} == {0, 1}
    assert_same(module, doc, ids(4), tmp_path)


def test_weights_go_and_come_back(tmp_path):
    module, file = gpt2(), tmp_path / "w.safetensors"
    doc = export(module, (), tmp_path / "g.json", kwargs=ids(4), weights=file)
    stored = safetensors.load(file)
    assert set(stored) == {n for n, t in doc["tensors"].items() if t["kind"] == "param"}
    other = gpt2()
    for t in list(stored):
        stored[t + ".exp_avg"] = torch.zeros_like(stored[t])
    stored["hap.step"] = torch.tensor(3)
    safetensors.save(file, stored)
    assert load_into(other, file) == []
    assert other.lm_head.weight is other.transformer.wte.weight
    for (name, a), b in zip(module.named_parameters(), other.parameters()):
        assert torch.equal(a, b), name
    with torch.no_grad():
        assert torch.equal(module(**ids(2))[0], other(**ids(2))[0])


def test_load_into_refuses_what_does_not_fit(tmp_path):
    module, file = gpt2(), tmp_path / "w.safetensors"
    safetensors.save(file, {"nobody.weight": torch.zeros(2)})
    with pytest.raises(ExportError, match="nobody.weight"):
        load_into(module, file)
    safetensors.save(file, {"transformer.wte.weight": torch.zeros(2)})
    with pytest.raises(ExportError, match="transformer.wte.weight is"):
        load_into(module, file)
    safetensors.save(file, {"transformer.wte.weight": torch.zeros(37, 12)})
    assert "transformer.wpe.weight" in load_into(module, file)


def test_our_safetensors_are_everybodys(tmp_path):
    theirs = pytest.importorskip("safetensors.torch")
    tensors = {"a": torch.randn(3, 5), "b": torch.tensor(7), "c": torch.tensor([True, False]), "d": torch.zeros(0, 2)}
    safetensors.save(tmp_path / "ours", tensors)
    theirs.save_file(tensors, tmp_path / "theirs")
    for read in (theirs.load_file(tmp_path / "ours"), safetensors.load(tmp_path / "theirs")):
        assert set(read) == set(tensors) and all(torch.equal(read[k], v) for k, v in tensors.items())


def plain(doc):
    """Without what depends on the versions of torch and transformers: producer and source lines."""
    doc = {k: v for k, v in doc.items() if k != "producer"}
    return {**doc, "nodes": [{k: v for k, v in n.items() if k != "from"} for n in doc["nodes"]]}


def test_sizes_of_haps_models(tmp_path):
    """Parameters as counted in HAP's own models (LayerNorm included), and our positions."""
    for name, sizes, count, positions in (
        ("bert-hap", (8, 8), 107_854_336, 128 * 768),
        ("vit", (8, 8), 56_798_986, 0),
        ("vgg19", (8,), 139_611_210, 0),
        ("bert-moe", (8, 8), 391_003_648, 128 * 768),
        ("bert-moe", (8, 16), 391_003_648 + 8 * 37_748_736 + 8 * 2 * 4 * 768, 128 * 768),
    ):
        parameters = models.build(name, *sizes).module.parameters()
        assert sum(p.numel() for p in parameters) == count + positions, name
    assert len(models.write("branches", tmp_path / "g.json", sizes=(3,))["nodes"]) == 3 * 6 + 3


@pytest.mark.parametrize("name", [
    "mlp", "gpt2-tiny", "bert-tiny", "bert", "gpt2", "gpt3-175b", "bert-moe-tiny", "vit-tiny", "bert-hap", "bert-moe", "vit",
    "vgg19", "branches", "resnet-digits",
])  # fmt: skip
def test_committed_examples_are_fresh(name, tmp_path):
    with open(os.path.join(ROOT, "examples", name, "graph.json")) as f:
        committed = json.load(f)
    assert plain(models.write(name, tmp_path / "g.json")) == plain(committed)


@pytest.mark.parametrize("name", ["mlp", "gpt2-tiny", "bert-tiny", "bert-moe-tiny", "vit-tiny"])
def test_references_fit_the_graph(name):
    """The committed first loss and gradients are the committed graph's at the committed weights."""
    folder = os.path.join(ROOT, "tests", "torch", name)
    with open(os.path.join(ROOT, "examples", name, "graph.json")) as f:
        doc = json.load(f)
    with open(os.path.join(folder, "reference.json")) as f:
        reference = json.load(f)
    batch = doc["batch"]["B"]
    leaves = {n: torch.from_numpy(x) for n, x in philox.initial(doc, reference["seed"]).items()}
    init = os.path.join(folder, "init.safetensors")
    if os.path.exists(init):
        stored = safetensors.load(init)
        assert set(stored) == set(leaves) and all(torch.equal(stored[n], leaves[n]) for n in stored)
    for x in leaves.values():
        x.requires_grad_()
    for n, t in doc["tensors"].items():
        if t["kind"] == "input":
            leaves[n] = torch.from_numpy(np.load(os.path.join(folder, f"{n}.npy")))[:batch]
    loss = interp.run(doc, leaves)[doc["loss"]]
    loss.backward()
    assert abs(loss.item() / reference["losses"][0] - 1) < 1e-5
    grads = safetensors.load(os.path.join(folder, "grads.safetensors"))
    total = torch.stack([g.norm() for g in grads.values()]).norm()
    for n, g in grads.items():
        assert (leaves[n].grad - g).norm() <= 1e-4 * g.norm() + 1e-7 * total, n
