"""Every error partita raises on purpose.

Each is a :class:`PartitaError` and also the builtin that fits, so ``except ValueError`` keeps
working. A message says the argument, the rule, the value and what to do.
"""

from __future__ import annotations


class PartitaError(Exception):
    """Base of every error that partita raises on purpose."""


class InvalidValueError(PartitaError, ValueError):
    """An argument has a value that cannot be used."""


class InvalidTypeError(PartitaError, TypeError):
    """An argument is of a kind that cannot be used."""


class OutOfMemoryError(PartitaError, MemoryError):
    """A request would need more memory than is free."""


class FileError(PartitaError, OSError):
    """A file cannot be read or written."""


class MissingDependencyError(PartitaError, ImportError):
    """An optional package is needed and not installed."""


class PartitaWarning(UserWarning):
    """Something a user should know before trusting the answer."""
