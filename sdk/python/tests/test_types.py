"""Type checkers understand declarations and requests. Skipped if mypy is not installed."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import purlin_driver

#: Each line with a comment is an error that mypy reports with these words. It does not look into `Schema(…)`;
#: Python does.
DRIVER = '''
from dataclasses import dataclass
from typing import Annotated, Literal

from purlin_driver import (
    Action, Change, Checked, CheckRequest, CreateRequest, DeleteRequest, Effect, Forecast, Inputs, Observed, Part,
    ReadRequest, ResourceType, Schema, State, consent, is_unknown,
)


@dataclass
class Values:
    size: Annotated[int, Schema("Gibibytes.", minimum=1)]
    title: Annotated[str | None, Schema(replaces=True)] = None
    region: Literal["eu", "us"] = "cn"  # Incompatible types in assignment


@dataclass
class StoreInputs(Inputs):
    values: Values


@dataclass
class StoreOutputs:
    host: str


class Store(ResourceType[StoreInputs, StoreOutputs]):
    TYPE = "store"

    def check(self, request: CheckRequest[StoreInputs]) -> Checked[StoreInputs]:
        request.inputs.values.title = request.choose(lambda given: given.values.title, "t")
        request.choose(lambda given: given.values.titel, "t")  # has no attribute "titel"
        request.inputs.values.size = "big"  # Incompatible types in assignment
        if not is_unknown(request.inputs.values.size) and request.inputs.values.size > 3:
            return Checked(request.inputs, [("/values/size", "is large")])
        return Checked(request.inputs.values)  # has incompatible type "Values"

    def create(self, request: CreateRequest[StoreInputs]) -> State[StoreOutputs]:
        request.inputs.values.siz  # has no attribute "siz"
        request.inputs.secrets  # has no attribute "secrets"
        if request.name:
            return State("id", {"host": "h"})  # has incompatible type "dict[str, str]"
        return State("id", StoreOutputs(host=request.name))

    def read(self, request: ReadRequest[StoreInputs, StoreOutputs]) -> Observed[StoreOutputs] | None:
        return None if request.state is None else Observed(State(request.state.id, request.state.outputs))

    def update(self, change: Change[Inputs, StoreOutputs]) -> State[StoreOutputs]:  # incompatible with supertype
        return change.state

    def preview(self, effect: Effect[StoreInputs, StoreOutputs]) -> Forecast[StoreOutputs]:
        part = Part("a", "file", "create")  # has incompatible type "str"; expected "Action"
        match effect:
            case CreateRequest(inputs=inputs) | Change(after=inputs) if not is_unknown(inputs.values.size):
                inputs.values.siz  # has no attribute "siz"
                return Forecast(StoreOutputs(host="h"), parts=[Part("a", "file", Action.CREATE), part])
            case DeleteRequest():
                return Forecast(token=consent.token()) if effect.data_loss_allowed else Forecast("h")  # has incompatible type "str"
        return Forecast({"host": "h"}, unknown=["/outputs/host"])

    def delete(self, request: DeleteRequest[StoreInputs, StoreOutputs]) -> None:
        request.state.outputs.hots  # has no attribute "hots"
'''


@unittest.skipUnless(importlib.util.find_spec("mypy"), "SKIPPED: mypy is not installed")
class Types(unittest.TestCase):
    def test_errors_are_found_and_nothing_else(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        Path(folder.name, "driver.py").write_text(DRIVER)
        path = {"MYPYPATH": str(Path(purlin_driver.__file__).parent.parent)}
        command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--follow-imports=silent", "driver.py"]
        done = subprocess.run(command, cwd=folder.name, env=os.environ | path, capture_output=True, text=True)
        errors = [line for line in done.stdout.splitlines() if ": error: " in line]
        found = {int(line.split(":")[1]): line for line in errors}
        expected = {
            number: line.partition("  # ")[2] for number, line in enumerate(DRIVER.splitlines(), 1) if "  # " in line
        }
        self.assertEqual(found.keys(), expected.keys(), done.stdout + done.stderr)
        for number, words in expected.items():
            self.assertIn(words, found[number])


if __name__ == "__main__":
    unittest.main()
