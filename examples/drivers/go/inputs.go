package main

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"purlin.dev/purlin"
)

// Inputs are the inputs of a note. The schema comes from the tags: Purlin rejects inputs that do not fit
// before it calls the driver.
type Inputs struct {
	Values struct {
		Text  string `max:"65536" desc:"The text of the note."`
		Title string `purlin:",optional,replaces" pattern:"^[a-z0-9][a-z0-9-]{0,62}$" desc:"The name of the note. By default it is derived from the id of the resource."`
	}
	Secrets struct {
		Signature string `purlin:",optional" desc:"Its digest is put below the text."`
	}
}

// Outputs are the outputs of a note.
type Outputs struct {
	Title string `desc:"The name of the note."`
	Path  string `desc:"The path in the driver's folder."`
	Bytes int    `desc:"The size of the file."`
	Mark  string `purlin:",optional,secret" desc:"Title and signature."`
}

// content returns the content of the file. It has a digest of the signature, which is secret.
func (note Inputs) content() string {
	content := note.Values.Text + "\n"
	if note.Secrets.Signature != "" {
		content += fmt.Sprintf("-- %x\n", sha256.Sum256([]byte(note.Secrets.Signature)))
	}
	return content
}

// textOf returns the text of a file, without the signature, if any.
func (note Inputs) textOf(content string) string {
	content = strings.TrimSuffix(content, "\n")
	if end := strings.LastIndex(content, "\n-- "); note.Secrets.Signature != "" && end >= 0 {
		content = content[:end]
	}
	return content
}

// state returns the state of a note with that content.
func (note Inputs) state(title, content string) purlin.State {
	outputs := Outputs{Title: title, Path: path(title), Bytes: len(content)}
	if note.Secrets.Signature != "" {
		outputs.Mark = title + ":" + note.Secrets.Signature
	}
	return purlin.NewState(title, outputs)
}
