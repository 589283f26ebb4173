package purlin

// What Go types and values are in JSON.

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// shape is what a Go type is in JSON, in words for people.
type shape string

const (
	anything  shape = "a value"
	aText     shape = "a text"
	anInteger shape = "a whole number"
	aNumber   shape = "a number"
	aBoolean  shape = "true or false"
	aList     shape = "a list"
	aMap      shape = "a map"
	anObject  shape = "a map of known names"
)

// schemaTypes are the names of shapes in JSON Schema; "" accepts all.
var schemaTypes = map[shape]string{
	aText: "string", anInteger: "integer", aNumber: "number", aBoolean: "boolean", aList: "array",
	aMap: "object", anObject: "object",
}

// literal is the value of a tag for a type: the text itself for texts, JSON for anything else.
func literal(given string, of reflect.Type, describes side) (value any, err error) {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	kind, err := shapeOf(of)
	if err != nil {
		return nil, err
	}
	if value = given; kind != aText {
		if err := parseInto(given, &value); err != nil {
			return nil, fmt.Errorf("it has to be %s in JSON", kind)
		}
	}
	check := decoder{describes: describes, strict: true}
	check.value(value, reflect.New(of).Elem(), "", false)
	if len(check.faults) > 0 {
		return nil, errors.New("it " + strings.TrimSpace(check.faults[0].Pointer+" "+check.faults[0].Message))
	}
	return value, check.err
}

var (
	rawMessage       = reflect.TypeFor[json.RawMessage]()
	jsonNumber       = reflect.TypeFor[json.Number]()
	duration         = reflect.TypeFor[time.Duration]()
	textUnmarshaler  = reflect.TypeFor[encoding.TextUnmarshaler]()
	textMarshaler    = reflect.TypeFor[encoding.TextMarshaler]()
	otherUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
)

// shapeOf is what a type, without pointers, is in JSON.
func shapeOf(of reflect.Type) (shape, error) {
	pointer := reflect.PointerTo(of)
	switch {
	case of == rawMessage, of.Kind() == reflect.Interface && of.NumMethod() == 0:
		return anything, nil
	case of == jsonNumber:
		return aNumber, nil
	case of == duration:
		return "", errors.New("is a time.Duration, which has no form in JSON; use a number of seconds, or a text")
	case pointer.Implements(textUnmarshaler) && of.Implements(textMarshaler):
		return aText, nil
	case pointer.Implements(otherUnmarshaler):
		return "", fmt.Errorf("is a %s, which reads JSON by itself, so that its schema is not known; use json.RawMessage", of)
	}
	switch of.Kind() {
	case reflect.String:
		return aText, nil
	case reflect.Bool:
		return aBoolean, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return anInteger, nil
	case reflect.Float64:
		return aNumber, nil
	case reflect.Float32:
		return "", errors.New("is a float32, in which numbers lose digits; use float64")
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Uint8 {
			return "", errors.New("is a list of bytes, which JSON does not have; use a string")
		}
		return aList, nil
	case reflect.Map:
		if of.Key().Kind() != reflect.String {
			return "", fmt.Errorf("is a %s; maps in JSON have texts as keys", of)
		}
		return aMap, nil
	case reflect.Struct:
		return anObject, nil
	}
	return "", fmt.Errorf("is a %s, which JSON does not have", of)
}

// shapeIn is what a value is that was read from JSON; "" for another one.
func shapeIn(value any) shape {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return aText
	case bool:
		return aBoolean
	case json.Number:
		return aNumber
	case []any:
		return aList
	case Object:
		return aMap
	}
	return ""
}

// fits reports whether a value may be decoded as a shape.
func fits(is, wanted shape) bool {
	return is == wanted || wanted == anything || is == aNumber && wanted == anInteger || is == aMap && wanted == anObject
}
