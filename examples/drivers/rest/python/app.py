"""The component: `componentize-py` builds `project.wasm` from it."""

from project import ProjectDriver
from purlin_driver.component import export

Lifecycle = export(ProjectDriver())
