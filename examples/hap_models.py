"""The models of HAP's experiments (arXiv 2401.05965) in plain PyTorch: BERT, ViT, BERT-MoE.

Encoders of post-norm blocks with ReLU, width 768 in 12 heads, trained from the sum of the negative
log-likelihoods. As HAP has them but for: positions are learned (HAP's BERT adds fixed sinusoids), a
patch goes through a linear (HAP's ViT: the convolution that is the same), dropout is 0.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from hap_export import expert_slots, top_gates
from torch import nn


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, causal: bool):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        b, s, width = x.shape
        q, k, v = (t.view(b, s, self.heads, -1).transpose(1, 2) for t in self.qkv(x).split(width, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.proj(y.transpose(1, 2).reshape(b, s, width))


class FeedForward(nn.Module):
    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class Experts(nn.Module):
    """A feed-forward layer an expert; every token goes to two of them, as far as they have room."""

    def __init__(self, width: int, hidden: int, n_experts: int, capacity: int):
        super().__init__()
        self.capacity = capacity
        self.gate = nn.Linear(width, n_experts, bias=False)
        self.w1 = nn.Parameter(torch.empty(n_experts, width, hidden).normal_(std=0.02))
        self.w2 = nn.Parameter(torch.empty(n_experts, hidden, width).normal_(std=0.02))

    def forward(self, x):
        combine = expert_slots(top_gates(self.gate(x).softmax(-1)), self.capacity)
        dispatch = (combine != 0).to(x.dtype)
        y = torch.einsum("bsec,bsd->ebcd", dispatch, x)
        rows = F.relu(y.flatten(1, 2) @ self.w1) @ self.w2
        return torch.einsum("bsec,ebcd->bsd", combine, rows.view(y.shape))


class Block(nn.Module):
    def __init__(self, width: int, heads: int, causal: bool, ffn: nn.Module):
        super().__init__()
        self.attn = Attention(width, heads, causal)
        self.ln_1 = nn.LayerNorm(width)
        self.ffn = ffn
        self.ln_2 = nn.LayerNorm(width)

    def forward(self, x):
        x = self.ln_1(x + self.attn(x))
        return self.ln_2(x + self.ffn(x))


class Text(nn.Module):
    """BERT and, with experts in every second layer, BERT-MoE. Causal, as in HAP."""

    def __init__(self, layers, vocab, length, width=768, heads=12, hidden=3072, experts=0, capacity=0):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.position = nn.Parameter(torch.empty(length, width).normal_(std=0.02))
        self.layers = nn.ModuleList(
            Block(
                width, heads, True,
                Experts(width, hidden, experts, capacity) if experts and i % 2 else FeedForward(width, hidden),
            )
            for i in range(layers)
        )  # fmt: skip
        self.head = nn.Linear(width, vocab)

    def forward(self, input_ids, labels):
        x = self.embed(input_ids) * math.sqrt(self.embed.embedding_dim) + self.position
        for layer in self.layers:
            x = layer(x)
        x = F.log_softmax(self.head(x), dim=-1)
        return F.nll_loss(x.transpose(1, 2), labels, reduction="sum")


class Vision(nn.Module):
    """ViT: the class is read from a token before the patches."""

    def __init__(self, layers, size=32, patch=4, classes=10, width=768, heads=12, hidden=3072):
        super().__init__()
        self.patch = patch
        self.embed = nn.Linear(3 * patch * patch, width)
        self.cls = nn.Parameter(torch.empty(1, 1, width).normal_(std=0.02))
        self.position = nn.Parameter(torch.empty((size // patch) ** 2 + 1, width).normal_(std=0.02))
        self.layers = nn.ModuleList(Block(width, heads, False, FeedForward(width, hidden)) for _ in range(layers))
        self.head = nn.Linear(width, classes)

    def forward(self, image, label):
        b, n, p = image.shape[0], image.shape[-1] // self.patch, self.patch
        x = image.view(b, 3, n, p, n, p).permute(0, 2, 4, 1, 3, 5).reshape(b, n * n, 3 * p * p)
        x = torch.cat([self.cls.expand(b, -1, -1), self.embed(x)], dim=1) + self.position
        for layer in self.layers:
            x = layer(x)
        return F.nll_loss(F.log_softmax(self.head(x[:, 0]), dim=-1), label, reduction="sum")


class Branches(nn.Module):
    """k chains of three linears with ReLU from one input, summed: HAP's search time grows twentyfold a
    chain (reference: 4 chains took it 85 s, 5 were not done in 120 s)."""

    def __init__(self, k: int, width: int, depth: int = 3):
        super().__init__()
        self.chains = nn.ModuleList(
            nn.ModuleList(nn.Linear(width, width) for _ in range(depth)) for _ in range(k)
        )

    def forward(self, x):
        total = None
        for chain in self.chains:
            y = x
            for linear in chain:
                y = F.relu(linear(y))
            total = y if total is None else total + y
        return total.sum()
