"""The language of a text, and the sentences of a line in that language."""

import re
from collections.abc import Iterator
from functools import cache

from sentencex import segment  # pyright: ignore[reportAttributeAccessIssue]  # compiled, without types

DEFAULT_LANGUAGE = "en"  # its rules also know the full stops of Chinese, Japanese, Russian and Hindi
_SAMPLE = 4000  # characters by which a language is detected
_MIN_ENGLISH = 0.04  # of an English text's words; other languages have hardly any of these
_ENGLISH = re.compile(r"\b(?:the|of|and|that|with)\b", re.IGNORECASE)

# Abbreviations after which a capital letter may follow, beside those that sentencex has. Of any language but English:
_COMMON = "bd ca cf dr fig hr ing nr pp prof st tel vol"
_ABBREVIATIONS = {
    "cs": "atd č čl cca hl kč mgr mil mld mjr např obr odst os popř pozn př resp ř roč sb str sv tis tj tzn tzv ul",
    "de": "abb abk abs abschn abt allg amtl anh anl anm aufl ausg az begr beil bes betr bez bgbl bl bspw dez dipl doz "
    "ehem eig einschl entspr erl erw est evang exkl fa fam feb fn forts frl geb gebr gegr gem geogr gesch gez ggü grds "
    "griech hg hl hrsg hs hss inh inkl insb inst internat jan jg jh jhd jhdt jur kl komp kt lat leg lfg lit mill mind "
    "mitgl mio mos mrd mtl mwst nachf nachm näml nov nrn od österr okt orig pers pkt pl pos präs priv prot prov qu rd "
    "rep röm rs sa schr schw sek sept sg sog sp spez std stdn stellv str stv sv techn tgl tit tsd tz übers ungar univ "
    "urspr usf verf vergl verh verl vertr vfg vgl vorm vors wiss wö zeitschr zit zus zw zzgl "
    "a b c d e f g h i j k l m n o p q r s t u v w x y z",
    "es": "aprox art av avda cap dra ee núm pág págs sra ud uds",
    "fr": "art chap éd env mlle mm mme p",
    "hu": "dec ép febr id ifj jan kb ker krt nov okt özv old pl sz szept szt ua uo vö",
    "it": "art avv cap dott ecc pag pagg seg segg sig",
    "lt": "akad doc gyv kab kt mln mlrd pan pav pvz red tūkst žr",
    "pl": "art godz im itd itp mgr mld mln np os pkt pl pł por rozdz rys str św tj tys tzw ul ust wg woj zł zob",
    "ro": "alin art cca dl dna dvs jud lit mil mld mun obs op pag pct str urm",
    "sv": "avd bl ev exkl inkl kap kl milj mnr osv resp sid tr",
    "tr": "av cad doç mah müh öğr örn sn sok ünv vb yrd yy",
}
# Those of sentencex, and of ours.
LANGUAGES = sorted({
    *("am", "ar", "bg", "bn", "ca", "da", "de", "el", "en", "es", "fi", "fr", "gu", "hi", "hy", "it", "ja", "kk", "kn"),
    *("ml", "mr", "my", "nl", "pa", "pl", "pt", "ru", "sk", "ta", "te", "uk", *_ABBREVIATIONS),
})  # fmt: skip
# Languages that write ordinal numbers with a full stop.
_WITH_ORDINALS = "bs cs da de et fi hr hu is lt lv nb nn no pl sk sl sr tr"
_ORDINAL = re.compile(r"(?:\d{1,2}|[IVX]{1,5})\.$")
_LAST_WORD = re.compile(r"([^\W\d_]+)\.$")
_OPENING = "\"'“„«»‘‚(["


def detect_language(text: str) -> str:
    """The language of a text by its beginning, in ISO 639-1, such as "de"; "en" if it is English or unclear."""
    sample = text[:_SAMPLE]
    if len(_ENGLISH.findall(sample)) >= _MIN_ENGLISH * len(sample.split()):
        return DEFAULT_LANGUAGE
    import chardet  # slow to import

    return chardet.detect(sample.encode(errors="ignore"))["language"] or DEFAULT_LANGUAGE


def sentences_of(line: str, language: str) -> Iterator[str]:
    """The sentences of a line, with the spaces around them, by the rules of sentencex.

    In other languages than English, a sentence continues after ordinal numbers, initials and more abbreviations, and
    where a small letter follows. A language that sentencex does not know has the rules of English otherwise.
    """
    pieces = segment(language, line)
    if language == DEFAULT_LANGUAGE:
        yield from pieces
        return
    sentence = ""
    for piece in pieces:
        if sentence and not _continues(sentence.rstrip(), piece, language):
            yield sentence
            sentence = ""
        sentence += piece
    if sentence:
        yield sentence


def _continues(sentence: str, following: str, language: str) -> bool:
    """Whether the full stop at the end of `sentence` is that of an abbreviation or a number."""
    following = following.lstrip().lstrip(_OPENING)
    if not sentence.endswith(".") or sentence.endswith("..") or not following:
        return False
    if following[0].islower() or (
        language in _WITH_ORDINALS.split() and _ORDINAL.search(sentence) and following[0].isalpha()
    ):
        return True
    last = _LAST_WORD.search(sentence)
    if last is None:
        return False
    word = last[1]
    return (len(word) == 1 and word.isupper()) or word.lower() in _abbreviations(language)


@cache
def _abbreviations(language: str) -> frozenset[str]:
    return frozenset(f"{_COMMON} {_ABBREVIATIONS.get(language, '')}".split())
