"""What a run is told: frozen data classes, a YAML file over their defaults, `key=value` over both. No torch here."""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from summarizer.errors import InputError
from summarizer.generation_options import GenerationOptions

Split = Literal["train", "validation", "test"]


@dataclass(frozen=True)
class DataConfig:
    """Where the pairs come from and how much of each is read."""

    train: list[str] = field(default_factory=list)  # files, globs, folders, or one hub id
    validation: list[str] = field(default_factory=list)
    test: list[str] = field(default_factory=list)
    hub_name: str | None = None  # the configuration of a hub data set, such as "3.0.0"
    document_column: str | None = None  # None: found among the usual names
    summary_column: str | None = None
    label_column: str | None = None  # of classification
    tokenizer: str | None = None  # a folder, a hub id or "default"; None: that of `pretrained`, or "default"
    max_source_tokens: int | None = None  # None: the whole document
    max_target_tokens: int = 512
    sentence_per_line: bool = True  # each sentence of a document on a line of its own, in training and in use
    max_train_examples: int | None = None
    max_validation_examples: int | None = None
    max_test_examples: int | None = None
    cache_dir: str = "cache"

    def __post_init__(self) -> None:
        _check_at_least(self, "data", 1, "max_source_tokens", "max_train_examples", "max_validation_examples")
        _check_at_least(self, "data", 1, "max_test_examples")
        _check_at_least(self, "data", 2, "max_target_tokens")  # one word and the end

    def entries(self, split: Split) -> tuple[list[str], int | None]:
        """Where a split's rows come from and how many of them are taken, None for all."""
        return getattr(self, split), getattr(self, f"max_{split}_examples")


@dataclass(frozen=True)
class LoraConfig:
    """Low-rank adapters trained in place of the weights (needs peft); `best/` and `last/` are whole models again."""

    r: int = 8  # the rank
    alpha: float = 16.0  # adapters are scaled by alpha / r
    dropout: float = 0.0
    target_modules: list[str] = field(default_factory=list)  # ends of linear layers' names; none: all linear layers

    def __post_init__(self) -> None:
        _check_at_least(self, "training.lora", 1, "r")
        if not 0 <= self.dropout < 1:
            raise InputError(f"training.lora.dropout must be from 0 to below 1, not {self.dropout}")


