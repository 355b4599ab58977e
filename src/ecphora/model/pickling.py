"""Refuses to pickle or copy an object that holds an open file or connection, and says what to do instead."""

from typing import NoReturn

from ..errors import InvalidInput


class OpenInEachProcess:
    """The base of objects that cannot be pickled: each process opens its own."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        """Raise ``InvalidInput``."""
        name = type(self).__name__
        raise InvalidInput(
            f"a {name} holds an open file or connection and cannot be pickled or copied; "
            f"hand its arguments to the other process, and open a {name} there"
        )
