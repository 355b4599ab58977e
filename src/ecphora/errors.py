"""Every error the package raises on purpose, in one tree.

    EcphoraError
    ├── InvalidInput            (ValueError)   a text, id, date, filter or name that cannot be used
    │   ├── InvalidText                        empty, too long, or not valid Unicode
    │   ├── InvalidTime                        not a date, or a date outside 0001-9999
    │   ├── InvalidRecord                      a line of an import that cannot be read
    │   └── UnknownName                        no strategy, embedder, scope or set of that name
    ├── IdCollision             (ValueError)   an id that already stands for another memory
    ├── EmbedderError
    │   ├── EmbedderMismatch                   the memory was written with another model
    │   ├── EmbedderUnavailable                its package or server is missing
    │   ├── ModelDamaged                       a model file is not the one that was published
    │   └── WrongVector                        a vector of another size, or not finite
    ├── LLMError
    │   ├── LLMUnavailable                     its package, server or file is missing, or it does not answer
    │   └── UnreadableReply                    its reply does not have the form that was asked for
    └── StoreError
        ├── StoreBusy                          locked by another process for too long
        ├── StoreReadOnly                      the file or its folder may not be written
        ├── StoreFull                          no space left on the disk
        ├── StoreDamaged                       not a memory, or a broken one
        ├── StoreReplaced                      the file was replaced, moved or deleted while it was open
        ├── StaleChange                        made from a state that another process has changed since
        ├── StoreTooNew                        written by a newer version of this package
        └── StoreClosed                        used after ``close()``

Each message says what is wrong and how to mend it. Errors of other libraries are wrapped where they arise, with
``raise … from error``.
"""


class EcphoraError(Exception):
    """The base of every deliberate error of this package."""


class InvalidInput(EcphoraError, ValueError):
    """What was given cannot be used; nothing was written."""


class InvalidText(InvalidInput):
    """A text that is empty, too long, or not valid Unicode."""


class InvalidTime(InvalidInput):
    """A value that is no date, or a date outside the years 0001 to 9999."""


class InvalidRecord(InvalidInput):
    """A line of an import that cannot be read."""


class UnknownName(InvalidInput):
    """No strategy, embedder, scope or data set has that name."""


class IdCollision(EcphoraError, ValueError):
    """An id that already stands for another memory."""


class EmbedderError(EcphoraError):
    """The base of what can go wrong with an embedder."""


class EmbedderMismatch(EmbedderError):
    """The memory was written with another embedding model."""


class EmbedderUnavailable(EmbedderError):
    """The embedder's package is not installed, or its server does not answer."""


class ModelDamaged(EmbedderError):
    """A model file differs from the published one."""


class WrongVector(EmbedderError):
    """A vector of another size than the memory's, or one that holds no finite numbers."""


class LLMError(EcphoraError):
    """The base of what can go wrong with a language model."""


class LLMUnavailable(LLMError):
    """Its package, server or file is missing, or it does not answer."""


class UnreadableReply(LLMError):
    """A reply that does not have the form that was asked for."""


class StoreError(EcphoraError):
    """The base of what can go wrong with the file."""


class StoreBusy(StoreError):
    """Another process held the file's lock for too long."""


class StoreReadOnly(StoreError):
    """The file, or the folder it lies in, may not be written."""


class StoreFull(StoreError):
    """The disk is full; what was acknowledged before is safe."""


class StoreDamaged(StoreError):
    """The file is not a memory, or it is broken."""


class StoreReplaced(StoreError):
    """The file was replaced, moved or deleted while it was open; open the memory anew."""


class StoreTooNew(StoreError):
    """The file was written by a newer version of this package."""


class StoreClosed(StoreError):
    """The memory was used after ``close()``."""


class StaleChange(StoreError):
    """A change made from a state that another process has changed since; make it again from the new one."""
