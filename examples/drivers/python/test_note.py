"""Tests the driver with files of this machine, without WebAssembly."""

import os
import tempfile
import unittest

import notes
from note import Note
from purlin_driver import (
    Change, CheckRequest, Conflict, CreateRequest, DeleteRequest, Denied, Failed, Inputs, InvalidInputs,
    NeedsDeleteBefore, ReadRequest, Subject, host
)

SUBJECT = Subject("urn:purlin:test", "0123456789abcdef0123456789abcdef01234567", "note")


def given(text="Hello.", title="hello", **secrets):
    return Inputs({"title": title, "text": text}, secrets)


class NoteTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        notes.FOLDER = folder.name
        host.messages.clear()
        self.note = Note()

    def create(self, inputs, replaces=None):
        return self.note.create(CreateRequest(SUBJECT, inputs, inputs.values["title"], replaces))

    def read(self, id, inputs, known=()):
        return self.note.read(ReadRequest(SUBJECT, id, "hello", inputs, known=list(known)))

    def check(self, inputs):
        return self.note.check(CheckRequest(SUBJECT, inputs))

    def test_a_note_lives(self):
        state = self.create(given())
        self.assertEqual(state.id, "hello")
        self.assertEqual(state.outputs["bytes"], 7)
        self.assertEqual(notes.read("hello"), b"Hello.\n")
        self.assertEqual(host.messages[0], ("checkpoint", "hello", None))
        self.create(given())
        self.assertRaises(Conflict, self.create, given("Hi."))

        with open(notes.path("hello"), "w") as file:
            file.write("Somebody was here.\n")
        self.assertEqual(self.read("hello", given()).values["text"], "Somebody was here.")
        self.assertRaises(Conflict, self.read, None, given())

        change = Change(SUBJECT, state, given(), given("wörld 🎉"), "hello")
        self.assertEqual(self.note.update_impact(change).stable_outputs, ["/outputs/title", "/outputs/path"])
        self.assertEqual(self.note.update(change).outputs["bytes"], 12)
        self.assertEqual(self.read("hello", change.after).values["text"], "wörld 🎉")

        for _ in range(2):
            self.note.delete(DeleteRequest(SUBJECT, state, given()))
        self.assertIsNone(self.read("hello", given()))
        self.assertEqual(os.listdir(notes.FOLDER), [])

    def test_another_title_is_another_note(self):
        state = self.create(given())
        change = Change(SUBJECT, state, given(), given(title="other"), "other")
        self.assertEqual(self.note.update_impact(change).replaces, ["/values/title"])
        self.assertRaises(InvalidInputs, self.note.update, change)

    def test_a_note_of_the_same_title_replaces_another_only_once_that_is_gone(self):
        self.create(given())
        self.assertRaises(NeedsDeleteBefore, self.create, given(), "hello")
        self.assertEqual(self.read(None, given()).state.id, "hello")
        self.assertIsNone(self.read(None, given(), known=["hello"]))

    def test_every_fault_is_told(self):
        wrong = Inputs({"title": "No Title", "a/b": 1, "text": 7}, {"pin": 1})
        with self.assertRaises(InvalidInputs) as refused:
            self.check(wrong)
        places = [pointer for pointer, _ in refused.exception.faults]
        self.assertEqual(places, ["/values/a~1b", "/secrets/pin", "/values/text", "/values/title"])
        self.assertRaises(InvalidInputs, self.create, given(7))
        self.assertRaises(InvalidInputs, self.check, given("é" * 32769))
        self.assertEqual(self.check(given("é" * 32768)).values["title"], "hello")

    def test_a_title_is_drawn_once_and_what_is_unknown_is_not_judged(self):
        checked = self.check(Inputs({"text": "Hello."}))
        self.assertEqual(checked.values["title"], "0123456789ab")
        self.assertEqual(self.check(Inputs(checked.values)).values, checked.values)
        unknown = Inputs({"title": None, "text": None}, unknown=["/values/title", "/values/text"])
        self.assertEqual(self.check(unknown).values, {"title": None, "text": None})

    def test_the_signature_stays_secret(self):
        signed = given("x", "hello", signature="hush")
        state = self.create(signed)
        self.assertEqual(state.secrets, {"mark": "hello:hush"})
        self.assertRegex(notes.read("hello"), rb"\Ax\n-- [0-9a-f]{64}\n\Z")
        self.assertEqual(self.read("hello", signed).values["text"], "x")
        self.assertNotIn("hush", str([host.messages, state.outputs]))

    def test_without_the_folder_it_is_denied(self):
        notes.FOLDER = "/nowhere"
        with self.assertRaises(Denied) as refused:
            self.create(given())
        self.assertEqual(refused.exception.target, "/notes")

    def test_a_failure_says_its_code(self):
        os.mkdir(notes.path("hello"))
        with self.assertRaises(Failed) as failed:
            self.read("hello", given())
        self.assertEqual(failed.exception.details, {"code": "EISDIR"})


if __name__ == "__main__":
    unittest.main()
