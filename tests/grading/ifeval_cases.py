"""Responses written by hand for every type of instruction, with the flags they are to get."""

from typing import Any, NamedTuple


class Case(NamedTuple):
    instruction: str
    given: dict[str, Any]
    response: str
    flags: str  # strict/loose


_LETTER = {"letter": "z", "let_frequency": 2, "let_relation": "at least"}
_SENTENCES = {"num_sentences": 2, "relation": "at least"}
_SECTIONS = {"section_spliter": "SECTION", "num_sections": 2}
_FIRST = {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "However"}
_CAPITALS = {"capital_frequency": 2, "capital_relation": "at least"}
_MANY = {"keyword": "tea", "frequency": 2, "relation": "at least"}
_FEW = {**_MANY, "relation": "less than"}
_SHOUTED = "THE WEATHER WAS FINE AND THEREFORE WE WALKED ALONG THE RIVER IN THE EVENING"
_QUIET = _SHOUTED.lower()

CASES = [
    Case("keywords:existence", {"keywords": ["bridge", "river"]}, "A Bridge, riverside.", "1/1"),
    Case("keywords:existence", {"keywords": ["bridge", "river"]}, "A bridge.", "0/0"),
    Case("keywords:existence", {"keywords": ["bridge"]}, "The first letters: bri*dge*.", "0/1"),
    Case("keywords:frequency", _MANY, "Tea for two, and two for teatime.", "1/1"),
    Case("keywords:frequency", _MANY, "Tea for two.", "0/0"),
    Case("keywords:frequency", _FEW, "Tea for two.", "1/1"),
    Case("keywords:frequency", _FEW, "Tea, tea.", "0/0"),
    Case("keywords:frequency", _FEW, "You asked for tea.\nHere is some tea.", "0/1"),
    Case("keywords:forbidden_words", {"forbidden_words": ["tea", "oil"]}, "Steak, boiled.", "1/1"),
    Case("keywords:forbidden_words", {"forbidden_words": ["tea", "oil"]}, "No Tea!", "0/0"),
    Case("keywords:forbidden_words", {"forbidden_words": ["tea"]}, "No tea:\nmilk.", "0/1"),
    Case("keywords:letter_frequency", _LETTER, "Zigzag", "1/1"),
    Case("keywords:letter_frequency", _LETTER, "Zag", "0/0"),
    Case("keywords:letter_frequency", {**_LETTER, "let_relation": "less than"}, "Zag", "1/1"),
    Case("language:response_language", {"language": "de"}, "Das Wetter war gestern schön und wir sind gewandert.", "1/1"),
    Case("language:response_language", {"language": "de"}, "The weather was fine and we walked along the river.", "0/0"),
    Case("language:response_language", {"language": "kn"}, "ಇಂದು ಹವಾಮಾನ ಚೆನ್ನಾಗಿದೆ", "1/1"),
    Case("language:response_language", {"language": "de"}, "1234 5678", "1/1"),  # of no language
    Case("length_constraints:number_sentences", _SENTENCES, "Dr. Smith left. He was tired.", "1/1"),
    Case("length_constraints:number_sentences", _SENTENCES, "Dr. Smith left at 5 p.m. on Friday.", "0/0"),
    Case("length_constraints:number_sentences", {**_SENTENCES, "relation": "less than"}, "Of course.\nDr. Smith left.", "0/1"),
    Case("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "One.\n***\nTwo.", "1/1"),
    Case("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "One.\n\nTwo.", "0/0"),
    Case("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "One.\n***\nTwo.\n***\nYours", "0/1"),
    Case("length_constraints:number_words", {"num_words": 3, "relation": "at least"}, "one two-three", "1/1"),
    Case("length_constraints:number_words", {"num_words": 3, "relation": "at least"}, "one two", "0/0"),
    Case("length_constraints:number_words", {"num_words": 3, "relation": "less than"}, "one\ntwo three", "0/1"),
    Case("length_constraints:nth_paragraph_first_word", _FIRST, "One.\n\n\"However, two.", "1/1"),
    Case("length_constraints:nth_paragraph_first_word", _FIRST, "However, one.\n\nTwo.", "0/0"),
    Case("length_constraints:nth_paragraph_first_word", _FIRST, "One.\n\n**However**, two.", "0/1"),
    Case("detectable_content:number_placeholders", {"num_placeholders": 2}, "[name], [street]", "1/1"),
    Case("detectable_content:number_placeholders", {"num_placeholders": 2}, "[name, [street]", "0/0"),
    Case("detectable_content:postscript", {"postscript_marker": "P.S."}, "Yours\np. s. More.", "1/1"),
    Case("detectable_content:postscript", {"postscript_marker": "P.S."}, "Yours", "0/0"),
    Case("detectable_content:postscript", {"postscript_marker": "P.P.S"}, "Yours\nP.P.S More.", "1/1"),
    Case("detectable_content:postscript", {"postscript_marker": "P.S."}, "Yours\nP*.S.* More.", "0/1"),
    Case("detectable_format:number_bullet_lists", {"num_bullets": 2}, "* one\n- two", "1/1"),
    Case("detectable_format:number_bullet_lists", {"num_bullets": 2}, "1. one\n2. two", "0/0"),
    Case("detectable_format:number_bullet_lists", {"num_bullets": 2}, "- here\n- one\n- two", "0/1"),
    Case("detectable_format:constrained_response", {}, "Well, My answer is no.", "1/1"),
    Case("detectable_format:constrained_response", {}, "my answer is no.", "0/0"),
    Case("detectable_format:constrained_response", {}, "My answer is **maybe.**", "0/1"),
    Case("detectable_format:number_highlighted_sections", {"num_highlights": 2}, "*one* and *two*", "1/1"),
    Case("detectable_format:number_highlighted_sections", {"num_highlights": 2}, "*one* and * *", "0/0"),
    Case("detectable_format:multiple_sections", _SECTIONS, "SECTION 1\nA\nSECTION 2\nB", "1/1"),
    Case("detectable_format:multiple_sections", _SECTIONS, "Section 1\nA\nSection 2\nB", "0/0"),
    Case("detectable_format:multiple_sections", _SECTIONS, "SECTION **1**\nA\nSECTION **2**\nB", "0/1"),
    Case("detectable_format:json_format", {}, "```json\n{\"a\": [1, null]}\n```", "1/1"),
    Case("detectable_format:json_format", {}, "{'a': 1}", "0/0"),
    Case("detectable_format:json_format", {}, "Here it is:\n{\"a\": 1}", "0/1"),
    Case("detectable_format:json_format", {}, "[" * 100_000, "0/0"),  # deeper than Python recurs
    Case("detectable_format:title", {}, "<<On tea>>\nTea is good.", "1/1"),
    Case("detectable_format:title", {}, "<< >>\nTea is good.", "0/0"),
    Case("detectable_format:title", {}, "<*<On tea>*>", "0/1"),
    Case("combination:two_responses", {}, "Tea.\n******\nMilk.", "1/1"),
    Case("combination:two_responses", {}, "Tea.\n******\nTea.", "0/0"),
    Case("combination:two_responses", {}, "Two:\n******\nTea.\n******\nMilk.", "0/1"),
    Case("combination:repeat_prompt", {"prompt_to_repeat": "Say it."}, " say it. It!", "1/1"),
    Case("combination:repeat_prompt", {"prompt_to_repeat": "Say it."}, "It!", "0/0"),
    Case("combination:repeat_prompt", {"prompt_to_repeat": "Say it."}, "Sure!\nSay it. It!", "0/1"),
    Case("startend:end_checker", {"end_phrase": "The end."}, "It is over. THE END.\"", "1/1"),
    Case("startend:end_checker", {"end_phrase": "The end."}, "The end. Or is it?", "0/0"),
    Case("startend:end_checker", {"end_phrase": "The end."}, "The end.\nAnything else?", "0/1"),
    Case("change_case:capital_word_frequency", _CAPITALS, "GO NOW, please", "1/1"),
    Case("change_case:capital_word_frequency", _CAPITALS, "GO now, please", "0/0"),
    Case("change_case:capital_word_frequency", {**_CAPITALS, "capital_relation": "less than"}, "OF COURSE\nGO now", "0/1"),
    Case("change_case:english_capital", {}, _SHOUTED, "1/1"),
    Case("change_case:english_capital", {}, _SHOUTED.title(), "0/0"),
    Case("change_case:english_capital", {}, "DAS WETTER WAR GESTERN SCHÖN UND WIR SIND GEWANDERT", "0/0"),
    Case("change_case:english_capital", {}, f"Sure:\n{_SHOUTED}", "0/1"),
    Case("change_case:english_lowercase", {}, _QUIET, "1/1"),
    Case("change_case:english_lowercase", {}, _QUIET.capitalize(), "0/0"),
    Case("change_case:english_lowercase", {}, "das wetter war gestern schön und wir sind gewandert", "0/0"),
    Case("change_case:english_lowercase", {}, f"{_QUIET}\nYours", "0/1"),
    Case("punctuation:no_comma", {}, "One; two", "1/1"),
    Case("punctuation:no_comma", {}, "One, two", "0/0"),
    Case("punctuation:no_comma", {}, "Well, here it is:\nOne; two", "0/1"),
    Case("startend:quotation", {}, " \"Quoted.\"\n", "1/1"),
    Case("startend:quotation", {}, "\"Quoted\".", "0/0"),
    Case("startend:quotation", {}, "Sure:\n\"Quoted.\"", "0/1"),
]  # fmt: skip

# Unseeded, langdetect names another language every third to tenth time.
AMBIGUOUS = [
    ("hello", "fi"),
    ("hello world", "en"),
    ("total normal", "it"),
    ("note", "it"),
    ("restaurant", "fr"),
    ("me too", "en"),
]
