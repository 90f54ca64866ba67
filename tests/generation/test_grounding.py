"""Every line of a grounded summary is a compression of one sentence, and writing it never gets stuck."""

import random
import re

import pytest
import torch
from transformers import LogitsProcessor, LogitsProcessorList

from summarizer.data.source_tokens import encode_text
from summarizer.errors import InputError
from summarizer.generation.beam_search import beam_search
from summarizer.generation.clauses import optional_spans
from summarizer.generation.constraints import Pieces
from summarizer.generation.grounding import SELECTION_WEIGHT, GroundedWriting, compress, sentences_of
from summarizer.padding import pad_with_mask
from tests.corpus import sentence, tiny_tokenizer
from tests.tiny import END, tiny_model

OPENINGS = ["However, ", "In addition, ", "To see more of it, we saw that ", ""]
ASIDES = [" (Fig. 3)", ", which is not small,", ", which is small,", ", therefore,", ""]
LAST = [
    ", whereas 12.5 of the others did",
    ", suggesting that it was not so",
    " (p < 0.05)",
    "; this was found in 3 mice",
    "",
]


def compound(generator):
    """A sentence with clauses that may be left out, and such that may not."""
    seed = generator.randrange(10**6)
    subject, verb = sentence(3, seed)[:-1], generator.choice([" was", " was not", " has 12.5"])
    parts = (generator.choice(OPENINGS), subject, generator.choice(ASIDES), verb, f" {sentence(3, seed + 1)[:-1]}")
    return "".join(parts) + generator.choice(LAST) + "."


def random_document(generator, size):
    return [compound(generator) for _ in range(size)]


@pytest.fixture(scope="module")
def pieces():
    return Pieces(tiny_tokenizer())


@pytest.fixture(scope="module")
def model():
    """A random model with strong opinions."""
    model = tiny_model(vocab_size=len(tiny_tokenizer()), max_source_positions=1000, copy_mechanism=True)
    with torch.no_grad():
        model.lm_head.weight.copy_(3 * torch.randn_like(model.lm_head.weight))
    return model


def encode(document):
    return [encode_text(tiny_tokenizer(), line) for line in document]


def line_break():
    return tiny_tokenizer().convert_tokens_to_ids("\n")


def text_ids(row):
    """The ids written after the start, up to the end token; it must be there."""
    row = row[1:]
    return row[: row.index(END)]


def check(grounding, number, sentences, ids, pieces):
    lines = grounding.lines(number, ids)
    assert lines is not None
    written, parts = [], [[]]
    for token_id in ids:
        if token_id == line_break():
            parts.append([])
        else:
            parts[-1].append(token_id)
    assert len(parts) == len(lines)
    assert len({line.sentence for line in lines}) == len(lines)
    for line, part in zip(lines, parts, strict=True):
        own = sentences[line.sentence]
        assert [own[position] for position in line.positions] == part
        assert list(line.positions) == sorted(set(line.positions))
        assert line.positions[-1] == len(own) - 1
        text = pieces.decode(own)
        kept = [False] * len(text)
        ends = [len(pieces.decode(own[: position + 1])) for position in range(len(own))]
        for position in line.positions:
            start = ends[position - 1] if position else 0
            kept[start : ends[position]] = [True] * (ends[position] - start)
        left_out = {place for place, stays in enumerate(kept) if not stays}
        spans = [span for span in optional_spans(text) if left_out.issuperset(range(*span))]
        assert left_out == {place for span in spans for place in range(*span)}
        for start, end in spans:  # a negation or a number goes only with its whole clause
            assert not re.search(r"\bnot\b", text[start:end])
        written.append(pieces.decode(part).strip())
    return written


SEARCHES = {
    "greedy": {"custom_generate": beam_search},
    "beams": {"num_beams": 3, "early_stopping": True, "length_penalty": 2.0, "custom_generate": beam_search},
    "all beams": {"num_beams": 4, "num_return_sequences": 4, "custom_generate": beam_search},
    "transformers' beams": {"num_beams": 3, "early_stopping": True},
    "samples": {"do_sample": True, "num_return_sequences": 3, "top_p": 0.9},
}


@pytest.mark.parametrize("options", SEARCHES.values(), ids=SEARCHES.keys())
@pytest.mark.parametrize("longest", [12, 60])
def test_every_line_compresses_a_sentence(model, pieces, options, longest):
    generator = random.Random(longest)
    documents = [random_document(generator, size) for size in (1, 4, 2, 7)]
    encoded = [encode(document) for document in documents]
    sources = [tiny_tokenizer()("\n".join(document)).input_ids for document in documents]
    grounding = GroundedWriting(pieces, encoded, line_break(), END, longest)
    torch.manual_seed(0)
    rows = model.generate(
        **pad_with_mask(sources, 0),
        max_new_tokens=longest,
        logits_processor=LogitsProcessorList([grounding]),
        **options,
    ).tolist()
    each = options.get("num_return_sequences", 1)
    for number, (sentences, own) in enumerate(zip(encoded, grounding._documents, strict=True)):
        of_document = rows[number * each : (number + 1) * each]
        if min(sentence.needed[0] for sentence in own._sentences) >= longest:
            assert grounding.lines(number, of_document[0][1:]) is not None  # cut off
            continue
        for rank, row in enumerate(of_document):
            if rank == 0 or grounding.lines(number, text_ids(row)) is not None:
                assert check(grounding, number, sentences, text_ids(row), pieces)


