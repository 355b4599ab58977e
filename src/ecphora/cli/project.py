"""The memory of a project: its scope is the project's folder, its file the user's own, where nothing else is set."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ..model.validation import MAX_NAME_CHARS
from ..settings import Settings, user_db

FOLDER_VARIABLES = ("CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR")
"""Environment variables in which a coding agent says where the project is."""


def project_folder(start: Path, environ: Mapping[str, str]) -> Path:
    """The folder of the project: as the coding agent says, or the Git repository around ``start``, or ``start``."""
    for name in FOLDER_VARIABLES:
        if environ.get(name):
            return Path(environ[name]).resolve()
    start = start.resolve()
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), start)


def with_project(settings: Settings, folder: Path) -> Settings:
    """The settings of the project's memory; a file, store or scope that is set stays."""
    default = Settings()
    scope = str(folder)[-MAX_NAME_CHARS:] if settings.scope == default.scope else settings.scope
    if settings.store is not None or settings.db != default.db:
        return replace(settings, scope=scope)
    return replace(settings, scope=scope, db=user_db())
