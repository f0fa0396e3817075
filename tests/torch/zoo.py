"""The models people train, tiny: one function a family, which makes (module, inputs).

Every configuration is its class's default but for sizes. `sgd`: by SGD at this rate,
where AdamW, which moves a parameter by a whole step though its gradient be rounding alone, makes PyTorch's own
losses differ by percents between f32 and f64. `python tests/torch/zoo.py` tries them
(zoo_run.py); docs/coverage.md is written from what it finds.
"""

from __future__ import annotations

import inspect
import math

import torch
import torch.nn.functional as F
from torch import nn

from zoo_images import VGG, VGG19, ConditionalUNet, DenseNet, ResNet, WaveUNet

BATCH, LENGTH, VOCAB, WIDTH, HEADS, LAYERS = 8, 12, 96, 32, 4, 2
FAMILIES: dict = {}


def family(name, group, **how):
    """Registers a function of no arguments that returns (module, inputs)."""

    def register(f):
        FAMILIES[name] = (group, f, how)
        return f

    return register


def ids(length=LENGTH, vocab=VOCAB, low=5, seed=1):
    g = torch.Generator().manual_seed(seed)
    return torch.randint(low, vocab, (BATCH, length), generator=g)


def some(x, share=0.3, seed=2):
    """x, some of its entries -100: labels that count for nothing."""
    g = torch.Generator().manual_seed(seed)
    return x.masked_fill(torch.rand(x.shape, generator=g) < share, -100)


