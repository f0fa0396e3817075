"""The front door: what is called how, what is the loss, who trains, and models without memory."""

import json
import math
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.optim import lr_scheduler as lrs

import hap_export
import test_models
from hap_export import ExportError
from hap_export.schedule import factor, read_schedule

transformers = pytest.importorskip("transformers")


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 5), nn.Linear(5, 3)

    def forward(self, x, scale=1.0):
        h = self.first(x).tanh()
        return {"hidden": h, "out": self.last(h) * scale, "penalty": h.square().mean()}


def plain(batch=4):
    return {"x": torch.randn(batch, 6, generator=torch.Generator().manual_seed(1))}


def go(tmp_path, module=None, **more):
    more.setdefault("optimizer", {"name": "sgd", "lr": 0.1})
    more.setdefault("kwargs", plain())
    return hap_export.export(module or Plain(), (), tmp_path / "g.json", **more)


def test_the_docstring(tmp_path, monkeypatch):
    """The package's docstring, as it stands."""
    monkeypatch.chdir(tmp_path)
    text = hap_export.__doc__.partition("\n\n")[2]
    code = [line[4:] for line in text.splitlines() if line.startswith("    ") or not line]
    exec("\n".join(code), {})
    doc = json.loads((tmp_path / "graph.json").read_text())
    assert set(t for t in doc["tensors"] if doc["tensors"][t]["kind"] == "input") == {"input_ids", "labels"}
    assert doc["optimizer"]["name"] == "adamw" and doc["optimizer"]["lr"] == 3e-4


def test_one_tensor_twice(tmp_path):
    model, x = test_models.gpt2(use_cache=True), test_models.ids(4)["input_ids"]
    doc = go(tmp_path, model, kwargs=dict(input_ids=x, labels=x))
    test_models.assert_same(model, doc, dict(input_ids=x, labels=x))


def test_which_output_is_the_loss(tmp_path):
    assert go(tmp_path)["loss"] == "loss"  # the only number
    go(tmp_path, loss="penalty")
    doc = go(tmp_path, loss=lambda out, y: F.cross_entropy(out["out"], y), kwargs={**plain(), "y": torch.tensor([0, 1, 2, 0])})
    assert doc["tensors"]["y"]["dtype"] == "i64" and "ce_sum" in test_models.ops(doc)
    with pytest.raises(ExportError, match="no number 'hidden'.*hidden f32.4, 5., out f32.4, 3., penalty f32.."):
        go(tmp_path, loss="hidden")
    with pytest.raises(ExportError, match="neither forward nor loss has a parameter y"):
        go(tmp_path, kwargs={**plain(), "y": torch.tensor([0, 1, 2, 0])})
    with pytest.raises(ExportError, match="no number: the tensor f32.4, 6..*loss=lambda"):
        go(tmp_path, nn.Identity(), kwargs={"input": plain()["x"]})
    module = nn.Linear(6, 3)
    doc = hap_export.export(
        module, (plain()["x"],), tmp_path / "g.json", kwargs={"target": torch.zeros(4, 3)}, optimizer=None, loss=nn.MSELoss()
    )
    assert set(t for t, e in doc["tensors"].items() if e["kind"] == "input") == {"input", "target"}


def test_inputs_inside_others(tmp_path):
    class Nested(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(6))

        def forward(self, batch, more):
            return (batch["x"] * self.w + more[0]).sum()

    doc = go(tmp_path, Nested(), kwargs={"batch": plain(), "more": [torch.zeros(4, 1), "unused"]})
    assert [n for n, t in doc["tensors"].items() if t["kind"] == "input"] == ["batch.x", "more.0"]


def test_an_optimizer_is_asked_for(tmp_path):
    with pytest.raises(ExportError, match="optimizer=None is a graph for evaluation"):
        hap_export.export(Plain(), (), tmp_path / "g.json", kwargs=plain())
    assert "optimizer" not in go(tmp_path, optimizer=None)
    frozen = Plain().requires_grad_(False)
    go(tmp_path, frozen, optimizer=None)
    with pytest.raises(ExportError, match="no parameter that is trained"):
        go(tmp_path, frozen)


def test_torch_optimizers(tmp_path):
    module = Plain()
    opt = torch.optim.AdamW(module.parameters(), lr=3e-4, betas=(0.8, 0.9), eps=1e-6, weight_decay=0.1)
    want = {"name": "adamw", "lr": 3e-4, "betas": [0.8, 0.9], "eps": 1e-6, "weight_decay": 0.1, "clip_norm": 1.0}
    assert go(tmp_path, module, optimizer=opt, clip_norm=1.0, loss="penalty")["optimizer"] == want
    opt = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    assert go(tmp_path, module, optimizer=opt)["optimizer"] == {
        "name": "sgd", "lr": 0.1, "weight_decay": 0, "momentum": 0.9, "nesterov": True
    }  # fmt: skip
    for bad, match in (
        (torch.optim.Adagrad(module.parameters()), "Adagrad is not supported"),
        (torch.optim.Adam(module.parameters(), amsgrad=True), "amsgrad=True"),
        (torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.5, dampening=0.5), "dampening"),
    ):
        with pytest.raises(ExportError, match=match):
            go(tmp_path, module, optimizer=bad)


