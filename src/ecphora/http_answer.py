"""The bytes of an answer over HTTP, of which no more are read than fit into memory with ease."""

from typing import TYPE_CHECKING

from .errors import EcphoraError

if TYPE_CHECKING:  # an extra
    import httpx2

MAX_ANSWER_BYTES = 256 << 20
"""The bytes of an answer, or of a line of a longer one, that are read into memory."""


def read_answer(response: "httpx2.Response", sender: str, error_type: type[EcphoraError]) -> bytes:
    """Read an answer of which only the head has been read; raises ``error_type`` for one that is too large."""
    content = bytearray()
    for part in response.iter_bytes():
        content += part
        check_size(len(content), sender, error_type)
    return bytes(content)


def check_size(size: int, sender: str, error_type: type[EcphoraError]) -> None:
    """Raise ``error_type`` if an answer, or a line of it, has more bytes than are read."""
    if size > MAX_ANSWER_BYTES:
        raise error_type(f"{sender} answers with more than {MAX_ANSWER_BYTES >> 20} MiB, which are not read")
