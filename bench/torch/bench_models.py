"""The models that PyTorch and hapc are timed on beside each other, from their configurations: name -> module
and tokens a row. No dropout, tied embeddings where the published model has them."""

import transformers
from long_model import TOKENS, Long


def gpt2():
    config = transformers.GPT2Config(
        attn_pdrop=0, embd_pdrop=0, resid_pdrop=0, use_cache=False, bos_token_id=0, eos_token_id=0)
    return transformers.GPT2LMHeadModel(config), 1024


def long():
    return Long(), TOKENS


def bert():
    config = transformers.BertConfig(
        hidden_dropout_prob=0, attention_probs_dropout_prob=0, max_position_embeddings=128)
    return transformers.BertForMaskedLM(config), 128


def llama():
    """1.1 billion parameters, 0.26 of them the words' embedding."""
    config = transformers.LlamaConfig(
        vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
        num_attention_heads=32, num_key_value_heads=8, max_position_embeddings=2048,
        tie_word_embeddings=True, use_cache=False)
    return transformers.LlamaForCausalLM(config), 2048


def qwen():
    """Qwen2.5-0.5B."""
    config = transformers.Qwen2Config(
        vocab_size=151936, hidden_size=896, intermediate_size=4864, num_hidden_layers=24,
        num_attention_heads=14, num_key_value_heads=2, max_position_embeddings=32768,
        rope_theta=1e6, tie_word_embeddings=True, use_cache=False)
    return transformers.Qwen2ForCausalLM(config), 1024


MODELS = {f.__name__: f for f in (gpt2, long, bert, llama, qwen)}
