"""What the tokenizer takes from a text and a summary gets back from its document: capitals and numbers."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from summarizer.data.tokenizer import find_numbers, number_ids
from summarizer.models.copying import NEVER

_WORD = re.compile(r"[^\W\d_](?:[^\W_]|[\u0300-\u036f]|(?<=\w)['’](?=\w))*")  # with letters in two parts, as i̇ of İ
_SENTENCE_START = re.compile(r"(?:^|[.!?…]['\"”’)\]]*\s+)\W*$")
_REACH = 12  # characters before a word that tell whether a sentence starts with it


class Casing:
    """How a document writes its words: by the word before and alone, as counts of their forms.

    What stands at the start of a sentence says little about a word, and a line in capitals nothing: such forms count
    only where they hold capitals past the first letter. A word unknown to the document stays as it is.
    """

    def __init__(self, document: str) -> None:
        self._forms: dict[str | tuple[str, str], Counter[str]] = {}
        starts = capitalized = 0
        for line in document.splitlines():
            if line.isupper():
                continue
            for match, before, at_start in _words(line):
                word = match.group()
                starts += at_start
                capitalized += at_start and word[0].isupper()
                if not at_start or any(letter.isupper() for letter in word[1:]):
                    for key in (word.lower(), (before, word.lower())):
                        self._forms.setdefault(key, Counter())[word] += 1
        # Of a document all in capitals nothing is known: its summary is written as usual.
        self._capitalizes_sentences = 2 * capitalized > starts or (not starts and document.isupper())

    def restore(self, summary: str) -> str:
        """The summary with its words written as the document writes them, and its sentences begun as there."""
        return "\n".join(map(self._restore_line, summary.split("\n")))

    def _restore_line(self, line: str) -> str:
        written, position = [], 0
        for match, before, at_start in _words(line):
            form = word = match.group()
            if forms := self._forms.get((before, word.lower())) or self._forms.get(word.lower()):
                form = forms.most_common(1)[0][0]
            if at_start and self._capitalizes_sentences and form.islower():
                first = form[0].upper()
                form = first + form[1:] if first.lower() == form[0] else form  # ß and µ would become other letters
            written += [line[position : match.start()], form]
            position = match.end()
        return "".join([*written, line[position:]])


def _words(line: str) -> Iterator[tuple[re.Match[str], str, bool]]:
    """Each word of a line, the word before it in lower case, and whether it begins a sentence."""
    before = ""
    for match in _WORD.finditer(line):
        context = line[max(0, match.start() - _REACH) : match.start()]
        follows_a_word = context[-2:-1].isalnum()  # nearly always, and far quicker told
        yield match, before, not follows_a_word and bool(_SENTENCE_START.search(context))
        before = match.group().lower()


class Numbers:
    """Writes documents' numbers into summaries of a model that reads and writes a placeholder for each.

    The number meant is the one in the document that the copy mechanism pointed at for the placeholder.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self._model = model
        self._placeholder: str = tokenizer.init_kwargs.get("number_placeholder") or ""
        self.ids = torch.tensor(number_ids(tokenizer), dtype=torch.long, device=model.device)

    def restore(self, text: str, summary_ids: Sequence[int], document: str, source_ids: Sequence[int]) -> str:
        """`text`, decoded from summary_ids, with numbers of `document`, encoded as source_ids, for the placeholders.

        It stays as it is where the model has no copy mechanism.
        """
        parts = text.split(self._placeholder) if self._placeholder else [text]
        if len(parts) == 1 or getattr(self._model, "copying", None) is None:
            return text
        numbers = find_numbers(document, self._placeholder)
        chosen = self._pointed_at(list(source_ids), list(summary_ids))
        if len(chosen) != len(parts) - 1 or max(chosen) >= len(numbers):
            return text
        return parts[0] + "".join(numbers[index] + part for index, part in zip(chosen, parts[1:], strict=True))

    @torch.no_grad()
    def _pointed_at(self, source_ids: list[int], summary_ids: list[int]) -> list[int]:
        """For each placeholder of the summary, the index among the document's that has the best copying score."""
        source = torch.tensor([source_ids], device=self._model.device)
        summary = torch.tensor([summary_ids], device=self._model.device)
        places = torch.isin(source[0], self.ids)  # [N]
        scores = self._model.copy_scores(
            source, self._model.prepare_decoder_input_ids_from_labels(summary)
        )  # [1, T, N]
        written = scores[0, torch.isin(summary[0], self.ids)]
        best = written.masked_fill(~places, NEVER).argmax(dim=-1)
        return (places.cumsum(dim=0)[best] - 1).tolist()
