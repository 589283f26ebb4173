"""The component: `componentize-py` builds `project.wasm` from it."""

from project import Project
from purlin_driver.component import export

Lifecycle = export(Project())
