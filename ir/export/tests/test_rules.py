"""Single ops, rewrites, batch expressions and errors."""

import hashlib
import json

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import interp
from conftest import export
from hap_export import ExportError, document, safetensors
from test_models import assert_same, ops


class Wrap(nn.Module):
    """loss = sum of f(x · w) squared, so that everything depends on a parameter."""

    def __init__(self, f, width=6):
        super().__init__()
        self.w = nn.Parameter(torch.randn(width, width, generator=torch.Generator().manual_seed(1)))
        self.f = f

    def forward(self, x):
        return self.f(x @ self.w).float().square().sum()


def data(batch=4, *shape, width=6):
    return {"x": torch.randn(batch, *shape, width, generator=torch.Generator().manual_seed(2))}


def check(f, tmp_path, *shape, module=None):
    module = module or Wrap(f)
    doc = export(module, (), tmp_path / "g.json", kwargs=data(4, *shape))
    for batch in (4, 3):
        assert_same(module, doc, data(batch, *shape), tmp_path)
    return doc


def refuses(f, tmp_path, match, *shape):
    with pytest.raises(ExportError, match=match):
        export(Wrap(f), (), tmp_path / "g.json", kwargs=data(4, *shape))
    assert not (tmp_path / "g.json").exists()


def still(y, at=0.0):
    """`at`, with the gradient of y."""
    return y - y.detach() + at


POINTWISE = {
    "add alpha": lambda y: torch.add(y, y * 2, alpha=3),
    "scalar first": lambda y: 1 - y,
    "rsub": lambda y: torch.rsub(y, 2.0),
    "scalar over": lambda y: 2 / (y * y + 1),
    "int scalar": lambda y: y * 2 + 1,
    "pow": lambda y: y**3 + y.square() + (y * y + 1) ** 0.5 + torch.reciprocal(y * y + 1),
    "where": lambda y: torch.where(y > 0.1, y, -y),
    "masked": lambda y: y.masked_fill(y <= 0, 2.0),
    "logic": lambda y: ((y > 0) & (y < 1) | ~(y >= -1)) * y,
    "eq": lambda y: (y != 0) * y,
    "activations": lambda y: F.silu(y) + torch.sigmoid(y) + y.tanh() + F.gelu(y) + F.gelu(y, approximate="tanh"),
    "exp": lambda y: torch.exp(y) + torch.log(y * y + 1) + torch.rsqrt(y * y + 1) + torch.sqrt(y * y + 1),
    "clamp": lambda y: y.clamp(-0.5, 0.4) + y.clamp(min=0.1) * torch.clamp(y, max=0.3),
    "angles": lambda y: torch.sin(y) * torch.cos(y) + F.softplus(y * 3, beta=2) + y.abs(),
    "larger": lambda y: torch.maximum(y, y * y) + torch.minimum(y, torch.zeros(6)) + torch.maximum(y, y),
    "slopes": lambda y: F.prelu(y, torch.full((1,), 0.3)) * F.prelu(y, torch.linspace(-0.5, 0.5, y.shape[1])),
    "gated halves": lambda y: F.glu(y) * F.glu(torch.cat([y, y * 2], 1), 1)[..., :3],
    "limits": lambda y: y.clamp_min(0.2) + y.clamp_max(0.1) + F.relu6(y * 4) + F.hardtanh(y),
    "at limits": lambda y: (F.relu6(still(y)) + F.relu6(still(y, 6)) * 2 + F.hardtanh(still(y, -1)) * 3 + F.hardtanh(still(y, 1)) * 5
    + F.hardtanh(still(y, 4), 0, 4) + F.hardsigmoid(still(y, 3)) * 7 + F.hardsigmoid(still(y, -3)) * 9 + F.hardswish(still(y, 3)) * 11
    + F.hardswish(still(y, -3)) * 13 + y.detach()),
    "hard": lambda y: F.hardswish(y * 4) + F.hardsigmoid(y * 4) + F.hardtanh(y * 3, -2, 1.5),
    "gates": lambda y: F.leaky_relu(y) + F.elu(y) + F.mish(y) + F.logsigmoid(y) + torch.log1p(y * y) + torch.expm1(y),
    "sign": lambda y: y * y.sign() + (2.0 ** y.clamp(-3, 3)) + torch.lerp(y, y * y, 0.3) + torch.addcmul(y, y, y, value=2),
    "truth": lambda y: y * ((y > 0).any(-1, keepdim=True) | (y < 9).all()) * ((y > 0) ^ (y < 1)),
    "whole": lambda y: y * ((y * 3).long().abs().clamp(min=1) ** 2 - 1).float(),
    "const": lambda y: y * torch.arange(6.0) + torch.full((6,), 0.5) - torch.ones(1, 1),
}


@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise(name, tmp_path):
    check(POINTWISE[name], tmp_path, 5)