@dataclass(frozen=True)
class TrainingConfig:
    """How a model is trained. A step is an optimizer step of `batches_per_step` micro-batches over all processes."""

    steps: int = 10_000
    max_minutes: float | None = None  # of training, validation apart; cosine then ends with them or with the steps
    tokens_per_batch: int = 16_384  # source tokens in a micro-batch, padding included
    batches_per_step: int = 1  # micro-batches in a step, shared out over the processes
    optimizer: Literal["adamw", "muon"] = "adamw"  # muon: for the weights of linear layers, adamw for the others
    learning_rate: float = 1e-3
    schedule: Literal["cosine", "inverse_sqrt", "constant"] = "cosine"  # of the learning rate, after the warm-up
    warmup_steps: int = 200  # over which the learning rate rises
    min_learning_rate_ratio: float = 0.05  # where cosine ends
    weight_decay: float = 0.01  # of matrices; norms and biases have none
    adam_betas: list[float] = field(default_factory=lambda: [0.9, 0.98])
    max_grad_norm: float = 1.0  # longer gradients are scaled to it; .inf: no limit
    max_skipped_in_a_row: int = 5  # steps passed over since their loss or gradient is not finite; one more ends the run
    ema_decay: float | None = None  # validate and keep an exponential moving average of the weights, such as 0.999
    label_smoothing: float = 0.0
    mixed_precision: Literal["auto", "no", "bf16", "fp16"] | None = None  # auto: bf16 where fast; None: the launcher's
    gradient_checkpointing: bool = False  # less memory, more time
    split_on_out_of_memory: bool = False  # halve a micro-batch that does not fit and go on, in place of ending
    freeze: list[str] = field(default_factory=list)  # patterns of parameters that stay as they are, such as [*encoder*]
    lora: LoraConfig | None = None  # train low-rank adapters, such as {r: 8}
    num_workers: int = 0  # processes that load batches
    timeout_minutes: float = 60  # a process waits no longer for the others, also while the first one prepares the data
    initial_embeddings: str | None = None  # a model folder or hub id with the same vocabulary
    initial_trunk: str | None = None  # a model of ours that lends all weights but its token mixing's, to compare mixers
    log_every: int = 10  # steps; so the next ones
    validate_every: int = 500
    rouge_examples: int = 32  # validation documents summarized for ROUGE; 0 = none
    save_every: int = 500  # a checkpoint
    keep_checkpoints: int = 2  # the newest
    keep_every: int | None = None  # checkpoints of steps divisible by it stay, too
    best_metric: Literal["loss", "rouge1", "rouge2", "rougeL", "rougeLsum", "accuracy", "macro_f1"] = "loss"
    early_stopping_patience: int | None = None  # validations without a better best_metric
    average_best: int | None = None  # try the mean of the weights of so many best validations at the end, such as 5
    trackers: list[str] = field(default_factory=lambda: ["tensorboard"])  # any that accelerate knows and is installed

    def __post_init__(self) -> None:
        _check_at_least(self, "training", 1, "steps", "tokens_per_batch", "batches_per_step", "early_stopping_patience")
        _check_at_least(self, "training", 1, "keep_every")
        _check_at_least(self, "training", 2, "average_best")
        _check_at_least(self, "training", 1, "log_every", "validate_every", "save_every", "keep_checkpoints")
        _check_at_least(self, "training", 0, "learning_rate", "warmup_steps", "min_learning_rate_ratio", "weight_decay")
        _check_at_least(self, "training", 0, "label_smoothing", "num_workers", "rouge_examples", "max_skipped_in_a_row")
        if self.ema_decay is not None and not 0 < self.ema_decay < 1:
            raise InputError(f"training.ema_decay must be between 0 and 1, not {self.ema_decay}")
        if self.max_minutes is not None and not self.max_minutes > 0:
            raise InputError(f"training.max_minutes must be positive, not {self.max_minutes}")
        if not self.timeout_minutes > 0:
            raise InputError(f"training.timeout_minutes must be positive, not {self.timeout_minutes}")
        if not self.max_grad_norm > 0:
            raise InputError(f"training.max_grad_norm must be positive (.inf: no limit), not {self.max_grad_norm}")
        if self.label_smoothing >= 1:
            raise InputError(f"training.label_smoothing must be less than 1, not {self.label_smoothing}")
        if len(self.adam_betas) != 2 or not all(0 <= beta < 1 for beta in self.adam_betas):
            raise InputError(f"training.adam_betas must be two numbers from 0 to below 1, not {self.adam_betas}")
        if self.best_metric.startswith("rouge") and not self.rouge_examples:
            raise InputError(f"training.best_metric={self.best_metric} needs training.rouge_examples > 0")


def _default_generation() -> GenerationOptions:
    return GenerationOptions(
        num_beams=4,
        max_summary_tokens=512,
        min_summary_tokens=0,
        length_penalty=1.0,
        no_repeat_ngram_size=3,
        no_repeat_words=0,
        early_stopping=True,
    )


