"""Every error the package raises on purpose, in one tree.

    EcphoraError
    ├── InvalidInput            (ValueError)   a text, id, date, filter or name that cannot be used
    │   ├── InvalidText                        empty, too long, or not valid Unicode
    │   ├── InvalidTime                        not a date, or a date outside 0001-9999
    │   ├── InvalidRecord                      a line of an import that cannot be read
    │   └── UnknownName                        no strategy, embedder, scope or data set of that name
    ├── IdCollision             (ValueError)   the id of another memory
    ├── EmbedderError
    │   ├── EmbedderMismatch                   the memory was written with another model
    │   ├── EmbedderUnavailable                its package or server is missing
    │   ├── ModelDamaged                       a model file differs from the published one
    │   └── WrongVector                        a vector of the wrong size, or not finite
    ├── PluginError                            a plug-in of another package cannot be imported or used
    ├── RerankerUnavailable                      the reranker's package or server is missing, or it does not answer
    ├── ServerError                            the server failed, or its answer cannot be read
    │   ├── AccessDenied                       the token is missing or unknown, or does not allow this
    │   └── ServerUnavailable                  the server cannot be reached, or the package to reach it is missing
    ├── LLMError
    │   ├── LLMUnavailable                     its package, server or file is missing, or it does not answer
    │   └── UnreadableReply                    its reply does not have the requested form
    └── StoreError
        ├── StoreBusy                          locked by another process for too long
        ├── StoreReadOnly                      the file or its folder is not writable
        ├── StoreFull                          no space left on the disk
        ├── StoreDamaged                       not a memory, or a damaged one
        ├── StoreReplaced                      the file or the scope was replaced or renamed while it was open
        ├── StaleWrite                         made from a state that another process has changed since
        ├── StoreTooNew                        written by a newer version of this package
        └── StoreClosed                        used after ``close()``

Each message says what is wrong and how to fix it. Errors of other libraries are wrapped where they arise, with
``raise … from error``.
"""


class EcphoraError(Exception):
    """The base of every error that this package raises on purpose."""


class InvalidInput(EcphoraError, ValueError):
    """An argument cannot be used; nothing was written."""


class InvalidText(InvalidInput):
    """A text that is empty, too long, or not valid Unicode."""


class InvalidTime(InvalidInput):
    """A value that is not a date, or a date outside the years 0001 to 9999."""


class InvalidRecord(InvalidInput):
    """A line of an import that cannot be read."""


class UnknownName(InvalidInput):
    """No strategy, embedder, scope or data set has that name."""


class IdCollision(EcphoraError, ValueError):
    """The id belongs to another memory already."""


class EmbedderError(EcphoraError):
    """The base of the errors of embedders."""


class EmbedderMismatch(EmbedderError):
    """The memory was written with another embedding model."""


class EmbedderUnavailable(EmbedderError):
    """The embedder's package is not installed, or its server does not answer."""


class ModelDamaged(EmbedderError):
    """A model file differs from the published one."""


class WrongVector(EmbedderError):
    """A vector whose size differs from the memory's, or that holds numbers that are not finite."""


class PluginError(EcphoraError):
    """A plug-in of another package cannot be imported, or is not what its group demands."""


class RerankerUnavailable(EcphoraError):
    """The reranker's package or server is missing, or it does not answer as expected."""


class LLMError(EcphoraError):
    """The base of the errors of language models."""


class LLMUnavailable(LLMError):
    """The model's package, server or file is missing, or it does not answer."""


class UnreadableReply(LLMError):
    """A reply that does not have the requested form."""


class ServerError(EcphoraError):
    """A server of Ecphora failed, or its answer cannot be read."""


class AccessDenied(ServerError):
    """The server does not know the token, or the token does not allow this."""


class ServerUnavailable(ServerError):
    """The server cannot be reached, or broke off, or the package to reach it is missing."""


class StoreError(EcphoraError):
    """The base of the errors of stores."""


class StoreBusy(StoreError):
    """Another process held the file's lock for too long."""


class StoreReadOnly(StoreError):
    """The file or its folder is not writable."""


class StoreFull(StoreError):
    """The disk is full; everything committed before is safe."""


class StoreDamaged(StoreError):
    """The file is not a memory, or it is damaged."""


class StoreReplaced(StoreError):
    """The file was replaced, moved or deleted while it was open; open the memory again."""


class StoreTooNew(StoreError):
    """The file was written by a newer version of this package."""


class StoreClosed(StoreError):
    """The memory was used after ``close()``."""


class StaleWrite(StoreError):
    """A write made from a state that another process has changed since; make it again from the new state."""
