package purlin

// JSON Schemas of inputs and outputs, from structs and their tags.

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// schemaOf is the JSON Schema of a type, as text, or the error has every fault of its tags.
func schemaOf(of reflect.Type, describes side) (string, error) {
	if of == reflect.TypeFor[Inputs]() {
		return "", errors.New("purlin.Inputs has no schema: write it as text, in TypeSchema.Inputs")
	}
	if of == reflect.TypeFor[Object]() && describes == ofOutputs {
		return `{"type":"object"}`, nil
	}
	if of.Kind() != reflect.Struct {
		return "", fmt.Errorf("%s does not describe %s: that has to be a struct", of, describes)
	}
	d := describer{describes: describes, path: of.String()}
	root := d.structure(of, of.String(), false)
	if describes == ofInputs {
		d.groups(of, &root)
	}
	if d.err != nil {
		return "", d.err
	}
	return text(root)
}

// schema is a JSON Schema. Its keywords keep their order.
type schema []keyword

type keyword struct {
	name  string
	value any
}

func (s *schema) add(name string, value any) { *s = append(*s, keyword{name, value}) }

func (s schema) get(name string) any {
	for _, one := range s {
		if one.name == name {
			return one.value
		}
	}
	return nil
}

// set gives a keyword another value, in its place if it is there.
func (s *schema) set(name string, value any) {
	at := slices.IndexFunc(*s, func(one keyword) bool { return one.name == name })
	if at < 0 {
		s.add(name, value)
		return
	}
	(*s)[at].value = value
}

// MarshalJSON writes the schema as an object.
func (s schema) MarshalJSON() ([]byte, error) {
	var written bytes.Buffer
	written.WriteByte('{')
	for i, one := range s {
		if i > 0 {
			written.WriteByte(',')
		}
		for j, part := range []any{one.name, one.value} {
			if j > 0 {
				written.WriteByte(':')
			}
			json, err := text(part)
			if err != nil {
				return nil, err
			}
			written.WriteString(json)
		}
	}
	written.WriteByte('}')
	return written.Bytes(), nil
}

// describer makes a schema.
type describer struct {
	describes side
	// path leads to the current struct, from the whole one.
	path string
	// within are the types around the current place.
	within []reflect.Type
	// seen are structs whose faults were reported.
	seen []*object
	err  error
}

func (d *describer) fail(place, format string, arguments ...any) {
	d.err = errors.Join(d.err, fmt.Errorf("%s %s", place, fmt.Sprintf(format, arguments...)))
}

// structure is the schema of a struct.
func (d *describer) structure(of reflect.Type, place string, open bool) schema {
	if slices.Contains(d.within, of) {
		d.fail(place, "is a %s within itself; use json.RawMessage for one of them, or write the schema as text", of)
		return nil
	}
	atRoot := len(d.within) == 0
	d.within = append(d.within, of)
	defer func() { d.within = d.within[:len(d.within)-1] }()
	read := objectOf(of, d.describes, place)
	if !slices.Contains(d.seen, read) {
		d.seen = append(d.seen, read)
		d.faults(of, read)
	}
	path := d.path
	defer func() { d.path = path }()
	made, properties, required := schema{{"type", "object"}}, schema{}, []string{}
	for _, one := range read.fields {
		d.path = path + one.place[strings.LastIndexByte(one.place, '.'):]
		property := d.property(one)
		if property == nil {
			continue
		}
		properties.add(one.name, property)
		if !one.optional && !one.hasDefault {
			required = append(required, one.name)
		}
	}
	whole := read.whole
	d.keywords(whole, &made, aMap)
	if len(required) > 0 {
		made.add("required", required)
	}
	if !open && !whole.has("open") {
		made.add("additionalProperties", false)
	}
	for _, word := range []string{"computed", "inputs"} {
		if whole.has(word) && !atRoot {
			d.fail(whole.place, "has `%s`, which is only for the outputs as a whole", word)
		} else if whole.has(word) {
			made.add("x-purlin-outputs", word)
		}
	}
	made.add("properties", properties)
	d.extend(whole, &made)
	return made
}

// faults reports those of a struct. One that is read for inputs and outputs has tags that only one of them
// has, so it is not the tag that is wrong.
func (d *describer) faults(of reflect.Type, read *object) {
	other := ofInputs
	if d.describes == ofInputs {
		other = ofOutputs
	}
	_, isShared := objects.Load(objectKey{of, other})
	for _, fault := range read.faults {
		if one, is := fault.(misplaced); is && isShared {
			fault = fmt.Errorf("%s.%s has the %s, which is only for %s; write a struct of its own for %s, instead of %s",
				d.path, one.name, one.what, one.only, d.describes, of)
		}
		d.err = errors.Join(d.err, fault)
	}
}

