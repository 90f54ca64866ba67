"""The command `summarizer serve`."""

from typing import Any

from summarizer.cli.options import from_options, options_of
from summarizer.serving.options import ServingOptions


@options_of(ServingOptions)
def serve(**values: Any) -> None:
    """Serve a page for the browser and an HTTP interface that summarize texts and files. Needs the extra `serve`."""
    options = from_options(ServingOptions, values)
    from summarizer.optional import import_optional

    import_optional("fastapi", "serve", "serving")
    import_optional("uvicorn", "serve", "serving")
    import_optional("prometheus_client", "serve", "serving")
    from summarizer.serving.run import serve as run

    run(options)
