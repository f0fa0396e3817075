"""Mixtures of experts: the functions against loops, and what einsum becomes."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import hap_models
import interp
from conftest import export
from hap_export import ExportError, expert_linear, expert_slots, top_gates
from test_models import assert_same, ops
from test_rules import check, data, refuses


def gates(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.double)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_top_gates(k):
    p = gates(3, 4, 5).softmax(-1)
    p[0, 0] = 0.2  # of equal ones the first
    p[0, 1] = torch.tensor([0.1, 0.3, 0.1, 0.3, 0.2])
    p.requires_grad_()
    assert torch.allclose(top_gates(p, k), interp.top_gates(p, k))
    ours, = torch.autograd.grad((top_gates(p, k) * gates(3, 4, 5, seed=1)).sum(), p)
    loops, = torch.autograd.grad((interp.top_gates(p, k) * gates(3, 4, 5, seed=1)).sum(), p)
    assert torch.allclose(ours, loops)


@pytest.mark.parametrize("capacity", [1, 2, 4, 9])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_expert_slots(capacity, k):
    g = top_gates(gates(3, 7, 4).softmax(-1), k)
    g[1, 2] = torch.tensor([0.5, 0, 0.5, 0])
    g[1, 3] = 0
    g.requires_grad_()
    y = expert_slots(g, capacity)
    assert torch.equal(y, interp.expert_slots(g, capacity))
    assert y.shape == (3, 7, 4, capacity) and (y != 0).sum((1, 3)).max() <= capacity
    assert ((y != 0).sum(1) <= 1).all()  # no slot is given twice
    weight = gates(*y.shape, seed=1)
    got, = torch.autograd.grad((y * weight).sum(), g)
    assert torch.allclose(got, (weight * (y != 0)).sum(-1))


def test_gshard_in_words():
    """Two experts of two slots; token 0 and 1 fill expert 0, so token 2 finds no room there."""
    p = torch.tensor([[[0.7, 0.3], [0.6, 0.4], [0.9, 0.1]]])
    y = expert_slots(top_gates(p), 2)
    assert torch.allclose(y[0, 0], torch.tensor([[0.7, 0.0], [0.3, 0.0]]))
    assert torch.allclose(y[0, 1], torch.tensor([[0.0, 0.6], [0.0, 0.4]]))
    assert torch.equal(y[0, 2], torch.zeros(2, 2))


@pytest.mark.parametrize("batch", [4, 3])
def test_block(batch, tmp_path):
    torch.manual_seed(0)
    module = hap_models.Text(2, 31, 10, width=12, heads=2, hidden=20, experts=3, capacity=4)

    def ids(n):
        x = torch.randint(0, 31, (n, 10), generator=torch.Generator().manual_seed(n))
        return {"input_ids": x, "labels": (x + 1) % 31}

    doc = export(module, (), tmp_path / "g.json", kwargs=ids(4))
    assert_same(module, doc, ids(batch))
    own = {"top_gates", "expert_slots", "dispatch", "combine"}
    assert all(ops(doc).count(op) == 1 for op in own) and "log_softmax" not in ops(doc)


@pytest.mark.parametrize("trans", [False, True])
def test_expert_linear(trans):
    x, w = gates(4, 1, 5).requires_grad_(), gates(3, *((6, 5) if trans else (5, 6)), seed=1).requires_grad_()
    index = torch.tensor([[0, 2], [1, 0], [2, 1], [0, 0]])
    weight = gates(4, 2, 6, seed=2)
    got = [expert_linear(x, index, w, trans), interp.expert_linear(x, index, w, int(trans))]
    assert torch.allclose(*got) and got[0].shape == (4, 2, 6)
    ours, loops = (torch.autograd.grad((y * weight).sum(), (x, w)) for y in got)
    assert all(torch.allclose(a, b) for a, b in zip(ours, loops))


CHOICES = {  # of y [b, 5, 6]
    "topk": lambda y: y.topk(3)[0].exp().sum(-1, keepdim=True) * y,
    "topk of a dim": lambda y: y.topk(2, dim=1)[0] * 2,
    "least": lambda y: y.topk(2, largest=False)[0].exp(),
    "one_hot": lambda y: y * F.one_hot(y.topk(2)[1], 6).sum(-2),
    "histc": lambda y: y * torch.histc(y.topk(2)[1].reshape(-1).float(), bins=6, min=0, max=6),
    "scatter_add": lambda y: y * torch.zeros(6).scatter_add_(0, y[:, 0].topk(2)[1].flatten(), y[:, 0, :2].flatten()),
    "scatter": lambda y: y * torch.zeros_like(y).scatter_(-1, y.topk(2)[1], 1.5),
    "left out of a choice": lambda y: y
    * y.masked_fill(y == y.amax(-1, keepdim=True), -torch.inf).topk(2)[1].float().sum(-1, keepdim=True),
    "scatter, a dim": lambda y: y.scatter(1, y.topk(2, dim=1)[1], 0.0).exp(),
    "expert_linear": lambda y: expert_linear(y[:, :, None], y[..., :3].topk(2)[1], W).exp(),
    "expert_linear, transposed": lambda y: expert_linear(y, y[..., :3].argmax(-1), W.mT, True).exp(),
}


@pytest.mark.parametrize("name", CHOICES)
def test_choices(name, tmp_path):
    check(CHOICES[name], tmp_path, 5)


@pytest.mark.parametrize(
    "why, f",
    [
        ("topk of integers", lambda y: y.topk(2)[1].topk(1)[0] + y[..., :1]),
        ("histc but of integers", lambda y: torch.histc(y, 6, 0, 6) * y),
        ("histc but of integers", lambda y: torch.histc((y > 0).long().float(), 6, 0, 3) * y),
        ("scatter_add in more than one dim", lambda y: y.scatter_add(1, y.topk(2, dim=1)[1], y)),
    ],
)
def test_choices_refused(why, f, tmp_path):
    refuses(f, tmp_path, why, 5)


MODELS = {  # of transformers, without what stands in tests/torch/zoo.py
    "Mixtral": dict(num_local_experts=3),
    "Qwen3Moe": dict(num_experts=5, num_experts_per_tok=3, moe_intermediate_size=8, norm_topk_prob=True),
    "Olmoe": dict(num_experts=4, num_experts_per_tok=2),
    "GptOss": dict(num_local_experts=4, num_experts_per_tok=2),  # biases, weights the other way round
}


@pytest.mark.parametrize("name, how", [(name, "grouped_mm") for name in MODELS] + [("Mixtral", "eager")])
def test_of_transformers(name, how, tmp_path):
    """As their own code computes it, however that is set; the setting stays."""
    transformers = pytest.importorskip("transformers")
    config = getattr(transformers, name + "Config")(
        hidden_size=16, intermediate_size=12, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2,
        head_dim=8, vocab_size=37, max_position_embeddings=16, output_router_logits=True, pad_token_id=None,
        eos_token_id=0, bos_token_id=0, **MODELS[name],
    )  # fmt: skip
    torch.manual_seed(0)
    module = getattr(transformers, name + "ForCausalLM")(config)
    module.set_experts_implementation(how)

    def inputs(batch):
        x = torch.randint(1, 37, (batch, 6), generator=torch.Generator().manual_seed(batch))
        return {"input_ids": x, "labels": x}

    doc = export(module, (), tmp_path / "g.json", kwargs=inputs(4))
    assert module.config._experts_implementation == how
    assert ops(doc).count("expert_linear") == 2
    for batch in (4, 3):
        assert_same(module, doc, inputs(batch), tmp_path)


W = torch.randn(3, 6, 5, generator=torch.Generator().manual_seed(3))
EINSUM = {  # of y [b, s, 6]; w [3, 6, 5]
    "matmul": ("bsd,edh->ebsh", lambda y: (y, W), {"matmul"}),
    "batched": ("bsd,btd->bts", lambda y: (y, y * 2), {"matmul"}),
    "dispatch": ("bsec,bsd->ebcd", lambda y: (y.unflatten(-1, (2, 3)), y), {"dispatch"}),
    "dispatch turned": ("xyz,xyuv->xzuv", lambda y: (y, y.unflatten(-1, (2, 3))), {"dispatch"}),
    "combine": ("bsec,ebcd->bsd", lambda y: (y.unflatten(-1, (2, 3)), y.unflatten(-1, (2, 3)).permute(2, 0, 3, 1)), {"combine"}),
    "transposed out": ("bsd,edh->hbse", lambda y: (y, W), {"matmul"}),
}  # fmt: skip


@pytest.mark.parametrize("name", EINSUM)
def test_einsum(name, tmp_path):
    equation, operands, want = EINSUM[name]
    doc = check(lambda y: torch.einsum(equation, *operands(y)), tmp_path, 5)
    rows = {"matmul", "dispatch", "combine"}
    assert set(ops(doc)) & rows - {"matmul"} == want - {"matmul"} and set(ops(doc)) & want


@pytest.mark.parametrize(
    "equation, operands",
    [("bsd->sb", 1), ("bsd,bsd,bsd->b", 3), ("bsd,bth->bst", 2), ("b...,b...->b", 2), ("bsd,bsd", 2)],
)
def test_einsum_refused(equation, operands, tmp_path):
    refuses(lambda y: torch.einsum(equation, *[y] * operands), tmp_path, "einsum", 6)


def test_nll_loss(tmp_path):
    """Of a log_softmax, however it is turned; nothing else."""

    class Loss(nn.Module):
        def __init__(self, f):
            super().__init__()
            self.w = nn.Parameter(torch.randn(6, 5, generator=torch.Generator().manual_seed(1)))
            self.f = f

        def forward(self, x, labels):
            return self.f(x @ self.w, labels)

    def inputs(batch):
        labels = torch.randint(0, 5, (batch, 3), generator=torch.Generator().manual_seed(4))
        labels[0, 1] = -100
        return data(batch, 3) | {"labels": labels}

    for f in (
        lambda y, t: F.nll_loss(F.log_softmax(y, -1).transpose(1, 2), t, reduction="sum"),
        lambda y, t: F.nll_loss(F.log_softmax(y.transpose(1, 2), 1), t),
        lambda y, t: F.nll_loss(F.log_softmax(y[:, 0], -1), t[:, 0], reduction="sum"),
    ):
        doc = export(Loss(f), (), tmp_path / "g.json", kwargs=inputs(4))
        assert "ce_sum" in ops(doc) and "log_softmax" not in ops(doc)
        for batch in (4, 3):
            assert_same(Loss(f), doc, inputs(batch))
    for f in (
        lambda y, t: F.nll_loss(y.transpose(1, 2), t),
        lambda y, t: F.nll_loss(F.log_softmax(y, 1).transpose(1, 2), t),
    ):
        with pytest.raises(ExportError, match="nll_loss of something else"):
            export(Loss(f), (), tmp_path / "h.json", kwargs=inputs(4))
