"""Which parts of an English sentence a compression may leave out: what stays is true and whole. No torch here.

The rules know words, not grammar, so they are cautious. They find: brackets; openings such as "however,"; what stands
between two commas before a verb ("X, which is Y, was Z"); and a last clause after a comma or semicolon. Nothing that
holds a negation, a condition or an exception is left out. In other languages little more than brackets is found.
"""

import itertools
import re

Span = tuple[int, int]


def _phrases(text: str) -> str:
    """A pattern of the words or phrases of `text`, separated by "|", with any spaces between their words."""
    return "(?:" + text.strip().replace(" ", r"\s+").replace("|\\s+", "|") + ")"


_PROTECTED = re.compile(
    r"\b(?:no|not|never|none|nor|neither|cannot|nothing|nobody|without|except|unless|only|if|until|but|rather|instead|"
    r"hardly|barely|rarely|seldom|un(?:likely|clear|known|able)|fail\w*|lack\w*|absen\w+|(?:in|non-?)significant\w*|"
    r"however|despite|provided|assuming|otherwise|\w+n['’]t|"
    r"n\.?s)\b|\bp\s*[>≥]",
    re.IGNORECASE,
)
_AUXILIARY = (
    "is|are|was|were|has|have|had|can|could|may|might|must|will|would|shall|should|does|do|did|"
    "remains?|remained|appears?|appeared|seems?|seemed"
)
_VERB = re.compile(
    rf"\b(?:{_AUXILIARY}|(?:we|they|it)\s+\w+|shows?|showed|found|suggests?|suggested|indicates?|indicated|reveals?|"
    r"revealed|demonstrates?|demonstrated|increased|decreased|plays?|played|contains?|contained|led|became|made)\b",
    re.IGNORECASE,
)
_AFTER_ASIDE = re.compile(rf"\s+(?:{_AUXILIARY})\b(?!\s+(?:i|you|we|they|he|she|it|there)\b)", re.IGNORECASE)
_BEFORE_ADVERB = re.compile(rf"\b(?:(?<!\bthat\s)is|(?!is\b)(?:{_AUXILIARY}|and|that|which))\s*\Z", re.IGNORECASE)
_MAYBE_VERB = re.compile(rf"{_VERB.pattern}|\b(?:we|\w+ed)\b", re.IGNORECASE)

# What a rest of a sentence must not end with, nor have before a bracket that is left out.
_DANGLING = re.compile(
    r"(?:\A|[^\w-])(?:a|an|the|of|in|on|at|by|for|from|to|with|within|into|onto|over|under|between|among|through|via|"
    r"per|as|than|like|and|or|but|nor|that|which|who|whose|whether|if|when|while|where|is|are|was|were|be|been|being|"
    r"has|have|had|do|does|did|can|could|may|might|must|will|would|should|see|both|either|neither|not|no|only|using|"
    r"about|against|across|after|before|during|because|since|until|without|its|their|our|this|these|those|each|every|"
    r"such|i\.e|e\.g|namely|called|termed|named|denoted|defined|given)\.?\s*\Z|[^\w\s)\]%.'\"”’]\s*\Z|\A\s*\Z",
    re.IGNORECASE,
)
# What needs the bracket after it: f (x), equation (3).
_BEFORE_ARGUMENT = re.compile(
    r"(?:\A|[^\w-])(?:[a-z]|logs?|ln|exp|min|max|var|cov|pr|poly|functions?|equals?|eqs?|equations?|figs?|figures?|"
    r"tables?|sections?|refs?|references?|steps?|types?|models?|cases?)\.?\s*\Z",
    re.IGNORECASE,
)
_CITATION = re.compile(r"\[[\s\d,;–-]*(?:<\w+>[\s\d,;–-]*)*\]\Z")
_ENUMERATOR = re.compile(r"\W*(?:[a-z]|[ivx]{1,4}|\d{1,2}|<\w+>)\W*\Z", re.IGNORECASE)

