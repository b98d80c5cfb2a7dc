"""Engine arguments of the command line: read as JSON, checked against what an engine knows."""

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from fgrpo_bench.errors import UserError, quoted, suggestion


class Options(BaseModel):
    """The arguments that an engine of ours takes, with their defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True)


T = TypeVar("T", bound=Options)


def literals(arguments: Mapping[str, str]) -> dict[str, Any]:
    """Read every value as JSON; what is not JSON counts as text.

    >>> literals({"batch_size": "8", "enforce_eager": "true", "dtype": "float32"})
    {'batch_size': 8, 'enforce_eager': True, 'dtype': 'float32'}
    """
    return {key: _literal(text) for key, text in arguments.items()}


def _literal(text: str) -> Any:
    if text in ("True", "False"):  # as lm-eval and vLLM write them
        return text == "True"
    try:
        return json.loads(text)
    except ValueError:
        return text


def read_options(kind: type[T], engine: str, arguments: Mapping[str, str]) -> T:
    """Return the arguments of one engine.

    Raises:
        UserError: an argument that the engine does not take, or a value that does not fit.
    """
    for key in arguments:
        if key not in kind.model_fields:
            hint = suggestion(key, kind.model_fields)
            raise UserError(f"--engine-arg {quoted(key)[1:-1]}: {engine} has no such one: {hint}")
    try:
        return kind.model_validate(literals(arguments))
    except ValidationError as error:
        first = error.errors()[0]
        key = str(first["loc"][0])
        problem = first["msg"].removeprefix("Value error, ")
        value = quoted(arguments[key])[1:-1]
        raise UserError(f"--engine-arg {key}={value}: {problem}") from None
