"""Media by the tools of language models: references that are stored, and shown with captions in replies."""

from pathlib import Path

from ecphora import Episode, Media, Memory
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.testing import FakeClock


def test_remember_takes_a_reference_that_replies_show(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), clock=FakeClock())
    tools = memory.tools(session="s")
    for reference, kind in (("cat.jpg", "picture"), ("a.mp3", "sound"), ("b.mp4", "video"), ("c.pdf", "other")):
        reply = tools.call("remember", {"texts": [f"About {reference}."], "speaker": "Ana", "media": reference})
        node = next(one for one in memory.find() if reference in one.text)
        assert reply.startswith("Remembered")
        assert (node.media, node.speaker, node.session) == ((Media(reference, kind),), "Ana", "s")
    memory.remember(Episode("The lodger.", id="cat", media=(Media("x.jpg", caption="A <cat>."), Media("y.wav"))))
    assert 'media="x.jpg (A &lt;cat&gt;.); y.wav"' in tools.call("find", {"ids": ["cat"]})
    assert tools.call("remember", {"texts": ["More."], "media": "x" * 5000}).startswith("Error: a reference of 5,000")
    memory.close()
