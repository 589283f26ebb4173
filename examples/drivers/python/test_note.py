"""Tests the driver with files of this machine, without WebAssembly."""

import os
import tempfile
import unittest

import notes
from inputs import NoteInputs, Secrets, Values
from note import Note
from purlin_driver import (
    Change, CheckRequest, Conflict, CreateRequest, DeleteRequest, Denied, Failed, InvalidInputs,
    NeedsDeleteBefore, ReadRequest, Subject, host, is_unknown
)

SUBJECT = Subject("urn:purlin:test", "0123456789abcdef0123456789abcdef01234567", "note")


def given(text="Hello.", title="hello", signature=None):
    return NoteInputs(Values(text, title), Secrets(signature))


class NoteTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        notes.FOLDER = folder.name
        host.messages.clear()
        self.note = Note()

    def create(self, inputs, replaces=None):
        return self.note.create(CreateRequest(SUBJECT, inputs, inputs.values.title, replaces))

    def read(self, id, inputs, known=()):
        return self.note.read(ReadRequest(SUBJECT, id, "hello", inputs, known=list(known)))

    def check(self, inputs, previous=None):
        return self.note.check(CheckRequest(SUBJECT, inputs, previous)).inputs.values

    def test_a_note_lives(self):
        state = self.create(given())
        self.assertEqual(state.id, "hello")
        self.assertEqual(state.outputs.bytes, 7)
        self.assertEqual(notes.read("hello"), b"Hello.\n")
        self.assertEqual(host.messages[0], ("checkpoint", "hello", None))
        self.create(given())
        self.assertRaises(Conflict, self.create, given("Hi."))

        with open(notes.path("hello"), "w") as file:
            file.write("Somebody was here.\n")
        self.assertEqual(self.read("hello", given()).values.text, "Somebody was here.")
        self.assertRaises(Conflict, self.read, None, given())

        change = Change(SUBJECT, state, given(), given("wörld 🎉"), "hello")
        self.assertEqual(self.note.update_impact(change).stable_outputs, ["/outputs/title", "/outputs/path"])
        self.assertEqual(self.note.update(change).outputs.bytes, 12)
        self.assertEqual(self.read("hello", change.after).values.text, "wörld 🎉")

        for _ in range(2):
            self.note.delete(DeleteRequest(SUBJECT, state, given()))
        self.assertIsNone(self.read("hello", given()))
        self.assertEqual(os.listdir(notes.FOLDER), [])

    def test_another_title_is_another_note(self):
        state = self.create(given())
        change = Change(SUBJECT, state, given(), given(title="other"), "other")
        self.assertEqual(self.note.update_impact(change).stable_outputs, [])

    def test_a_note_of_the_same_title_replaces_another_only_once_that_is_gone(self):
        self.create(given())
        self.assertRaises(NeedsDeleteBefore, self.create, given(), "hello")
        self.assertEqual(self.read(None, given()).state.id, "hello")
        self.assertIsNone(self.read(None, given(), known=["hello"]))

    def test_a_title_is_drawn_once_and_what_is_unknown_stays_so(self):
        drawn = self.check(NoteInputs.read({"values": {"text": "Hello."}}))
        self.assertEqual(drawn.title, "0123456789ab")
        self.assertEqual(self.check(given(title=None), given(title="kept")).title, "kept")
        self.assertEqual(self.check(given(title="mine"), given(title="kept")).title, "mine")
        document = {"values": {"title": None, "text": None}}
        unknown = self.check(NoteInputs.read(document, unknown=["/values/title", "/values/text"]))
        self.assertTrue(is_unknown(unknown.title) and is_unknown(unknown.text))

    def test_an_unknown_title_may_be_another_one(self):
        after = NoteInputs.read({"values": {"title": None, "text": "Hi."}}, unknown=["/values/title"])
        change = Change(SUBJECT, self.create(given()), given(), after, "hello")
        self.assertEqual(self.note.update_impact(change).stable_outputs, [])

    def test_inputs_that_do_not_fit_are_told_with_their_places(self):
        with self.assertRaises(InvalidInputs) as refused:
            NoteInputs.read({"values": {"titel": "hello"}, "secrets": {"signature": 7}})
        places = [pointer for pointer, _ in refused.exception.faults]
        self.assertEqual(places, ["/values/titel", "/values/text", "/secrets/signature"])

    def test_the_signature_stays_secret(self):
        signed = given("x", "hello", signature="hush")
        state = self.create(signed)
        self.assertEqual(state.outputs.mark, "hello:hush")
        self.assertRegex(notes.read("hello"), rb"\Ax\n-- [0-9a-f]{64}\n\Z")
        self.assertEqual(self.read("hello", signed).values.text, "x")
        self.assertNotIn("hush", str(host.messages))

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
