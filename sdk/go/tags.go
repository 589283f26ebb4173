package purlin

// What struct tags say about inputs and outputs: read once per type, for its schema (schema.go), for
// decoding inputs (decode.go) and for outputs (outputs.go).

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// side is what a struct describes.
type side string

const (
	ofInputs  side = "inputs"
	ofOutputs side = "outputs"
)

// tagKeys are the keys of tags, and what they may describe; "" is both.
var tagKeys = map[string]side{
	"purlin": "", "desc": "", "enum": "", "min": "", "max": "", "pattern": "", "format": "", "example": "",
	"schema": "", "default": ofInputs, "holds-data": ofInputs, "reaches": ofInputs, "port": ofInputs,
	"methods": ofInputs,
}

// othersKeys belong to other encoders, which may use the same struct.
var othersKeys = []string{"json", "yaml", "toml", "xml"}

// tagWords are the words after the name in the key purlin, likewise.
var tagWords = map[string]side{
	"optional": "", "secret": "", "open": "", "replaces": ofInputs, "immutable": ofInputs,
	"holds-data": ofInputs, "write-once": ofOutputs, "computed": ofOutputs, "inputs": ofOutputs,
}

// ofWholes are the keys and words of a field `_ struct{}`, which describes the struct that it is in.
var ofWholes = []string{"purlin", "desc", "schema", "holds-data", "reaches", "port", "methods", "open", "computed", "inputs"}

// ofGroups are the keys and words of the groups of inputs, such as Values.
var ofGroups = []string{"purlin", "desc", "schema", "holds-data", "open"}

var groups = []string{"values", "secrets", "params", "connection", "account"}

// field is a field of a struct, as its tags describe it.
type field struct {
	// place is the field in Go, for people, such as main.Values.Title.
	place string
	// name is its name in JSON.
	name  string
	index []int
	of    reflect.Type
	words []string
	tags  map[string]string
	// optional says that it may be left out, without a default.
	optional bool
	// fallback is its default, if hasDefault.
	fallback   any
	hasDefault bool
}

func (f field) has(word string) bool { return slices.Contains(f.words, word) }

// object is a struct as its tags describe it.
type object struct {
	fields []field
	// whole has the tags of the struct itself.
	whole  field
	faults []error
}

// err has every fault of the struct's tags.
func (read *object) err() error { return errors.Join(read.faults...) }

// misplaced is a fault of a key or a word that is only for the other side.
type misplaced struct {
	// place is the field in Go, and name the field in its struct.
	place, name string
	what        string
	only        side
}

func (fault misplaced) Error() string {
	return fmt.Sprintf("%s has the %s, which is only for %s", fault.place, fault.what, fault.only)
}

// objects are the structs that were read before.
var objects sync.Map

type objectKey struct {
	of        reflect.Type
	describes side
}

// objectOf reads the tags of a struct. place names a struct that has no name of its own.
func objectOf(of reflect.Type, describes side, place string) *object {
	if known, found := objects.Load(objectKey{of, describes}); found {
		return known.(*object)
	}
	if of.Name() != "" {
		place = of.String()
	}
	read := &object{}
	read.read(of, describes, place, nil)
	names := map[string]string{}
	for _, one := range read.fields {
		if other, twice := names[one.name]; twice {
			read.fail(one.place, "is `%s`, as is %s", one.name, other)
		}
		names[one.name] = one.place
	}
	objects.Store(objectKey{of, describes}, read)
	return read
}

func (read *object) fail(place, format string, arguments ...any) {
	read.faults = append(read.faults, fmt.Errorf("%s %s", place, fmt.Sprintf(format, arguments...)))
}

func (read *object) read(of reflect.Type, describes side, place string, index []int) {
	for i := range of.NumField() {
		in := of.Field(i)
		one := field{place: place + "." + in.Name, of: in.Type, index: append(slices.Clone(index), i)}
		tags, err := parseTag(string(in.Tag))
		if err != nil {
			read.fail(one.place, "has a tag that is not `key:\"value\"` pairs: %v", err)
			continue
		}
		one.tags = tags
		name, words, _ := strings.Cut(tags["purlin"], ",")
		if words != "" {
			one.words = strings.Split(words, ",")
		}
		isWhole := in.Name == "_"
		isOurs := slices.ContainsFunc(sorted(tags), func(key string) bool { _, ours := tagKeys[key]; return ours })
		switch {
		case name == "-" && words == "":
			continue
		case isWhole && len(tags) == 0, !isWhole && !in.IsExported() && !in.Anonymous && !isOurs:
			continue
		case !isWhole && !in.IsExported() && !in.Anonymous:
			read.fail(one.place, "has a tag, but is not exported")
			continue
		}
		// Nobody looks for a field `secret` in a tag that marks one as a secret.
		if _, isWord := tagWords[name]; isWord && strings.ReplaceAll(name, "-", "_") != snake(in.Name) {
			read.fail(one.place, "has the name `%s`, which is a word: write purlin:%q%s", name, ","+tags["purlin"], renamed(name, isWhole))
			continue
		}
		if !read.valid(one, in.Name, describes) {
			continue
		}
		switch {
		case isWhole && (name != "" || len(index) > 0 || read.whole.tags != nil):
			read.fail(one.place, "describes the whole struct: once, without a name, and not in an embedded one")
		case isWhole:
			read.only(one, ofWholes, "the whole struct")
			read.whole = one
		case in.Anonymous && name == "":
			if kind, _ := shapeOf(in.Type); kind != anObject || len(tags) > 0 {
				read.fail(one.place, "is embedded: it has to be a struct without a tag, or to have a name")
				continue
			}
			read.read(in.Type, describes, in.Type.String(), one.index)
		default:
			if !in.IsExported() {
				read.fail(one.place, "has a name, but is not exported")
				continue
			}
			if name == "" {
				name = snake(in.Name)
				json, _, _ := strings.Cut(tags["json"], ",")
				if json != "" && json != name {
					read.fail(one.place, "is `%s` in tag json and `%s` here; write purlin:%q or purlin:\"-\"", json, name, json)
				}
			}
			if name != strings.TrimSpace(name) {
				read.fail(one.place, "has the name %q, with spaces around it", name)
			}
			one.name = name
			read.add(one, describes)
		}
	}
}

