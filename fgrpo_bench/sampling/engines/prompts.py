"""From a problem's prompt to the ids of its tokens."""

from typing import Any

from fgrpo_bench.benchmarks.problems import Prompt
from fgrpo_bench.errors import UserError, quoted


def encode(tokenizer: Any, prompt: Prompt, template: dict[str, Any]) -> list[int]:
    """Return the token ids of a text to continue, or of messages under the chat template.

    A text gets the tokenizer's special tokens; a template brings its own, so that none is doubled.

    Raises:
        UserError: messages for a model without a chat template, or that its template refuses.
    """
    if isinstance(prompt, str):
        ids = tokenizer(prompt).input_ids
    else:
        ids = tokenizer(chat(tokenizer, prompt, template), add_special_tokens=False).input_ids
    if not ids:
        raise UserError("an empty prompt cannot be continued by a model without a first token")
    return list(ids)


def chat(tokenizer: Any, messages: tuple[dict[str, str], ...], template: dict[str, Any]) -> str:
    """Return messages as text under the tokenizer's chat template.

    Raises:
        UserError: there is no template, or it refuses the messages.
    """
    from jinja2 import TemplateError

    if not tokenizer.chat_template:
        raise UserError(
            "the model has no chat template: take one that has, or the task's completion variant"
        )
    try:
        text = tokenizer.apply_chat_template(
            list(messages), tokenize=False, add_generation_prompt=True, **template
        )
    except TemplateError as error:
        raise UserError(
            f"the model's chat template refuses a prompt: {quoted(str(error))}"
        ) from None
    return str(text)


def check_room(prompt: int, response: int, context: int) -> None:
    """Refuse a prompt that leaves a response less room than it may take.

    Args:
        prompt: length of the prompt in tokens.
        response: the most tokens of a response.
        context: how many tokens the model can see.

    Raises:
        UserError: they do not fit.
    """
    if prompt + response > context:
        raise UserError(
            f"a prompt of {prompt} tokens and responses of up to {response} do not fit into the "
            f"model's context of {context}: lower --max-tokens to {max(context - prompt, 0)}, or "
            "take a model with more"
        )
