package purlin

// Decoding of inputs into structs, with all faults at once.

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Decode reads inputs into a struct of groups, such as
//
//	struct{ Connection struct{ Server, Token string } }
//
// It reads only what the struct has. The README describes the tags; an input that is left out gets its
// default. Inputs that do not fit are InvalidInputs, with every fault.
//
// An unknown value, which only CheckRequest, ImpactRequest and PreviewRequest have, is no fault, and leaves its field
// zero, even if it has a default: ask Inputs.IsUnknown before you conclude something from a zero.
func Decode[T any](inputs Inputs) (T, error) { return decoded[T](inputs, false) }

// decoded also rejects names that the struct does not have, if it is strict.
func decoded[T any](inputs Inputs, strict bool) (given T, err error) {
	if raw, same := any(&given).(*Inputs); same {
		*raw = inputs
		return given, nil
	}
	d := decoder{describes: ofInputs, unknown: inputs.Unknown, strict: strict}
	into := reflect.ValueOf(&given).Elem()
	if into.Kind() != reflect.Struct {
		return given, fmt.Errorf("%s does not describe inputs: that has to be a struct", into.Type())
	}
	read := objectOf(into.Type(), ofInputs, into.Type().String())
	d.err = read.err()
	for _, one := range read.fields {
		group, _ := inputs.document()[one.name].(Object)
		if group == nil && slices.Contains(inputs.Unknown, "/"+one.name) {
			continue
		}
		if group == nil {
			group = Object{}
		}
		d.value(group, into.FieldByIndex(one.index), "/"+one.name, one.has("open"))
	}
	if d.err != nil {
		return given, d.err
	}
	return given, d.faults.Err()
}

// decoder reads JSON into Go values.
type decoder struct {
	describes side
	// unknown are the places of values that are not known yet.
	unknown []string
	// strict rejects names that a struct does not have.
	strict bool
	faults InvalidInputs
	// err is a fault of tags, which describe reports.
	err error
}

// value reads one value. open accepts names that a struct does not have.
func (d *decoder) value(value any, into reflect.Value, at string, open bool) {
	value = d.plain(value)
	if into.Kind() == reflect.Pointer && into.Type().Elem().Kind() != reflect.Pointer {
		if value != nil {
			into.Set(reflect.New(into.Type().Elem()))
			d.value(value, into.Elem(), at, open)
		}
		return
	}
	if value == nil && slices.Contains(d.unknown, at) {
		return
	}
	kind, err := shapeOf(into.Type())
	if err != nil {
		d.err = errors.Join(d.err, fmt.Errorf("%s %w", at, err))
		return
	}
	if is := shapeIn(value); !fits(is, kind) {
		d.faults.Add(at, fmt.Sprintf("has to be %s, not %s", kind, is))
		return
	}
	switch kind {
	case anything:
		d.any(value, into, at)
	case aText:
		d.text(value.(string), into, at)
	case aBoolean:
		into.SetBool(value.(bool))
	case anInteger, aNumber:
		d.number(fmt.Sprint(value), into, at)
	case aList:
		items := value.([]any)
		into.Set(reflect.MakeSlice(into.Type(), len(items), len(items)))
		for i, item := range items {
			d.value(item, into.Index(i), fmt.Sprintf("%s/%d", at, i), false)
		}
	case aMap:
		object := value.(Object)
		into.Set(reflect.MakeMapWithSize(into.Type(), len(object)))
		for _, name := range sorted(object) {
			item := reflect.New(into.Type().Elem()).Elem()
			d.value(object[name], item, at+Pointer(name), false)
			into.SetMapIndex(reflect.ValueOf(name).Convert(into.Type().Key()), item)
		}
	case anObject:
		d.object(value.(Object), into, at, open)
	}
}

func (d *decoder) object(given Object, into reflect.Value, at string, open bool) {
	read := objectOf(into.Type(), d.describes, at)
	d.err = errors.Join(d.err, read.err())
	var names []string
	for _, one := range read.fields {
		names = append(names, one.name)
		value, is := given[one.name]
		below := at + Pointer(one.name)
		switch {
		case value == nil && slices.Contains(d.unknown, below):
		case !is && one.hasDefault:
			value = one.fallback
			fallthrough
		case is && (value != nil || !one.optional):
			d.value(value, into.FieldByIndex(one.index), below, one.has("open"))
		case !one.optional:
			d.faults.Add(below, "is missing")
		}
	}
	if !d.strict || open || read.whole.has("open") {
		return
	}
	for _, name := range sorted(given) {
		if !slices.Contains(names, name) {
			d.faults.Add(at+Pointer(name), "is unknown; the names are "+strings.Join(names, ", "))
		}
	}
}

// any keeps a value as it is: numbers are json.Number.
func (d *decoder) any(value any, into reflect.Value, at string) {
	if into.Kind() == reflect.Interface {
		if value != nil {
			into.Set(reflect.ValueOf(value))
		}
		return
	}
	json, err := text(value)
	if err != nil {
		d.faults.Add(at, "is not JSON: "+err.Error())
	}
	into.SetBytes([]byte(json))
}

func (d *decoder) text(value string, into reflect.Value, at string) {
	if reads, is := into.Addr().Interface().(encoding.TextUnmarshaler); is {
		if err := reads.UnmarshalText([]byte(value)); err != nil {
			d.faults.Add(at, err.Error())
		}
		return
	}
	into.SetString(value)
}

// number keeps every digit, or it is a fault.
func (d *decoder) number(digits string, into reflect.Value, at string) {
	var err error
	switch {
	case into.Kind() == reflect.String:
		into.SetString(digits)
	case into.Kind() == reflect.Float64:
		var number float64
		number, err = strconv.ParseFloat(digits, 64)
		into.SetFloat(number)
	case into.CanInt():
		var number int64
		number, err = strconv.ParseInt(whole(digits), 10, into.Type().Bits())
		into.SetInt(number)
	default:
		var number uint64
		number, err = strconv.ParseUint(whole(digits), 10, into.Type().Bits())
		into.SetUint(number)
	}
	if errors.Is(err, strconv.ErrRange) || err != nil && strings.HasPrefix(digits, "-") && into.CanUint() {
		d.faults.Add(at, "is too large or too small")
	} else if err != nil {
		d.faults.Add(at, fmt.Sprintf("has to be %s", anInteger))
	}
}

// whole writes 3.0 and 3e2 as whole numbers, as JSON Schema treats them.
func whole(digits string) string {
	if number, err := strconv.ParseFloat(digits, 64); strings.ContainsAny(digits, ".eE") && err == nil &&
		number == math.Trunc(number) && math.Abs(number) < 1<<53 {
		return strconv.FormatFloat(number, 'f', 0, 64)
	}
	return digits
}

// plain is a value as it is read from JSON. Tests write inputs with Go's own numbers and lists.
func (d *decoder) plain(value any) any {
	if shapeIn(value) != "" {
		return value
	}
	json, err := text(value)
	var read any
	if err = errors.Join(err, parseInto(json, &read)); err != nil {
		d.err = errors.Join(d.err, err)
	}
	return read
}
