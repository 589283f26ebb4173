"""The component: `componentize-py` builds `note.wasm` from it."""

from note import NoteDriver
from purlin_driver.component import export

Lifecycle = export(NoteDriver())