_ADVERBS = _phrases(
    "however|therefore|thus|hence|moreover|furthermore|additionally|in addition|in turn|for example|for instance|"
    "of course|in fact|indeed|nevertheless|nonetheless|consequently|accordingly|interestingly|importantly|notably|"
    "surprisingly|unexpectedly|remarkably|strikingly|intriguingly|in contrast|by contrast|in comparison|conversely|"
    "similarly|likewise|as expected|as a result|as a consequence|to our surprise|unfortunately|fortunately"
)
_OPENINGS = _phrases(
    "first|firstly|second|secondly|third|thirdly|finally|lastly|next|then|also|besides|further|subsequently|here|"
    "on the one hand|on the other hand|on the contrary|herein|overall|collectively|altogether|together|"
    "taken together|specifically|more specifically|in particular|"
    "in summary|in conclusion|in sum|to summarize|to conclude|in short|briefly|in brief|in other words|that is|so|"
    "as such|again|meanwhile|of note|clearly|obviously|curiously|to this end|to that end|for this purpose|"
    "for this reason|as a matter of fact|as an example|in this regard|in this context|"
    "in this (?:study|work|paper|article|report|review|section|manuscript)|"
    "in (?:the|our) (?:present|current) (?:study|work|paper|article|report|review)|"
    "in our (?:study|work|paper|article|report|review)"
)
_OPENING = re.compile(
    rf"\s*(?:(?:{_ADVERBS}|{_OPENINGS}|as (?:shown|described|mentioned|discussed|noted|illustrated|depicted) [^,;:]+)"
    r"\s*,(?=\s)"
    r"|(?:(?:in order )?to (?!our\b|date\b|the (?:best|extent)\b|an? )\w+|using|by (?:using|\w+ing)|based on) [^,;:]+"
    r",(?=\s+we\b))"
    r"(?!\s+(?:and|or|but|nor|second|third|which|who|whose|that|as|to)\b)",
    re.IGNORECASE,
)
_ADVERB = re.compile(rf"\s*{_ADVERBS}\s*\Z", re.IGNORECASE)
_RELATIVE = (
    r"(?:(?:(?:both|all|some|many|most|several|one|each|two|<\w+>|\d+)\s+of|in|for|from|by|during|through|with|among)"
    r"\s+)?(?:which|who|whom|whose)"
)
_ASIDE = re.compile(rf"\s+(?:{_RELATIVE}|such\s+as|including)\s+\S+", re.IGNORECASE)
_LAST_CLAUSE = re.compile(
    rf"\s+(?:{_RELATIVE}|while|whereas|although|though|such\s+as|including|thereby\s+\w+ing|thus\s+\w+ing|"
    r"suggesting|indicating|demonstrating|implying|supporting|confirming|highlighting|reflecting|showing|"
    r"leading\s+to|resulting\s+in|making|allowing|enabling|providing|"
    rf"and\s+(?:we|they|it|there|(?:this|these)\b(?=.*{_VERB.pattern})))\s+\S+",
    re.IGNORECASE,
)
_SUBORDINATE = re.compile(
    r"\s*(?:although|though|while|whereas|when|whenever|if|because|since|as|after|before|once|unless|until|given|"
    r"despite)\b",
    re.IGNORECASE,
)
_ADVERBIAL = re.compile(
    rf"{_SUBORDINATE.pattern}|\s*(?:in|on|at|by|for|from|to|with|within|during|under|among|between)\b", re.IGNORECASE
)
_FINAL_MARK = re.compile(r"\s*[.!?…]+[\s\"'”’»)\]]*\Z")
_COMMA = re.compile(r",(?=\s)")
_BRACKETS = {"(": ")", "[": "]"}
_LEAST_WORDS = 4  # of what must stay
_LONGEST = 2000  # characters of what can be a sentence; the time of some patterns grows with their square


def optional_spans(sentence: str) -> list[Span]:
    """Spans (start, end) in characters that may be left out, each alone or with any others that it does not overlap.

    A span begins at the space before it, or at the sentence's start, and ends before the space of what follows.
    """
    if len(sentence) > _LONGEST:
        return []
    brackets = _brackets(sentence)
    spans = _openings(sentence)
    if brackets is not None:
        hidden = _hide(sentence, brackets, "_")
        begin = max((end for _, end in spans), default=0)
        final = _FINAL_MARK.search(hidden)
        spans += [span for span in brackets if _is_aside(sentence, *span)]
        spans += _asides(hidden, begin)
        if final:
            spans += _last_clauses(hidden, begin, final.start())
    spans = [(start, end) for start, end in spans if _is_optional(sentence[start:end])]
    spans = [(len(sentence[:start].rstrip()), end) for start, end in spans]
    return sorted(set(spans)) if _leaves_a_sentence(sentence, spans) else []


