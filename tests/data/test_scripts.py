import itertools

import pytest

from summarizer.data.scripts import ScriptCheck
from summarizer.data.source_tokens import SourceEncoder
from summarizer.errors import InputError
from tests.corpus import tiny_tokenizer

ENGLISH = "The cooperative of the harbour met in spring and agreed on new rules for the quay."
RUSSIAN = "Кооператив гавани собрался весной и принял новые правила для причала."


@pytest.mark.parametrize(
    ("text", "script"),
    [
        (RUSSIAN, "Cyrillic"),
        ("港口合作社在春天开会，通过了码头的新规则。", "Chinese characters"),
        ("नमस्ते दुनिया। यह एक वाक्य है।", "Devanagari"),
        ("Η οικονομία της Ελλάδας αναπτύσσεται.", "Greek"),
    ],
)
def test_a_text_in_an_unknown_script_is_refused_and_a_part_of_a_text_is_noted(text, script):
    encoder = SourceEncoder(tiny_tokenizer())
    with pytest.raises(InputError, match=rf"script that the model does not know \({script}\)"):
        encoder.encode(text)
    (note,) = encoder.encode(f"{ENGLISH} {ENGLISH} {text}").notes
    assert f"({script})" in note


@pytest.mark.parametrize(
    "text", [ENGLISH, "Příspěvek – ﬁn α, β and γδ: 5 μg 😀", "Ｆｕｌｌ　ｗｉｄｔｈ", 60 * ENGLISH + "一"]
)
def test_latin_text_with_symbols_has_no_note(text):
    assert ScriptCheck(tiny_tokenizer()).notes(text) == ()


class StubTokenizer:
    """Reads each byte as a token; unknown tokens instead if there is a vocabulary."""

    unk_token = "<unk>"

    def __init__(self, vocabulary=()):
        self._vocabulary = dict.fromkeys(vocabulary, 0)

    def __call__(self, text, **options):
        return type("Encoding", (), {"input_ids": list(text.encode())})

    def convert_ids_to_tokens(self, ids):
        return [self.unk_token if self._vocabulary else chr(token_id) for token_id in ids]

    def get_vocab(self):
        return self._vocabulary


def test_a_script_with_many_words_in_the_vocabulary_is_known():
    words = list(map("".join, itertools.product("бвгджз", repeat=3)))
    assert ScriptCheck(StubTokenizer(words)).notes(RUSSIAN) == ()
    with pytest.raises(InputError, match="Cyrillic"):
        ScriptCheck(StubTokenizer([*words[:20], *"бвгджз"])).notes(RUSSIAN)


def test_a_vocabulary_of_bytes_knows_every_script():
    assert ScriptCheck(StubTokenizer()).notes(RUSSIAN) == ()
