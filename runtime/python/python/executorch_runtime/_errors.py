"""Exceptions. Each is a RuntimeError, as upstream raises, and also what Python programs expect."""

from __future__ import annotations


class ExecuTorchError(RuntimeError):
    """A failure of the runtime. `code` and `name` are upstream's; `message` says what was expected and found."""

    def __init__(self, message: str = "", code: int = 1, name: str = "Internal") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.name = name

    def __str__(self) -> str:
        return f"{self.message} [{self.name}, 0x{self.code:02x}]"

    def __reduce__(self) -> tuple[type, tuple[str, int, str]]:
        return type(self), (self.message, self.code, self.name)


class InvalidArgumentError(ExecuTorchError, ValueError):
    """An argument is out of its domain: a shape, a dtype, a count."""


class OutOfRangeError(InvalidArgumentError, IndexError):
    """An index is past the end."""


class InvalidTypeError(ExecuTorchError, TypeError):
    """An argument has a type that cannot be used."""


class InvalidProgramError(ExecuTorchError, ValueError):
    """A program or data file is malformed."""


class MethodNotFoundError(InvalidArgumentError, KeyError):
    """The program has no method of this name."""


class NotFoundError(ExecuTorchError, LookupError):
    """A backend, key or file was not found."""


class MissingFileError(ExecuTorchError, FileNotFoundError):
    """There is no file of this path."""


class OperatorMissingError(ExecuTorchError, LookupError):
    """The program calls operators that no loaded library registers."""


class NotSupportedError(ExecuTorchError, NotImplementedError):
    """The operation is not supported for this input."""


class OutOfMemoryError(ExecuTorchError, MemoryError):
    """Memory could not be allocated."""