@dataclass(frozen=True)
class RunConfig:
    """Everything about one training run."""

    task: Literal["summarization", "classification"] = "summarization"
    name: str = "run"  # the run folder is output_dir/name
    output_dir: str = "runs"
    seed: int = 1
    resume: bool = False  # go on from the newest checkpoint, if there is one
    pretrained: str | None = None  # start from this model (folder, hub id, "default"); None: a new one by `model`
    model: dict[str, Any] = field(default_factory=dict)  # fields of SummarizerConfig, checked where the model is made
    data: DataConfig = field(default_factory=DataConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    generation: GenerationOptions = field(default_factory=_default_generation)

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise InputError(f"seed must be at least 0, not {self.seed}")
        if not self.name or Path(self.name).name != self.name:
            raise InputError(f"name must be the name of a folder, not a path: '{self.name}'")
        training = self.training
        if self.pretrained and training.initial_trunk:
            raise InputError(
                "training.initial_trunk is for a new model, and 'pretrained' names a trained one; give one of them"
            )
        if training.initial_embeddings and training.initial_trunk:
            raise InputError(
                "training.initial_trunk lends the embeddings, too; give it or training.initial_embeddings, not both"
            )
        of_validation = training.best_metric != "loss", training.early_stopping_patience, training.average_best
        if not self.data.validation and any(of_validation):
            raise InputError(
                "training.best_metric, training.early_stopping_patience and training.average_best need data.validation"
            )
        of_classes = training.best_metric in ("accuracy", "macro_f1")
        if training.best_metric != "loss" and of_classes != (self.task == "classification"):
            raise InputError(f"training.best_metric={training.best_metric} is not measured with task={self.task}")


def of_trained_model(config: RunConfig, model: str) -> RunConfig:
    """The run's task and data with a trained model in the place of what its training began from."""
    start = replace(config.training, initial_embeddings=None, initial_trunk=None)
    return replace(config, pretrained=model, model={}, training=start)


def load_config(path: Path, overrides: list[str] | None = None) -> RunConfig:
    """Read a YAML file over the defaults, then `key=value` overrides (dotted keys) over both.

    `base: other.yaml` at the top of a file names another to start from, relative to it. The run's name is the
    file's own unless it is given. Raises InputError that names the key, where it stands, and what is valid.
    """
    config = OmegaConf.structured(RunConfig(name=path.stem))
    for file in _with_bases(path):
        loaded = _load_yaml(file)
        loaded.pop("base", None)
        config = _merge(config, loaded, str(file))
    for override in overrides or []:
        if "=" not in override or override.startswith("="):
            raise InputError(f"'{override}' is not an override; write key=value, such as training.steps=100")
        config = _merge(config, _parse_override(override), f"'{override}'")
    section = "generation."  # whose own messages begin with the key alone
    try:
        OmegaConf.to_object(config.generation)
        section = ""
        run: Any = OmegaConf.to_object(config)
    except OmegaConfBaseException as error:  # a reference ${key} that leads nowhere
        raise InputError(f"{path}: {error.full_key}: {str(error).splitlines()[0]}") from error
    except InputError as error:
        raise InputError(f"{path}: {section}{error}") from None
    return run


def to_yaml(config: RunConfig) -> str:
    """The resolved configuration as YAML, as saved with every run; load_config reads it back."""
    return OmegaConf.to_yaml(OmegaConf.structured(config))


def changed_keys(before: RunConfig, after: RunConfig) -> list[str]:
    """What differs between two configurations of a run, "key: before → after", apart from where it lies."""
    old, new = _flat(asdict(before)), _flat(asdict(after))
    ignored = ("resume", "name", "output_dir", "data.cache_dir")
    return [
        f"{key}: {old.get(key)} → {new.get(key)}"
        for key in {**old, **new}
        if key not in ignored and old.get(key) != new.get(key)
    ]


def _flat(config: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in config.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat


def _with_bases(path: Path) -> list[Path]:
    """The chain of files from the outermost base to `path`."""
    chain = [path]
    while base := _load_yaml(chain[0]).get("base"):
        parent = (chain[0].parent / str(base)).resolve()
        if parent in [file.resolve() for file in chain]:
            raise InputError(f"{chain[0]}: 'base' leads back to {parent}")
        chain.insert(0, parent)
    return chain


def _load_yaml(path: Path) -> Any:
    try:
        loaded = OmegaConf.load(path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such configuration file") from None
    except Exception as error:  # yaml's and omegaconf's errors share no base class
        raise InputError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    if not OmegaConf.is_dict(loaded):
        raise InputError(f"{path}: expected keys and values at the top level")
    return loaded


def _parse_override(override: str) -> Any:
    try:
        return OmegaConf.from_dotlist([override])
    except Exception as error:  # yaml's and omegaconf's errors share no base class
        raise InputError(f"'{override}': not valid YAML: {' '.join(str(error).split())}") from error


def _merge(config: Any, addition: Any, origin: str) -> Any:
    training = addition.get("training")
    if OmegaConf.is_dict(training) and training.get("mixed_precision") is False:
        training["mixed_precision"] = "no"  # YAML reads an unquoted `no` as false
    for name in addition:
        try:
            config = OmegaConf.merge(config, OmegaConf.masked_copy(addition, [name]))
        except (OmegaConfBaseException, TypeError) as error:
            key = getattr(error, "full_key", None) or str(name)
            raise InputError(f"{origin}: {key}: {_reason(error, key, config)}") from error
    return config


def _reason(error: Exception, key: str, config: Any) -> str:
    """What is wrong with the value of `key`, in the user's terms where omegaconf speaks of its own."""
    reason = str(error).splitlines()[0]
    if reason.startswith("Key "):
        parent = OmegaConf.select(config, key.rpartition(".")[0]) if "." in key else config
        return f"unknown key; choose from {', '.join(sorted(str(name) for name in parent))}"
    if reason.startswith("Invalid value assigned"):
        return "expected a list, such as [a, b]"
    if reason.startswith(("Merge error", "Cannot merge")):
        return "expected keys and values of its own"
    return reason


def _check_at_least(section: Any, name: str, least: float, *fields: str) -> None:
    for field_name in fields:
        if (value := getattr(section, field_name)) is not None and not value >= least:
            raise InputError(f"{name}.{field_name} must be at least {least}, not {value}")