VIEWS = {
    "flatten": lambda y: y.flatten(1).softmax(-1)[:, :7],
    "unflatten": lambda y: y.unflatten(-1, (2, 3)).softmax(-1),
    "squeeze": lambda y: y.unsqueeze(1).squeeze(1) ** 2,
    "select": lambda y: y[:, 2] * y[..., -1:].sum(1),
    "slice": lambda y: y[:, 1:-1] * y[:, :-2],
    "narrow": lambda y: y.narrow(1, 1, 2).exp(),
    "split": lambda y: (lambda a, b: a * a + b)(*y.split(3, -1)),
    "chunk": lambda y: (lambda a, b, c: a * b + c)(*y.chunk(3, -1)),
    "unbind": lambda y: (lambda a, *r: a * r[0])(*y.unbind(1)),
    "cat": lambda y: torch.cat([y, y * 2, y[:, :1]], 1).softmax(-1),
    "stack": lambda y: torch.stack([y, y * y], 1).mean((0, 1)),
    "permute": lambda y: y.permute(2, 0, 1).softmax(-1),
    "transpose twice": lambda y: y.transpose(0, 1).transpose(0, 1).exp(),
    "softmax dim": lambda y: y.softmax(1) * y.log_softmax(-2),
    "expand": lambda y: y.sum(1, keepdim=True).expand(-1, 5, -1) * y,
    "pad": lambda y: F.pad(y, (1, 2, 0, 1), value=0.5) ** 2,
    "crop": lambda y: F.pad(y, (-1, 2)) ** 2,
    "every": lambda y: y[..., ::2] * y[:, ::3].sum(1, keepdim=True)[..., 1::2],
    "rows": lambda y: y[:, [0, 3, 1]] * y[:, torch.tensor([4])] + y[:, 1:4],
    "scatter": lambda y: torch.select_scatter(torch.slice_scatter(y, y[:, :2] * 3, 1, 1, 3), y[:, 0] * 2, 1, 4),
    "repeat": lambda y: y.repeat(1, 2, 1) * y.repeat_interleave(2, 1) + y.tile((2, 1)),
    "sums so far": lambda y: y.cumsum(1) * y.cumsum(-1),
    "greatest": lambda y: y.amax(-1, keepdim=True) * y.amin((1, 2), keepdim=True) + y.max(1, keepdim=True)[0] + y,
    "which": lambda y: y * y.argmax(-1, keepdim=True) + y.argmin(1, keepdim=True),
    "one of each": lambda y: y[torch.arange(len(y)), y.sum(-1).argmax(-1)].exp(),
    "gather": lambda y: y.gather(1, y.argmax(1, keepdim=True)) * y.gather(-1, y.argmax(-1, keepdim=True)),
    "gather more": lambda y: y.gather(1, (y > 0).long()[:, :3] * 2).exp()
    * y.gather(-1, torch.tensor([[[3, 0, 3, 1, 2, 3]]]).expand(len(y), 3, 6)),
    "gather integers": lambda y: y * (y > 0).long().gather(1, (y > 0.2).long()),
    "spread": lambda y: (y - y.mean(-1, keepdim=True)) / y.std(-1, keepdim=True) + y.var(1, keepdim=True),
    "norms": lambda y: F.normalize(y, dim=-1) + F.rms_norm(y, (6,)) + F.group_norm(y, 5) + torch.logsumexp(y, 1, True),
    "triangle": lambda y: (y @ y.mT).tril() @ y + (y @ y.mT).triu(1) @ y,
    "vectors": lambda y: y @ y[0, 0] + (y.sum((0, 1)) @ y.mT),
    "mean": lambda y: y.mean(-1) * y.sum((1, 2), keepdim=True)[..., 0],
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(name, tmp_path):
    check(VIEWS[name], tmp_path, 5)


def test_in_place(tmp_path):
    def f(y):
        z = y * 1.5
        z.add_(y).mul_(2)
        z.masked_fill_(y > 1, 0.5)
        z.relu_()
        return z * y

    check(f, tmp_path)


def test_in_place_through_a_view(tmp_path):
    def f(y):
        z = y * 2
        part = z[:, :2]
        z.mul_(3)
        shifted = y.new_zeros(y.shape)
        shifted[:, 1:] = z[:, :-1].clone()
        shifted[:, 0] = 5
        return part.sum() + z * shifted

    check(f, tmp_path)


def test_everything_that_has_no_rule_is_listed(tmp_path):
    def f(y):
        return y.sort(0)[0] + y.sort(1)[0] + y.kthvalue(1, 0)[0] + torch.cdist(y, y).sum()

    what = r"(?s)aten\.sort\.default \(2 times, first test_rules\.py:\d+\).*top_gates.*kthvalue.*cdist"
    refuses(f, tmp_path, what)


def test_no_gradient_through_detached_values(tmp_path):
    def f(y):
        with torch.no_grad():
            still = y * 3
        return y * y.detach() + still * y

    assert "detach" in ops(check(f, tmp_path))
    check(f, tmp_path, 5)


def test_no_grad_beside_writes_in_place(tmp_path):
    def f(y):
        z = y * 1
        with torch.no_grad():
            still = z.sin()
        z.add_(1)
        return z * still

    assert "detach" in ops(check(f, tmp_path))


def test_random_constants(tmp_path):
    refuses(lambda y: y * torch.rand(6), tmp_path, "a random value")


def test_batch_squared(tmp_path):
    refuses(lambda y: (y @ y.T).reshape(-1), tmp_path, r"not a\*B \+ b")


def test_batch_in_a_real(tmp_path):
    refuses(lambda y: y * y.shape[0] ** 0.5, tmp_path, "depends on the batch size")
    for f in (lambda y: y / y.shape[0], lambda y: y.cos() * (3 * y.shape[0]), lambda y: y / y.numel()):
        check(f, tmp_path, 5)


def test_constants_that_every_row_repeats(tmp_path):
    def f(y):  # [b * 2, 5, 6] of slopes, as BLOOM's alibi is
        slopes = torch.tensor([[0.5], [0.25]]) * torch.arange(6.0)[None, :] ** 2
        table = slopes[None].expand(y.shape[0], 2, 6).reshape(-1, 1, 6)
        return y.repeat_interleave(2, 0) * table

    check(f, tmp_path, 5)


def test_batch_expressions(tmp_path):
    doc = check(lambda y: torch.cat([y.reshape(-1, 6), torch.ones(1, 6)]).softmax(0), tmp_path, 5)
    shapes = [n["attrs"]["shape"] for n in doc["nodes"] if n["op"] == "reshape"]
    assert ["5*B", 6] in shapes


def test_detects_masks(tmp_path):
    tril = torch.ones(5, 5, dtype=torch.bool).tril()
    masks = {
        "none": (None, False),
        "all": (torch.ones(1, 1, 5, 5, dtype=torch.bool), False),
        "zeros": (torch.zeros(5, 5), False),
        "bool": (tril, True),
        "minus infinity": (torch.zeros(5, 5).masked_fill(~tril, -torch.inf), True),
        "smallest": (torch.zeros(5, 5).masked_fill(~tril, torch.finfo(torch.float32).min), True),
    }
    for name, (mask, causal) in masks.items():
        doc = check(lambda y: F.scaled_dot_product_attention(y, y, y, attn_mask=mask), tmp_path, 2, 5)  # noqa: B023
        (node,) = [n for n in doc["nodes"] if n["op"] == "sdpa"]
        assert len(node["in"]) == 3 and node["attrs"]["causal"] == causal, name
        assert len(node["out"]) == 2
    doc = check(lambda y: F.scaled_dot_product_attention(y, y, y, is_causal=True), tmp_path, 2, 5)
    assert doc["nodes"][1]["attrs"] == {"causal": True, "scale": pytest.approx(6**-0.5)}


def test_stores_a_mask_without_closed_form(tmp_path):
    mask = torch.randn(5, 5, generator=torch.Generator().manual_seed(3))
    doc = check(lambda y: F.scaled_dot_product_attention(y, y, y, attn_mask=mask), tmp_path, 2, 5)
    (const,) = [t for t in doc["tensors"].values() if t["kind"] == "const"]
    assert const["value"]["stored"].startswith("g.consts.safetensors#") and const["shape"] == [1, 1, 5, 5]


def test_grouped_queries(tmp_path):
    doc = check(lambda y: F.scaled_dot_product_attention(y, y[:, :2], y[:, 2:], enable_gqa=True), tmp_path, 4, 5)
    assert "expand" not in ops(doc)


def test_dropout(tmp_path):
    doc = check(lambda y: F.dropout(y, 0.0), tmp_path)
    assert "dropout" not in ops(doc)
    doc = export(Wrap(lambda y: F.dropout(F.dropout(y, 0.1) * 2, 0.2)), (), tmp_path / "g.json", kwargs=data())
    drops = [n["attrs"] for n in doc["nodes"] if n["op"] == "dropout"]
    assert [a["p"] for a in drops] == [0.1, 0.2] and drops[0]["key"] != drops[1]["key"]


def test_stochastic_depth(tmp_path):
    """As transformers writes it: floor(keep + rand), of a row."""

    def f(y):
        keep = torch.floor(0.75 + torch.rand((y.shape[0], 1)))
        return y / 0.75 * keep + torch.ceil(y) * y + torch.floor(y)

    doc = export(Wrap(f), (), tmp_path / "g.json", kwargs=data())
    (drop,) = [n for n in doc["nodes"] if n["op"] == "dropout"]
    assert drop["attrs"]["p"] == 0.25
    refuses(lambda y: y * (torch.rand(6) + 0.5), tmp_path / "no", "a random value")
    check(lambda y: torch.ceil(y) * y + torch.floor(y * 2) * y + torch.trunc(y * 3) * y, tmp_path, 5)


def test_padding_rows_of_computed_ids(tmp_path):
    class Shifted(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(7, 4, padding_idx=1)

        def forward(self, ids):
            shifted = ids.new_zeros(ids.shape)
            shifted[:, 1:] = ids[:, :-1].clone()
            return self.table(shifted.masked_fill(shifted == 6, 1)).exp().sum()

    module, ids = Shifted(), {"ids": torch.tensor([[1, 6, 2, 3], [6, 6, 0, 1], [4, 5, 6, 2]])}
    assert_same(module, export(module, (), tmp_path / "g.json", kwargs=ids), ids)


def test_gelu_spelt_out(tmp_path):
    def gelu(y, c=0.044715):
        return 0.5 * y * (1.0 + torch.tanh(0.7978845608028654 * (y + c * torch.pow(y, 3.0))))

    doc = check(gelu, tmp_path)
    assert "gelu" in ops(doc) and "tanh" not in ops(doc)
    doc = check(lambda y: gelu(y, 0.05), tmp_path)
    assert "gelu" not in ops(doc) and "tanh" in ops(doc)


def test_rows_flattened_and_back(tmp_path):
    class Rows(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.b = nn.Parameter(torch.randn(6, 4)), nn.Parameter(torch.randn(4))

        def forward(self, x):
            y = torch.addmm(self.b, x.view(-1, 6), self.w).view(x.shape[0], x.shape[1], 4)
            return y.exp().mean()

    doc = check(None, tmp_path, 3, module=Rows())
    assert ops(doc) == ["linear", "exp", "mean"]


def test_matmul_of_transposed(tmp_path):
    doc = check(lambda y: y @ y.transpose(-1, -2) + y.mT @ y, tmp_path, 6)
    assert [n["attrs"]["trans"] for n in doc["nodes"] if n["op"] == "matmul"] == [1, 2]
    assert "transpose" not in ops(doc)


def test_buffer_carried_by_the_step(tmp_path):
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(6))
            self.register_buffer("seen", torch.zeros(6))

        def forward(self, x):
            self.seen.mul_(0.9).add_(x.sum(0))
            return (x * self.w).sum()

    doc = export(Counts(), (), tmp_path / "g.json", kwargs=data())
    assert doc["tensors"]["seen"]["kind"] == "buffer"
    (next_seen,) = doc["updates"].values()
    assert any(next_seen in n["out"] for n in doc["nodes"])


def test_frozen_and_unused_parameters(tmp_path):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.unused = (nn.Parameter(torch.randn(6)) for _ in range(3))
            self.b.requires_grad_(False)

        def forward(self, x):
            return (x * self.a * self.b).sum()

    with pytest.warns(UserWarning, match="unused: the loss does not depend on it"):
        doc = export(Model(), (), tmp_path / "g.json", kwargs=data())
    assert {n: t["kind"] for n, t in doc["tensors"].items()} == {"x": "input", "a": "param", "b": "buffer"}


def test_cross_entropy_forms(tmp_path):
    class Ce(nn.Module):
        def __init__(self, **how):
            super().__init__()
            self.w, self.how = nn.Parameter(torch.randn(6, 5)), how

        def forward(self, x, label):
            return F.cross_entropy(x @ self.w, label, **self.how)

    inputs = {**data(), "label": torch.tensor([1, 4, 2, 0])}
    mean = ["ce_sum", "count", "div"]
    for how, want in (({}, mean), ({"reduction": "sum"}, ["ce_sum"]), ({"ignore_index": 4}, mean)):
        module = Ce(**how)
        doc = export(module, (), tmp_path / "g.json", kwargs=inputs)
        assert ops(doc) == ["linear"] + want
        assert_same(module, doc, inputs)
    weight = torch.tensor([0.2, 1.5, 0.7, 1.0, 0.1])
    for how in (
        {"label_smoothing": 0.1}, {"label_smoothing": 0.2, "ignore_index": 4}, {"weight": weight},
        {"weight": weight, "reduction": "sum"}, {"weight": weight, "ignore_index": 4},
    ):  # fmt: skip
        module = Ce(**how)
        assert_same(module, export(module, (), tmp_path / "g.json", kwargs=inputs), inputs, tmp_path)
    module, shares = Ce(), {**data(), "label": torch.rand(4, 5)}
    assert_same(module, export(module, (), tmp_path / "g.json", kwargs=shares), shares)
    with pytest.raises(ExportError, match="label smoothing and class weights"):
        export(Ce(label_smoothing=0.1, weight=weight), (), tmp_path / "h.json", kwargs=inputs)


def test_init_is_read_off_the_weights(tmp_path):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin, self.norm, self.table = nn.Linear(6, 50), nn.LayerNorm(50), nn.Parameter(torch.randn(500, 50))

        def forward(self, x):
            return (self.norm(self.lin(x)) @ self.table.T).exp().sum()

    torch.manual_seed(0)
    doc = export(Model(), (), tmp_path / "g.json", kwargs=data(), init={"norm.bias": {"const": 0.25}})
    init = {n: t["init"] for n, t in doc["tensors"].items() if t["kind"] == "param"}
    bound = pytest.approx([-(6**-0.5), 6**-0.5])
    assert init["lin.weight"]["uniform"] == bound and init["lin.bias"]["uniform"] == bound
    assert init["norm.weight"] == {"const": 1.0} and init["norm.bias"] == {"const": 0.25}
    assert init["table"]["normal"] == pytest.approx(1.0, rel=0.05)


def test_optimizer_is_checked(tmp_path):
    def go(o):
        return export(Wrap(lambda y: y), (), tmp_path / "g.json", kwargs=data(), optimizer=o)

    assert go({"lr": 0.1, "name": "sgd"})["optimizer"] == {"name": "sgd", "lr": 0.1}
    for bad, match in (
        ({"name": "adagrad", "lr": 1}, "name must be one of"),
        ({"name": "sgd"}, "lr is missing"),
        ({"name": "sgd", "lr": 1, "beta": 2}, "unknown key 'beta'"),
        ({"name": "sgd", "lr": -1}, "not negative"),
        ({"name": "sgd", "lr": 1, "groups": [{"match": ["nothing.*"]}]}, "no parameter matches 'nothing"),
    ):
        with pytest.raises(ExportError, match=match):
            go(bad)


def test_every_node_is_checked_against_the_table(tmp_path):
    doc = export(Wrap(lambda y: y.softmax(-1)), (), tmp_path / "g.json", kwargs=data())
    for change, match in (
        ({"op": "adam"}, "may not stand"),
        ({"in": []}, "operands"),
        ({"out": ["a", "b"]}, "outputs"),
        ({"attrs": {"trans": 0, "more": 1}}, "no attribute more"),
        ({"attrs": {"trans": 0.5}}, "is no int"),
    ):
        bad = json.loads(json.dumps(doc))
        bad["nodes"][0].update(change)
        with pytest.raises(ExportError, match=match):
            document.check(bad)


def test_no_loss(tmp_path):
    class Vector(Wrap):
        def forward(self, x):
            return x @ self.w

    with pytest.raises(ExportError, match="no loss"):
        export(Vector(None), (), tmp_path / "g.json", kwargs=data())


def test_positional_inputs_and_shared_ones(tmp_path):
    class Model(Wrap):
        def forward(self, x, bias, flag=True):
            return ((x @ self.w + bias) ** (2 if flag else 1)).sum()

    bias = torch.randn(4, 6)
    doc = export(Model(None), (data()["x"], bias[:1]), tmp_path / "g.json", batch_inputs=["x"])
    inputs = {n: (t["shape"], t["batch"]) for n, t in doc["tensors"].items() if t["kind"] == "input"}
    assert inputs == {"x": (["B", 6], 0), "bias": ([1, 6], -1)}
    doc = export(Model(None), (torch.randn(6, 6), torch.randn(6)), tmp_path / "g.json", batch_inputs=["x"])
    assert doc["tensors"]["bias"]["shape"] == [6] and doc["tensors"]["bias"]["batch"] == -1


def test_constants_under_no_grad(tmp_path):
    def f(y):
        with torch.no_grad():
            angles = torch.outer(torch.arange(5.0), torch.arange(6.0)).cos()
        return y * angles

    doc = check(f, tmp_path, 5)
    (const,) = [t for t in doc["tensors"].values() if t["kind"] == "const"]
    assert const["value"]["stored"].startswith("g.consts.safetensors#") and const["shape"] == [5, 6]


def test_graphs_in_one_folder_keep_their_constants(tmp_path):
    """The younger graph's constants were written over the older one's, of the same shape."""
    docs = {}
    for name, seed in (("old", 3), ("new", 4)):
        mask = torch.randn(5, 5, generator=torch.Generator().manual_seed(seed))
        model = Wrap(lambda y, mask=mask: F.scaled_dot_product_attention(y, y, y, attn_mask=mask))
        docs[name] = (model, export(model, (), tmp_path / f"{name}.json", kwargs=data(4, 2, 5)))
    for name, (model, doc) in docs.items():
        assert_same(model, doc, data(4, 2, 5), tmp_path)
        ((tensor, const),) = [(n, t) for n, t in doc["tensors"].items() if t["kind"] == "const"]
        assert const["value"]["stored"] == f"{name}.consts.safetensors#{tensor}"
        stored = safetensors.load(tmp_path / f"{name}.consts.safetensors")[tensor]
        assert const["value"]["sha256"] == hashlib.sha256(stored.numpy().tobytes()).hexdigest()
    hashes = {t["value"]["sha256"] for _, d in docs.values() for t in d["tensors"].values() if t["kind"] == "const"}
    assert len(hashes) == 2


def test_bits_as_another_type(tmp_path):
    refuses(lambda y: y + y.view(torch.int32).float(), tmp_path, r"view\(torch.int32\).*test_rules.py:\d+")
    refuses(lambda y: y + y.view(torch.float32), tmp_path, "stops the gradient")


def test_a_square_input_beside_a_batch_of_its_size(tmp_path):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(6, 4))

        def forward(self, x, mix):
            return (x @ self.w @ mix).square().sum()

    args = (torch.randn(4, 6), torch.randn(4, 4))
    with pytest.raises(ExportError, match=r"batch 4 and not at 9 \(test_rules.py:\d+\).*x \[4, 6\], mix \[4, 4\].*batch_inputs"):
        export(Model(), args, tmp_path / "g.json")
    assert not (tmp_path / "g.json").exists()
    doc = export(Model(), args, tmp_path / "g.json", batch_inputs=["x"])
    assert doc["tensors"]["mix"]["shape"] == [4, 4] and doc["tensors"]["mix"]["batch"] == -1


def _rms(x, eps=1e-6):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)


