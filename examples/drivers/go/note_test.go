package main

import (
	"errors"
	"os"
	"slices"
	"testing"

	"purlin.dev/purlin"
)

// note is the driver as the host calls it: with inputs as JSON.
var note = purlin.Typed(Note{})

func hello(text string) purlin.Inputs {
	return purlin.Inputs{Values: purlin.Object{"title": "hello", "text": text}}
}

func create(t *testing.T, inputs purlin.Inputs) purlin.State {
	t.Helper()
	name, err := note.Name(purlin.NameRequest[purlin.Inputs]{Inputs: inputs})
	if err != nil {
		t.Fatal(err)
	}
	state, err := note.Create(purlin.CreateRequest[purlin.Inputs]{Inputs: inputs, Name: name})
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
	_, err := note.Create(purlin.CreateRequest[purlin.Inputs]{Inputs: hello("Hi."), Name: "hello"})
	if !errors.As(err, new(purlin.Conflict)) {
		t.Fatalf("another's note was taken: %v", err)
	}

	if err := os.WriteFile(path("hello"), []byte("Somebody was here.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	seen, err := note.Read(purlin.ReadRequest{ID: &state.ID, Inputs: hello("Hello."), State: &state})
	if err != nil || seen.Values["text"] != "Somebody was here." {
		t.Fatalf("%v, %v", seen, err)
	}
	_, err = note.Read(purlin.ReadRequest{Name: "hello", Inputs: hello("Hello.")})
	if !errors.As(err, new(purlin.Conflict)) {
		t.Fatalf("looked for by name, another's note was found: %v", err)
	}

	impact, err := note.UpdateImpact(purlin.ImpactRequest{Before: hello("Hello."), After: hello("Bye.")})
	if err != nil || impact.Replaces != nil || !impact.DeleteBeforeReplace {
		t.Fatalf("%v, %v", impact, err)
	}
	change := purlin.UpdateRequest[purlin.Inputs]{State: state, Before: hello("Hello."), After: hello("Bye.")}
	if _, err := note.Update(change); err != nil || content(t, "hello") != "Bye.\n" {
		t.Fatal(err, content(t, "hello"))
	}

	for range 2 { // a missing note is a success
		if err := note.Delete(purlin.DeleteRequest{State: state}); err != nil {
			t.Fatal(err)
		}
	}
	if seen, err := note.Read(purlin.ReadRequest{ID: &state.ID, Inputs: hello("Bye.")}); seen != nil || err != nil {
		t.Fatalf("%v, %v", seen, err)
	}
}

func TestATitleNamesOneNote(t *testing.T) {
	folder = t.TempDir()
	old := create(t, hello("Hello."))
	replacement := purlin.CreateRequest[purlin.Inputs]{Inputs: hello("Hello."), Name: "hello", Replaces: &old.ID}
	if _, err := note.Create(replacement); !errors.As(err, new(purlin.NeedsDeleteBefore)) {
		t.Fatalf("the old note was taken for the new one: %v", err)
	}
	lookup := purlin.ReadRequest{Inputs: hello("Hello."), Name: "hello"}
	if seen, err := note.Read(lookup); err != nil || seen == nil || seen.State.ID != "hello" {
		t.Fatalf("an earlier attempt's note was not found: %v, %v", seen, err)
	}
	lookup.Known = []string{"other", old.ID}
	if seen, err := note.Read(lookup); err != nil || seen != nil {
		t.Fatalf("another resource's note was found: %v, %v", seen, err)
	}
	lookup.ID = &old.ID
	if seen, err := note.Read(lookup); err != nil || seen == nil {
		t.Fatalf("asked for by its id, the note was not found: %v", err)
	}
}

func TestTheDriverDescribesItself(t *testing.T) {
	if _, err := purlin.Describe(); err != nil {
		t.Fatal(err)
	}
}

func TestEveryFaultIsTold(t *testing.T) {
	wrong := purlin.Inputs{
		Values: purlin.Object{"title": 7, "color": "red"}, Secrets: purlin.Object{"signature": true},
	}
	_, err := note.Check(purlin.CheckRequest{Inputs: wrong})
	var faults purlin.InvalidInputs
	if !errors.As(err, &faults) {
		t.Fatal(err)
	}
	var places []string
	for _, fault := range faults {
		places = append(places, fault.Pointer)
	}
	if !slices.Equal(places, []string{"/values/text", "/values/title", "/values/color", "/secrets/signature"}) {
		t.Fatal(faults)
	}
}

func TestATitleIsDrawnOnce(t *testing.T) {
	request := purlin.CheckRequest{
		Subject: purlin.Subject{Guresid: "0123456789abcdef0123456789abcdef01234567"},
		Inputs:  purlin.Inputs{Values: purlin.Object{"text": nil}, Unknown: []string{"/values/text"}},
	}
	checked, err := note.Check(request)
	if err != nil || checked.Values["title"] != "0123456789ab" || checked.Values["text"] != nil {
		t.Fatal(checked, err)
	}
	// The resource was renamed, which gives it another guresid.
	request.Previous = &purlin.Inputs{Values: checked.Values}
	request.Subject.Guresid = "9876543210abcdef9876543210abcdef98765432"
	request.Inputs.Values = purlin.Object{"text": "Hello."}
	if checked, err := note.Check(request); err != nil || checked.Values["title"] != "0123456789ab" {
		t.Fatal(checked, err)
	}
}

func TestTheSignatureStaysSecret(t *testing.T) {
	folder = t.TempDir()
	signed := purlin.Inputs{
		Values: purlin.Object{"title": "s", "text": "-- x"}, Secrets: purlin.Object{"signature": "hush"},
	}
	state := create(t, signed)
	if state.Secrets["mark"] != "s:hush" {
		t.Fatal(state)
	}
	const digest = "dc8331bcb2283e89d275a1c2fe66f7bf5ac3163ec1967f149dd7e27906365f0c"
	if got := content(t, "s"); got != "-- x\n-- "+digest+"\n" {
		t.Fatal(got)
	}
	seen, err := note.Read(purlin.ReadRequest{ID: &state.ID, Inputs: signed})
	if err != nil || seen.Values["text"] != "-- x" {
		t.Fatal(seen, err)
	}
}

func TestWithoutAGrantTheMissingOneIsNamed(t *testing.T) {
	folder = "/nowhere"
	_, err := note.Create(purlin.CreateRequest[purlin.Inputs]{Inputs: hello("Hello."), Name: "hello"})
	var denied purlin.Denied
	if !errors.As(err, &denied) || denied.Capability != "dirs" {
		t.Fatal(err)
	}
}
