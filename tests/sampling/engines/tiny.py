"""A tiny random model with a real tokenizer, saved as a checkpoint."""

from pathlib import Path
from typing import Any

from fgrpo_bench.sampling.engines.base import Completion, Engine, Request, Settings

TEXTS = [
    "Q: 12+30=\nA: 42\nQ: 7+5=\nA: 12\nQ: 81+9=\nA: 90\n",
    "the quick brown fox jumps over the lazy dog; le café est déjà prêt, für ärmere Mägde 😀 数学",
]
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message.role }}|>{{ message.content }}"
    "<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
    "{% if mood is defined %}[{{ mood }}]{% endif %}"
)
CHAT = ({"role": "user", "content": "12+30="},)


def tokenizer(vocabulary: int = 384) -> Any:
    """Byte-level BPE with a first token, an end and a chat template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    specials = ["<s>", "</s>", "<|end|>", "<|user|>", "<|assistant|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=specials,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(TEXTS, trainer)
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<s>", eos_token="</s>", chat_template=TEMPLATE
    )


def save(folder: Path, kind: str = "llama", seed: int = 0, context: int = 256) -> Path:
    """Save a random model whose distributions are neither flat nor certain."""
    import torch
    import transformers

    words = tokenizer()
    config_class = {"llama": transformers.LlamaConfig, "qwen2": transformers.Qwen2Config}[kind]
    config = config_class(
        vocab_size=len(words),
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=context,
        bos_token_id=0,
        eos_token_id=1,
        initializer_range=0.3,
        tie_word_embeddings=False,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = transformers.AutoModelForCausalLM.from_config(config)
    model.generation_config.eos_token_id = [1, 2]
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def settings(**changes: Any) -> Settings:
    """Plain sampling of up to 12 tokens."""
    plain: dict[str, Any] = {"temperature": 1.0, "top_p": 1.0, "max_tokens": 12}
    return Settings(**{**plain, **changes})


def sample(engine: Engine, n: int, seed: int = 1, **changes: Any) -> list[Completion]:
    """Return n samples of one prompt."""
    request = Request(changes.pop("prompt", "Q: 7+5="), n, seed)
    return engine.generate([request], settings(**changes))[0]
