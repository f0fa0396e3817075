"""The example models: module, inputs, optimizer and initialisation, by name.

Used by every examples/NAME/make and by tests/torch. Dropout is 0 in all of them. Hugging Face models
are taken as they are; only their configuration is given here.
"""

from __future__ import annotations

import argparse
import inspect
import math
import os
import sys
from dataclasses import dataclass, field

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "ir", "export"))

import hap_export  # noqa: E402

import hap_models  # noqa: E402
import resnet  # noqa: E402
import vgg  # noqa: E402


@dataclass
class Example:
    module: torch.nn.Module
    inputs: dict  # keyword arguments of forward
    optimizer: dict
    init: dict = field(default_factory=dict)
    vocab: int = 0  # ids are drawn from [low, vocab)
    low: int = 0
    batch: int | None = None  # samples a step, if the inputs are fewer: enough to trace by


class Mlp(torch.nn.Module):
    """A classifier of 28 x 28 images."""

    def __init__(self, n_in=784, hidden=256, n_class=10):
        super().__init__()
        self.fc1 = torch.nn.Linear(n_in, hidden)
        self.fc2 = torch.nn.Linear(hidden, n_class)

    def forward(self, image, label):
        hidden = torch.nn.functional.relu(self.fc1(image))
        return torch.nn.functional.cross_entropy(self.fc2(hidden), label)


def adamw(no_decay: list[str], **more) -> dict:
    """AdamW with weight decay on matrices only."""
    out = {"name": "adamw", "lr": 3e-4, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1}
    out.update(more)
    out["groups"] = [{"match": no_decay, "weight_decay": 0}]
    return out


def mlp() -> Example:
    batch = 64
    return Example(
        Mlp(),
        {"image": torch.zeros(batch, 784), "label": torch.zeros(batch, dtype=torch.long)},
        adamw(["*.bias"]),
        vocab=10,
    )


def _ids(batch: int, length: int, *names: str) -> dict:
    return {n: torch.zeros(batch, length, dtype=torch.long) for n in names}


def _gpt2(config: dict, batch: int, length: int, **optimizer) -> Example:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0, use_cache=False,
        bos_token_id=0, eos_token_id=0, **config,
    )  # fmt: skip
    std = config.initializer_range
    return Example(
        GPT2LMHeadModel(config),
        _ids(batch, length, "input_ids", "labels"),
        adamw(["*.bias", "*.ln_*"], **optimizer),
        init={
            "*.c_proj.weight": {"normal": std / math.sqrt(2 * config.n_layer)},
            "*.ln_*.weight": {"const": 1.0},
            "*.weight": {"normal": std},
            "*.bias": {"const": 0.0},
        },
        vocab=config.vocab_size,
    )


def gpt3_175b(layers: int = 96, width: int = 12288, heads: int = 96) -> Example:
    """GPT-3 175B, 128 sequences or 0.26 million tokens a step. On the meta device: shapes without memory."""
    config = {"n_layer": layers, "n_head": heads, "n_embd": width, "n_positions": 2048}
    with torch.device("meta"):
        example = _gpt2(config, 2, 2048, clip_norm=1.0)
    example.batch = 128
    return example


def gpt2_xl(batch: int = 16) -> Example:
    """GPT-2 1.5B: 25 heads, which no even number of GPUs divides."""
    config = {"n_layer": 48, "n_head": 25, "n_embd": 1600}
    with torch.device("meta"):
        return _gpt2(config, batch, 1024, clip_norm=1.0)


def gpt2_8k(layers: int = 4, batch: int = 4) -> Example:
    """A few blocks of a model of hidden size 8192, as tensor parallelism is used for."""
    config = {"n_layer": layers, "n_head": 64, "n_embd": 8192, "n_positions": 2048}
    with torch.device("meta"):
        return _gpt2(config, batch, 2048, clip_norm=1.0)


def gpt2() -> Example:
    return _gpt2({}, 8, 128, clip_norm=1.0)


def gpt2_tiny() -> Example:
    config = {
        "n_layer": 3, "n_head": 4, "n_embd": 64, "n_inner": 192, "vocab_size": 211, "n_positions": 32,
    }  # fmt: skip
    schedule = {"warmup": 4, "cosine": 40, "min_lr": 0.1}
    return _gpt2(config, 8, 32, lr=1e-3, clip_norm=1.0, schedule=schedule)


def _bert(config: dict, batch: int, length: int, **optimizer) -> Example:
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **config)
    return Example(
        BertForMaskedLM(config),
        _ids(batch, length, "input_ids", "labels"),
        adamw(["*.bias", "*.LayerNorm.*"], **optimizer),
        init={
            "*.LayerNorm.weight": {"const": 1.0},
            "*.weight": {"normal": config.initializer_range},
            "*.bias": {"const": 0.0},
        },
        vocab=config.vocab_size,
        low=1,  # id 0 pads: PyTorch gives its row no gradient through the lookup
    )


def bert() -> Example:
    return _bert({"max_position_embeddings": 128}, 8, 128)


def bert_tiny() -> Example:
    config = {
        "num_hidden_layers": 3, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 192,
        "vocab_size": 199, "max_position_embeddings": 32,
    }  # fmt: skip
    return _bert(config, 8, 32, lr=1e-3)


# --- HAP's models, weak scaling: 32 rows a GPU ---


