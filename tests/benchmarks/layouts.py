"""Rows in the column layout of each data set on the hub, all written for these tests."""

import json
from pathlib import Path
from typing import Any

SYSTEM = "Please reason step by step, and put your final answer within \\boxed{}."

LAYOUTS: dict[str, list[dict[str, Any]]] = {
    "math500": [
        {"problem": "Half of $1$?", "solution": "", "answer": "\\frac{1}{2}", "subject": "Algebra", "level": 1, "unique_id": "test/a/1.json"},
        {"problem": "A price of two dollars?", "solution": "", "answer": "\\$2", "subject": "Algebra", "level": 3, "unique_id": "test/a/2.json"},
        {"problem": "{{ 1 + 1 }} {% x %} \\boxed{}?", "solution": "", "answer": "[1, 2]", "subject": "Algebra", "level": 1, "unique_id": "test/a/3.json"},
    ],
    "aime24": [{"id": 60, "problem": "Five fives?", "answer": "025", "url": "u", "year": "2024"}],
    "aime25": [{"problem": "Six sixes?", "answer": "36", "id": "0"}],
    "amc23": [{"id": 0, "question": "Three nines?", "answer": 27.0, "url": "u"}],
    "minerva": [{"question": "Speed of light in m/s?", "answer": "3e8", "type": "x", "idx": 0}],
    "olympiadbench": [
        {"id": 1, "question": "Roots of $x^2=1$?", "solution": ["s"], "final_answer": ["$-1,1$"], "context": None, "is_multiple_answer": True, "unit": None, "error": None},
        {"id": 2, "question": "One and two?", "solution": ["s"], "final_answer": ["1", "$2$"], "context": None, "is_multiple_answer": True, "unit": None, "error": None},
    ],
    "gpqa_diamond": [
        {"Question": f"Question {i}?\n", "Correct Answer": f"right {i}\n", "Incorrect Answer 1": "wrong one", "Incorrect Answer 2": "wrong two", "Incorrect Answer 3": "wrong three"}
        for i in range(12)
    ],
    "ifeval": [
        {"key": 7, "prompt": "Write without commas, three words or more.", "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"], "kwargs": [{}, {"relation": "at least", "num_words": 3}]},
        {"key": 8, "prompt": "Answer in lower case.", "instruction_id_list": ["change_case:english_lowercase"], "kwargs": [{}]},
    ],
}  # fmt: skip


def write(folder: Path, benchmark: str, rows: list[dict[str, Any]] | None = None) -> Path:
    """Write rows, those of the layout by default, as a .jsonl file."""
    path = folder / f"{benchmark}.jsonl"
    rows = LAYOUTS[benchmark] if rows is None else rows
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path