def random_walk(grounding, vocabulary, longest):
    """The ids that a model without any sense writes, whose scores differ a lot."""
    ids = [2]
    while len(ids) <= longest:
        scores = grounding(torch.tensor([ids]), 5 * torch.randn(1, vocabulary))
        assert scores.amax() > -1e5
        ids.append(int(scores.argmax()))
        if ids[-1] == END:
            return ids[1:-1]
    raise AssertionError("it did not end")


@pytest.mark.parametrize("seed", range(12))
def test_no_model_reaches_a_dead_end(pieces, seed):
    torch.manual_seed(seed)
    generator = random.Random(seed)
    document = encode(random_document(generator, generator.randint(1, 6)))
    longest = generator.randint(50, 200)
    grounding = GroundedWriting(pieces, [document], line_break(), END, longest)
    ids = random_walk(grounding, len(pieces.texts), longest)
    assert check(grounding, 0, document, ids, pieces)


def allowed(grounding, written):
    scores = grounding(torch.tensor([[2, *written]]), torch.zeros(1, len(tiny_tokenizer())))
    return (scores[0] > -1e5).nonzero().flatten().tolist()


def test_a_line_ends_with_its_sentence(pieces):
    document = encode(["The patients were treated for weeks.", "However, the results were small (p < 0.05)."])
    grounding = GroundedWriting(pieces, [document], line_break(), END, 100)
    first, second = document
    assert not {END, line_break()} & set(allowed(grounding, []))
    assert allowed(grounding, first[:3]) == [first[3]]
    assert set(allowed(grounding, first)) == {END, line_break()}
    comma = second.index(encode_text(tiny_tokenizer(), "However,")[-1]) + 1
    assert set(allowed(grounding, [*first, line_break()])) == {second[0], second[comma]}  # the first is used
    assert set(allowed(grounding, [*first, line_break(), *second])) == {END}


def test_only_a_choice_has_a_price(pieces):
    document = encode([sentence(5, 1), sentence(6, 2)])
    grounding = GroundedWriting(pieces, [document], line_break(), END, 100)
    logits = torch.randn(3, len(pieces.texts))
    written = [document[0][:4], [*document[1][:3], 7], document[0]]
    scores = torch.cat(
        [grounding(torch.tensor([[2, *ids]]), row[None]) for ids, row in zip(written, logits, strict=True)]
    )
    assert scores[0, document[0][4]] == 0
    assert scores[1].amax() == 0  # not grounded: it may only end
    choices = [line_break(), END]
    torch.testing.assert_close(scores[2, choices], logits[2, choices].log_softmax(dim=0))


def test_scores_of_sentences_count_where_sentences_part(pieces):
    start = "The patients of the second group were treated"
    document = encode([f"{start} for weeks.", f"{start} at home.", sentence(5, 1)])
    grounding = GroundedWriting(pieces, [document], line_break(), END, 100, sentence_scores=[[-3.0, 1.0, -2.0]])
    logits = torch.randn(len(pieces.texts))

    def after(written):
        return grounding(torch.tensor([[2, *written]]), logits[None].clone())[0]

    common = len(encode_text(tiny_tokenizer(), start))
    for written, wanted in [
        ([], {document[0][0]: 1.0, document[2][0]: -2.0}),
        (document[0][:common], {document[0][common]: -3.0, document[1][common]: 1.0}),
        (document[0], {line_break(): 0.0, END: 0.0}),
    ]:
        ids = list(wanted)
        expected = (logits[ids] + SELECTION_WEIGHT * torch.tensor(list(wanted.values()))).log_softmax(dim=0)
        torch.testing.assert_close(after(written)[ids], expected)
    assert after(document[0][:3])[document[0][3]] == 0


def test_no_line_begins_that_does_not_fit(pieces):
    document = encode([sentence(5, 1), sentence(20, 2)])
    short, long = document
    room = len(short) + 1 + len(long) + 1
    roomy = GroundedWriting(pieces, [document], line_break(), END, room)
    assert line_break() in allowed(roomy, short)
    assert set(allowed(GroundedWriting(pieces, [document], line_break(), END, room - 1), short)) == {END}
    assert set(allowed(GroundedWriting(pieces, [document], line_break(), END, len(short) + 1), [])) == {short[0]}