// groups makes the root of the schema of inputs: the host passes each group, and those that a driver
// does not read are open.
func (d *describer) groups(of reflect.Type, root *schema) {
	properties, required := schema{}, []string{}
	for _, one := range objectOf(of, ofInputs, "").fields {
		var group object
		group.only(one, ofGroups, "a group of inputs")
		d.err = errors.Join(d.err, group.err())
		kind, _ := shapeOf(one.of)
		isGroup := kind == anObject || one.of == reflect.TypeFor[Object]()
		switch {
		case !slices.Contains(groups, one.name):
			d.fail(one.place, "is no group of inputs; the groups are %s", strings.Join(groups, ", "))
		case !isGroup:
			d.fail(one.place, "is a group of inputs: it has to be a struct, or a purlin.Object")
		default:
			described, _ := root.get("properties").(schema).get(one.name).(schema)
			properties.add(one.name, described)
			if described.get("required") != nil {
				required = append(required, one.name)
			}
		}
	}
	*root = slices.DeleteFunc(*root, func(one keyword) bool {
		return slices.Contains([]string{"required", "additionalProperties", "properties"}, one.name)
	})
	if len(required) > 0 {
		root.add("required", required)
	}
	root.add("properties", properties)
}

// property is the schema of a field.
func (d *describer) property(one field) schema {
	of, isPointer := one.of, one.of.Kind() == reflect.Pointer
	if isPointer {
		of = of.Elem()
	}
	made, kind := d.value(of, one.place, one.has("open"))
	if made == nil {
		return nil
	}
	if one.has("open") && kind != anObject {
		d.fail(one.place, "has `open`, which is only for structs, not for a %s", of)
	}
	if isPointer && (kind == anything || kind == aList || kind == aMap) {
		d.fail(one.place, "is a pointer to a %s, which can be nil itself; write `optional`", of)
	}
	d.keywords(one, &made, kind)
	d.limits(one, of, &made, kind)
	if one.hasDefault {
		made.add("default", one.fallback)
		if fault := unfit(one.fallback, made); fault != "" {
			d.fail(one.place, "has the tag default:%q, %s", one.tags["default"], fault)
		}
	}
	for _, mark := range []string{"replaces", "immutable", "write-once"} {
		if one.has(mark) {
			made.add("x-purlin-"+mark, true)
		}
	}
	if one.has("secret") {
		made.add("writeOnly", true)
	}
	// An optional input may be null, and an optional output is left out.
	if one.optional && d.describes == ofInputs && kind != anything {
		made.set("type", []any{made.get("type"), "null"})
		if values, limited := made.get("enum").([]any); limited {
			made.set("enum", append(values, nil))
		}
	}
	d.extend(one, &made)
	return made
}

// value is the schema of a type, nil after a fault.
func (d *describer) value(of reflect.Type, place string, open bool) (schema, shape) {
	kind, err := shapeOf(of)
	if err != nil {
		d.fail(place, "%v", err)
		return nil, ""
	}
	if kind == anObject {
		made := d.structure(of, place, open)
		return made, kind
	}
	made := schema{}
	if kind != anything {
		made.add("type", schemaTypes[kind])
	}
	if (kind == aList || kind == aMap) && slices.Contains(d.within, of) {
		d.fail(place, "is a %s within itself; use json.RawMessage for one of them, or write the schema as text", of)
		return nil, ""
	}
	d.within = append(d.within, of)
	defer func() { d.within = d.within[:len(d.within)-1] }()
	switch {
	case kind == anInteger:
		if of.Bits() < 64 && of.Kind() <= reflect.Int64 {
			made.add("minimum", int64(math.MinInt64)>>(64-of.Bits()))
			made.add("maximum", int64(math.MaxInt64)>>(64-of.Bits()))
		} else if of.Kind() >= reflect.Uint {
			made.add("minimum", 0)
			if of.Bits() < 64 {
				made.add("maximum", uint64(math.MaxUint64)>>(64-of.Bits()))
			}
		}
	case kind == aList, kind == aMap:
		below, isPointer := of.Elem(), of.Elem().Kind() == reflect.Pointer
		if isPointer {
			below = below.Elem()
		}
		path := d.path
		d.path += stepsOf[kind]
		items, of := d.value(below, place, false)
		if d.path = path; items == nil {
			return nil, ""
		}
		if isPointer && of != anything {
			items.set("type", []any{items.get("type"), "null"})
		}
		if len(items) > 0 {
			made.add(itemsOf[kind], items)
		}
	}
	return made, kind
}
