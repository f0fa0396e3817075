"""The models that PyTorch and hapc are timed on beside each other, from their configurations: name -> module
and what it is called with. No dropout, tied embeddings where the published model has them.

An input is (shape of a row, number of values): whole numbers below that, or floats if it is 0. One that is
the name of another has the same rows.
"""

import functools
import os
import sys

import torch
import transformers
from long_model import TOKENS, Long

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "torch"))
from zoo_images import VGG, VGG19, DenseNet, ResNet, WaveUNet  # noqa: E402


def layers(n):
    """BENCH_LAYERS of them, to compile what is timed later."""
    return int(os.environ.get("BENCH_LAYERS", n))


def causal(tokens, words):
    return {"input_ids": ((tokens,), words), "labels": "input_ids"}


def gpt2():
    config = transformers.GPT2Config(
        attn_pdrop=0, embd_pdrop=0, resid_pdrop=0, use_cache=False, bos_token_id=0, eos_token_id=0)
    return transformers.GPT2LMHeadModel(config), causal(1024, 50257)


def long():
    return Long(), causal(TOKENS, 50257)


def bert():
    config = transformers.BertConfig(
        hidden_dropout_prob=0, attention_probs_dropout_prob=0, max_position_embeddings=128)
    return transformers.BertForMaskedLM(config), causal(128, 30522)


def llama():
    """1.1 billion parameters, 0.26 of them the words' embedding."""
    config = transformers.LlamaConfig(
        vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=layers(16),
        num_attention_heads=32, num_key_value_heads=8, max_position_embeddings=2048,
        tie_word_embeddings=True, use_cache=False)
    return transformers.LlamaForCausalLM(config), causal(2048, 128256)


def llama8b():
    """Llama-3-8B; on the meta device, its parameters have no values."""
    config = transformers.LlamaConfig(
        vocab_size=128256, hidden_size=4096, intermediate_size=14336, num_hidden_layers=layers(32),
        num_attention_heads=32, num_key_value_heads=8, max_position_embeddings=8192, rope_theta=5e5,
        tie_word_embeddings=False, use_cache=False)
    with torch.device("meta"):
        return transformers.LlamaForCausalLM(config), causal(2048, 128256)


def mixtral_of(wide, inside, heads, kv, words, tokens, n_layers=4):
    """Mixtral of few layers of 8 experts; on the meta device. PyTorch runs its experts by grouped_mm."""
    config = transformers.MixtralConfig(
        vocab_size=words, hidden_size=wide, intermediate_size=inside, num_hidden_layers=layers(n_layers),
        num_attention_heads=heads, num_key_value_heads=kv, num_local_experts=8, num_experts_per_tok=2, max_position_embeddings=tokens,
        tie_word_embeddings=False, use_cache=False)
    config._experts_implementation = "grouped_mm"
    with torch.device("meta"):
        return transformers.MixtralForCausalLM(config), causal(tokens, words)


class Crowded(torch.nn.Module):
    """The same with numbers that are added to the router's: [tokens, experts] of each row, which decide what
    a token chooses where they are large."""

    def __init__(self, model):
        super().__init__()
        self.model, self.crowd = model, None
        for layer in model.model.layers:
            layer.mlp.gate.forward = functools.partial(self.choose, layer.mlp.gate)

    def choose(self, gate, hidden):
        logits = torch.nn.functional.linear(hidden.reshape(-1, hidden.shape[-1]), gate.weight) + self.crowd
        weights, chosen = logits.float().softmax(-1).topk(gate.top_k, -1)
        return logits, weights / weights.sum(-1, keepdim=True), chosen

    def forward(self, input_ids, labels, crowd):
        self.crowd = crowd.reshape(-1, crowd.shape[-1])
        return self.model(input_ids=input_ids, labels=labels)


def crowded(model, inputs):
    return Crowded(model), {**inputs, "crowd": ((*inputs["input_ids"][0], 8), 0)}


def mixtral():
    """4 layers of Mixtral-8x7B."""
    return mixtral_of(4096, 14336, 32, 8, 32000, 1024)


def mixtral_crowd():
    return crowded(*mixtral())


def mixtral_slim_crowd():
    """2 layers as wide, experts a quarter as deep inside, few words: 3.3 GB of gradients. Weights of experts still
    take longer to move than rows, so that rows go to experts."""
    return crowded(*mixtral_of(4096, 3584, 32, 8, 4000, 1024, 2))


def mixtral_tiny():
    return mixtral_of(64, 96, 4, 2, 256, 32)


def mixtral_tiny_crowd():
    return crowded(*mixtral_tiny())


def qwen():
    """Qwen2.5-0.5B."""
    config = transformers.Qwen2Config(
        vocab_size=151936, hidden_size=896, intermediate_size=4864, num_hidden_layers=24,
        num_attention_heads=14, num_key_value_heads=2, max_position_embeddings=32768,
        rope_theta=1e6, tie_word_embeddings=True, use_cache=False)
    return transformers.Qwen2ForCausalLM(config), causal(1024, 151936)


def vit():
    """ViT-B/16 of 224 x 224 pixels."""
    module = transformers.ViTForImageClassification(transformers.ViTConfig(num_labels=1000))
    return module, {"pixel_values": ((3, 224, 224), 0), "labels": ((), 1000)}


def t5():
    """T5-base, 512 tokens in and 128 out."""
    config = transformers.T5Config(
        d_model=768, d_ff=3072, num_layers=12, num_heads=12, dropout_rate=0, use_cache=False,
        decoder_start_token_id=0)
    return transformers.T5ForConditionalGeneration(config), {
        "input_ids": ((512,), 32128), "labels": ((128,), 32128)}


def images(module, name="x"):
    """1000 classes of 224 x 224 pixels."""
    return module, {name: ((3, 224, 224), 0), "labels": ((), 1000)}


def vgg19():
    return images(VGG(VGG19, 1000, 1))


def vgg_tiny():
    return VGG(VGG19, 10, 16), {"x": ((3, 32, 32), 0), "labels": ((), 10)}


def resnet50():
    return images(ResNet([3, 4, 6, 3], 1000, 64))


def densenet():
    """DenseNet-121."""
    return images(DenseNet())


def wave_unet():
    """A U-Net of 12 levels, on a second of sound."""
    return WaveUNet(), {"sound": ((1, 16384), 0), "parts": ((2, 16384), 0)}


def convnext():
    """ConvNeXt-T."""
    return images(transformers.ConvNextForImageClassification(transformers.ConvNextConfig(num_labels=1000)), "pixel_values")


MODELS = {f.__name__: f for f in (
    gpt2, long, bert, llama, llama8b, mixtral, mixtral_crowd, mixtral_slim_crowd, mixtral_tiny, mixtral_tiny_crowd,
    qwen, vit, t5, vgg19, vgg_tiny, resnet50, densenet, wave_unet, convnext)}
# Learning rates other than torch_step.py's: so small that losses of two plans can be compared to the end.
RATES = {"mixtral_crowd": 3e-7, "mixtral_tiny_crowd": 1e-4}


def batch(inputs, rows, device="cpu"):
    """Random rows of a model's inputs."""
    out = {}
    for name, what in inputs.items():
        if isinstance(what, str):
            out[name] = out[what]
        elif what[1] == 0:
            out[name] = torch.randn(rows, *what[0], device=device)
        else:
            out[name] = torch.randint(1, what[1], (rows, *what[0]), device=device)
    return out