def _brackets(sentence: str) -> list[Span] | None:
    """The outermost pairs of brackets; None where they do not match."""
    pairs: list[Span] = []
    opened: list[int] = []
    for index, sign in enumerate(sentence):
        if sign in _BRACKETS:
            opened.append(index)
        elif sign in _BRACKETS.values():
            if not opened or _BRACKETS[sentence[opened[-1]]] != sign:
                return None
            start = opened.pop()
            if not opened:
                pairs.append((start, index + 1))
    return None if opened else pairs


def _hide(sentence: str, spans: list[Span], sign: str) -> str:
    """The sentence with a sign repeated where the spans are."""
    for start, end in spans:
        sentence = sentence[:start] + sign * (end - start) + sentence[end:]
    return sentence


def _is_aside(sentence: str, start: int, end: int) -> bool:
    """Whether a bracket stands apart from the words around it, and they need it neither."""
    before, after = sentence[:start], sentence[end:]
    if _DANGLING.search(before) or _BEFORE_ARGUMENT.search(before):
        return False
    if not before[-1:].isspace() or not re.match(r"\s|[.,;:!?]|\Z", after):
        return False
    if sentence[start] == "[" and not _CITATION.match(sentence[start:end]):
        return False
    if _ENUMERATOR.match(sentence[start:end]) and not re.match(r"\s*[.;]", after):
        return False
    return not re.match(r"\s*[,;:]?\s*[(\[]", after)


def _openings(sentence: str) -> list[Span]:
    spans: list[Span] = []
    begin = 0
    while match := _OPENING.match(sentence, begin):
        spans.append((begin, match.end()))
        begin = match.end()
    return spans


def _asides(sentence: str, begin: int) -> list[Span]:
    """What stands between two commas, both included, and what is before and after them reads on without it."""
    spans = []
    commas = [match.start() for match in _COMMA.finditer(sentence, begin)]
    for start, last in itertools.pairwise(commas):
        before, content, after = sentence[begin:start], sentence[start + 1 : last], sentence[last + 1 :]
        if re.search(r"[;:]|—|--|\s–\s", content):
            continue
        if _ADVERB.match(content):
            if _AFTER_ASIDE.match(after) or _BEFORE_ADVERB.search(before):
                spans.append((start, last + 1))
        elif _ASIDE.match(content) and _AFTER_ASIDE.match(after):
            clause = re.split(r"\bthat\b|[;:]", before)[-1]
            *opening, subject = clause.split(",")
            if opening and not (len(opening) == 1 and _ADVERBIAL.match(clause)):  # the commas may belong together
                continue
            if not _MAYBE_VERB.search(subject) and not _DANGLING.search(subject):
                spans.append((start, last + 1))
    return spans


def _last_clauses(sentence: str, begin: int, end: int) -> list[Span]:
    """A clause at the end of the sentence, from its comma or semicolon to the final mark."""
    spans = []
    text = sentence[begin:end]
    commas = [match.start() for match in _COMMA.finditer(text)]
    if commas and _LAST_CLAUSE.match(text[commas[-1] + 1 :]) and not re.search(r"[;:]", text[commas[-1] :]):
        spans.append((begin + commas[-1], end))
    if text.count(";") == 1:
        start = text.index(";")
        if _VERB.search(text[start:]) and not re.match(r";\s+(?:and|or|nor)\b", text[start:]):
            spans.append((begin + start, end))
    return [(start, end) for start, end in spans if _is_complete(sentence[begin:start])]


def _is_complete(clause: str) -> bool:
    """Whether a clause, without the one that followed it, is a sentence by itself, as far as its words tell."""
    if (
        re.search(r":|\bnot (?:only|just|merely|simply)\b", clause, re.IGNORECASE)
        or _DANGLING.search(clause)
        or not _VERB.search(clause)
    ):
        return False
    return not _SUBORDINATE.match(clause) or bool(_COMMA.search(clause))


def _is_optional(span: str) -> bool:
    quotes = span.count('"') % 2 == 0 and span.count("“") == span.count("”")
    return quotes and not _PROTECTED.search(re.sub(rf"\A\s*,?\s*{_ADVERBS}\s*,", "", span, flags=re.IGNORECASE))


def _leaves_a_sentence(sentence: str, spans: list[Span]) -> bool:
    rest = _hide(sentence, spans, " ")
    return len(re.findall(r"[^\W_]+", rest)) >= _LEAST_WORDS
