"""Growing text against decoding at once, and stops that span tokens."""

import pytest

from fgrpo_bench.sampling.engines.text import Growing
from tests.sampling.engines import tiny

WORDS = tiny.tokenizer()


def grow(text: str, *stop: str) -> tuple[str, int, bool]:
    """Feed a text byte by byte, so that every character of several bytes spans tokens."""
    growing = Growing(WORDS, WORDS("Q:").input_ids, stop)
    for token in byte_tokens(text):
        if growing.add(token):
            return growing.end(), growing.tokens, True
    return growing.end(), growing.tokens, False


def byte_tokens(text: str) -> list[int]:
    """The tokens of single bytes, which is not how the tokenizer would split it."""
    byte_level = "".join(
        piece
        for word, _ in WORDS.backend_tokenizer.pre_tokenizer.pre_tokenize_str(text)
        for piece in word
    )
    return [WORDS.convert_tokens_to_ids(character) for character in byte_level]


@pytest.mark.parametrize("text", ["plain words", " déjà 数学 😀!", "😀"])
def test_characters_of_several_bytes_stay_whole(text: str) -> None:
    assert grow(text) == (text, len(text.encode()), False)


def test_a_stop_that_spans_tokens_is_cut() -> None:
    assert grow("42\n\nQ: more", "\n\nQ:") == ("42", 6, True)
    assert grow("où est 数学?", "数学") == ("où est ", 14, True)


def test_the_first_stop_in_the_text_counts() -> None:
    assert grow("a b c", "c", "b", "zzz") == ("a ", 3, True)


def test_the_first_of_two_stops_in_one_token_counts() -> None:
    growing = Growing(WORDS, [], ("ps", "um"))
    token = WORDS.convert_tokens_to_ids("Ġjumps")
    assert token is not None
    assert growing.add(token)
    assert growing.end() == " j"


def test_a_text_before_the_stop_alone_is_empty() -> None:
    assert grow("\n1", "\n") == ("", 1, True)


def test_no_stop_no_cut() -> None:
    assert grow("a\nb", "") == ("a\nb", 3, False)


def test_a_broken_end_is_left_out() -> None:
    growing = Growing(WORDS, [], ())
    for token in byte_tokens("ab数")[:-1]:
        growing.add(token)
    assert growing.end() == "ab"


def test_a_long_run_of_broken_bytes_is_not_kept_waiting() -> None:
    growing = Growing(WORDS, [], ("!",))
    broken = byte_tokens("é")[1]
    for _ in range(100):
        growing.add(broken)
    assert len(growing.text) > 80
    assert growing.add(byte_tokens("!")[0])


def test_the_space_before_a_first_word_is_kept() -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel({"▁is": 0, "▁Paris": 1, "?": 2}, unk_token="?"))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    words = PreTrainedTokenizerFast(tokenizer_object=made)
    assert words.decode([1]) == "Paris"  # why the prompt's end is decoded with it
    growing = Growing(words, [0], ())
    growing.add(1)
    assert growing.end() == " Paris"