def ops_of(f, tmp_path, *shape):
    return ops(check(f, tmp_path, *shape, module=f if isinstance(f, torch.nn.Module) else None))


def test_rms_norm_spelt_out(tmp_path):
    assert ops_of(_rms, tmp_path).count("rms_norm") == 1
    assert "rms_norm" not in ops_of(lambda y: y * torch.rsqrt(y.pow(2).mean(0, keepdim=True) + 1), tmp_path)
    assert "rms_norm" not in ops_of(lambda y: y * torch.rsqrt((y + 1).pow(2).mean(-1, keepdim=True) + 1), tmp_path)

    class Weighted(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.norm = torch.nn.Parameter(torch.rand(6)), torch.nn.RMSNorm(6, eps=1e-3)

        def forward(self, x):
            return (self.norm(self.weight * _rms(x)) + F.rms_norm(x, (6,))).sum()

    got = ops_of(Weighted(), tmp_path)
    assert got.count("rms_norm") == 3 and "rsqrt" not in got


def _turned(x):
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


def test_rotary_embedding(tmp_path):
    angles = torch.arange(30.0).reshape(5, 6) / 7
    cos, sin = angles.cos(), angles.sin()
    got = ops_of(lambda y: y * cos + _turned(y) * sin, tmp_path, 5)
    assert got.count("rotary") == 1 and "concat" not in got
    wrong = {
        "other rows": lambda y: y * cos + _turned(y + 1) * sin,
        "unturned": lambda y: y * cos + torch.cat((y[..., 3:], y[..., :3]), -1) * sin,
        "unequal parts": lambda y: y * cos + torch.cat((-y[..., 2:], y[..., :2]), -1) * sin,
    }
    for f in wrong.values():
        assert "rotary" not in ops_of(f, tmp_path, 5)


def _heads(y, n):
    return y.unflatten(-1, (n, -1)).transpose(1, 2)


def test_rotary_before_its_heads_are_swapped(tmp_path):
    angles = torch.arange(30.0).reshape(5, 6) / 7

    def f(y):
        q = _heads(torch.cat((y, y * 2), -1), 2)
        return F.scaled_dot_product_attention(q * angles.cos() + _turned(q) * angles.sin(), q, q)

    doc = check(f, tmp_path, 5)
    made = {t: n for n in doc["nodes"] for t in n["out"]}
    query = next(n for n in doc["nodes"] if n["op"] == "sdpa")["in"][0]
    assert made[query]["op"] == "transpose" and made[made[query]["in"][0]]["op"] == "rotary"


def test_repeated_keys(tmp_path):
    def f(y):
        again = lambda k: k[:, :, None].expand(-1, 3, 2, 5, 1).reshape(-1, 6, 5, 1)  # noqa: E731
        k, v = _heads(y[..., :3], 3), _heads(y[..., 3:], 3)
        return F.scaled_dot_product_attention(_heads(y, 6), again(k), again(v))

    assert "expand" not in ops_of(f, tmp_path, 5)


LOSSES = {
    "mse": lambda y, t: F.mse_loss(y, t) + F.mse_loss(y, t, reduction="sum"),
    "l1": lambda y, t: F.l1_loss(y, t),
    "huber": lambda y, t: F.huber_loss(y, t, delta=0.7) + F.smooth_l1_loss(y, t, beta=0.3),
    "bce": lambda y, t: F.binary_cross_entropy_with_logits(y, t.sigmoid()) + F.binary_cross_entropy(y.sigmoid(), t.sigmoid()),
    "bce weights": lambda y, t: F.binary_cross_entropy_with_logits(y, t.sigmoid(), pos_weight=torch.arange(6.0) + 1),
    "kl": lambda y, t: F.kl_div(y.log_softmax(-1), t.softmax(-1), reduction="batchmean")
    + F.kl_div(y.log_softmax(-1), t.log_softmax(-1), log_target=True),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name, tmp_path):
    """As functions of what a module returns, whose further parameters are inputs."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(6, 6, generator=torch.Generator().manual_seed(1)))

        def forward(self, x):
            return x @ self.w

    class Whole(Model):
        def forward(self, x, t):
            return LOSSES[name](super().forward(x), t)

    def inputs(batch):
        return {**data(batch, 5), "t": torch.randn(batch, 5, 6, generator=torch.Generator().manual_seed(5))}

    doc = export(Model(), (), tmp_path / "g.json", kwargs=inputs(4), loss=LOSSES[name])
    for batch in (4, 3):
        assert_same(Whole(), doc, inputs(batch), tmp_path)


def test_patches(tmp_path):
    class Patches(nn.Module):
        def __init__(self, **how):
            super().__init__()
            self.c = nn.Conv2d(3, 4, 2, 2, **how)

        def forward(self, x):
            return self.c(x).square().sum()

    def inputs(b):
        return {"x": torch.randn(b, 3, 5, 6, generator=torch.Generator().manual_seed(2))}

    module = Patches()
    doc = export(module, (), tmp_path / "g.json", kwargs=inputs(4))
    assert "linear" in ops(doc)
    assert_same(module, doc, inputs(3), tmp_path)
    assert "conv" in ops(export(Patches(padding=1), (), tmp_path / "h.json", kwargs=inputs(4)))


CONVOLUTIONS = {
    "plain": (nn.Conv2d(3, 4, 3, padding=1), (3, 5, 6)),
    "of single places": (nn.Conv2d(3, 4, 1), (3, 5, 6)),
    "strided": (nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(2, 0), dilation=(1, 2), groups=2), (4, 7, 6)),
    "depthwise": (nn.Conv2d(3, 6, 3, groups=3, bias=False), (3, 5, 6)),
    "same": (nn.Conv2d(3, 4, (3, 5), padding="same"), (3, 5, 6)),
    "valid": (nn.Conv2d(3, 4, 3, padding="valid"), (3, 5, 6)),
    "in one dim": (nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), (4, 9)),
    "transposed": (nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=(1, 0), groups=2), (4, 3, 4)),
    "transposed, in one dim": (nn.ConvTranspose1d(4, 3, 4, stride=2, padding=1, dilation=2), (4, 5)),
    "pool": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.MaxPool2d(2)), (3, 7, 8)),
    "pool, over the end": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.MaxPool2d(3, 2, 1, ceil_mode=True)), (3, 8, 7)),
    "pool, in one dim": (nn.Sequential(nn.Conv1d(3, 4, 3), nn.MaxPool1d(3, 2, dilation=2)), (3, 12)),
    "mean pool": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.AvgPool2d(2)), (3, 8, 6)),
    "mean pool, over each other": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.AvgPool2d(3, 2, 1)), (3, 8, 7)),
    "mean pool, over the end": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.AvgPool2d(3, 2, 1, ceil_mode=True)), (3, 8, 7)),
    "mean pool, of places alone": (
        nn.Sequential(nn.Conv2d(3, 4, 3), nn.AvgPool2d((3, 2), 2, 1, count_include_pad=False)), (3, 8, 7)
    ),
    "mean pool, larger than all": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.AvgPool2d(9, ceil_mode=True)), (3, 4, 5)),
    "mean pool, divided": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.AvgPool2d(3, 2, 1, True, divisor_override=5)), (3, 8, 7)),
    "doubled": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.Upsample(scale_factor=2)), (3, 5, 4)),
    "nearest": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.Upsample((7, 4))), (3, 5, 4)),
    "nearest, scaled": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.Upsample(scale_factor=(1.7, 0.6))), (3, 7, 6)),
    "nearest, in one dim": (nn.Sequential(nn.Conv1d(3, 4, 3), nn.Upsample(scale_factor=3)), (3, 6)),
    "bilinear": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.Upsample((7, 3), mode="bilinear")), (3, 5, 6)),
    "bilinear, corners": (
        nn.Sequential(nn.Conv2d(3, 4, 3), nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)), (3, 5, 4)
    ),
    "bilinear, whole factors": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.Upsample(scale_factor=(2, 3), mode="bilinear")), (3, 5, 4)),
    "bilinear, to a size": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.Upsample((12, 2), mode="bilinear")), (3, 5, 4)),
    "linear, from one place": (nn.Sequential(nn.Conv1d(3, 4, 3), nn.Upsample(scale_factor=5, mode="linear")), (3, 3)),
    "linear, scaled": (nn.Sequential(nn.Conv1d(3, 4, 3), nn.Upsample(scale_factor=1.6, mode="linear")), (3, 7)),
    "normed weight": (nn.utils.parametrizations.weight_norm(nn.Conv1d(3, 4, 3), dim=2), (3, 7)),
    "adaptive": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d((3, 2))), (3, 8, 6)),
    "adaptive, uneven": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d((4, None))), (3, 8, 7)),
    "adaptive, more": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(7)), (3, 3, 4)),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name, tmp_path):
    class Images(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = CONVOLUTIONS[name][0]

        def forward(self, x):
            return torch.tanh(self.net(x)).square().sum()

    def inputs(b):
        return {"x": torch.randn(b, *CONVOLUTIONS[name][1], generator=torch.Generator().manual_seed(2))}

    module = Images()
    doc = export(module, (), tmp_path / "g.json", kwargs=inputs(4))
    for b in (4, 3):
        assert_same(module, doc, inputs(b), tmp_path)


def _kept(norm):
    """A norm whose buffers hold something."""
    norm.running_mean.copy_(torch.linspace(-0.3, 0.4, norm.num_features))
    norm.running_var.copy_(torch.linspace(0.5, 2, norm.num_features))
    return norm


BATCH_NORMS = {
    "images": (nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), _kept(nn.BatchNorm2d(4)), nn.ReLU(inplace=True)), (3, 5, 6)),
    "rows": (nn.Sequential(nn.Linear(5, 4), _kept(nn.BatchNorm1d(4, eps=1e-3, momentum=0.3))), (5,)),
    "in one dim, plain": (nn.Sequential(nn.Conv1d(3, 4, 3), nn.BatchNorm1d(4, affine=False)), (3, 7)),
    "evaluation": (nn.Sequential(nn.Conv2d(3, 4, 3), _kept(nn.BatchNorm2d(4)).eval()), (3, 5, 6)),
    "evaluation, plain": (nn.Sequential(nn.Conv2d(3, 4, 3), _kept(nn.BatchNorm2d(4, affine=False)).eval()), (3, 5, 6)),
    "of each image": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.InstanceNorm2d(4, affine=True), nn.ReLU()), (3, 5, 6)),
}


@pytest.mark.parametrize("name", BATCH_NORMS)
def test_batch_norms(name, tmp_path):
    class Normed(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = BATCH_NORMS[name][0]

        def forward(self, x):
            y = self.net(x)
            return (y * torch.linspace(-1, 1, y[0].numel()).reshape(y.shape[1:])).square().sum()

    def inputs(b):
        return {"x": torch.randn(b, *BATCH_NORMS[name][1], generator=torch.Generator().manual_seed(2))}

    module = Normed()
    doc = export(module, (), tmp_path / "g.json", kwargs=inputs(4))
    trained = not ("evaluation" in name or "each" in name)
    assert ("batch_norm" in ops(doc)) == trained
    for b in (4, 3):
        held = {n: b.clone() for n, b in module.named_buffers()}
        leaves = dict(module.named_parameters()) | held | inputs(b)
        value = interp.run(doc, {n: leaves[n] for n, t in doc["tensors"].items() if t["kind"] != "const"}, b, tmp_path)
        assert_same(module, doc, inputs(b), tmp_path)
        for n, after in module.named_buffers():
            if n in doc.get("updates", {}):
                assert torch.allclose(value[doc["updates"][n]].to(after.dtype), after, rtol=1e-5), n
            else:
                assert torch.equal(held[n], after), n


def test_batch_norms_that_are_refused(tmp_path):
    alone = nn.BatchNorm1d(6, track_running_stats=False)
    refuses(lambda y: alone(y), tmp_path, "without running statistics", 6)
    of_all = nn.InstanceNorm1d(6, track_running_stats=True)
    refuses(lambda y: of_all(y), tmp_path, "running statistics", 6)


def test_resizing_that_is_refused(tmp_path):
    def resized(y):
        return F.interpolate(y[:, None], scale_factor=2, mode="bicubic")

    refuses(resized, tmp_path, "resized by a cubic or smoothed rule", 6)


def test_dropout_beside_a_batch_norm(tmp_path):
    """Whose write in place makes PyTorch say it otherwise."""
    net = nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Dropout(0.3))

    class Dropped(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, x):
            return self.net(x).square().sum()

    doc = export(Dropped(), (), tmp_path / "g.json", kwargs=data())
    (drop,) = [n for n in doc["nodes"] if n["op"] == "dropout"]
    assert abs(drop["attrs"]["p"] - 0.3) < 1e-12


def test_bags(tmp_path):
    class Bags(nn.Module):
        def __init__(self, mode):
            super().__init__()
            self.bag = nn.EmbeddingBag(9, 4, mode=mode)

        def forward(self, ids):
            return self.bag(ids).square().sum()

    for mode in ("sum", "mean"):
        module = Bags(mode)
        ids = {"ids": torch.tensor([[1, 2, 2], [0, 8, 3], [4, 4, 4]])}
        assert_same(module, export(module, (), tmp_path / "g.json", kwargs=ids), ids)


def test_a_trained_bias_of_attention(tmp_path):
    def f(y):
        bias = y.sum(-1)[:, :, None, :1]
        return F.scaled_dot_product_attention(y, y, y, attn_mask=bias * y.mT[:, :, :1], is_causal=False)

    assert "softmax" in ops(check(f, tmp_path, 2, 5))


def test_halves_are_refused(tmp_path):
    class Half(Wrap):
        def forward(self, x):
            return (x.bfloat16() @ self.w).float().sum()

    with pytest.raises(ExportError, match=r"w: a parameter of torch.bfloat16"):
        export(Half(None).bfloat16(), (), tmp_path / "g.json", kwargs=data())


class Bytes(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.w, self.f = nn.Parameter(torch.ones(6)), f
        self.register_buffer("mask", torch.tensor([3, 1, 4, 1, 5, 9], dtype=torch.uint8))

    def forward(self, x):
        return (self.f(self, x) * self.w).sum()


def test_bytes(tmp_path):
    x = {"x": torch.randint(0, 256, (4, 6, 6), generator=torch.Generator().manual_seed(3), dtype=torch.uint8)}
    for f in (lambda m, x: x / 255, lambda m, x: x.transpose(1, 2)[:, 1:5].float().mean((1,)) - 0.5):
        module = Bytes(f)
        doc = export(module, (), tmp_path / "g.json", kwargs=x)
        assert_same(module, doc, x)
        assert doc["tensors"]["x"]["dtype"] == "u8" and ops(doc).count("cast") == 1
    for f, match in (
        (lambda m, x: (m.w * 2).to(torch.uint8) * x.float(), "a computed value of type uint8"),
        (lambda m, x: (x + x).float(), "a computed value of type uint8"),
        (lambda m, x: torch.where(x > 1.5, x, m.mask).float(), "uint8"),
    ):
        with pytest.raises(ExportError, match=match):
            export(Bytes(f), (), tmp_path / "no.json", kwargs=x)
