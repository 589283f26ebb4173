"""The component: what `componentize-py` makes `project.wasm` of."""

from project import Project
from purlin_driver.component import export

Lifecycle = export(Project())
