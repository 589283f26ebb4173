package purlin

// The keywords of schemas that tags ask for.

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// keywords adds what tags say about a value of any shape. Those of a field take the place of those of its
// struct.
func (d *describer) keywords(one field, made *schema, kind shape) {
	if desc := one.tags["desc"]; desc != "" {
		made.set("description", desc)
	}
	data, named := one.tags["holds-data"]
	switch {
	case named && (data == "" || one.has("holds-data")):
		d.fail(one.place, "has `holds-data` as a word, or as a tag with the name of the data: not both, and not empty")
	case named:
		made.set("x-purlin-holds-data", data)
	case one.has("holds-data"):
		made.set("x-purlin-holds-data", true)
	}
	reaches, has := one.tags["reaches"]
	if has && !slices.Contains([]string{"http", "tcp", "dir"}, reaches) {
		d.fail(one.place, "has the tag reaches:%q: it has to be http, tcp or dir", reaches)
	} else if has {
		made.set("x-purlin-reaches", reaches)
	}
	if given, has := one.tags["port"]; has {
		port, err := literal(given, reflect.TypeFor[uint16](), d.describes)
		if err != nil || given == "0" || reaches != "tcp" {
			d.fail(one.place, "has the tag port:%q: it has to be a port from 1 to 65535, beside reaches:\"tcp\"", given)
		}
		made.set("x-purlin-port", port)
	}
	if given, has := one.tags["methods"]; has {
		d.methods(one, given, made)
	}
}

// methods adds the methods beside a URL: those after `later` are only for changes and deletions.
func (d *describer) methods(one field, given string, made *schema) {
	var all []any
	for _, item := range strings.Split(given, ",") {
		words := strings.Fields(item)
		switch {
		case len(words) == 1 && words[0] == strings.ToUpper(words[0]):
			all = append(all, words[0])
		case len(words) == 2 && words[0] == strings.ToUpper(words[0]) && words[1] == "later":
			all = append(all, schema{{"method", words[0]}, {"later", true}})
		default:
			d.fail(one.place, "has the tag methods:%q: write it as \"POST,GET later\"", given)
			return
		}
	}
	if one.tags["reaches"] != "http" {
		d.fail(one.place, "has the tag methods:%q, which has to be beside reaches:\"http\"", given)
	}
	made.set("x-purlin-methods", all)
}

// itemsOf are the keywords for what lists and maps contain.
var itemsOf = map[shape]string{aList: "items", aMap: "additionalProperties"}

// stepsOf lead from lists and maps to what they contain, for people.
var stepsOf = map[shape]string{aList: "[]", aMap: "[…]"}

// limitsOf are the keywords for the tags min and max.
var limitsOf = map[shape][2]string{
	aText: {"minLength", "maxLength"}, anInteger: {"minimum", "maximum"}, aNumber: {"minimum", "maximum"},
	aList: {"minItems", "maxItems"}, aMap: {"minProperties", "maxProperties"},
}

