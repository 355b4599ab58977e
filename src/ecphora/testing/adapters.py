"""The contract of adapters, which keep what a host hands over in a memory and find it again."""
# ruff: noqa: S101, PLC0415  # these are tests; pytest is imported by the test that needs it

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import ClassVar

from ..errors import EcphoraError, StoreClosed
from ..memory import Memory
from ..models.embedders.hashing import HashingEmbedder
from ..remember.documents import BlockedWarning

ANA, OTHER = "ana", "anabel"
"""Two users; the name of one begins like the name of the other."""
FERRY = "The ferry to Cacilhas costs nine euros."
QUESTION = "What does the ferry to Cacilhas cost?"
FILE = "contract.db"


class AdapterDriver(ABC):
    """What a host does with an adapter, in the words of no host; made with the memory that the adapter gets.

    Asynchronous hosts are run with ``asyncio.run``. All methods are called from several threads at a time.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    @abstractmethod
    def keep(self, text: str, *, user: str, session: str) -> None:
        """Hand over a text that a user has said in a session, or a fact about the user; the same way each time."""

    @abstractmethod
    def find(self, question: str, *, user: str) -> Sequence[str]:
        """The texts that a user finds in a session of their own, or the prompts that have them.

        What nothing answers is not left out: the adapter is made with ``needs_evidence=False`` or the like.
        """

    def forget(self, text: str, *, user: str) -> None:  # noqa: ARG002  # for hosts that name the user
        """Have the host erase a text of a user; where no host can, as here, the memory is asked."""
        self.memory.forget([node.id for node in self.memory.find() if node.text == text])


class AdapterContract:
    """The contract of every adapter. The attribute ``driver`` is the class of the driver of the one to test."""

    driver: ClassVar[type[AdapterDriver]]
    separates_users: ClassVar[bool] = False
    """Whether the host names the user to the adapter. Otherwise each user has a scope, and an adapter over it."""
    stores_repeats: ClassVar[bool] = False
    """Whether a text that is said again at once is stored again."""
    restores_forgotten: ClassVar[bool] = False
    """Whether a text that was forgotten is stored if it is said again."""
    texts: ClassVar[Sequence[str]] = (
        "Olá, the caf\u00e9", "Olá, the cafe\u0301", "a dog 🐕‍🦺 and 👨‍👩‍👧", "גרה בחיפה", "彼女はポルトに住んでいる",
        "我住在里斯本", "'; DROP TABLE memories; --", '100% of "it" NEAR(', "../../etc/passwd", "C:\\new\\table",
        "{0} ${HOME} $(id)", "#/*?[a]",
    )  # fmt: skip
    """Texts that come back exactly."""
    doubtful_texts: ClassVar[Sequence[str]] = (
        *("", " \n", "\u200b", "a\0b", "\u202eabc", "half \ud800 pair", "x" * 1_000_001),
    )
    """Texts that are kept in some form, left out, or refused."""

    def test_kept_text_is_found_in_another_session(self, tmp_path: Path) -> None:
        """Among more other texts than come back."""
        with self._open(tmp_path) as users:
            for number in range(12):
                users[ANA].keep(f"Lunch number {number} was soup.", user=ANA, session="monday")
            users[ANA].keep(FERRY, user=ANA, session="tuesday")
            assert _has(users[ANA].find(QUESTION, user=ANA), FERRY)

    def test_no_user_finds_what_another_keeps(self, tmp_path: Path) -> None:
        """Nor erases it."""
        with self._open(tmp_path) as users:
            users[ANA].keep(FERRY, user=ANA, session="monday")
            users[OTHER].keep("I like tea.", user=OTHER, session="monday")
            assert not _has(users[OTHER].find(QUESTION, user=OTHER), FERRY)
            assert not _has(users[ANA].find("tea", user=ANA), "I like tea.")
            users[ANA].forget("I like tea.", user=ANA)
            users[OTHER].keep(FERRY, user=OTHER, session="monday")
            users[OTHER].forget(FERRY, user=OTHER)
            assert _has(users[ANA].find(QUESTION, user=ANA), FERRY)
            assert _has(users[OTHER].find("tea", user=OTHER), "I like tea.")

    def test_repeated_text_is_stored_once(self, tmp_path: Path) -> None:
        """Or again, where the host means it so; also if eight threads say it at a time."""
        with self._open(tmp_path) as users, ThreadPoolExecutor(8) as pool:
            driver = users[ANA]
            driver.keep(FERRY, user=ANA, session="monday")
            count = driver.memory.count()
            driver.keep(FERRY, user=ANA, session="monday")
            assert (driver.memory.count() > count) is self.stores_repeats
            list(pool.map(lambda text: driver.keep(text, user=ANA, session="tuesday"), ["I like tea."] * 8))
            stored = [node for node in driver.memory.find() if node.text == "I like tea."]
            assert (len(stored) > 1) is self.stores_repeats

    def test_forgotten_text_leaves_nothing(self, tmp_path: Path) -> None:
        """Neither to find, nor in the bytes of the file; it stays forgotten if the host means it so."""
        with self._open(tmp_path) as users:
            users[ANA].keep("The password is zanzibarquux.", user=ANA, session="monday")
            users[ANA].keep(FERRY, user=ANA, session="monday")
        assert b"zanzibarquux" in _bytes_of(tmp_path)
        with self._open(tmp_path) as users:
            users[ANA].forget("The password is zanzibarquux.", user=ANA)
            found = users[ANA].find("What is the password?", user=ANA)
            assert "zanzibarquux" not in "\n".join(found)
            assert _has(users[ANA].find(QUESTION, user=ANA), FERRY)
        assert b"zanzibarquux" not in _bytes_of(tmp_path)
        with self._open(tmp_path) as users, warnings.catch_warnings():
            warnings.simplefilter("ignore", BlockedWarning)
            users[ANA].keep("The password is zanzibarquux.", user=ANA, session="monday")
            found = users[ANA].find("What is the password?", user=ANA)
            assert _has(found, "zanzibarquux") is self.restores_forgotten

    def test_kept_text_outlives_the_adapter(self, tmp_path: Path) -> None:
        """It is found when the file is opened again, and more can be kept."""
        with self._open(tmp_path) as users:
            users[ANA].keep(FERRY, user=ANA, session="monday")
        with self._open(tmp_path) as users:
            users[ANA].keep("I like tea.", user=ANA, session="monday")
            assert _has(users[ANA].find(QUESTION, user=ANA), FERRY)
            assert _has(users[ANA].find("tea", user=ANA), "I like tea.")

    def test_every_text_comes_back_exactly(self, tmp_path: Path) -> None:
        """In every script and form of Unicode, and with characters that some language reads as its own."""
        with self._open(tmp_path) as users:
            for text in self.texts:
                users[ANA].keep(text, user=ANA, session="monday")
            for text in self.texts:
                assert _has(users[ANA].find(text, user=ANA), text), text

    def test_doubtful_text_does_no_harm(self, tmp_path: Path) -> None:
        """It is kept in some form, left out, or refused with an error that says why; then nothing was stored."""
        with self._open(tmp_path) as users:
            driver = users[ANA]
            for text in self.doubtful_texts:
                count = driver.memory.count()
                try:
                    driver.keep(text, user=ANA, session="monday")
                except Exception as error:  # noqa: BLE001  # of the host, whatever it is
                    _check_says_why(error)
                    assert driver.memory.count() == count
            driver.keep(FERRY, user=ANA, session="monday")
            assert _has(driver.find(QUESTION, user=ANA), FERRY)

    def test_calls_at_a_time_lose_nothing(self, tmp_path: Path) -> None:
        """Eight threads with two adapters, as of two processes, keep and find texts of two users, one text all."""
        said = [(f"Boat {number} is blue.", (ANA, OTHER)[number % 2], f"s{number % 3}") for number in range(32)]
        said += [(FERRY, ANA, "s0")] * 8
        with self._open(tmp_path) as users, self._open(tmp_path) as beside, ThreadPoolExecutor(8) as pool:

            def keep_and_find(number: int) -> None:
                text, user, session = said[number]
                driver = (users, beside)[number // 2 % 2][user]
                driver.keep(text, user=user, session=session)
                driver.find(text, user=user)

            list(pool.map(keep_and_find, range(len(said))))
            for text, user, _ in said:
                assert _has(users[user].find(text, user=user), text), text

    def test_error_of_the_memory_arrives(self, tmp_path: Path) -> None:
        """As it is, or as the cause of an error of the host."""
        import pytest

        with self._open(tmp_path) as users:
            users[ANA].keep(FERRY, user=ANA, session="monday")
        driver = users[ANA]
        for call in (
            lambda: driver.keep("I like tea.", user=ANA, session="monday"),
            lambda: driver.find(QUESTION, user=ANA),
        ):
            with pytest.raises(Exception) as caught:  # noqa: PT011  # of the host, whatever it is
                call()
            assert any(isinstance(one, StoreClosed) for one in _check_says_why(caught.value))

    def test_another_memory_on_the_file_sees_the_same(self, tmp_path: Path) -> None:
        """What the adapter keeps is a memory like others, and what is forgotten there is gone here."""
        with self._open(tmp_path) as users, self._open(tmp_path) as beside:
            users[ANA].keep(FERRY, user=ANA, session="monday")
            memory = beside[ANA].memory
            (hit,) = memory.recall(QUESTION, limit=1)
            assert FERRY in hit.text
            assert _has(beside[ANA].find(QUESTION, user=ANA), FERRY)
            memory.forget(hit.node.document or hit.id)
            assert not _has(users[ANA].find(QUESTION, user=ANA), FERRY)

    @contextmanager
    def _open(self, folder: Path) -> Iterator[Mapping[str, AdapterDriver]]:
        """The drivers of two users on a file, by user."""
        scopes = {ANA: "default" if self.separates_users else ANA, OTHER: "default" if self.separates_users else OTHER}
        with ExitStack() as stack:
            drivers: dict[str, AdapterDriver] = {}
            for scope in dict.fromkeys(scopes.values()):
                memory = Memory(folder / FILE, scope=scope, embedder=HashingEmbedder(64), reranker=None)
                drivers[scope] = self.driver(stack.enter_context(memory))
            yield {user: drivers[scope] for user, scope in scopes.items()}


def _has(found: Sequence[str], text: str) -> bool:
    return any(text in one for one in found)


def _check_says_why(error: BaseException) -> list[BaseException]:
    """Check that an error has a text, and one of Ecphora or a ``ValueError`` in its chain, which is returned."""
    chain = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None:
        chain.append(cause)
    assert str(error)
    assert any(isinstance(one, EcphoraError | ValueError) for one in chain), chain
    return chain


def _bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.glob(f"{FILE}*"))
