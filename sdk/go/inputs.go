package purlin

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

// Inputs are the inputs of a resource as JSON. Decode reads them into a struct.
type Inputs struct {
	// Values are the definition's. An unknown value is nil, and listed in Unknown.
	Values Object
	// Secrets are the definition's. Never log them.
	Secrets Object
	// Params are the developer's.
	Params Object
	// Connection says how to reach the system that the resource is in: its server, credentials, a CA.
	// It is always the current one. In Read and Delete it may be newer than the rest.
	Connection Object
	// Account is the account that the definition names, with those of its fields that the schema describes:
	// only its name, if the schema does not describe it, and empty if the definition names none. Like
	// Connection, it is the current one.
	Account Object
	// Unknown are the places of unknown values, as pointers into
	// {"values":…,"secrets":…,"params":…,"connection":…,"account":…}.
	Unknown []string
	// Sensitive are places outside of Secrets that hold secrets, as pointers into the same object. Put
	// everything made from them in State.Secrets, or name it in State.Sensitive.
	Sensitive []string
}

// Get returns the value at a pointer such as /values/title, nil if there is none.
func (in Inputs) Get(pointer string) any {
	at := any(in.document())
	if pointer == "" {
		return at
	}
	for _, step := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		switch above := at.(type) {
		case Object:
			at = above[unescape.Replace(step)]
		case []any:
			index, err := strconv.Atoi(step)
			if err != nil || index < 0 || index >= len(above) {
				return nil
			}
			at = above[index]
		default:
			return nil
		}
	}
	return at
}

// document is the object that pointers refer to.
func (in Inputs) document() Object {
	return Object{
		"values": in.Values, "secrets": in.Secrets, "params": in.Params, "connection": in.Connection,
		"account": in.Account,
	}
}

// IsUnknown reports whether the value at a pointer, above it or below it is unknown.
func (in Inputs) IsUnknown(pointer string) bool {
	for _, unknown := range in.Unknown {
		if within(unknown, pointer) || within(pointer, unknown) {
			return true
		}
	}
	return false
}

// Has reports whether there is a value at a pointer. An unknown one is treated as a value, and null as none.
func (in Inputs) Has(pointer string) bool { return in.IsUnknown(pointer) || in.Get(pointer) != nil }

// Pointer joins names to a JSON Pointer, such as /values/a~1b from "values" and "a/b".
func Pointer(names ...string) string {
	pointer := ""
	for _, name := range names {
		pointer += "/" + escape.Replace(name)
	}
	return pointer
}

var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// within reports whether a pointer is at a place or below it.
func within(outer, inner string) bool {
	rest, found := strings.CutPrefix(inner, outer)
	return found && (rest == "" || strings.HasPrefix(rest, "/"))
}

// parse reads a JSON object.
func parse(text string) (Object, error) {
	object := Object{}
	err := parseInto(text, &object)
	return object, err
}

// parseInto reads JSON. Numbers whose type is open become json.Number, which keeps every digit.
func parseInto(text string, into any) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("there is something after the JSON")
	}
	return nil
}

// write turns an object into JSON, nil into an empty one.
func write(object Object) (string, error) {
	if object == nil {
		return "{}", nil
	}
	return text(object)
}

// written turns each value into JSON.
func written(all Object) (texts map[string]string, err error) {
	texts = make(map[string]string, len(all))
	for name, value := range all {
		one, fault := text(value)
		texts[name], err = one, errors.Join(err, fault)
	}
	return texts, err
}

// text turns something into JSON.
func text(value any) (string, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return strings.TrimSuffix(buffer.String(), "\n"), nil
}