def padding(length=LENGTH):
    """1 where there is a token, 0 behind a row's end."""
    n = torch.tensor([length - (3 * i) % (length // 2) for i in range(BATCH)])
    return (torch.arange(length) < n[:, None]).long()


def classes(n, shape=(BATCH,), seed=3):
    return torch.randint(0, n, shape, generator=torch.Generator().manual_seed(seed))


def image(channels=3, size=16):
    return torch.randn(BATCH, channels, size, size, generator=torch.Generator().manual_seed(4))


SIZES = dict(
    hidden_size=WIDTH, n_embd=WIDTH, d_model=WIDTH, embed_dim=WIDTH, num_hidden_layers=LAYERS, n_layer=LAYERS,
    num_layers=LAYERS, n_layers=LAYERS, n_head=HEADS, num_attention_heads=HEADS, num_heads=HEADS, n_heads=HEADS,
    intermediate_size=2 * WIDTH, n_inner=2 * WIDTH, ffn_dim=2 * WIDTH, d_ff=2 * WIDTH, hidden_dim=2 * WIDTH,
    ffn_hidden_size=2 * WIDTH, vocab_size=VOCAB, max_position_embeddings=32, n_positions=32, max_seq_len=32,
    encoder_layers=LAYERS, decoder_layers=LAYERS, encoder_attention_heads=HEADS, decoder_attention_heads=HEADS,
    encoder_ffn_dim=2 * WIDTH, decoder_ffn_dim=2 * WIDTH, d_kv=WIDTH // HEADS, embedding_size=WIDTH // 2, dim=WIDTH,
    image_size=16, patch_size=4, rotary_dim=4, head_dim=8, word_embed_proj_dim=WIDTH,
)  # fmt: skip


def config(T, name, **more):
    """The configuration class's defaults, with every size it knows made small; ids of special tokens that
    would lie outside the small vocabulary become 0, 1, 2."""
    cls = getattr(T, name + "Config")
    known = set(inspect.signature(cls.__init__).parameters) | set(getattr(cls, "__annotations__", {}))
    for base in cls.__mro__:
        known |= set(getattr(base, "__annotations__", {}))
    known |= set(getattr(cls, "attribute_map", {}))
    sizes = {k: v for k, v in SIZES.items() if k in known}
    kv = getattr(cls(), "num_key_value_heads", None)
    if kv is not None:
        sizes["num_key_value_heads"] = 2 if kv != cls().num_attention_heads else HEADS
    c = cls(**{**sizes, **more})
    for i, key in enumerate(("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id")):
        v = getattr(c, key, None)
        if isinstance(v, int) and v >= VOCAB:
            setattr(c, key, min(i, 2))
    return c


def hugging(name, head, **more):
    import transformers as T

    torch.manual_seed(0)
    return getattr(T, head)(config(T, name, **more))


def causal(name, title=None, head=None, **more):
    def make():
        x = ids()
        return hugging(name, head or name + "ForCausalLM", **more), dict(input_ids=x, labels=x)

    FAMILIES[title or name] = ("causal language models", make, {})


def masked(name, title=None):
    def make():
        x = ids()
        return hugging(name, name + "ForMaskedLM"), dict(input_ids=x, labels=some(x, 0.6))

    FAMILIES[title or name] = ("encoders", make, {})


for _name, _title in (
    ("Bert", "BERT"), ("DistilBert", "DistilBERT"), ("Roberta", "RoBERTa"), ("Albert", "ALBERT"), ("Electra", "ELECTRA"),
    ("DebertaV2", "DeBERTa-v2"),
):  # fmt: skip
    masked(_name, _title)

causal("GPT2", "GPT-2", "GPT2LMHeadModel")
causal("GPTNeo", "GPT-Neo", attention_types=[[["global", "local"], 1]], window_size=5)
causal("GPTNeoX", "GPT-NeoX")
causal("GPTJ", "GPT-J")
causal("OPT")
causal("Bloom", "BLOOM")
causal("Falcon")
causal("Mpt", "MPT")
causal("Starcoder2", "StarCoder2")
causal("Llama")
causal("Mistral", sliding_window=5)
causal("Qwen2")
causal("Qwen3")
causal("Gemma2", "Gemma-2", sliding_window=5)
causal("Phi3", "Phi-3")
causal("Olmo2", "OLMo-2")
causal("Granite")
for _name, _title in (
    ("Apertus", None), ("Arcee", None), ("BioGpt", "BioGPT"), ("CodeGen", None), ("Cohere", None), ("Cohere2", "Cohere-2"),
    ("Ernie4_5", "ERNIE-4.5"), ("Exaone4", "EXAONE-4"), ("FlexOlmo", "FlexOLMo"), ("Gemma", None), ("Glm", "GLM"),
    ("Glm4", "GLM-4"), ("GPTBigCode", "GPT-BigCode"), ("Helium", None), ("HunYuanDenseV1", "HunYuan"), ("Lfm2", "LFM-2"),
    ("Ministral", None), ("Olmo", "OLMo"), ("Olmo3", "OLMo-3"), ("Persimmon", None), ("Phi", None), ("SeedOss", "Seed-OSS"),
    ("SmolLM3", "SmolLM-3"), ("StableLm", "StableLM"), ("XGLM", None),
):  # fmt: skip
    causal(_name, _title)
causal("Gemma3Text", "Gemma-3", "Gemma3ForCausalLM", sliding_window=5)


def experts(name, title, **more):
    """Mixtures of experts, with the loss that balances them where there is one."""

    def make():
        x = ids()
        return hugging(name, name + "ForCausalLM", output_router_logits=True, **more), dict(input_ids=x, labels=x)

    FAMILIES[title] = ("mixtures of experts", make, {})


experts("Mixtral", "Mixtral", num_local_experts=5)
experts("Qwen3Moe", "Qwen3-MoE", num_experts=8, num_experts_per_tok=3, moe_intermediate_size=24)
experts("Olmoe", "OLMoE", num_experts=6, num_experts_per_tok=3)
experts("Qwen2Moe", "Qwen2-MoE", num_experts=6, moe_intermediate_size=24, shared_expert_intermediate_size=40)
experts("GptOss", "GPT-OSS", num_local_experts=6, num_experts_per_tok=2, sliding_window=5)
experts(
    "DeepseekV3", "DeepSeek-V3", n_routed_experts=8, num_experts_per_tok=3, n_group=4, topk_group=2,
    moe_intermediate_size=24, first_k_dense_replace=1, q_lora_rank=16, kv_lora_rank=16, qk_rope_head_dim=8,
    qk_nope_head_dim=8, v_head_dim=8, num_key_value_heads=4,
)  # fmt: skip


@family("T5", "encoder-decoders")
def _t5():
    return hugging("T5", "T5ForConditionalGeneration", decoder_start_token_id=0), dict(
        input_ids=ids(), labels=some(ids(9, seed=5))
    )


@family("BART", "encoder-decoders")
def _bart():
    return hugging("Bart", "BartForConditionalGeneration"), dict(input_ids=ids(), labels=some(ids(9, seed=5)))


@family("Marian", "encoder-decoders")
def _marian():
    return hugging("Marian", "MarianMTModel"), dict(input_ids=ids(), labels=some(ids(9, seed=5)))


for _name, _title in (("ViT", "ViT"), ("DeiT", "DeiT"), ("Beit", "BEiT")):

    def _vision(name=_name):
        return hugging(name, name + "ForImageClassification"), dict(pixel_values=image(), labels=classes(2))

    FAMILIES[_title] = ("vision", _vision, {})


class MlpMixer(nn.Module):
    """arXiv 2105.01601, figure 1."""

    def __init__(self, size=16, patch=4, width=WIDTH, classes=10):
        super().__init__()
        n = (size // patch) ** 2
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.blocks = nn.ModuleList()
        for _ in range(LAYERS):
            tokens = nn.Sequential(nn.Linear(n, 2 * n), nn.GELU(), nn.Linear(2 * n, n))
            channels = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
            self.blocks.append(nn.ModuleList([nn.LayerNorm(width), tokens, nn.LayerNorm(width), channels]))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, pixels):
        x = self.patches(pixels).flatten(2).transpose(1, 2)
        for norm1, tokens, norm2, channels in self.blocks:
            x = x + tokens(norm1(x).transpose(1, 2)).transpose(1, 2)
            x = x + channels(norm2(x))
        return self.head(self.norm(x).mean(1))


@family("MLP-Mixer", "vision", loss=lambda logits, labels: F.cross_entropy(logits, labels))
def _mixer():
    torch.manual_seed(0)
    return MlpMixer(), dict(pixels=image(), labels=classes(10))


@family("CLIP", "two towers")
def _clip():
    import transformers as T

    torch.manual_seed(0)
    text, vision = config(T, "CLIPText", eos_token_id=VOCAB - 1), config(T, "CLIPVision")
    module = T.CLIPModel(T.CLIPConfig(text_config=text.to_dict(), vision_config=vision.to_dict(), projection_dim=16))
    x = ids(vocab=VOCAB - 1)
    x[torch.arange(BATCH), padding().sum(1) - 1] = VOCAB - 1
    return module, dict(input_ids=x, pixel_values=image(), return_loss=True)


class Dlrm(nn.Module):
    """arXiv 1906.00091: bags of ids and dense features, products of every two, a click's probability."""

    def __init__(self, rows=(40, 25, 60), width=16, dense=13):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(n, width, mode="sum") for n in rows)
        self.bottom = nn.Sequential(nn.Linear(dense, 32), nn.ReLU(), nn.Linear(32, width), nn.ReLU())
        n = len(rows) + 1
        self.register_buffer("pairs", torch.tril_indices(n, n, -1), persistent=False)
        self.top = nn.Sequential(nn.Linear(width + n * (n - 1) // 2, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, dense, bags):
        x = self.bottom(dense)
        t = torch.stack([x] + [table(bags[:, i]) for i, table in enumerate(self.tables)], 1)
        products = torch.bmm(t, t.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([x, products], 1)).squeeze(1)


@family("DLRM", "recommendation", loss=lambda y, clicks: F.binary_cross_entropy_with_logits(y, clicks))
def _dlrm():
    g = torch.Generator().manual_seed(6)
    torch.manual_seed(0)
    bags = torch.randint(0, 25, (BATCH, 3, 4), generator=g)
    return Dlrm(), dict(dense=torch.randn(BATCH, 13, generator=g), bags=bags, clicks=classes(2).float())


# -- what a run asks of a model -------------------------------------------------------------------


def padded():
    x, m = ids(), padding()
    return dict(input_ids=x, attention_mask=m, labels=x.masked_fill(m == 0, -100))


@family("padding mask, encoder", "heads and options")
def _padded_bert():
    return hugging("Bert", "BertForMaskedLM"), padded()


@family("padding mask, decoder", "heads and options")
def _padded_llama():
    return hugging("Llama", "LlamaForCausalLM"), padded()


@family("padding mask, OPT", "heads and options")
def _padded_opt():
    return hugging("OPT", "OPTForCausalLM"), padded()


@family("padding mask, BLOOM", "heads and options")
def _padded_bloom():
    return hugging("Bloom", "BloomForCausalLM"), padded()


@family("padding mask, T5", "heads and options")
def _padded_t5():
    return hugging("T5", "T5ForConditionalGeneration", decoder_start_token_id=0), dict(
        input_ids=ids(), attention_mask=padding(), labels=some(ids(9, seed=5))
    )


@family("sequence classification, BERT", "heads and options")
def _sequence_bert():
    return hugging("Bert", "BertForSequenceClassification"), dict(input_ids=ids(), attention_mask=padding(), labels=classes(2))


@family("sequence classification, GPT-2", "heads and options")
def _sequence_gpt2():
    x = ids().masked_fill(padding() == 0, 0)
    module = hugging("GPT2", "GPT2ForSequenceClassification", pad_token_id=0)
    return module, dict(input_ids=x, labels=classes(2))


@family("regression, BERT", "heads and options")
def _regression():
    module = hugging("Bert", "BertForSequenceClassification", num_labels=1)
    return module, dict(input_ids=ids(), labels=torch.randn(BATCH, generator=torch.Generator().manual_seed(7)))


@family("several labels, BERT", "heads and options")
def _multi_label():
    module = hugging("Bert", "BertForSequenceClassification", num_labels=3, problem_type="multi_label_classification")
    return module, dict(input_ids=ids(), labels=classes(2, (BATCH, 3)).float())


@family("token classification", "heads and options")
def _token():
    return hugging("DistilBert", "DistilBertForTokenClassification"), dict(input_ids=ids(), labels=some(classes(2, (BATCH, LENGTH))))


@family("question answering", "heads and options")
def _answers():
    return hugging("Roberta", "RobertaForQuestionAnswering"), dict(
        input_ids=ids(), start_positions=classes(LENGTH), end_positions=classes(LENGTH, seed=8)
    )


@family("label smoothing", "heads and options", loss=lambda out, target: F.cross_entropy(
    out.logits.flatten(0, 1), target.flatten(), label_smoothing=0.1))  # fmt: skip
def _smoothing():
    return hugging("Llama", "LlamaForCausalLM"), dict(input_ids=ids(), target=some(ids(seed=9)))


@family("checkpointing inside", "heads and options", train=True)
def _checkpointing():
    module = hugging("Llama", "LlamaForCausalLM")
    module.gradient_checkpointing_enable()
    x = ids()
    return module, dict(input_ids=x, labels=x)


@family("frozen parameters", "heads and options")
def _frozen():
    module = hugging("Bert", "BertForSequenceClassification")
    module.bert.embeddings.requires_grad_(False)
    module.bert.encoder.layer[0].requires_grad_(False)
    return module, dict(input_ids=ids(), labels=classes(2))


@family("tied weights", "heads and options")
def _tied():
    x = ids()
    return hugging("Llama", "LlamaForCausalLM", tie_word_embeddings=True), dict(input_ids=x, labels=x)


@family("disentangled attention, DeBERTa-v2", "heads and options")
def _disentangled():
    x = ids()
    module = hugging(
        "DebertaV2", "DebertaV2ForMaskedLM", relative_attention=True, position_buckets=8, norm_rel_ebd="layer_norm",
        share_att_key=True, pos_att_type=["p2c", "c2p"], position_biased_input=False,
    )  # fmt: skip
    return module, dict(input_ids=x, attention_mask=padding(), labels=some(x, 0.6))


@family("VGG19", "vision")
def _vgg19():
    torch.manual_seed(0)
    return VGG(VGG19, 10, 16), dict(x=image(size=32), labels=classes(10))


@family("ResNet-50", "vision", train=True, close=1e-4)
def _resnet50():
    torch.manual_seed(0)
    return ResNet([3, 4, 6, 3], 10, 4), dict(x=image(size=64), labels=classes(10))


def calm(module):
    """Weights that keep values at their size, where the model's own make them 1e-16."""
    for m in module.modules():
        if isinstance(m, torch.nn.Conv2d):
            torch.nn.init.kaiming_normal_(m.weight, mode="fan_out")
    return module


@family("DenseNet-121", "vision", train=True, close=1e-4, sgd=1e-5)
def _densenet():
    torch.manual_seed(0)
    return DenseNet(classes=10, growth=4), dict(x=image(size=64), labels=classes(10))


@family("MobileNetV2, frozen norms", "vision")
def _mobilenet():
    import transformers as T

    torch.manual_seed(0)
    made = T.MobileNetV2Config(image_size=64, depth_multiplier=0.2, min_depth=4, depth_divisible_by=4, num_labels=10)
    return calm(T.MobileNetV2ForImageClassification(made)), dict(pixel_values=image(size=64), labels=classes(10))


@family("EfficientNet-B0", "vision", train=True, close=1e-4, sgd=1e-4)
def _efficientnet():
    import transformers as T

    torch.manual_seed(0)
    made = T.EfficientNetConfig(
        image_size=64, width_coefficient=0.25, depth_coefficient=1.0, hidden_dim=320, num_labels=10, drop_connect_rate=0.0,
        dropout_rate=0.0,
    )  # fmt: skip
    return calm(T.EfficientNetForImageClassification(made)), dict(pixel_values=image(size=64), labels=classes(10))


@family("ConvNeXt-T", "vision")
def _convnext():
    import transformers as T

    torch.manual_seed(0)
    made = T.ConvNextConfig(image_size=64, hidden_sizes=[8, 16, 32, 64], num_labels=10)
    return T.ConvNextForImageClassification(made), dict(pixel_values=image(size=64), labels=classes(10))


@family("U-Net, conditional", "diffusion")
def _unet():
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(11)
    noisy, noise = (torch.randn(BATCH, 4, 8, 8, generator=g) for _ in range(2))
    words = torch.randn(BATCH, 5, 24, generator=g)
    return ConditionalUNet(width=16), dict(noisy=noisy, step=classes(1000), words=words, noise=noise)


@family("U-Net of 12 levels", "sound")
def _wave():
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(12)
    sound, parts = (torch.randn(BATCH, n, 4096, generator=g) for n in (1, 2))
    return WaveUNet(width=2), dict(sound=sound, parts=parts)


@family("Whisper", "sound")
def _whisper():
    module = hugging("Whisper", "WhisperForConditionalGeneration", max_source_positions=12, max_target_positions=16, num_mel_bins=8)
    g = torch.Generator().manual_seed(13)
    return module, dict(input_features=torch.randn(BATCH, 8, 24, generator=g), labels=some(ids(9, seed=5)))


@family("wav2vec 2.0", "sound")
def _wav2vec():
    module = hugging(
        "Wav2Vec2", "Wav2Vec2ForSequenceClassification", conv_dim=[16] * 7, num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=4, num_labels=5, classifier_proj_size=16,
    )  # fmt: skip
    g = torch.Generator().manual_seed(14)
    return module, dict(input_values=torch.randn(BATCH, 2000, generator=g), labels=classes(5))


@family("relative positions, BEiT", "heads and options")
def _beit_relative():
    module = hugging("Beit", "BeitForImageClassification", use_relative_position_bias=True)
    return module, dict(pixel_values=image(), labels=classes(2))


class Carried(nn.Module):
    """Running statistics in buffers that forward updates, and a loss beside a moving average."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(12, WIDTH), nn.Linear(WIDTH, 3)
        self.register_buffer("mean", torch.zeros(WIDTH))
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x, y):
        h = F.softplus(self.first(x))
        self.steps += 1
        self.mean.mul_(0.9).add_(h.detach().mean(0), alpha=0.1)
        h = (h - self.mean).clamp(-2, 2) * torch.cos(h) + torch.sin(h).abs()
        h = torch.maximum(h, h.detach().cumsum(-1) / math.sqrt(WIDTH))
        out = self.last(h[:, ::2].repeat(1, 2)) + h.amax(-1, keepdim=True)
        return F.huber_loss(out, y) + F.mse_loss(out, y) / x.shape[0]


@family("buffers that forward updates", "heads and options")
def _carried():
    g = torch.Generator().manual_seed(10)
    torch.manual_seed(0)
    return Carried(), dict(x=torch.randn(BATCH, 12, generator=g), y=torch.randn(BATCH, 3, generator=g))
