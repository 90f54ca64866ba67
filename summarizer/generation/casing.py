"""The capitals of a summary that a lower-casing model wrote, taken from its document."""

import re
from collections import Counter
from collections.abc import Iterator

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
