"""Documents as source tokens: text that looks like a special token stays text, and dropped tokens are counted."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from summarizer.data.scripts import ScriptCheck
from summarizer.errors import InputError
from summarizer.languages import detect_language
from summarizer.text import clean_text, split_sentences


@dataclass(frozen=True)
class Source:
    """A document as the encoder reads it: ids, special ones included, and how many text tokens were dropped.

    text: the document itself, clean, from which its summary may get capitals and numbers; empty from
    `encode_many`. sentences: those of the text, if each was a line for the tokenizer.
    """

    ids: tuple[int, ...]
    num_text_tokens: int
    dropped_tokens: int = 0
    text: str = field(default="", compare=False)  # the encoder does not read it
    notes: tuple[str, ...] = ()  # from `encode`: what the model could not read, in short plain sentences
    sentences: tuple[str, ...] = field(default=(), compare=False)

    def sentence_starts(self) -> list[int]:
        """Where each sentence begins in the text."""
        starts, position = [], 0
        for sentence in self.sentences:
            starts.append(self.text.index(sentence, position))
            position = starts[-1] + len(sentence)
        return starts


class SourceEncoder:
    """Encodes documents for one model: `prompt`, text and special tokens, at most `max_tokens` of them together.

    The end of a longer text is dropped; the tokens that the tokenizer adds at the ends are always kept. With
    `sentence_per_line` each sentence is a line, as it was when a model of ours was trained. The sentences are those of
    `language`; by default, of the language that is detected in each document. With `as_target` the added tokens are
    those of a summary: of a multilingual tokenizer, they name its language.
    """

    def __init__(
        self,
        tokenizer: Any,
        max_tokens: int | None = None,
        prompt: str = "",
        sentence_per_line: bool = False,
        language: str | None = None,
        as_target: bool = False,
    ) -> None:
        self._sentence_per_line = sentence_per_line
        self._language = language
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens
        self._scripts = ScriptCheck(tokenizer)
        probe = encode_text(tokenizer, "a")
        framed = tokenizer(**{"text_target" if as_target else "text": "a"}, verbose=False).input_ids
        start = next((i for i in range(len(framed)) if framed[i : i + len(probe)] == probe), 0)
        self._opening, self._closing = framed[:start], framed[start + len(probe) :]
        self._prompt = encode_text(tokenizer, prompt) if prompt else []
        self._num_added = len(self._opening) + len(self._prompt) + len(self._closing)
        if max_tokens is not None and max_tokens <= self._num_added:
            raise InputError(f"max_source_tokens={max_tokens} leaves no room beside {self._num_added} special tokens")

    def encode(self, document: str) -> Source:
        """Encode a text, cleaned. Raises InputError for a text in a script that the vocabulary lacks."""
        text = clean_text(document)
        sentences = self._sentences(text) if self._sentence_per_line else []
        ids = encode_text(self._tokenizer, "\n".join(sentences) if self._sentence_per_line else text)
        return replace(self._frame(ids), text=text, notes=self._scripts.notes(text), sentences=tuple(sentences))

    def encode_many(self, texts: Sequence[str]) -> list[Source]:
        """Encode clean texts together, faster than one by one."""
        if self._sentence_per_line:
            texts = ["\n".join(self._sentences(text)) for text in texts]
        return [self._frame(ids) for ids in encode_texts(self._tokenizer, texts)]

    def _sentences(self, text: str) -> list[str]:
        return split_sentences(text, language=self._language or detect_language(text))

    def _frame(self, text_ids: list[int]) -> Source:
        kept = text_ids if self._max_tokens is None else text_ids[: self._max_tokens - self._num_added]
        ids = [*self._opening, *self._prompt, *kept, *self._closing]
        return Source(tuple(ids), len(kept), len(text_ids) - len(kept))


def encode_text(tokenizer: Any, text: str) -> list[int]:
    """Ids of `text` without special tokens, neither added nor read into a literal `</s>` or `<pad>` of the text."""
    return encode_texts(tokenizer, [text])[0]


def encode_texts(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """Like `encode_text` for many texts; a fast tokenizer encodes them in parallel."""
    special = special_ids(tokenizer)
    encoded = _encode(tokenizer, list(texts))
    for position, ids in enumerate(encoded):
        if special.intersection(ids):  # a unigram vocabulary knows them as pieces like any other
            text = texts[position]
            for token in sorted(tokenizer.all_special_tokens, key=len, reverse=True):
                if len(token) > 1 and token != tokenizer.unk_token:
                    text = text.replace(token, f"{token[0]} {token[1:]}")
            encoded[position] = [token_id for token_id in _encode(tokenizer, [text])[0] if token_id not in special]
    return encoded


def special_ids(tokenizer: Any) -> frozenset[int]:
    """Ids of all special tokens except the unknown token."""
    return frozenset(tokenizer.all_special_ids) - {tokenizer.unk_token_id}


def _encode(tokenizer: Any, texts: list[str]) -> list[list[int]]:
    return tokenizer(texts, add_special_tokens=False, split_special_tokens=True, verbose=False).input_ids
