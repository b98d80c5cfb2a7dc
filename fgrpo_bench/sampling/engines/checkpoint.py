"""Which model it is: a folder or a model of the hub, named by its content, never by its path."""

import hashlib
import re
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

from fgrpo_bench.errors import UserError, quoted, shown

# What decides what a checkpoint says; not its optimiser, its logs or its model card.
_CONTENT: Final = (
    *("*.safetensors", "*.safetensors.index.json", "*config.json"),
    *("tokenizer*", "special_tokens_map.json", "added_tokens.json", "vocab.*", "merges.txt"),
    *("*.model", "chat_template.*", "*.jinja"),
)
_HUB_NAME: Final = re.compile(r"\w[\w.-]*(/[\w.-]+)?")
_FAMILIES: Final = {"qwen2": "qwen2.5", "qwen3": "qwen3", "llama": "llama"}
_OPERATIONAL: Final = {
    "batch_size",
    "max_batch_size",
    "device",
    "device_map",
    "parallelize",
    "num_concurrent",
    "max_retries",
    "timeout",
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "data_parallel_size",
    "enable_expert_parallel",
    "distributed_executor_backend",
    "gpu_memory_utilization",
    "kv_cache_memory_bytes",
    "swap_space",
    "cpu_offload_gb",
    "max_num_seqs",
    "max_num_batched_tokens",
    "max_model_len",
    "max_length",
    "block_size",
    "enable_prefix_caching",
    "enable_chunked_prefill",
    "async_scheduling",
    "enforce_eager",
    "compilation_config",
    "disable_custom_all_reduce",
    "disable_log_stats",
    "max_parallel_loading_workers",
    "load_format",
    "download_dir",
    "cache_dir",
    "use_tqdm_on_load",
    "verify_certificate",
    "ca_cert_path",
}
_PRIVATE: Final = re.compile("url|header|auth|key|secret|password|token$")


def find(model: str) -> Path | None:
    """Return the folder of a local checkpoint, or None for a model of the hub.

    Raises:
        UserError: a path without a checkpoint that can be read safely.
    """
    folder = folder_of(model)
    if not folder.is_dir():
        if _HUB_NAME.fullmatch(model) and not folder.exists():
            return None
        raise UserError(f"--model {shown(folder)}: there is no such folder")
    if not (folder / "config.json").is_file():
        adapter = (folder / "adapter_config.json").is_file()
        mend = "an adapter: merge it into its model" if adapter else "there is no config.json"
        raise UserError(f"--model {shown(folder)} is no checkpoint: {mend}")
    if not any(folder.glob("*.safetensors")):
        raise UserError(
            f"--model {shown(folder)}: there are no *.safetensors; pickled weights are not read, "
            "save the model again with save_pretrained"
        )
    return folder


def identify(model: str, config: Any) -> dict[str, Any]:
    """Return name and content hash of a folder, or name and commit of a model of the hub.

    The hash reads all weights: a second or so per GB, which is little beside loading them.

    Args:
        model: as it was asked for.
        config: its configuration as transformers loaded it.
    """
    folder = find(model)
    if folder is None:
        return {"model": model, "revision": getattr(config, "_commit_hash", None)}
    return {"model": folder.resolve().name, "sha256": content_hash(folder)}


def content_hash(folder: Path) -> str:
    """Return one hash over the names and contents of a checkpoint's files."""
    whole = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.is_file() and any(fnmatch(path.name, pattern) for pattern in _CONTENT):
            with path.open("rb") as file:
                whole.update(f"{hashlib.file_digest(file, 'sha256').hexdigest()} ".encode())
            whole.update(f"{path.name}\n".encode())
    return whole.hexdigest()


def family(config: Any) -> str | None:
    """Return the family of a model by its architecture."""
    return _FAMILIES.get(getattr(config, "model_type", ""))


def unreadable(model: str, error: Exception) -> UserError:
    """Turn the error of a loader into one line that says what to try."""
    text = str(error) or type(error).__name__
    first = next((line for line in text.splitlines() if line.strip()), type(error).__name__)
    reason = first if len(first) <= 200 and first.isprintable() else quoted(first)
    if find(model) is None:
        where = f"model {quoted(model)} of the hub"
        mend = "check the name, the network and HF_TOKEN, or give a folder"
    else:
        where, mend = f"--model {shown(Path(model))}", "it must load with transformers"
    return UserError(f"{where} cannot be loaded ({reason}); {mend}")


def deciding(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return those engine arguments that may decide the distribution, as ``showable`` has them.

    What only says how the work is spread, where it is done or who asks is left out; an argument
    that nobody here knows is kept, so that unlike samples are never taken for like.
    """
    return {key: value for key, value in showable(arguments).items() if key not in _OPERATIONAL}


def showable(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return engine arguments without addresses and secrets, and paths without their folders.

    >>> showable({"batch_size": 8, "api_key": "sk-1", "draft": {"hf_token": "hf-1", "n": 2}})
    {'batch_size': 8, 'draft': {'n': 2}}
    """
    return {
        key: _showable(value)
        for key, value in arguments.items()
        if not _PRIVATE.search(str(key).lower())
    }


def _showable(value: Any) -> Any:
    if isinstance(value, dict):
        return showable(value)
    if isinstance(value, list):
        return [_showable(each) for each in value]
    return nameless(value) if isinstance(value, str) else value


def nameless(text: str) -> str:
    """Return a path as its last component and a hash by which two of a name differ.

    The hash is of the content, or of the path where there is none here. Other text stays.
    """
    if text[:1] not in ("/", "~") and "\\" not in text and not Path(text).is_dir():
        return text
    folder = folder_of(text)
    whole = content_hash(folder) if folder.is_dir() else hashlib.sha256(text.encode()).hexdigest()
    return f"{folder.name}:{whole[:12]}"


def folder_of(model: str) -> Path:
    """Return the path that a model's name would be.

    Raises:
        UserError: the home of somebody who is not there.
    """
    try:
        return Path(model).expanduser()
    except RuntimeError:
        raise UserError(f"--model {quoted(model)}: there is no such home folder") from None
