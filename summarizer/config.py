"""The configuration of a training run as frozen data classes. `config_files` reads them from YAML. No torch here."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from summarizer.errors import InputError
from summarizer.generation_options import GenerationOptions
from summarizer.settings import check_settings, setting

Split = Literal["train", "validation", "test"]


@dataclass(frozen=True)
class DataConfig:
    """The training, validation and test data, and how they are read."""

    train: list[str] = setting([], "Training data: files, globs, folders, or one hub id.")
    validation: list[str] = setting([], "Validation data: files, globs, folders, or one hub id.")
    test: list[str] = setting([], "Test data: files, globs, folders, or one hub id. Not used for training.")
    validation_fraction: float | None = setting(
        None,
        "Without `validation`, hold out this fraction of the training documents for validation, such as 0.1. Equal "
        "documents are on the same side.",
        more_than=0,
        less_than=1,
    )
    split_seed: int = setting(1, "Random seed of `validation_fraction`.", at_least=0)
    drop_duplicates: bool = setting(
        False, "Drop training rows that equal an earlier one in document and target. They are counted in any case."
    )
    hub_name: str | None = setting(None, 'Configuration name of a hub data set, such as "3.0.0".')
    document_column: str | None = setting(
        None,
        "Column of the documents. Defaults to the first of `document`, `article`, `text`, `body` and `article_text` "
        "that exists.",
    )
    summary_column: str | None = setting(
        None,
        "Column of the summaries. Defaults to the first usual name that exists, such as `summary`, `abstract` or "
        "`highlights`.",
    )
    label_column: str | None = setting(
        None,
        "Column of the classes in classification. Defaults to the first usual name that exists, such as `label` or "
        "`category`.",
    )
    tokenizer: str | None = setting(
        None, 'Tokenizer: a folder, a hub id or "default". Defaults to the tokenizer of `pretrained`, or "default".'
    )
    max_source_tokens: int | None = setting(
        None, "Documents are truncated to this number of tokens. Null reads whole documents.", at_least=1
    )
    max_target_tokens: int = setting(512, "Summaries are truncated to this number of tokens.", at_least=2)
    source_prefix: str | None = setting(
        None,
        'Text before each document, such as "summarize: " for T5. Defaults to the prefix in the files of `pretrained`. '
        '"" means none. Saved with the model, for summarization only.',
    )
    source_language: str | None = setting(
        None, "Language code of the documents for mBART, NLLB or M2M100, such as en_XX. Defaults to the tokenizer's."
    )
    target_language: str | None = setting(
        None, "Language code of the summaries. Defaults to the tokenizer's, or to that of the documents."
    )
    sentence_per_line: bool = setting(
        True, "Put each sentence of a document on its own line before tokenization. Saved with the model."
    )
    max_train_examples: int | None = setting(None, "Use only the first N training pairs.", at_least=1)
    max_validation_examples: int | None = setting(None, "Use only the first N validation pairs.", at_least=1)
    max_test_examples: int | None = setting(None, "Use only the first N test pairs.", at_least=1)
    cache_dir: str = setting("cache", "Folder for the tokenized data.")

    def __post_init__(self) -> None:
        check_settings(self, "data.")

    def entries(self, split: Split) -> tuple[list[str], int | None]:
        """The files or hub id of a split, and the number of pairs to use; None for all."""
        source = "train" if split == "validation" and self.holds_out_validation else split
        return getattr(self, source), getattr(self, f"max_{split}_examples")

    @property
    def holds_out_validation(self) -> bool:
        """Whether the validation pairs are a part of the training pairs."""
        return self.validation_fraction is not None and not self.validation


@dataclass(frozen=True)
class LoraConfig:
    """Low-rank adapters, trained instead of the weights (needs peft). `best/` and `last/` have them merged in."""

    r: int = setting(8, "Rank of the adapters.", at_least=1)
    alpha: float = setting(16.0, "The output of an adapter is scaled by alpha / r.")
    dropout: float = setting(0.0, "Dropout on the input of an adapter.", at_least=0, less_than=1)
    target_modules: list[str] = setting(
        [], "Names, or ends of names, of the linear layers that get an adapter. If empty, all linear layers get one."
    )

    def __post_init__(self) -> None:
        check_settings(self, "training.lora.")


@dataclass(frozen=True)
class TrainingConfig:
    """How a model is trained. An optimizer step takes `batches_per_step` micro-batches over all processes."""

    steps: int = setting(10_000, "Number of optimizer steps.", at_least=1, heading="Length of the run")
    max_minutes: float | None = setting(
        None,
        "Maximum training time in minutes, without validation. Training ends after this time or after `steps`, "
        "whichever comes first. The cosine schedule ends at the same moment.",
        more_than=0,
    )
    early_stopping_patience: int | None = setting(
        None, "Training ends after this many validations in a row without a better `best_metric`.", at_least=1
    )

    tokens_per_batch: int = setting(
        16_384, "Maximum source tokens in a micro-batch, padding included.", at_least=1, heading="Batches"
    )
    batches_per_step: int = setting(1, "Micro-batches in an optimizer step, divided among the processes.", at_least=1)
    num_workers: int = setting(
        0, "Number of processes that load batches in advance. With 0, training loads them itself.", at_least=0
    )

    optimizer: Literal["adamw", "muon"] = setting(
        "adamw", "Optimizer. `muon` updates the weights of linear layers and leaves the rest to AdamW.",
        heading="Optimizer",
    )  # fmt: skip
    learning_rate: float = setting(1e-3, "Learning rate after the warm-up.", at_least=0)
    weight_decay: float = setting(
        0.01, "Weight decay of weight matrices. Norms and biases are not decayed.", at_least=0
    )
    adam_betas: list[float] = setting([0.9, 0.98], "Decay rates beta1 and beta2 of AdamW.")
    max_grad_norm: float = setting(
        1.0,
        "Gradients with a larger norm are scaled down to this norm. `.inf` means no limit.",
        more_than=0,
        infinite=True,
    )
    label_smoothing: float = setting(0.0, "Label smoothing of the training loss.", at_least=0, less_than=1)
    sentence_loss_weight: float | None = setting(
        None,
        "Weight of the loss of sentence selection beside that of the summary, 10 by default for models that select "
        "sentences. If set, a model that selects none, new or pretrained, gains the selection.",
        more_than=0,
    )
    ema_decay: float | None = setting(
        None,
        "Decay of an exponential moving average of the weights, such as 0.999. If set, the averaged weights are "
        "validated and saved.",
        more_than=0,
        less_than=1,
    )
    max_skipped_in_a_row: int = setting(
        5,
        "A step whose loss or gradient is not finite is skipped. The run fails if more than this many steps in a row "
        "are skipped.",
        at_least=0,
    )

    schedule: Literal["cosine", "inverse_sqrt", "constant"] = setting(
        "cosine", "Schedule of the learning rate after the warm-up.", heading="Learning rate schedule"
    )
    warmup_steps: int = setting(200, "The learning rate rises linearly over this many steps.", at_least=0)
    min_learning_rate_ratio: float = setting(
        0.05, "The cosine schedule ends at this fraction of `learning_rate`.", at_least=0
    )

    initial_embeddings: str | None = setting(
        None, "Start from the token embeddings of this model (folder or hub id). It must have the same vocabulary.",
        heading="Which weights are trained",
    )  # fmt: skip
    initial_trunk: str | None = setting(
        None,
        "Start from all weights of this model (folder or hub id) except its token mixing. It must have the same sizes. "
        "This is useful for comparing encoders.",
    )
    freeze: list[str] = setting(
        [], "Parameters whose names match one of these patterns are not trained. Example: ['*encoder*']."
    )
    lora: LoraConfig | None = setting(None, "Train low-rank adapters instead of the weights. Example: {r: 8}.")

    mixed_precision: Literal["auto", "no", "bf16", "fp16"] | None = setting(
        None,
        "Mixed precision. `auto` chooses bf16 where it is fast, otherwise float32. Null: as set for "
        "`accelerate launch`.",
        heading="Precision, memory and processes",
    )
    gradient_checkpointing: bool = setting(False, "Recompute activations in the backward pass: less memory, more time.")
    split_on_out_of_memory: bool = setting(
        False, "Split a micro-batch in half if it does not fit in memory. If false, the run fails."
    )
    timeout_minutes: float = setting(
        60,
        "A process fails after waiting this many minutes for the others. Preparing the data counts as waiting.",
        more_than=0,
    )

    validate_every: int = setting(500, "Steps between validations.", at_least=1, heading="Validation")
    rouge_examples: int = setting(32, "Number of validation documents to summarize for ROUGE. 0: no ROUGE.", at_least=0)
    best_metric: str = setting(  # one of METRICS, or a metric that a program adds
        "loss",
        "Validation metric that selects the model in `best/`: `loss`, `rouge1`, `rouge2`, `rougeL`, `rougeLsum`, "
        "`average_precision`, `accuracy`, `macro_f1`, or a metric that is passed to `train` in Python.",
    )
    average_best: int | None = setting(
        None,
        "Average the weights of the N best validations at the end of the run. The averaged model is saved if it is "
        "better than `best/`.",
        at_least=2,
    )

    save_every: int = setting(500, "Steps between checkpoints.", at_least=1, heading="Checkpoints")
    keep_checkpoints: int = setting(2, "Number of newest checkpoints to keep.", at_least=1)
    keep_every: int | None = setting(
        None, "Also keep the checkpoints of steps that are a multiple of this number.", at_least=1
    )

    log_every: int = setting(10, "Steps between lines of metrics.jsonl.", at_least=1, heading="Logging")
    trackers: list[str] = setting(
        ["tensorboard"], "Experiment trackers, by their names in accelerate. They must be installed."
    )

    def __post_init__(self) -> None:
        check_settings(self, "training.")
        if len(self.adam_betas) != 2 or not all(0 <= beta < 1 for beta in self.adam_betas):
            raise InputError(f"training.adam_betas must be two numbers from 0 to below 1, not {self.adam_betas}")
        if self.best_metric.startswith("rouge") and not self.rouge_examples:
            raise InputError(f"training.best_metric={self.best_metric} needs training.rouge_examples > 0")


DEFAULT_GENERATION = GenerationOptions(
    num_beams=4, max_summary_tokens=512, min_summary_tokens=0, length_penalty=1.0, no_repeat_ngram_size=3,
    no_repeat_words=0, early_stopping=True,
)  # fmt: skip


METRICS = {  # what validation measures, with the tasks that it is measured for
    "loss": ("summarization", "classification", "selection"),
    **dict.fromkeys(("rouge1", "rouge2", "rougeL", "rougeLsum"), ("summarization",)),
    "average_precision": ("selection", "summarization"),  # of a summarizer only if it selects sentences
    **dict.fromkeys(("accuracy", "macro_f1"), ("classification",)),
}


@dataclass(frozen=True)
class RunConfig:
    """What is trained, on which data, and where the results go."""

    task: Literal["summarization", "classification", "selection"] = setting(
        "summarization", "What the model learns. `selection` scores the sentences of a document."
    )
    name: str = setting("run", "Name of the run. Defaults to the name of the YAML file.")
    output_dir: str = setting("runs", "The run folder is `output_dir/name`.")
    seed: int = setting(1, "Random seed of weights, data order and dropout.", at_least=0, less_than=2**63)
    resume: bool = setting(False, "Continue the run from its newest checkpoint, if there is one.")
    pretrained: str | None = setting(
        None, 'Model to start from: a folder, a hub id or "default". Null makes a new model from `model`.'
    )
    model: dict[str, Any] = setting({}, "Sizes and options of a new model. The last section of this page lists them.")
    data: DataConfig = field(default_factory=DataConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    generation: GenerationOptions = DEFAULT_GENERATION

    def __post_init__(self) -> None:
        check_settings(self, "")
        if not self.name or self.name in (".", "..") or Path(self.name).name != self.name:
            raise InputError(f"name must be the name of a folder, not a path: '{self.name}'")
        if "sentence_per_line" in self.model:
            raise InputError("model.sentence_per_line: set data.sentence_per_line instead; the model stores its value")
        sampling = self.generation.temperature, self.generation.top_p
        if any(value is not None for value in sampling) and not self.generation.do_sample:
            raise InputError("generation.temperature and generation.top_p need generation.do_sample=true")
        training = self.training
        if self.pretrained and self.model:
            raise InputError(
                "'model' describes a new model and 'pretrained' names a trained one; give one of them (model=null "
                "clears the model of a base)"
            )
        if self.pretrained and training.initial_trunk:
            raise InputError("training.initial_trunk is for a new model; remove it or 'pretrained'")
        if training.initial_embeddings and training.initial_trunk:
            raise InputError(
                "training.initial_trunk includes the embeddings; give it or training.initial_embeddings, not both"
            )
        of_validation = training.best_metric != "loss", training.early_stopping_patience, training.average_best
        if not self.data.entries("validation")[0] and any(of_validation):
            raise InputError(
                "training.best_metric, training.early_stopping_patience and training.average_best need data.validation "
                "or data.validation_fraction"
            )
        tasks = METRICS.get(training.best_metric, ("summarization",))  # added metrics are of summaries
        if self.task not in tasks:
            raise InputError(f"training.best_metric={training.best_metric} is not measured with task={self.task}")


def of_trained_model(config: RunConfig, model: str) -> RunConfig:
    """The run's task and data, but starting from a trained model."""
    start = replace(config.training, initial_embeddings=None, initial_trunk=None)
    return replace(config, pretrained=model, model={}, training=start)