// limits adds what limits a value: its size, and the texts or numbers that fit. The latter are about the
// items, if it is a list or a map.
func (d *describer) limits(one field, of reflect.Type, made *schema, kind shape) {
	var ends [2]any
	for i, key := range []string{"min", "max"} {
		given, has := one.tags[key]
		if !has {
			continue
		}
		counts := of
		if kind != anInteger && kind != aNumber {
			counts = reflect.TypeFor[uint32]()
		}
		limit, err := literal(given, counts, d.describes)
		switch {
		case limitsOf[kind][i] == "":
			d.fail(one.place, "has the tag %s:%q, which says nothing about %s", key, given, kind)
		case err != nil:
			d.fail(one.place, "has the tag %s:%q: %v", key, given, err)
		default:
			ends[i] = limit
			made.set(limitsOf[kind][i], limit)
		}
	}
	if ends[0] != nil && ends[1] != nil && float(ends[0]) > float(ends[1]) {
		d.fail(one.place, "has a tag min that is above its tag max")
	}
	items, target := of, made
	if kind == aList || kind == aMap {
		items = of.Elem()
		if items.Kind() == reflect.Pointer {
			items = items.Elem()
		}
		name := itemsOf[kind]
		below, _ := made.get(name).(schema)
		kind, _ = shapeOf(items)
		target = &below
		defer func() {
			if len(below) > 0 {
				made.set(name, below)
			}
		}()
	}
	for _, key := range []string{"pattern", "format"} {
		if given, has := one.tags[key]; has && kind != aText {
			d.fail(one.place, "has the tag %s:%q, which says nothing about %s", key, given, kind)
		} else if has {
			target.add(key, given)
		}
	}
	if given, has := one.tags["enum"]; has {
		var values []any
		for _, item := range strings.Split(given, ",") {
			value, err := literal(item, items, d.describes)
			if err != nil || item == "" || item != strings.TrimSpace(item) || contains(values, value) {
				d.fail(one.place, "has the tag enum:%q: %q is not %s, has spaces around it, or is there twice", given, item, kind)
			}
			values = append(values, value)
		}
		target.add("enum", values)
		if one.hasDefault && target == made && !contains(values, one.fallback) {
			d.fail(one.place, "has a default that is not one of its tag enum")
		}
	}
	if given, has := one.tags["example"]; has {
		example, err := literal(given, one.of, d.describes)
		if err != nil {
			d.fail(one.place, "has the tag example:%q: %v", given, err)
		} else if fault := unfit(example, *made); fault != "" {
			d.fail(one.place, "has the tag example:%q, %s", given, fault)
		}
		made.add("examples", []any{example})
	}
}

// unfit says which keyword of a schema a value breaks, empty if it fits. The types fit already, and a pattern
// that Go does not read is left to the host.
func unfit(value any, of schema) string {
	size, ends := 0.0, [2]string{}
	switch value := value.(type) {
	case json.Number:
		size, ends = float(value), limitsOf[aNumber]
	case string:
		size, ends = float64(utf8.RuneCountInString(value)), limitsOf[aText]
		pattern, _ := of.get("pattern").(string)
		if fits, err := regexp.Compile(pattern); err == nil && !fits.MatchString(value) {
			return fmt.Sprintf("which its pattern %q does not match", pattern)
		}
	case []any:
		size, ends = float64(len(value)), limitsOf[aList]
		items, _ := of.get("items").(schema)
		for _, item := range value {
			if fault := unfit(item, items); fault != "" {
				return fault
			}
		}
	case Object:
		size, ends = float64(len(value)), limitsOf[aMap]
		properties, _ := of.get("properties").(schema)
		others, _ := of.get("additionalProperties").(schema)
		for _, name := range sorted(value) {
			below, isField := properties.get(name).(schema)
			if !isField {
				below = others
			}
			if fault := unfit(value[name], below); fault != "" {
				return fault
			}
		}
	}
	if limit := of.get(ends[0]); limit != nil && size < float(limit) {
		return fmt.Sprintf("which is below its %s %v", ends[0], limit)
	}
	if limit := of.get(ends[1]); limit != nil && size > float(limit) {
		return fmt.Sprintf("which is above its %s %v", ends[1], limit)
	}
	return ""
}

func contains(values []any, value any) bool {
	return slices.ContainsFunc(values, func(other any) bool { return reflect.DeepEqual(other, value) })
}

func float(limit any) float64 {
	value, _ := strconv.ParseFloat(fmt.Sprint(limit), 64)
	return value
}

// extend adds the keywords of a tag schema, for which there is no other tag.
func (d *describer) extend(one field, made *schema) {
	given, has := one.tags["schema"]
	if !has {
		return
	}
	more, err := parse(given)
	if err != nil {
		d.fail(one.place, "has the tag schema:%q: it has to be a map in JSON", given)
	}
	for _, name := range sorted(more) {
		if made.get(name) != nil {
			d.fail(one.place, "has the tag schema:%q: `%s` is there already", given, name)
		}
		made.add(name, more[name])
	}
}
