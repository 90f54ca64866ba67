"""From the token ids of summaries to their text: written freely, or grounded in the document's sentences."""

from dataclasses import dataclass
from typing import Any

import torch

from summarizer.data.source_tokens import Source, encode_text, special_ids
from summarizer.data.tokenizer import lowercases
from summarizer.errors import InputError
from summarizer.evidence import Evidence, SourceSpan
from summarizer.generation.clauses import Span
from summarizer.generation.constraints import NoRepeatedWords, NumbersOfDocuments, Pieces
from summarizer.generation.grounding import GroundedWriting, compress, sentences_of
from summarizer.generation.restoring import Casing, Numbers
from summarizer.text import clean_text, statements


@dataclass(frozen=True)
class Wording:
    """The text of one summary, its number of tokens, its evidence if it is grounded, and its score if it has one."""

    text: str
    num_tokens: int
    evidence: Evidence | None = None
    score: float | None = None


class FreeWording:
    """The processors and texts of a batch whose summaries are written freely.

    no_repeat_words: the number of words that may not repeat, or None. known_numbers: whether numbers must be those of
    the document.
    """

    def __init__(
        self,
        pieces: Pieces,
        tokenizer: Any,
        numbers: Numbers,
        sources: list[Source],
        input_ids: torch.Tensor,
        no_repeat_words: int | None,
        known_numbers: bool,
    ) -> None:
        self._tokenizer, self._sources, self._restore = tokenizer, sources, numbers.restore
        self._numbers = NumbersOfDocuments(pieces, input_ids) if known_numbers else None
        self._casings = [Casing(source.text) if lowercases(tokenizer) else None for source in sources]
        self.processors: list[Any] = [NoRepeatedWords(pieces, no_repeat_words)] if no_repeat_words else []
        if self._numbers is not None:
            self.processors.append(self._numbers)

    def of(self, number: int, ids: list[int]) -> Wording:
        """The summary of document `number` of the batch from its text tokens."""
        source, casing = self._sources[number], self._casings[number]
        if self._numbers is not None:
            ids = self._numbers.without_unfinished(number, ids)
        text = self._tokenizer.decode(ids, skip_special_tokens=True)
        text = clean_text(text.replace("\ufffd", ""))  # bytes that are no character
        text = self._restore(text, ids, source.text, source.ids)
        return Wording(text if casing is None else casing.restore(text), len(ids))


class GroundedWording:
    """The processor and texts of a batch whose summaries have lines that are compressions of one sentence each.

    sources: with their sentences, if the model reads one a line. chosen: the indices of the sentences that may be
    written, each with its score, for each document; None for all of those that were read.
    """

    def __init__(
        self,
        pieces: Pieces,
        tokenizer: Any,
        sources: list[Source],
        chosen: list[dict[int, float]] | None,
        line_break: int | None,
        ends: int | list[int],
        max_new_tokens: int,
        prompt_length: int,
    ) -> None:
        if not tokenizer.is_fast:
            raise InputError("grounded writing needs a fast tokenizer, one of the tokenizers library")
        self._texts = [source.text for source in sources]
        self._sentences = [
            _sentences(source, tokenizer, pieces, None if chosen is None else chosen[number])
            for number, source in enumerate(sources)
        ]
        documents = [[each.ids for each in sentences] for sentences in self._sentences]
        scores = None if chosen is None else [[each.score for each in sentences] for sentences in self._sentences]
        self._grounding = GroundedWriting(pieces, documents, line_break, ends, max_new_tokens, prompt_length, scores)
        self.processors: list[Any] = [self._grounding]

    def of(self, number: int, ids: list[int]) -> Wording:
        """The summary of document `number` of the batch from its text tokens; empty where they are not grounded."""
        lines, evidence = [], []
        text, sentences = self._texts[number], self._sentences[number]
        found = self._grounding.lines(number, ids) or []
        for line in sorted(found, key=lambda line: line.sentence):  # as the document orders them
            sentence = sentences[line.sentence]
            lines.append(compress(text, sentence.offsets, line.positions)[0])
            evidence.append([sentence.span(text)])
        return Wording("\n".join(lines), len(ids), evidence)


@dataclass(frozen=True)
class _SentenceTokens:
    """A sentence's token ids, where each stands in the document's text, and the sentence's score."""

    ids: list[int]
    offsets: list[Span]
    score: float = 0.0

    def span(self, text: str) -> SourceSpan:
        """The whole sentence in the text."""
        start, end = self.offsets[0][0], self.offsets[-1][1]
        part = text[start:end]
        start += len(part) - len(part.lstrip())
        end -= len(part) - len(part.rstrip())
        return SourceSpan(start=start, end=end, text=text[start:end])


def _sentences(
    source: Source, tokenizer: Any, pieces: Pieces, chosen: dict[int, float] | None
) -> list[_SentenceTokens]:
    """The sentences that may be written: statements, without what the tokenizer takes for a special token."""
    special = special_ids(tokenizer)
    if source.sentences:
        found = _lines(source, tokenizer, chosen)
    else:
        read = encode_text(tokenizer, source.text)[: source.num_text_tokens]
        offsets = _with_offsets(tokenizer, source.text).offsets[: len(read)]
        found, position = [], 0
        for ids in sentences_of(pieces, read):
            found.append(_SentenceTokens(ids, offsets[position : position + len(ids)]))
            position += len(ids)
    found = [each for each in found if each.ids and not special.intersection(each.ids)]
    return [found[place] for place in statements([each.span(source.text)["text"] for each in found])]


def _lines(source: Source, tokenizer: Any, chosen: dict[int, float] | None) -> list[_SentenceTokens]:
    found: list[_SentenceTokens] = []
    wanted = set(range(len(source.sentences)) if chosen is None else chosen)
    left = source.num_text_tokens  # of the sentences that were read; the last of them perhaps in part
    for index, (start, sentence) in enumerate(zip(source.sentence_starts(), source.sentences, strict=True)):
        if index in wanted:
            tokens = _with_offsets(tokenizer, sentence)
            moved = [(start + begin, start + end) for begin, end in tokens.offsets]
            if chosen is None and left < len(tokens.ids):  # of this one only the beginning was read
                if not found:
                    found.append(_SentenceTokens(tokens.ids[:left], moved[:left]))
                break
            left -= len(tokens.ids) + 1
            found.append(_SentenceTokens(tokens.ids, moved, 0.0 if chosen is None else chosen[index]))
    return found


def _with_offsets(tokenizer: Any, text: str) -> _SentenceTokens:
    found = tokenizer(
        text, add_special_tokens=False, split_special_tokens=True, return_offsets_mapping=True, verbose=False
    )
    return _SentenceTokens(found["input_ids"], found["offset_mapping"])
