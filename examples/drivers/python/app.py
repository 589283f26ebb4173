"""The component: what `componentize-py` makes `note.wasm` of."""

from note import Note
from purlin_driver.component import export

Lifecycle = export(Note())
