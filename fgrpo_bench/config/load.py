"""Find, read and override presets; every mistake becomes one line that says how to mend it."""

import hashlib
import json
import re
import tomllib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fgrpo_bench.config.schema import MazeConfig
from fgrpo_bench.errors import UserError, suggestion

_PRESETS = files("fgrpo_bench") / "config" / "presets"


def preset_names() -> list[str]:
    """Return the names of the shipped presets."""
    return sorted(item.name[:-5] for item in _PRESETS.iterdir() if item.name.endswith(".toml"))


def describe_preset(name: str) -> str:
    """Return the first comment of a shipped preset, which says what it is."""
    return (_PRESETS / f"{name}.toml").read_text("utf-8").splitlines()[0].removeprefix("# ")


def load_preset(preset: str, overrides: Sequence[str] = ()) -> tuple[str, MazeConfig]:
    """Return a preset's name and its configuration with ``section.key=value`` overrides applied.

    Args:
        preset: name of a shipped preset, or the path of a ``.toml`` file.
        overrides: values are read as TOML; a value that is not TOML counts as text.

    Raises:
        UserError: an unknown or unreadable preset, key or value.
    """
    name, text, where = _read(preset)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"preset {where} is not valid TOML: {error}") from None
    for override in overrides:
        _apply(raw, override)
    try:
        return name, MazeConfig.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "the configuration"
        problem = first["msg"].removeprefix("Value error, ")
        source = f"preset {where}" + (" with --set" if overrides else "")
        raise UserError(f"{source}: {key}: {problem}") from None


def _read(preset: str) -> tuple[str, str, str]:
    path = Path(preset)
    if path.suffix == ".toml":
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", path.stem):
            raise UserError(
                f"preset {preset}: its name becomes a folder, so use letters, digits, . _ and -"
            )
        if path.stem in preset_names():
            raise UserError(
                f"preset {preset}: a shipped preset is called so, and their runs would share a "
                "folder; rename the file"
            )
        try:
            return path.stem, path.read_text("utf-8"), str(path)
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise UserError(f"cannot read preset {path}: {reason}") from None
    names = preset_names()
    if preset in names:
        return preset, (_PRESETS / f"{preset}.toml").read_text("utf-8"), preset
    hint = suggestion(preset, names, "shipped are")
    raise UserError(f"unknown preset '{preset}': {hint} (or give the path of a .toml file)")


def _apply(raw: dict[str, Any], override: str) -> None:
    key, equals, value = override.partition("=")
    section, dot, name = key.strip().partition(".")
    if not equals or not dot:
        raise UserError(f"--set {override}: write section.key=value, such as train.steps=100")
    fields = MazeConfig.model_fields
    _known(override, section, list(fields), "section")
    _known(override, name, list(fields[section].annotation.model_fields), f"key of {section}")  # type: ignore[union-attr]
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value.strip()
    values = raw.setdefault(section, {})
    if isinstance(values, dict):  # if it is not, validation names the section
        values[name] = parsed


def _known(override: str, word: str, words: list[str], what: str) -> None:
    if word not in words:
        hint = suggestion(word, words)
        raise UserError(f"--set {override}: no {what} is called '{word}': {hint}")


def digest(value: object) -> str:
    """Return a short hash of anything that JSON can hold, the same for equal values."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def differences(config: MazeConfig, reference: MazeConfig) -> dict[str, Any]:
    """Return what ``config`` sets otherwise than ``reference``, as {"section.key": value}."""
    ours, theirs = config.model_dump(mode="json"), reference.model_dump(mode="json")
    return {
        f"{section}.{key}": value
        for section, values in ours.items()
        for key, value in values.items()
        if value != theirs[section][key]
    }
