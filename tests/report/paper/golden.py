"""Numbers of the paper (arXiv 2602.06717v2), by table, in the words of the printed tables."""

# Table: [(labels of the row, column, value as printed)]
CELLS = {
    "table1": [
        (("Qwen2.5-7B", "GRPO", "0", "1"), "Avg. math", "37.3"),
        (("Qwen2.5-7B", "GRPO", "0", "256"), "AIME24", "37.7"),
        (("Qwen2.5-7B", "F-GRPO", "0.5", "256"), "AIME24", "46.2"),
        (("Qwen2.5-7B", "F-GRPO", "0.5", "256"), "Avg. math", "70.3"),
        (("Llama-3.2-3B-Instruct", "F-CISPO", "0.5", "256"), "GPQA Diamond", "47.7"),
    ],
    "table2": [
        (("GRPO", "2"), "Avg. math @256", "75.0"),
        (("GRPO", "8"), "Δ NLL rare, nats", "0.68"),
        (("F-GRPO", "8"), "Avg. OOD @256", "63.3"),
        (("F-GRPO", "8"), "Δ NLL rare, nats", "0.46"),
    ],
    "table3": [
        (("GRPO, KL penalty",), "Avg. math @256", "72.0"),
        (("DS-GRPO",), "Avg. OOD @256", "68.3"),
        (("F-GRPO",), "Avg. math @1", "38.6"),
        (("GRPO",), "Avg. math @256", "64.1"),
    ],
    "table4": [
        (("8", "F-GRPO", "1"), "@1", "76.3"),
        (("128", "GRPO", "0"), "@128", "76.7"),
        (("128", "GRPO", "0"), "@256", "76.9"),
    ],
    "table6": [
        (("Qwen2.5-7B", "F-DAPO", "2"), "Avg. math @256", "76.8"),
        (("Llama-3.2-3B-Instruct", "F-DAPO", "2"), "Avg. OOD @1", "24.2"),
    ],
    "table7": [
        (("F-CISPO",), "Qwen2.5-7B", "1"),
        (("F-DAPO",), "Llama-3.2-3B-Instruct", "1"),
        (("F-GRPO",), "Qwen3-4B-Base", "0.5"),
    ],
    "table10": [
        (("2", "256"), "AMC23", "97.0"),
        (("32", "1"), "SynLogic", "8.9"),
    ],
    "table11": [
        (("DS-GRPO", "256"), "AIME24", "57.7"),
        (("GRPO, entropy bonus", "1"), "IFEval", "32.1"),
    ],
    "table12": [(("GPQA Diamond", "GRPO", "0"), "@256", "46.2")],
    "table13": [(("GPQA Diamond", "F-CISPO", "0.5"), "@64", "70.8")],
    "table14": [
        (("GPQA Diamond", "GRPO", "0"), "@4", "29.5"),
        (("AIME24", "DAPO", "0"), "@8", "24.8"),
    ],
}
# Rows and numbers of each table.
SIZES = {
    "table1": (36, 396),
    "table2": (6, 30),
    "table3": (6, 24),
    "table4": (18, 54),
    "table6": (36, 144),
    "table7": (3, 9),
    "table10": (10, 110),
    "table11": (8, 88),
    "table12": (54, 486),
    "table13": (54, 486),
    "table14": (54, 486),
}
# Problems of the benchmarks, from their own pages; SynLogic is the easy validation split.
PROBLEMS = {
    "aime24": 30,
    "aime25": 30,
    "amc23": 40,
    "math500": 500,
    "minerva": 272,
    "olympiadbench": 674,
    "ifeval": 541,
    "synlogic": 270,
    "gpqa_diamond": 198,
}