def test_a_repeating_sentence_is_not_written(pieces):
    line, other = sentence(8, 1), sentence(8, 5)
    document = encode([line, f"However, {line[0].lower()}{line[1:]}", other])
    grounding = GroundedWriting(pieces, [document], line_break(), END, 200)
    assert set(allowed(grounding, [*document[0], line_break()])) == {document[2][0]}
    assert [each.sentence for each in grounding.lines(0, [*document[2], line_break(), *document[0]])] == [2, 0]


def test_a_document_without_sentences_has_an_empty_summary(pieces):
    assert set(allowed(GroundedWriting(pieces, [[]], line_break(), END, 99), [])) == {END}


def test_sentences_that_begin_alike_stay_open_until_they_differ(pieces):
    start = "The patients of the second group were treated"
    document = encode([f"{start} for weeks.", f"{start} by us and by others in May.", f"{start} at home."])
    grounding = GroundedWriting(pieces, [document], line_break(), END, 200)
    assert [line.sentence for line in grounding.lines(0, document[1])] == [1]
    together = encode_text(tiny_tokenizer(), start)
    assert set(allowed(grounding, together)) == {each[len(together)] for each in document}


class Forbidding(LogitsProcessor):
    """Forbids tokens that it has seen, and any end, as other constraints do."""

    def __call__(self, input_ids, scores):
        scores = scores.scatter(1, input_ids, -torch.inf)
        scores[:, END] = -torch.inf
        return scores


@pytest.mark.parametrize("num_beams", [1, 2])
def test_what_others_forbid_is_allowed_where_nothing_else_is(model, pieces, num_beams):
    document = random_document(random.Random(3), 2)
    grounding = GroundedWriting(pieces, [encode(document)], line_break(), END, 90)
    row = model.generate(
        **pad_with_mask([tiny_tokenizer()("\n".join(document)).input_ids], 0),
        max_new_tokens=90,
        num_beams=num_beams,
        logits_processor=LogitsProcessorList([Forbidding(), grounding]),
        custom_generate=beam_search,
    )[0].tolist()
    assert check(grounding, 0, encode(document), text_ids(row), pieces)


def test_finished_documents_leave(pieces):
    documents = [encode([sentence(5, seed)]) for seed in range(3)]
    grounding = GroundedWriting(pieces, documents, line_break(), END, 50)
    grounding.keep_documents([0, 2])
    scores = grounding(torch.tensor([[2]] * 4), torch.zeros(4, len(pieces.texts)))
    assert (scores.argmax(dim=1) == torch.tensor([documents[number][0][0] for number in (0, 0, 2, 2)])).all()


@pytest.mark.parametrize("name", ["bart", "t5"])
def test_published_models_write_sentences_without_line_breaks(name, request, tokenizer):
    model = request.getfixturevalue(name)
    pieces = Pieces(tokenizer, model.config.vocab_size)
    document = " ".join(sentence(2, seed) for seed in range(5))
    ids = encode_text(tokenizer, document)
    sentences = sentences_of(pieces, ids)
    assert [token_id for each in sentences for token_id in each] == ids
    assert len(sentences) == 5
    grounding = GroundedWriting(pieces, [sentences], None, 3, 100)
    rows = model.generate(
        **pad_with_mask([ids], 0), max_new_tokens=100, num_beams=2, logits_processor=LogitsProcessorList([grounding])
    ).tolist()
    lines = grounding.lines(0, text_ids(rows[0]))
    assert [sentences[line.sentence][position] for line in lines for position in line.positions] == text_ids(rows[0])
    assert len({line.sentence for line in lines}) == len(lines)


def test_what_is_not_grounded_has_no_lines(pieces):
    grounding = GroundedWriting(pieces, [encode([sentence(5, 1)])], line_break(), END, 50)
    assert grounding.lines(0, encode_text(tiny_tokenizer(), "other words")) is None


def test_a_line_is_written_in_the_words_of_the_document():
    text = "Before.\nIn addition, the Patients  (N = 12)\tof Mr. Wu, which were 1,234, were weak, whereas nobody was."
    begin = text.index("In addition")
    marks = [match.span() for match in re.finditer(r"\s*\w+|\s*[^\w\s]", text[begin:])]
    offsets = [(begin + start, begin + end) for start, end in marks]
    words = [text[start:end].strip() for start, end in offsets]
    kept = [*range(words.index("the"), words.index("(")), *range(words.index("of"), words.index("whereas") - 1)]
    line, spans = compress(text, offsets, [*kept, len(words) - 1])
    assert line == "The Patients of Mr. Wu, which were 1,234, were weak."
    assert [text[start:end] for start, end in spans] == [
        "the Patients",
        "of Mr. Wu, which were 1,234, were weak",
        ".",
    ]


def test_a_model_that_cannot_write_what_it_reads_is_refused(pieces):
    with pytest.raises(InputError, match="cannot be grounded"):
        GroundedWriting(pieces, [[[len(pieces.texts)]]], line_break(), END, 50)