def _hap(module, inputs: dict, vocab: int, **optimizer) -> Example:
    return Example(
        module,
        inputs,
        adamw(["*.bias", "*.ln_*"], **optimizer),
        init={
            "*.ln_*.weight": {"const": 1.0},
            "*.bias": {"const": 0.0},
            "*": {"normal": 0.02},
        },
        vocab=vocab,
    )


def _hap_vocab(gpus: int) -> int:
    """WikiText-2's, rounded up to a multiple of the GPUs."""
    return -(-33278 // gpus) * gpus


# On the meta device: shapes alone, so that no weights are made to be thrown away.


def bert_hap(layers=12, gpus=8) -> Example:
    with torch.device("meta"):
        vocab = _hap_vocab(gpus)
        module = hap_models.Text(layers, vocab, 128)
        return _hap(module, _ids(32 * gpus, 128, "input_ids", "labels"), vocab)


def bert_moe(layers=12, gpus=8, experts=0) -> Example:
    """Two experts a GPU, unless so many are asked for (HAP's irregular case: 48 GPUs, 32 experts)."""
    with torch.device("meta"):
        vocab, experts = _hap_vocab(gpus), experts or 2 * gpus
        capacity = math.ceil(128 / experts * 2.5)
        module = hap_models.Text(layers, vocab, 128, experts=experts, capacity=capacity)
        return _hap(module, _ids(32 * gpus, 128, "input_ids", "labels"), vocab)


def _images(batch: int, size: int) -> dict:
    return {"image": torch.zeros(batch, 3, size, size), "label": torch.zeros(batch, dtype=torch.long)}


def vit(layers=12, gpus=8) -> Example:
    with torch.device("meta"):
        return _hap(hap_models.Vision(layers), _images(32 * gpus, 32), 10)


_META = {"*.bias": {"const": 0.0}, "*": {"normal": 0.02}}  # of modules without weights


def vgg19(gpus=8) -> Example:
    """On CIFAR-10, whose images are 1 x 1 behind the convolutions: the pooling repeats them 7 x 7."""
    batch = 32 * gpus
    inputs = {"x": torch.zeros(batch, 3, 32, 32), "labels": torch.zeros(batch, dtype=torch.long)}
    with torch.device("meta"):
        return Example(vgg.VGG(vgg.VGG19, 10, reduction="sum"), inputs, adamw(["*.bias"]), _META, vocab=10)


def resnet_digits(batch=64) -> Example:
    """Of the digits of scikit-learn (resnet-digits/rows): values 0 to 16, their mean 4.9, deviation 6."""
    module = resnet.ResNet([16, 32, 64], 1, 10, 4.9, 6.0)
    inputs = {"images": torch.zeros(batch, 8, 8, dtype=torch.uint8), "labels": torch.zeros(batch, dtype=torch.long)}
    optimizer = {"name": "sgd", "lr": 0.05, "momentum": 0.9, "weight_decay": 5e-4, "schedule": {"warmup": 24, "cosine": 240}}
    return Example(module, inputs, optimizer, vocab=10)


def branches(k=8) -> Example:
    with torch.device("meta"):
        return Example(hap_models.Branches(k, 1024), {"x": torch.zeros(8192, 1024)}, adamw(["*.bias"]), _META)


def bert_moe_tiny() -> Example:
    module = hap_models.Text(2, 97, 12, width=32, heads=2, hidden=48, experts=4, capacity=5)
    e = _hap(module, _ids(8, 12, "input_ids", "labels"), 97, lr=1e-3)
    e.init = {"*.gate.weight": {"normal": 0.15}, **e.init}  # no choice is closer than 5e-5
    return e


def vit_tiny() -> Example:
    module = hap_models.Vision(2, size=8, patch=4, width=32, heads=2, hidden=48)
    return _hap(module, _images(8, 8), 10, lr=1e-3)


BY_NAME = {
    "mlp": mlp, "gpt2": gpt2, "gpt2-tiny": gpt2_tiny, "bert": bert, "bert-tiny": bert_tiny,
    "bert-hap": bert_hap, "bert-moe": bert_moe, "bert-moe-tiny": bert_moe_tiny, "vit": vit, "vit-tiny": vit_tiny,
    "vgg19": vgg19, "resnet-digits": resnet_digits, "branches": branches, "gpt3-175b": gpt3_175b, "gpt2-xl": gpt2_xl, "gpt2-8k": gpt2_8k,
}  # fmt: skip


def build(name: str, *sizes: int) -> Example:
    torch.manual_seed(0)
    example = BY_NAME[name](*sizes)
    example.module.train()
    return example


def write(name: str, path, weights=None, sizes=()) -> dict:
    e = build(name, *sizes)
    return hap_export.export(
        e.module, (), path, kwargs=e.inputs, optimizer=e.optimizer, init=e.init, weights=weights, batch=e.batch
    )


def main(folder: str) -> None:
    """What examples/NAME/make runs: writes graph.json beside itself."""
    name = os.path.basename(folder)
    parser = argparse.ArgumentParser(description="Writes graph.json of this example.")
    sizes = inspect.signature(BY_NAME[name]).parameters
    for size, p in sizes.items():
        parser.add_argument(size, nargs="?", type=int, default=p.default, help=f"({p.default})")
    parser.add_argument("--weights", metavar="FILE", help="write PyTorch's own initial weights too (safetensors)")
    parser.add_argument("-o", default=os.path.join(folder, "graph.json"), metavar="FILE", help="where to")
    options = parser.parse_args()
    write(name, options.o, options.weights, [getattr(options, size) for size in sizes])
