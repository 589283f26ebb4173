package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"acme/note/purlin"
)

// longest is the maximum number of bytes of a text.
const longest = 64 << 10

// note has the inputs of the driver after Check.
type note struct {
	Values  struct{ Title, Text string }
	Secrets struct{ Signature *string }
}

func decode(inputs purlin.Inputs) (note note, err error) {
	err = inputs.Decode(&note)
	return note, err
}

// content returns the content of the file. It has a digest of the signature, which is secret.
func (note note) content() string {
	content := note.Values.Text + "\n"
	if note.Secrets.Signature != nil {
		content += fmt.Sprintf("-- %x\n", sha256.Sum256([]byte(*note.Secrets.Signature)))
	}
	return content
}

// textOf returns the text of a file, without the signature, if any.
func (note note) textOf(content string) string {
	content = strings.TrimSuffix(content, "\n")
	if end := strings.LastIndex(content, "\n-- "); note.Secrets.Signature != nil && end >= 0 {
		content = content[:end]
	}
	return content
}

// state returns the state of a note with that content.
func (note note) state(title, content string) purlin.State {
	state := purlin.State{
		ID:      title,
		Outputs: purlin.Object{"title": title, "path": path(title), "bytes": len(content)},
	}
	if note.Secrets.Signature != nil {
		state.Secrets = purlin.Object{"mark": title + ":" + *note.Secrets.Signature}
	}
	return state
}

// faults returns all faults of the inputs. Unknown values are not checked.
func faults(inputs purlin.Inputs) (faults purlin.InvalidInputs) {
	unknown := func(part string, object purlin.Object, known ...string) {
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if !slices.Contains(known, name) {
				faults.Add(purlin.Pointer(part, name), "is unknown; the names are "+strings.Join(known, ", "))
			}
		}
	}
	judge := func(pointer string, required bool, fault func(string) string) {
		switch value := inputs.Get(pointer).(type) {
		case nil:
			if required && !inputs.IsUnknown(pointer) {
				faults.Add(pointer, "is missing")
			}
		case string:
			if message := fault(value); message != "" {
				faults.Add(pointer, message)
			}
		default:
			faults.Add(pointer, "has to be a text")
		}
	}
	unknown("values", inputs.Values, "text", "title")
	unknown("secrets", inputs.Secrets, "signature")
	judge("/values/text", true, func(text string) string {
		if len(text) > longest {
			return "is longer than 64 KiB"
		}
		return ""
	})
	judge("/values/title", false, func(title string) string {
		if !isTitle(title) {
			return "has to be up to 63 lower-case letters, digits and dashes"
		}
		return ""
	})
	judge("/secrets/signature", false, func(string) string { return "" })
	return faults
}

func isTitle(title string) bool {
	rest := strings.TrimLeft(title, "abcdefghijklmnopqrstuvwxyz0123456789-")
	return title != "" && title[0] != '-' && len(title) <= 63 && rest == ""
}

const inputSchema = `{
	"type": "object",
	"required": ["values"],
	"properties": {
		"values": {
			"type": "object",
			"required": ["text"],
			"additionalProperties": false,
			"properties": {
				"text": {"type": "string", "maxLength": 65536, "description": "The text of the note."},
				"title": {
					"type": "string",
					"pattern": "^[a-z0-9][a-z0-9-]{0,62}$",
					"description": "The name of the note. By default it is derived from the id of the resource."
				}
			}
		},
		"secrets": {
			"type": "object",
			"additionalProperties": false,
			"properties": {
				"signature": {"type": "string", "description": "Its digest is put below the text."}
			}
		}
	}
}`

const outputSchema = `{
	"type": "object",
	"required": ["title", "path", "bytes"],
	"additionalProperties": false,
	"properties": {
		"title": {"type": "string"},
		"path": {"type": "string", "description": "The path in the driver's folder."},
		"bytes": {"type": "integer", "description": "The size of the file."},
		"mark": {"type": "string", "writeOnly": true, "description": "Title and signature."}
	}
}`
