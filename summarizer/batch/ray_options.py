"""The options of `summarizer ray`. No torch and no Ray here."""

from dataclasses import dataclass

from summarizer.settings import check_settings, setting


@dataclass(frozen=True)
class RayOptions:
    """Which cluster is used, and how the work is divided."""

    address: str | None = setting(
        None,
        "Address of the Ray cluster, such as auto or ray://host:10001. By default, Ray is started on this machine.",
    )
    actors: int | None = setting(
        None, "Number of copies of the model. Defaults to one per GPU, or without GPUs to as many as fit.", at_least=1
    )
    cpus_per_actor: int = setting(1, "CPU cores for each copy of the model.", at_least=1)
    gpus_per_actor: float | None = setting(
        None, "GPUs for each copy of the model. Defaults to 1 if the cluster has GPUs.", at_least=0
    )
    documents_per_task: int = setting(
        32, "Number of documents that a copy of the model gets at a time; a lost task is repeated.", at_least=1
    )

    def __post_init__(self) -> None:
        check_settings(self, "")
