"""Making our models known to transformers' Auto classes, without importing transformers, and torch, any sooner."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


def register_with_transformers() -> None:
    """Register the models with transformers' Auto classes: now if it is imported, else right after its import."""
    if "transformers" in sys.modules:
        import_module("summarizer.models")
    else:
        sys.meta_path.insert(0, _AfterTransformers())


class _AfterTransformers(MetaPathFinder):
    """Finds transformers as usual, and lets summarizer.models (which registers itself) follow its import."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "transformers":
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, (finder.find_spec(fullname, path, target) for finder in others)), None)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_then_register(module: ModuleType) -> None:
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                import_module("summarizer.models")

        spec.loader.exec_module = execute_then_register
        return spec