def test_parameter_groups(tmp_path):
    model = test_models.gpt2()
    decay = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for n, p in model.named_parameters() if p.dim() < 2 and "ln_f" not in n]
    opt = torch.optim.AdamW([{"params": rest, "weight_decay": 0.0, "lr": 5e-4}, {"params": decay}], lr=1e-3, weight_decay=0.2)
    doc = go(tmp_path, model, kwargs=test_models.ids(4), optimizer=opt)
    assert doc["optimizer"]["lr"] == 5e-4 and doc["optimizer"]["weight_decay"] == 0.0  # the group of most tensors
    (group,) = doc["optimizer"]["groups"]
    assert group["lr_scale"] == pytest.approx(2) and group["weight_decay"] == 0.2
    assert "transformer.h.*.attn.c_attn.weight" in group["match"] and len(group["match"]) == 6
    kinds = {n: t["kind"] for n, t in doc["tensors"].items()}
    assert kinds["transformer.ln_f.weight"] == "buffer" and kinds["transformer.h.0.ln_1.weight"] == "param"


def _schedulers():
    t = transformers
    return {
        "constant": (lambda o: lrs.LambdaLR(o, lambda s: 1.0), {}),
        "warm": (lambda o: t.get_constant_schedule_with_warmup(o, 5), {"warmup": 5, "start": 0.0}),
        "linear": (lambda o: t.get_linear_schedule_with_warmup(o, 5, 40), {"warmup": 5, "start": 0.0, "linear": 40}),
        "cosine": (lambda o: t.get_cosine_schedule_with_warmup(o, 5, 40), {"warmup": 5, "start": 0.0, "cosine": 40}),
        "least": (
            lambda o: t.get_cosine_with_min_lr_schedule_with_warmup(o, 5, 40, min_lr_rate=0.1),
            {"warmup": 5, "start": 0.0, "cosine": 40, "min_lr": 0.1},
        ),
        "root": (lambda o: t.get_inverse_sqrt_schedule(o, 5), {"warmup": 5, "start": 0.0, "inverse_sqrt": 5}),
        "scale": (
            lambda o: t.get_inverse_sqrt_schedule(o, 5, timescale=9),
            {"warmup": 5, "start": 0.0, "inverse_sqrt": 9},
        ),
        "stable": (
            lambda o: t.get_wsd_schedule(o, 5, 10, num_stable_steps=20, decay_type="linear"),
            {"warmup": 5, "start": 0.0, "stable": 20, "linear": 35},
        ),
        "stable cosine": (
            lambda o: t.get_wsd_schedule(o, 5, 10, num_stable_steps=20, min_lr_ratio=0.1),
            {"warmup": 5, "start": 0.1, "stable": 20, "cosine": 35, "min_lr": 0.1},
        ),
        "torch": (
            lambda o: lrs.SequentialLR(o, [lrs.LinearLR(o, 0.1, total_iters=5), lrs.CosineAnnealingLR(o, 20)], [5]),
            {"warmup": 5, "start": 0.1, "cosine": 25},
        ),
        "annealing": (lambda o: lrs.CosineAnnealingLR(o, 20, eta_min=1e-4), {"cosine": 20, "min_lr": 0.1}),
        "decay": (lambda o: lrs.LinearLR(o, 1.0, 0.2, 30), {"linear": 30, "min_lr": 0.2}),
        # of one's own: by their rates
        "own": (lambda o: lrs.LambdaLR(o, lambda s: min(1, s / 5)), {"warmup": 5, "start": 0.0}),
        "own, from 1": (lambda o: lrs.LambdaLR(o, lambda s: min(1, (s + 1) / 5)), {"warmup": 4, "start": 0.2}),
        "own linear": (
            lambda o: lrs.LambdaLR(o, lambda s: s / 5 if s < 5 else 0.1 + 0.9 * max(0, 1 - (s - 5) / 20)),
            {"warmup": 5, "start": 0.0, "linear": 25, "min_lr": 0.1},
        ),
        "own cosine": (
            lambda o: lrs.LambdaLR(o, lambda s: 0.5 * (1 + math.cos(math.pi * min(1, s / 30)))),
            {"cosine": 30},
        ),
        "own, long": (lambda o: lrs.LambdaLR(o, lambda s: max(0, 1 - s / 9000)), {"linear": 9000}),
        "own root": (lambda o: lrs.LambdaLR(o, lambda s: s / 8 if s < 8 else math.sqrt(8 / s)), {"warmup": 8, "start": 0.0, "inverse_sqrt": 8}),
        "own, stable": (
            lambda o: lrs.LambdaLR(o, lambda s: 1 if s < 12 else max(0.0, 1 - (s - 12) / 10)),
            {"stable": 12, "linear": 22},
        ),
    }


