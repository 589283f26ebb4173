// The driver acme/note: a note in a folder that the operator granted.
package main

import (
	"fmt"
	"path/filepath"
	"slices"

	"purlin.dev/purlin"
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
	}, purlin.Typed(Note{}))
}

func main() {} // a driver is a library

// Note is a note in a folder that the operator granted.
type Note struct{}

func (Note) Schema() purlin.TypeSchema[Inputs, Outputs] {
	// A note with the same content is from an earlier attempt.
	return purlin.TypeSchema[Inputs, Outputs]{Type: "note", RepeatCreate: true}
}

// Check gives a note without a title its own. Purlin checks everything that the schema says.
func (Note) Check(request purlin.CheckRequest) (purlin.Checked, error) {
	request.Choose("/values/title", request.Subject.Guresid[:12])
	return purlin.Checked{Values: request.Inputs.Values}, nil
}

func (Note) Name(request purlin.NameRequest[Inputs]) (string, error) {
	return request.Inputs.Values.Title, nil
}

func (Note) Create(request purlin.CreateRequest[Inputs]) (purlin.State, error) {
	note := request.Inputs
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
	note, err := purlin.Decode[Inputs](request.Inputs)
	if err != nil || filepath.Base(title) != title { // an import may ask for any id
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

func (Note) UpdateImpact(change purlin.ImpactRequest) (purlin.Impact, error) {
	if change.Changes("/values/title") {
		return purlin.Impact{}, nil // the schema says that this replaces the note
	}
	return purlin.Impact{
		DeleteBeforeReplace: true, // titles are unique
		StableOutputs:       []string{"/outputs/title", "/outputs/path"},
	}, nil
}

func (Note) Update(change purlin.UpdateRequest[Inputs]) (purlin.State, error) {
	note, title := change.After, change.State.ID
	if note.Values.Title != title {
		return purlin.State{}, purlin.Invalid("/values/title", "a note keeps its title; another is another note")
	}
	if err := writeNote(title, note.content()); err != nil {
		return purlin.State{}, err
	}
	return note.state(title, note.content()), nil
}

func (Note) Delete(request purlin.DeleteRequest) error {
	return removeNote(request.State.ID)
}
