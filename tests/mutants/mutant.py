"""A mutant: one snippet of one module replaced by a wrong one, while Python imports it.

The snippet must occur in the module exactly once. A mutant whose snippet is gone is an error, not
a mutant that was caught: the catalogue has to follow the code.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

from msgspec import Struct


class Mutant(Struct, frozen=True):
    """What is broken, in a sentence, and how."""

    name: str
    breaks: str
    module: str
    old: str
    new: str
    #: Where no simulated run can notice, the tests that must.
    test: str | None = None
    #: The fault in Kafka's history that it brings back, by its id in the catalogue.
    fault: str | None = None


class UnfitMutant(Exception):  # noqa: N818 - it is the mutant that is unfit
    """The snippet does not occur exactly once."""


class _MutatingLoader(SourceFileLoader):
    """Loads a module's source with one snippet exchanged, past any compiled copy."""

    def __init__(self, mutant: Mutant, path: str) -> None:
        super().__init__(mutant.module, path)
        self._mutant = mutant

    def get_code(self, fullname: str) -> object:  # type: ignore[override]
        source = self.get_data(self.get_filename(fullname)).decode()
        return compile(mutate(source, self._mutant), self.get_filename(fullname), "exec")


class _MutatingFinder(MetaPathFinder):
    """Finds the mutant's module, and leaves every other to the usual finders."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's spec, with our loader."""
        if fullname != self._mutant.module:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        assert spec is not None, f"there is no module {fullname}"
        assert spec.origin is not None, f"{fullname} has no source"
        assert isinstance(spec.loader, SourceLoader), f"{fullname} has no source"
        spec.loader = _MutatingLoader(self._mutant, spec.origin)
        return spec


def mutate(source: str, mutant: Mutant) -> str:
    """The module's source as the mutant has it."""
    if source.count(mutant.old) != 1:
        raise UnfitMutant(
            f"{mutant.name}: the snippet occurs {source.count(mutant.old)} times in {mutant.module}"
        )
    return source.replace(mutant.old, mutant.new)


def install(mutant: Mutant) -> None:
    """From now on the mutant's module is imported broken; it must not be imported yet."""
    assert mutant.module not in sys.modules, f"{mutant.module} is imported already"
    sys.meta_path.insert(0, _MutatingFinder(mutant))


def is_alive(mutant: Mutant) -> bool:
    """Whether what was imported is the broken module: others load modules too, whole ones."""
    module = sys.modules.get(mutant.module)
    return module is not None and isinstance(module.__loader__, _MutatingLoader)