// sorted are the names of a map.
func sorted[T any](all map[string]T) []string { return slices.Sorted(maps.Keys(all)) }

// valid reports whether all keys and words of a field are known.
func (read *object) valid(one field, name string, describes side) bool {
	is := func(kind, what string, known map[string]side, others ...string) bool {
		where, ours := known[what]
		switch {
		case ours && where != "" && where != describes:
			read.faults = append(read.faults, misplaced{one.place, name, fmt.Sprintf("%s `%s`", kind, what), where})
		case !ours && !slices.Contains(others, what):
			read.fail(one.place, "has the %s `%s`, which is unknown; the %ss are %s", kind, what, kind, strings.Join(sorted(known), ", "))
		default:
			return true
		}
		return false
	}
	ok := true
	for _, key := range sorted(one.tags) {
		ok = is("tag", key, tagKeys, othersKeys...) && ok
	}
	for i, word := range one.words {
		ok = is("word", word, tagWords) && ok
		if slices.Contains(one.words[:i], word) {
			read.fail(one.place, "has the word `%s` twice", word)
		}
	}
	return ok
}

// only rejects keys and words that say nothing about what they are at.
func (read *object) only(one field, known []string, what string) {
	for _, key := range append(sorted(one.tags), one.words...) {
		if !slices.Contains(known, key) && !slices.Contains(othersKeys, key) {
			read.fail(one.place, "has `%s`, which says nothing about %s", key, what)
		}
	}
}

// add adds a field with its default.
func (read *object) add(one field, describes side) {
	for _, word := range []string{"computed", "inputs"} {
		if one.has(word) {
			read.fail(one.place, "has `%s`, which is only for the whole struct: `_ struct{}`", word)
		}
	}
	isPointer := one.of.Kind() == reflect.Pointer
	one.optional = isPointer || one.has("optional")
	given, has := one.tags["default"]
	if has && one.optional {
		read.fail(one.place, "has a default, so it always has a value: it can be no pointer, and not `optional`")
	} else if has {
		value, err := literal(given, one.of, describes)
		if err != nil {
			read.fail(one.place, "has the tag default:%q: %v", given, err)
		}
		one.fallback, one.hasDefault = value, true
	}
	read.fields = append(read.fields, one)
	// A struct without a name gets the place of its field, also where only values of it are at hand.
	below := one.of
	for range 3 {
		if below.Kind() == reflect.Pointer || below.Kind() == reflect.Slice || below.Kind() == reflect.Map {
			below = below.Elem()
		}
	}
	if below.Kind() == reflect.Struct && below.Name() == "" {
		objectOf(below, describes, one.place)
	}
}

// snake writes the name of a field as inputs are written: ForceDestroy as force_destroy.
func snake(name string) string {
	letters := []rune(name)
	var written strings.Builder
	for i, letter := range letters {
		if unicode.IsUpper(letter) && i > 0 {
			endsWord := !unicode.IsUpper(letters[i-1])
			beginsWord := i+1 < len(letters) && unicode.IsLower(letters[i+1])
			if endsWord || beginsWord {
				written.WriteByte('_')
			}
		}
		written.WriteRune(unicode.ToLower(letter))
	}
	return written.String()
}

// renamed is the advice for a field whose name in JSON is meant to be a word: write-once as WriteOnce.
func renamed(word string, isWhole bool) string {
	if isWhole {
		return ""
	}
	var written strings.Builder
	for _, part := range strings.Split(word, "-") {
		written.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return ", or call the field " + written.String() + " if that is its name"
}

// parseTag reads a struct tag. Unlike reflect.StructTag, it ignores no part of it.
func parseTag(tag string) (map[string]string, error) {
	pairs := map[string]string{}
	for rest := strings.TrimLeft(tag, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		key, after, found := strings.Cut(rest, ":")
		if !found || key == "" || strings.ContainsAny(key, " \"\t\n") {
			return nil, fmt.Errorf("at `%s`", rest)
		}
		quoted, err := strconv.QuotedPrefix(after)
		if err != nil || quoted[0] != '"' {
			return nil, fmt.Errorf("at `%s`", rest)
		}
		if _, twice := pairs[key]; twice {
			return nil, fmt.Errorf("`%s` is there twice", key)
		}
		if pairs[key], err = strconv.Unquote(quoted); err != nil {
			return nil, fmt.Errorf("at `%s`", rest)
		}
		if rest = after[len(quoted):]; rest != "" && rest[0] != ' ' {
			return nil, fmt.Errorf("at `%s`, where a space has to be", rest)
		}
	}
	return pairs, nil
}
