package purlin

// Outputs from structs.

import (
	"encoding"
	"fmt"
	"reflect"
)

// NewState is a state with outputs from a struct, whose tags the README describes: fields marked `secret`
// become Secrets. A pointer that is nil is an output that is left out, as is an `optional` field that is
// zero. The type of the struct is that of the type's schema; one with wrong tags panics, as Describe finds.
func NewState[O any](id string, outputs O) State {
	state := State{ID: id, Outputs: Object{}, Secrets: Object{}}
	given := reflect.ValueOf(outputs)
	if object, is := any(outputs).(Object); is {
		state.Outputs = object
		return state
	}
	if given.Kind() != reflect.Struct {
		panic(fmt.Sprintf("purlin: %T does not describe outputs: that has to be a struct", outputs))
	}
	read := readOutputs(given.Type())
	for _, one := range read.fields {
		value := given.FieldByIndex(one.index)
		switch {
		case one.isLeftOut(value):
		case one.has("secret"):
			state.Secrets[one.name] = state.output(value, "", false)
		default:
			state.Outputs[one.name] = state.output(value, "/outputs"+Pointer(one.name), true)
		}
	}
	return state
}

func readOutputs(of reflect.Type) *object {
	read := objectOf(of, ofOutputs, of.String())
	if err := read.err(); err != nil {
		panic("purlin: " + err.Error())
	}
	return read
}

func (f field) isLeftOut(value reflect.Value) bool { return f.optional && value.IsZero() }

// output is a value as JSON has it. What cannot be JSON stays, so that the host learns that the resource
// exists. Secrets within plain outputs are noted.
func (state *State) output(value reflect.Value, at string, plain bool) any {
	if _, isText := value.Interface().(encoding.TextMarshaler); isText {
		return value.Interface()
	}
	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() {
			return nil
		}
		return state.output(value.Elem(), at, plain)
	case reflect.String:
		if value.Type() != jsonNumber {
			return value.String()
		}
	case reflect.Slice:
		if value.Type() == rawMessage {
			break
		}
		items := make([]any, value.Len())
		for i := range items {
			items[i] = state.output(value.Index(i), fmt.Sprintf("%s/%d", at, i), plain)
		}
		return items
	case reflect.Map:
		object := Object{}
		for entries := value.MapRange(); entries.Next(); {
			name := entries.Key().String()
			object[name] = state.output(entries.Value(), at+Pointer(name), plain)
		}
		return object
	case reflect.Struct:
		object := Object{}
		for _, one := range readOutputs(value.Type()).fields {
			field, below := value.FieldByIndex(one.index), at+Pointer(one.name)
			if one.isLeftOut(field) {
				continue
			}
			if one.has("secret") && plain {
				state.Sensitive = append(state.Sensitive, below)
			}
			object[one.name] = state.output(field, below, plain)
		}
		return object
	}
	return value.Interface()
}
