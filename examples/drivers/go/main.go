// The driver acme/note: a note in a folder that the operator granted.
package main

import (
	"fmt"
	"slices"

	"acme/note/purlin"
)

func init() {
	purlin.Export(purlin.DriverInfo{
		Name:        "acme/note",
		Version:     "0.1.0",
		Description: "A note in a folder that the operator granted.",
		RequestedCapabilities: []purlin.RequestedCapability{{
			Capability: "dirs",
			Reason:     "the folder of the notes, as /notes with mode `rw`",
		}},
	}, Note{})
}

func main() {} // a driver is a library

// Note is a note in a folder that the operator granted.
type Note struct{}

func (Note) Schema() purlin.TypeSchema {
	return purlin.TypeSchema{
		Type: "note", Inputs: inputSchema, Outputs: outputSchema,
		// A note with the same content is from an earlier attempt.
		RepeatCreate: true,
	}
}

func (Note) Check(request purlin.CheckRequest) (purlin.Checked, error) {
	inputs := request.Inputs
	if err := faults(inputs).Err(); err != nil {
		return purlin.Checked{}, err
	}
	if inputs.Values["title"] == nil && !inputs.IsUnknown("/values/title") {
		inputs.Values["title"] = request.Subject.Guresid[:12]
	}
	return purlin.Checked{Values: inputs.Values}, nil
}

func (Note) Name(request purlin.NameRequest) (string, error) {
	note, err := decode(request.Inputs)
	return note.Values.Title, err
}

func (Note) Create(request purlin.CreateRequest) (purlin.State, error) {
	note, err := decode(request.Inputs)
	if err != nil {
		return purlin.State{}, err
	}
	if request.Replaces != nil && *request.Replaces == request.Name {
		message := fmt.Sprintf("the old note has the title `%s`, too", request.Name)
		return purlin.State{}, purlin.NeedsDeleteBefore{Message: message}
	}
	there, err := readNote(request.Name)
	if err != nil {
		return purlin.State{}, err
	}
	if there != nil && *there != note.content() {
		return purlin.State{}, purlin.Conflict{Message: fmt.Sprintf("there is a note `%s` already", request.Name)}
	}
	// From here on, an interrupted call is resolved by this id.
	purlin.Checkpoint(request.Name)
	purlin.Progress("writing the note")
	if err := writeNote(request.Name, note.content()); err != nil {
		return purlin.State{}, err
	}
	purlin.Log(purlin.Info, "wrote the note `%s`", request.Name)
	return note.state(request.Name, note.content()), nil
}

func (Note) Read(request purlin.ReadRequest) (*purlin.Observed, error) {
	title := request.Name
	if request.ID != nil {
		title = *request.ID
	} else if slices.Contains(request.Known, title) {
		return nil, nil // this note belongs to another resource, and titles are unique
	}
	note, err := decode(request.Inputs)
	if err != nil || !isTitle(title) {
		return nil, err
	}
	content, err := readNote(title)
	if err != nil || content == nil {
		return nil, err
	}
	if request.ID == nil && *content != note.content() {
		return nil, purlin.Conflict{Message: fmt.Sprintf("the note `%s` is not this resource's", title)}
	}
	return &purlin.Observed{
		State:  note.state(title, *content),
		Values: purlin.Object{"title": title, "text": note.textOf(*content)},
	}, nil
}

func (Note) UpdateImpact(change purlin.Change) (purlin.Impact, error) {
	if change.Changes("/values/title") {
		return purlin.Impact{Replaces: []string{"/values/title"}}, nil
	}
	return purlin.Impact{
		DeleteBeforeReplace: true, // titles are unique
		StableOutputs:       []string{"/outputs/title", "/outputs/path"},
	}, nil
}

func (Note) Update(change purlin.Change) (purlin.State, error) {
	note, err := decode(change.After)
	if err != nil {
		return purlin.State{}, err
	}
	if note.Values.Title != change.State.ID {
		return purlin.State{}, purlin.Invalid("/values/title", "a note keeps its title; another is another note")
	}
	if err := writeNote(change.State.ID, note.content()); err != nil {
		return purlin.State{}, err
	}
	return note.state(change.State.ID, note.content()), nil
}

func (Note) Delete(request purlin.DeleteRequest) error {
	return removeNote(request.State.ID)
}
