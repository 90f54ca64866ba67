import json
import random

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM

from summarizer.config_files import load_config
from summarizer.errors import InputError
from summarizer.generation.summarizer import Summarizer
from summarizer.models import FastformerSummarizerForSentenceSelection
from summarizer.training.loop import train
from summarizer.training.sentence_selection import average_precision
from tests.corpus import sentence, tiny_tokenizer, write_jsonl
from tests.tiny import tiny_model

CONFIG = """
task: selection
data: {{train: [{folder}/train.jsonl], validation: [{folder}/validation.jsonl], tokenizer: {folder}/tokenizer,
       cache_dir: {folder}/cache}}
output_dir: {folder}/runs
training: {{steps: 60, tokens_per_batch: 400, warmup_steps: 5, learning_rate: 0.01, log_every: 20, validate_every: 20,
           save_every: 30, best_metric: average_precision, trackers: []}}
"""
MODEL = """
model: {d_model: 32, encoder_layers: 1, encoder_attention_heads: 4, encoder_ffn_dim: 32, dropout: 0.0, mixer: none,
        sentence_layers: 1, sentence_ffn_dim: 32}
"""


def rows(count, seed):
    """Documents of some sentences; the summary is the one that begins with 'In conclusion'."""
    generator = random.Random(seed)
    made = []
    for number in range(count):
        lines = [sentence(7, seed=1000 * seed + 10 * number + index) for index in range(generator.randint(2, 6))]
        place = generator.randrange(len(lines))
        lines[place] = f"In conclusion {lines[place]}"
        made.append({"id": f"{seed}-{number}", "document": "\n".join(lines), "summary": lines[place]})
    return made


def token_weights(folder):
    return FastformerSummarizerForSentenceSelection.from_pretrained(folder / "last").scorer.comparison.token_weights


@pytest.fixture
def configure(tmp_path):
    write_jsonl(tmp_path / "train.jsonl", rows(60, seed=1))
    write_jsonl(tmp_path / "validation.jsonl", rows(20, seed=2))
    tiny_tokenizer().save_pretrained(tmp_path / "tokenizer")
    path = tmp_path / "base.yaml"
    path.write_text(CONFIG.format(folder=tmp_path) + MODEL, encoding="utf-8")
    (tmp_path / "pretrained.yaml").write_text(CONFIG.format(folder=tmp_path), encoding="utf-8")
    return lambda *overrides, name="base": load_config(tmp_path / f"{name}.yaml", list(overrides))


def test_the_sentence_that_the_summary_repeats_is_learned_and_the_best_model_extracts_it(configure):
    folder = train(configure())
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    validated = [line for line in lines if "average_precision" in line]
    assert validated[-1]["average_precision"] > 0.95
    assert validated[-1]["validation_loss"] < 0.2
    given = rows(20, seed=2)
    summarizer = Summarizer.from_pretrained(str(folder / "best"))
    extracts = summarizer.summarize([row["document"] for row in given], max_sentences=1)
    right = sum(each.text == row["summary"] for each, row in zip(extracts, given, strict=True))
    assert right >= 18
    card = (folder / "best/README.md").read_text(encoding="utf-8")
    assert "from summarizer import FastformerSummarizerForSentenceSelection" in card


def test_a_resumed_run_is_the_straight_run(configure):
    short = ("training.schedule=constant", "training.save_every=4", "training.validate_every=4")
    straight = train(configure("training.steps=8", "name=straight", *short))
    train(configure("training.steps=4", "name=resumed", *short))
    resumed = train(configure("training.steps=8", "name=resumed", "resume=true", *short))
    last = [FastformerSummarizerForSentenceSelection.from_pretrained(each / "last") for each in (straight, resumed)]
    for name, value in last[0].state_dict().items():
        assert torch.equal(value, last[1].state_dict()[name]), name


def test_token_weights_start_at_log_idf_of_the_training_documents(configure):
    folder = train(configure("training.steps=1", "training.learning_rate=0"))
    weights = token_weights(folder)
    token = tiny_tokenizer().convert_tokens_to_ids("▁patients")
    count = sum(token in tiny_tokenizer()(row["document"]).input_ids for row in rows(60, seed=1))
    expected = torch.tensor(61 / (count + 1)).log().clamp(min=0.01).log()
    torch.testing.assert_close(weights[token].detach(), expected)
    zero = train(configure("training.steps=1", "training.learning_rate=0", "model.token_weights_start=zero", "name=0"))
    assert not token_weights(zero).any()


def test_a_summarizer_lends_its_encoder(configure, tmp_path, capsys):
    torch.manual_seed(0)
    summarizer = tiny_model(vocab_size=len(tiny_tokenizer()), pad_token_id=tiny_tokenizer().pad_token_id)
    summarizer.save_pretrained(tmp_path / "summarizer")
    folder = train(configure(f"pretrained={tmp_path}/summarizer", "training.steps=1", "training.learning_rate=0",
                             name="pretrained"))  # fmt: skip
    assert "which pretrained" in capsys.readouterr().err
    selector = FastformerSummarizerForSentenceSelection.from_pretrained(folder / "last")
    for name, value in selector.encoder.state_dict().items():
        assert torch.equal(value, summarizer.model.encoder.state_dict()[name]), name
    assert selector.scorer.comparison.token_weights.any()


def test_what_does_not_fit_the_task_is_named(configure):
    with pytest.raises(InputError, match=r"task=selection needs data\.sentence_per_line=true"):
        train(configure("data.sentence_per_line=false"))
    with pytest.raises(InputError, match=r"training\.best_metric=accuracy is not measured with task=selection"):
        configure("training.best_metric=accuracy")
    with pytest.raises(InputError, match="model: unknown mixer 'fast'"):
        train(configure("model.sentence_mixer=fast"))


def test_average_precision_is_scikit_learns():
    # ranks of the two positives: 1 and 3
    scores, labels = torch.tensor([0.9, 0.1, 0.8, 0.3]), torch.tensor([1, 0, 0, 1])
    assert average_precision(scores, labels) == pytest.approx((1 / 1 + 2 / 3) / 2)


def test_a_summarizer_learns_to_select_and_to_write_and_a_pretrained_one_gains_the_selection(configure, tmp_path):
    options = ["task=summarization", "training.steps=4", "training.validate_every=4", "training.save_every=4"]
    folder = train(configure(*options, "model.sentence_selection=true"))
    last = json.loads((folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    assert {"validation_loss", "average_precision"} <= set(last)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder / "best")
    assert model.scorer.comparison.token_weights.any()
    config = model.config
    tiny = tiny_model(vocab_size=config.vocab_size)
    tiny.save_pretrained(tmp_path / "plain")
    pretrained = [f"pretrained={tmp_path / 'plain'}", f"data.tokenizer={tmp_path / 'tokenizer'}", "name=gained"]
    gained = train(configure(*options, *pretrained, "training.sentence_loss_weight=2", name="pretrained"))
    assert AutoModelForSeq2SeqLM.from_pretrained(gained / "last").config.sentence_selection
    continued = train(configure(*options, f"pretrained={gained / 'last'}", "name=on", name="pretrained"))
    assert (continued / "best" / "model.safetensors").is_file()
