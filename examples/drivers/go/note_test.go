package main

import (
	"errors"
	"os"
	"slices"
	"testing"

	"acme/note/purlin"
)

// given returns inputs as the host passes them.
func given(values, secrets purlin.Object) purlin.Inputs {
	return purlin.Inputs{Values: values, Secrets: secrets}
}

func hello(text string) purlin.Inputs {
	return given(purlin.Object{"title": "hello", "text": text}, nil)
}

func create(t *testing.T, inputs purlin.Inputs) purlin.State {
	t.Helper()
	name, err := Note{}.Name(purlin.NameRequest{Inputs: inputs})
	if err != nil {
		t.Fatal(err)
	}
	state, err := Note{}.Create(purlin.CreateRequest{Inputs: inputs, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func content(t *testing.T, title string) string {
	t.Helper()
	bytes, err := os.ReadFile(path(title))
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes)
}

func TestANoteLives(t *testing.T) {
	folder = t.TempDir()
	purlin.Messages = nil
	state := create(t, hello("Hello."))
	if content(t, "hello") != "Hello.\n" || !slices.Contains(purlin.Messages, "checkpoint hello") {
		t.Fatalf("%q, %q", content(t, "hello"), purlin.Messages)
	}
	create(t, hello("Hello.")) // the same attempt again
	_, err := Note{}.Create(purlin.CreateRequest{Inputs: hello("Hi."), Name: "hello"})
	if !errors.As(err, new(purlin.Conflict)) {
		t.Fatalf("another's note was taken: %v", err)
	}

	if err := os.WriteFile(path("hello"), []byte("Somebody was here.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	seen, err := Note{}.Read(purlin.ReadRequest{ID: &state.ID, Inputs: hello("Hello."), State: &state})
	if err != nil || seen.Values["text"] != "Somebody was here." {
		t.Fatalf("%v, %v", seen, err)
	}
	_, err = Note{}.Read(purlin.ReadRequest{Name: "hello", Inputs: hello("Hello.")})
	if !errors.As(err, new(purlin.Conflict)) {
		t.Fatalf("looked for by name, another's note was found: %v", err)
	}

	change := purlin.Change{State: state, Before: hello("Hello."), After: hello("Bye.")}
	impact, err := Note{}.UpdateImpact(change)
	if err != nil || impact.Replaces != nil || !impact.DeleteBeforeReplace {
		t.Fatalf("%v, %v", impact, err)
	}
	if _, err := (Note{}).Update(change); err != nil || content(t, "hello") != "Bye.\n" {
		t.Fatal(err, content(t, "hello"))
	}

	for range 2 { // a missing note is a success
		if err := (Note{}).Delete(purlin.DeleteRequest{State: state}); err != nil {
			t.Fatal(err)
		}
	}
	if seen, err := (Note{}).Read(purlin.ReadRequest{ID: &state.ID}); seen != nil || err != nil {
		t.Fatalf("%v, %v", seen, err)
	}
}

func TestATitleNamesOneNote(t *testing.T) {
	folder = t.TempDir()
	old := create(t, hello("Hello."))
	replacement := purlin.CreateRequest{Inputs: hello("Hello."), Name: "hello", Replaces: &old.ID}
	if _, err := (Note{}).Create(replacement); !errors.As(err, new(purlin.NeedsDeleteBefore)) {
		t.Fatalf("the old note was taken for the new one: %v", err)
	}
	lookup := purlin.ReadRequest{Inputs: hello("Hello."), Name: "hello"}
	if seen, err := (Note{}).Read(lookup); err != nil || seen == nil || seen.State.ID != "hello" {
		t.Fatalf("an earlier attempt's note was not found: %v, %v", seen, err)
	}
	lookup.Known = []string{"other", old.ID}
	if seen, err := (Note{}).Read(lookup); err != nil || seen != nil {
		t.Fatalf("another resource's note was found: %v, %v", seen, err)
	}
	lookup.ID = &old.ID
	if seen, err := (Note{}).Read(lookup); err != nil || seen == nil {
		t.Fatalf("asked for by its id, the note was not found: %v", err)
	}
}

func TestEveryFaultIsTold(t *testing.T) {
	wrong := given(purlin.Object{"title": "No Title", "color": "red"}, purlin.Object{"signature": true})
	_, err := Note{}.Check(purlin.CheckRequest{Inputs: wrong})
	var faults purlin.InvalidInputs
	if !errors.As(err, &faults) {
		t.Fatal(err)
	}
	var places []string
	for _, fault := range faults {
		places = append(places, fault.Pointer)
	}
	if !slices.Equal(places, []string{"/values/color", "/values/text", "/values/title", "/secrets/signature"}) {
		t.Fatal(faults)
	}
}

func TestATitleIsDrawnOnce(t *testing.T) {
	request := purlin.CheckRequest{
		Subject: purlin.Subject{Guresid: "0123456789abcdef0123456789abcdef01234567"},
		Inputs:  given(purlin.Object{"text": nil}, nil),
	}
	request.Inputs.Unknown = []string{"/values/text"}
	checked, err := Note{}.Check(request)
	if err != nil || checked.Values["title"] != "0123456789ab" || checked.Values["text"] != nil {
		t.Fatal(checked, err)
	}
}

func TestTheSignatureStaysSecret(t *testing.T) {
	folder = t.TempDir()
	signed := given(purlin.Object{"title": "s", "text": "-- x"}, purlin.Object{"signature": "hush"})
	state := create(t, signed)
	if state.Secrets["mark"] != "s:hush" {
		t.Fatal(state)
	}
	const digest = "dc8331bcb2283e89d275a1c2fe66f7bf5ac3163ec1967f149dd7e27906365f0c"
	if got := content(t, "s"); got != "-- x\n-- "+digest+"\n" {
		t.Fatal(got)
	}
	seen, err := Note{}.Read(purlin.ReadRequest{ID: &state.ID, Inputs: signed})
	if err != nil || seen.Values["text"] != "-- x" {
		t.Fatal(seen, err)
	}
}

func TestWithoutAGrantTheMissingOneIsNamed(t *testing.T) {
	folder = "/nowhere"
	_, err := Note{}.Create(purlin.CreateRequest{Inputs: hello("Hello."), Name: "hello"})
	var denied purlin.Denied
	if !errors.As(err, &denied) || denied.Capability != "dirs" {
		t.Fatal(err)
	}
}