@pytest.mark.parametrize("name", _schedulers())
def test_schedulers(name):
    make, want = _schedulers()[name]
    opt = torch.optim.AdamW([torch.zeros(2, requires_grad=True)], lr=1e-3)
    scheduler = make(opt)
    got = read_schedule(scheduler)
    assert {k: pytest.approx(v) for k, v in want.items()} == got
    for step in range(34):
        if step > got.get("cosine", step):  # PyTorch's goes up again
            break
        assert math.isclose(factor(got, step), opt.param_groups[0]["lr"] / 1e-3, rel_tol=1e-6, abs_tol=1e-9), step
        opt.step()
        scheduler.step()


def test_schedulers_that_cannot_be_said(tmp_path):
    opt = torch.optim.SGD(Plain().parameters(), lr=0.1)
    for bad in (lrs.LambdaLR(opt, lambda s: 0.9**s), lrs.StepLR(opt, 3), lrs.OneCycleLR(opt, 0.1, 20),
                lrs.LambdaLR(opt, lambda s: 1 if s < 100 else 0.5 if s < 200 else 0.1), lrs.LambdaLR(opt, lambda s: 0.5),
                transformers.get_cosine_with_hard_restarts_schedule_with_warmup(opt, 3, 60, num_cycles=3)):
        with pytest.raises(ExportError, match="scheduler"):
            read_schedule(bad)


def on_meta(cls, config):
    with torch.device("meta"):
        return cls(config)


def test_models_without_memory(tmp_path):
    """The same graph as of weights, and initial values as the model's own code gives them."""
    c = transformers.LlamaConfig(
        hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        vocab_size=97, max_position_embeddings=64,
    )  # fmt: skip
    x = torch.randint(0, 97, (4, 10))
    docs = []
    for module in (transformers.LlamaForCausalLM(c), on_meta(transformers.LlamaForCausalLM, c)):
        docs.append(go(tmp_path, module, kwargs=dict(input_ids=x, labels=x)))
    assert all(p.is_meta for p in module.parameters()) and all(b.is_meta for b in module.buffers())
    real, meta = docs
    assert real["nodes"] == meta["nodes"]
    for name, t in meta["tensors"].items():
        if t["kind"] == "param":
            want = {"const": 1.0} if t["shape"] == [32] else {"normal": 0.02}
            assert t["init"] == want, name
        assert {k: v for k, v in t.items() if k != "init"} == {k: v for k, v in real["tensors"][name].items() if k != "init"}


def test_buffers_without_memory(tmp_path):
    """Counts and running statistics start as the norm's own code starts them."""
    make = lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten())  # noqa: E731
    with torch.device("meta"):
        empty = make()
    docs = [go(tmp_path, m, kwargs=dict(input=torch.randn(4, 3, 8, 8)), loss=lambda y: y.square().mean()) for m in (make(), empty)]
    buffers = [{n: t["init"] for n, t in d["tensors"].items() if t["kind"] == "buffer"} for d in docs]
    assert buffers[0] == buffers[1] and sorted(b["const"] for b in buffers[0].values()) == [0.0, 0.0, 1.0]
    assert empty[1].running_var.is_meta


@pytest.mark.parametrize("name", ["Bert", "GPTNeoX", "OPT", "ViT"])
def test_families_without_memory(name, tmp_path):
    import zoo

    title = {"Bert": "BERT", "GPTNeoX": "GPT-NeoX"}
    module, inputs = zoo.FAMILIES[title.get(name, name)][1]()
    empty = on_meta(type(module), module.config)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        docs = [go(tmp_path, m.eval(), kwargs=inputs) for m in (module, empty)]
    assert docs[0]["nodes"] == docs[1]["nodes"]
    shared = [n for n, t in docs[1]["tensors"].items() if t["kind"] == "param"]
    for n in shared:
        a, b = docs[0]["tensors"][n]["init"], docs[1]["tensors"][n]["init"]
        assert set(a) == set(b), n
        for k in a:
            assert b[k] == pytest.approx(a[k], rel=0.3, abs=1e-6), n


def test_torch_modules_without_memory(tmp_path):
    with torch.device("meta"):
        module = Plain()
    doc = go(tmp_path, module)
    bound = pytest.approx([-(6**-0.5), 6**-0.5])
    assert doc["tensors"]["first.weight"]["init"]["uniform"] == bound

    class Bare(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.empty(6))

        def forward(self, x):
            return (x * self.w).sum()

    with torch.device("meta"):
        module = Bare()
    with pytest.raises(ExportError, match="no initial value is known of w"):
        go(tmp_path, module)
    assert go(tmp_path, module, init={"*": {"const": 1}})["tensors"]["w"]["init"] == {"const": 1}
