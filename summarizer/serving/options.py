"""The options of `summarizer serve`. No torch here."""

from dataclasses import dataclass

from summarizer.settings import setting

LOOPBACK = ("127.0.0.1", "::1", "localhost")
KEY_VARIABLE = "SUMMARIZER_API_KEY"


@dataclass(frozen=True)
class ServingOptions:
    """All options of the service; the command line makes an option of each."""

    model: str = setting("default", "A model folder, the hub id of any seq2seq model, or default.", option="-m --model")
    device: str = setting("auto", "auto, cpu, cuda, cuda:1, mps … auto prefers an accelerator.")
    dtype: str = setting("auto", "Precision of the model: auto, float32, bfloat16 or float16.")
    host: str = setting(
        "127.0.0.1", f"Address to listen at. Others than this machine's need an API key, in {KEY_VARIABLE}."
    )
    port: int = setting(8000, "Port to listen at; 0 chooses a free one.", at_least=0)
    max_waiting: int = setting(64, "Documents that may wait. More are refused with status 429.", at_least=1)
    max_documents: int = setting(64, "Documents in one request.", at_least=1)
    max_megabytes: float = setting(32.0, "Maximum size of a request.", more_than=0)
    max_seconds: float = setting(300.0, "Time that a request may take. After that it gets status 504.", more_than=0)
    body_seconds: float = setting(30.0, "Time that a client may take to send its request.", more_than=0)
