import json
import shutil

import pytest
from transformers import BertConfig, BertModel, BertTokenizerFast

from summarizer.cli.app import main
from summarizer.errors import InputError
from summarizer.evaluation.bertscore import BertScorer
from summarizer.evaluation.evaluate import EvaluationOptions, evaluate

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    """A tiny BERT with random parameters, whose tokens are letters."""
    folder = tmp_path_factory.mktemp("bert")
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *letters, *(f"##{letter}" for letter in letters)]
    tokenizer = BertTokenizerFast(vocab={token: index for index, token in enumerate(vocabulary)})
    tokenizer.model_max_length = 64
    tokenizer.save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(folder)
    return str(folder)


def test_identical_text_scores_one_another_less_and_an_empty_one_zero(model):
    scorer = BertScorer(model)
    same, other, empty, no_reference = scorer.score(
        ["the cat sat", "the cat sat", " ", "a"], [["the cat sat"], ["zoo"], ["the cat"], [""]]
    )
    assert same == pytest.approx((1, 1, 1), abs=1e-5)
    assert 0 < other.fmeasure < 0.99
    assert empty == no_reference == (0, 0, 0)
    assert scorer.num_layers == 2
    assert BertScorer(model, 1).score(["the cat"], [["zoo"]]) != BertScorer(model, 2).score(["the cat"], [["zoo"]])


def test_of_several_references_the_best_counts_and_long_texts_are_cut(model):
    scorer = BertScorer(model)
    (score,) = scorer.score(["the cat"], [["zoo", "the cat", ""]])
    assert score.fmeasure == pytest.approx(1, abs=1e-5)
    assert len(scorer.score(["a b " * 200], [["the cat"]])) == 1


def test_bert_scores_stand_beside_rouge_with_their_model_in_the_signature(model, write_jsonl, tmp_path):
    predictions = write_jsonl("p.jsonl", [{"id": 1, "summary": "the cat sat."}, {"id": 2, "summary": ""}])
    references = write_jsonl("r.jsonl", [{"id": n, "document": "the cat sat.", "summary": "the cat."} for n in (1, 2)])
    options = EvaluationOptions(bert_score=model, baselines=True, lead_k=1)
    evaluation = evaluate(predictions, references, tmp_path / "s.json", options)
    assert "|bertscore:bert0:layer-2:0." in str(evaluation.signature)
    assert list(evaluation.scores) == ["rouge1", "rouge2", "rougeL", "rougeLsum", "bertscore"]
    lines = [json.loads(line) for line in (tmp_path / "s.examples.jsonl").read_text(encoding="utf-8").splitlines()]
    assert lines[1]["bertscore"]["fmeasure"] == 0
    assert evaluation.scores["bertscore"]["fmeasure"].mean == pytest.approx(lines[0]["bertscore"]["fmeasure"] / 2)
    assert lines[0]["baselines"]["lead-1"]["bertscore"] == pytest.approx(lines[0]["bertscore"])


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"a folder without a model's config\.json"):
        BertScorer(str(tmp_path))
    with pytest.raises(InputError, match=r"--bert-score \./none: no such folder, and not a hub id"):
        BertScorer("./none")
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="does not give the number of layers"):
        BertScorer(str(tmp_path))


def test_a_bert_score_that_fails_leaves_the_rouge_on_disk(model, write_jsonl, tmp_path, monkeypatch):
    path = write_jsonl("p.jsonl", [{"id": 1, "summary": "the cat sat."}])
    without = evaluate(path, path, tmp_path / "without.json").to_json()
    monkeypatch.setattr(BertScorer, "score", lambda *_: 1 / 0)
    with pytest.raises(InputError, match=r"--bert-score /.* failed, but .*s\.json holds the ROUGE scores: division"):
        evaluate(path, path, tmp_path / "s.json", EvaluationOptions(bert_score=model))
    written = json.loads((tmp_path / "s.json").read_text(encoding="utf-8"))
    assert written == json.loads(json.dumps(without))
    assert len((tmp_path / "s.examples.jsonl").read_text(encoding="utf-8").splitlines()) == 1


def test_a_tokenizer_without_a_limit_cuts_texts_to_the_positions_of_the_model(model, tmp_path):
    folder = shutil.copytree(model, tmp_path / "model")
    settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    settings.pop("model_max_length")
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    assert len(BertScorer(str(folder)).score(["a b " * 200], [["the cat"]])) == 1


def test_a_hub_that_does_not_answer_is_said_after_the_rouge_and_before_the_library_is_imported(
    write_jsonl, monkeypatch, capsys
):
    path = write_jsonl("p.jsonl", [{"id": 1, "summary": "the cat sat."}])
    monkeypatch.setattr("summarizer.evaluation.bertscore.model_hub_is_away", lambda name: True)
    monkeypatch.setattr("summarizer.evaluation.bertscore.import_optional", lambda *_: pytest.fail("was imported"))
    with pytest.raises(SystemExit, match="1"):
        main(["evaluate", str(path), str(path), "--bert-score", "nobody/no-such-model"])
    output = capsys.readouterr()
    assert "ROUGE-1" in output.out
    assert "written: " in output.out
    assert output.err.startswith("summarizer: error: --bert-score nobody/no-such-model failed, but ")
    assert output.err.endswith(": the hub cannot be reached, and the model is not in the local cache\n")
