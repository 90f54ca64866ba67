import ast
import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Other libraries import these: transformers, to read SentencePiece models; accelerate, to write TensorBoard's events.
ONLY_FOR_OTHERS = {"protobuf", "tensorboard"}
EXTRAS = ("documents", "baselines", "bertscore", "lora", "ray", "serve")


def imported_modules(folder: Path) -> set[str]:
    """The top-level modules of other projects that the Python files below a folder import."""
    modules = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.add(node.module)
            elif isinstance(node, ast.Call) and getattr(node.func, "id", None) == "import_optional":
                modules.update([node.args[0].value] if isinstance(node.args[0], ast.Constant) else [])
    top = {module.partition(".")[0] for module in modules}
    return top - set(sys.stdlib_module_names) - {"summarizer"}


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", name)[0]).lower()


def test_every_import_is_declared_and_every_dependency_is_imported():
    groups = [PROJECT["dependencies"], *(PROJECT["optional-dependencies"][name] for name in EXTRAS)]
    declared = {normalized(requirement) for group in groups for requirement in group}
    distributions = packages_distributions()
    modules = imported_modules(ROOT / "summarizer")
    owners = {module: {normalized(name) for name in distributions.get(module, [module])} for module in modules}
    assert {module for module, names in owners.items() if not names & declared} == set()
    assert declared - set().union(*owners.values()) == ONLY_FOR_OTHERS
