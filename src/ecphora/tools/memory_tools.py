"""The five tools with which a language model uses a memory: their names, descriptions and parameters."""

from ..model.validation import LIST_LIMIT, RECALL_LIMIT
from .tool_definitions import FunctionTool, Parameter

MAX_MEMORIES = 50
"""The most memories that recall and find return."""

_SPEAKER = Parameter("speaker", "string", "Only what this person said or wrote.")
_AFTER = Parameter("after", "string", "Only what happened on this day or later, YYYY-MM-DD.")
_BEFORE = Parameter("before", "string", "Only what happened before this day, YYYY-MM-DD.")
_HAPPENED_AT = "When it happened, YYYY-MM-DD or YYYY-MM-DDTHH:MM. Leave out for now."

TOOLS: tuple[FunctionTool, ...] = (
    FunctionTool(
        "remember",
        "Remember",
        "Store facts for later conversations: preferences, decisions, names, dates, what somebody did or plans. One "
        "self-contained sentence or paragraph for each fact, with names instead of pronouns. Use it when the user "
        "states something that will matter later, or asks you to remember it. Do not store small talk, secrets such as "
        "passwords, or what was recalled from memory. For a fact that has changed, use update.",
        (
            Parameter("texts", "strings", "The facts, each understandable by itself.", is_required=True),
            Parameter("speaker", "string", "Who said or wrote them."),
            Parameter("happened_at", "string", _HAPPENED_AT),
            Parameter("media", "string", "URI or path of a picture, sound or video that they describe."),
            Parameter(
                "question",
                "string",
                "Only to store your own answer, as texts: the question that you answered. It is kept with the "
                "question and never counts as a fact.",
            ),
            Parameter(
                "restore",
                "boolean",
                "true: store it even if it was forgotten on purpose. Only if the user wants it stored again.",
            ),
        ),
    ),
    FunctionTool(
        "recall",
        "Recall",
        "Search the memory by meaning with a question. Use it before answering anything that may depend on earlier "
        "conversations, the user, or people and projects that you do not know. The reply has the memories with ids and "
        "dates, best first, and the evidence: strong, weak or none. With none, say that you do not know. Not for "
        "listing everything, which is what find does.",
        (
            Parameter("question", "string", "A full question, such as: Where does Ana live?", is_required=True),
            Parameter(
                "limit", "integer", f"The most memories to return, 1 to {MAX_MEMORIES}; {RECALL_LIMIT} if left out."
            ),
            _SPEAKER,
            _AFTER,
            _BEFORE,
            Parameter("as_of", "string", "Answer as things stood on this day, YYYY-MM-DD."),
            Parameter("goal", "string", "What you need it for, such as: plan the birthday party. Prefers what fits."),
            Parameter(
                "include",
                "strings",
                "Also return: engrams (names in the memories), insights (summaries), exchanges (earlier answers).",
            ),
        ),
        is_read_only=True,
    ),
    FunctionTool(
        "update",
        "Update",
        "Change one stored memory; get its id from recall or find first. mode 'supersede' is for a fact that has "
        "changed: the new text is valid from now on and the old one stays as history. mode 'replace' is for a text "
        "that was wrong: the old text is erased.",
        (
            Parameter("id", "string", "The id of the memory.", is_required=True),
            Parameter("text", "string", "The whole new text, understandable by itself.", is_required=True),
            Parameter(
                "mode",
                "string",
                "supersede: the fact has changed. replace: the text was wrong.",
                is_required=True,
                choices=("supersede", "replace"),
            ),
            Parameter("happened_at", "string", "Since when the new text holds, YYYY-MM-DD; for supersede only."),
        ),
        is_destructive=True,
    ),
    FunctionTool(
        "forget",
        "Forget",
        "Erase memories for good. Only when the user asks to forget or delete something; for a fact that has changed, "
        "use update. Give ids from recall or find, or a filter (speaker, after, before), not both. One id is erased at "
        "once. For several memories, or a filter, the first call erases nothing and lists what would be erased; show "
        "that to the user, and call again with dry_run false if the user agrees.",
        (
            Parameter("ids", "strings", "The ids of the memories."),
            _SPEAKER,
            _AFTER,
            _BEFORE,
            Parameter("dry_run", "boolean", "true: only list what would be erased. false: erase it."),
        ),
        is_destructive=True,
    ),
    FunctionTool(
        "find",
        "Find",
        "List memories without a question, by date or speaker, or read the full text of memories by their ids. Use it "
        "for: what is stored about last week, what did Ana say, show the newest memories. To search by meaning, use "
        "recall.",
        (
            Parameter("ids", "strings", "Read these memories in full; without the other arguments."),
            _SPEAKER,
            _AFTER,
            _BEFORE,
            Parameter("order", "string", "By date; newest first if left out.", choices=("newest", "oldest")),
            Parameter("limit", "integer", f"Memories a page, 1 to {MAX_MEMORIES}; {LIST_LIMIT} if left out."),
            Parameter("cursor", "string", "The cursor that the page before gave, with the same other arguments."),
        ),
        is_read_only=True,
    ),
)
"""The tools, in the order in which they are listed."""
