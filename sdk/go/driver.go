// Package purlin turns Go types into a driver for Purlin. A Go type for each resource type describes it,
// and creates and deletes a resource (Type); its further methods are its optional functions (Checker,
// Namer, Reader, ImpactTeller, Updater, Previewer). Export registers them with the host:
//
//	func init() {
//		purlin.Export(purlin.DriverInfo{Name: "acme/note", Version: "0.1.0"}, purlin.Typed(Note{}))
//	}
//
//	func main() {} // never called: a driver is a library
//
// Only the standard library is used. On systems other than wasip1 the package works without a host,
// so that a driver can be tested natively.
package purlin

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"purlin.dev/purlin/internal/exports"
)

// Type is the interface of every resource type. I is a struct of its inputs, and O one of its outputs;
// their tags make the schemas (see the README). Where all inputs are known and fit, the request has them as
// I: in Name, Create and Update. Elsewhere they may be unknown, or recorded by an earlier version of the
// driver, and Decode reads what is needed.
type Type[I, O any] interface {
	// Schema describes the type. Always the same; it calls no function of the host.
	Schema() TypeSchema[I, O]

	// Create creates the resource. It is transactional: any error but Pending, Partial and Undecided
	// means that nothing was created. Checkpoint the id as soon as it is known.
	Create(CreateRequest[I]) (State, error)

	// Delete deletes the resource. A missing resource is a success. If the system only accepted that, or
	// still shows the resource, the error is Pending.
	Delete(DeleteRequest) error
}

// Checker is for rules that a schema cannot express: it validates inputs, fills in what the driver chooses,
// and normalises spellings. Without it inputs are used unchanged.
type Checker interface {
	// Check returns the inputs as they will be used, or InvalidInputs with every fault. It has no
	// effects, and checking its result again changes nothing. Inputs that do not fit I are faults already.
	Check(CheckRequest) (Checked, error)
}

// Namer names the real object. Without it the name is the resource's Guresid.
type Namer[I any] interface {
	// Name returns the same name for the same request, and has no effects.
	Name(NameRequest[I]) (string, error)
}

// Reader reads the resource. Without it the host assumes that reality equals the record: there is no
// drift, no import, and no recovery after a crash.
type Reader interface {
	// Read returns the existing resource, or nil if the system does not show it. Purlin believes that
	// only once the grace of the driver has passed. One that exists and is not ready is Pending. A
	// driver that cannot look returns another error. By name (ID is nil), it returns only this
	// resource's own object; one of Known is not, and another one with the name is a Conflict.
	Read(ReadRequest) (*Observed, error)
}

// Updater changes the resource in place. Without it every change is a replacement.
type Updater[I any] interface {
	// Update returns the resource as it is now. Its id may not change.
	Update(UpdateRequest[I]) (State, error)
}

// ImpactTeller decides which changes replace, and which outputs stay. Without it the schema decides, and
// every other change is an update in place.
type ImpactTeller interface {
	// UpdateImpact agrees with what Update accepts, and has no effects.
	UpdateImpact(ImpactRequest) (Impact, error)
}

// DriverInfo is a driver's description of itself.
type DriverInfo struct {
	// Name is ORG/NAME, such as acme/note.
	Name string
	// Version is a semantic version.
	Version string
	// Description says in one sentence what it provisions.
	Description string
	// RequestedCapabilities are the capabilities that it requests.
	RequestedCapabilities []RequestedCapability
	// Notes are anything else for people, such as homepage or license, by name.
	Notes Object
}

// TypeSchema is a driver's description of one resource type. I is a struct of its inputs, and O one of its
// outputs.
type TypeSchema[I, O any] struct {
	// Type is the resource type, or * for every type that has no description of its own.
	Type string
	// RepeatCreate promises that Create, called again with the idempotency key of an earlier
	// attempt, finds and returns the object of that attempt, or creates nothing outside itself.
	RepeatCreate bool
	// Inputs is the JSON Schema (2020-12) of {"values":…,"secrets":…,"params":…,"connection":…}, as
	// text. If it is empty, the tags of I make it.
	Inputs string
	// Outputs is the JSON Schema of the outputs, secret ones with "writeOnly": true. If it is empty, the
	// tags of O make it.
	Outputs string
}

// RequestedCapability is a capability that a driver requests. It is only a request: the operator grants.
type RequestedCapability struct {
	// Capability is http, tcp, udp, dns, env, dirs, secrets or another one that operators grant.
	Capability string
	// Pattern is the target, empty if the inputs decide.
	Pattern string
	// Reason is the purpose, as a sentence for an operator.
	Reason string
}

// exported is the driver that receives the host's calls.
var exported struct {
	info  DriverInfo
	types []Exported
}

// Export registers the driver that receives the host's calls, with each type that it provisions. It
// belongs in a function init.
func Export(info DriverInfo, types ...Exported) { exported.info, exported.types = info, types }

// Exported is a type as the host calls it: with inputs as JSON. Tests may call it, too. A function that the
// type does not have returns an error, except Preview, whose forecast is then empty.
type Exported struct {
	Check        func(CheckRequest) (Checked, error)
	Name         func(NameRequest[Inputs]) (string, error)
	Create       func(CreateRequest[Inputs]) (State, error)
	Read         func(ReadRequest) (*Observed, error)
	UpdateImpact func(ImpactRequest) (Impact, error)
	Update       func(UpdateRequest[Inputs]) (State, error)
	Delete       func(DeleteRequest) error
	Preview      func(PreviewRequest) (Forecast, error)

	name       string
	implements []string
	previews   bool
	describe   func() (TypeDescription, error)
}

// Typed is a type for Export.
func Typed[I, O any](of Type[I, O]) Exported {
	schema := of.Schema()
	one := Exported{name: schema.Type, Delete: of.Delete}
	has := func(function string, is bool) bool {
		if is {
			one.implements = append(one.implements, function)
		}
		return is
	}
	checker, is := of.(Checker)
	one.Check = missing[CheckRequest, Checked](schema.Type)
	if has("check", is) {
		one.Check = func(request CheckRequest) (Checked, error) {
			if _, err := decoded[I](request.Inputs, true); err != nil {
				return Checked{}, err
			}
			return checker.Check(request)
		}
	}
	namer, is := of.(Namer[I])
	one.Name = missing[NameRequest[Inputs], string](schema.Type)
	if has("name", is) {
		one.Name = func(request NameRequest[Inputs]) (string, error) {
			given, err := decoded[I](request.Inputs, true)
			if err != nil {
				return "", err
			}
			return namer.Name(NameRequest[I]{request.Subject, given, request.Inputs.Sensitive, request.Call})
		}
	}
	one.Create = func(request CreateRequest[Inputs]) (State, error) {
		given, err := decoded[I](request.Inputs, true)
		if err != nil {
			return State{}, err
		}
		return of.Create(CreateRequest[I]{
			request.Subject, given, request.Inputs.Sensitive, request.Name, request.Replaces, request.Call,
		})
	}
	reader, is := of.(Reader)
	one.Read = missing[ReadRequest, *Observed](schema.Type)
	if has("read", is) {
		one.Read = reader.Read
	}
	teller, is := of.(ImpactTeller)
	one.UpdateImpact = missing[ImpactRequest, Impact](schema.Type)
	if has("update-impact", is) {
		one.UpdateImpact = teller.UpdateImpact
	}
	updater, is := of.(Updater[I])
	one.Update = missing[UpdateRequest[Inputs], State](schema.Type)
	if has("update", is) {
		one.Update = func(request UpdateRequest[Inputs]) (State, error) {
			given, err := decoded[I](request.After, true)
			if err != nil {
				return State{}, err
			}
			return updater.Update(UpdateRequest[I]{
				request.Subject, request.State, request.Before, given, request.After.Sensitive, request.Name, request.Call,
			})
		}
	}
	has("repeat-create", schema.RepeatCreate)
	one.Preview = without
	if previewer, is := of.(Previewer); is {
		one.Preview, one.previews = previewer.Preview, true
	}
	one.describe = func() (TypeDescription, error) { return describeType(of, one.implements) }
	return one
}

// missing is a function that a type does not have. The host does not call it.
func missing[R, A any](name string) func(R) (A, error) {
	return func(R) (none A, err error) {
		return none, fmt.Errorf("this driver does not implement that for the type `%s`", name)
	}
}

// Description is what the host learns about the driver.
type Description struct {
	DriverInfo
	Types []TypeDescription
}

// TypeDescription is what the host learns about one type.
type TypeDescription struct {
	Type string
	// Implements are the functions that the host may call, by the contract's names.
	Implements []string
	// Inputs and Outputs are JSON Schemas.
	Inputs, Outputs string
}

// Describe returns what the host learns about the exported driver, or an error with every fault of its
// tags and its methods. A driver with faults cannot be loaded, so a test should call it.
func Describe() (described Description, err error) {
	described.DriverInfo = exported.info
	if len(exported.types) == 0 {
		err = errors.New("no driver: call purlin.Export in a function init of package main")
	}
	for i, one := range exported.types {
		if slices.ContainsFunc(exported.types[:i], func(other Exported) bool { return other.name == one.name }) {
			err = errors.Join(err, fmt.Errorf("two types have the name `%s`", one.name))
		}
		of, fault := one.describe()
		described.Types, err = append(described.Types, of), errors.Join(err, fault)
	}
	switch previews := slices.ContainsFunc(exported.types, func(one Exported) bool { return one.previews }); {
	case previews && !exports.Previews:
		err = errors.Join(err, errors.New(`a type has a method Preview, which nothing exports: write import _ "purlin.dev/purlin/preview"`))
	case exports.Previews && !previews:
		err = errors.Join(err, errors.New(`no type has a method Preview: remove the import of "purlin.dev/purlin/preview"`))
	}
	return described, err
}

func describeType[I, O any](of Type[I, O], implements []string) (described TypeDescription, err error) {
	schema := of.Schema()
	described = TypeDescription{schema.Type, implements, schema.Inputs, schema.Outputs}
	if described.Inputs == "" {
		described.Inputs, err = schemaOf(reflect.TypeFor[I](), ofInputs)
	}
	if described.Outputs == "" {
		var fault error
		described.Outputs, fault = schemaOf(reflect.TypeFor[O](), ofOutputs)
		err = errors.Join(err, fault)
	}
	// A method with another signature, or of a pointer, would be ignored. Each name is a constant, so that the
	// linker keeps only methods with these names.
	kind := reflect.TypeOf(of)
	all := kind
	if kind.Kind() != reflect.Pointer {
		all = reflect.PointerTo(kind)
	}
	has := func(function string) bool { return slices.Contains(implements, function) }
	fits := func(has bool, method, wanted reflect.Method, found bool, of reflect.Type) {
		if !found || has {
			return
		}
		is, right := signature(method, all), signature(wanted, nil)
		if is == right {
			err = errors.Join(err, fmt.Errorf("%s.%s is a method of the pointer; write purlin.Typed(&%s{}), or (%s) before its name", kind, method.Name, kind, kind))
			return
		}
		err = errors.Join(err, fmt.Errorf("%s.%s is not the method of %s: it is %s, and has to be %s", kind, method.Name, of, is, right))
	}
	method, found := all.MethodByName("Check")
	wanted, _ := reflect.TypeFor[Checker]().MethodByName("Check")
	fits(has("check"), method, wanted, found, reflect.TypeFor[Checker]())
	method, found = all.MethodByName("Name")
	wanted, _ = reflect.TypeFor[Namer[I]]().MethodByName("Name")
	fits(has("name"), method, wanted, found, reflect.TypeFor[Namer[I]]())
	method, found = all.MethodByName("Read")
	wanted, _ = reflect.TypeFor[Reader]().MethodByName("Read")
	fits(has("read"), method, wanted, found, reflect.TypeFor[Reader]())
	method, found = all.MethodByName("UpdateImpact")
	wanted, _ = reflect.TypeFor[ImpactTeller]().MethodByName("UpdateImpact")
	fits(has("update-impact"), method, wanted, found, reflect.TypeFor[ImpactTeller]())
	method, found = all.MethodByName("Update")
	wanted, _ = reflect.TypeFor[Updater[I]]().MethodByName("Update")
	fits(has("update"), method, wanted, found, reflect.TypeFor[Updater[I]]())
	method, found = all.MethodByName("Preview")
	wanted, _ = reflect.TypeFor[Previewer]().MethodByName("Preview")
	_, is := of.(Previewer)
	fits(is, method, wanted, found, reflect.TypeFor[Previewer]())
	return described, err
}

// signature writes a method as its declaration has it, without the receiver, if it has one.
func signature(method reflect.Method, receiver reflect.Type) string {
	parameters := strings.TrimPrefix(method.Type.String(), "func(")
	if receiver != nil {
		parameters = strings.TrimPrefix(strings.TrimPrefix(parameters, receiver.String()), ", ")
	}
	return method.Name + "(" + parameters
}

// serving returns the type of a resource, or else the one for every type. err is that of the request.
func serving(subject Subject, err error) (Exported, error) {
	names := make([]string, len(exported.types))
	for i, one := range exported.types {
		names[i] = one.name
	}
	for _, name := range []string{subject.Type, "*"} {
		if at := slices.Index(names, name); at >= 0 {
			return exported.types[at], err
		}
	}
	return Exported{}, errors.Join(err, fmt.Errorf("this driver has no type `%s`; it has `%s`", subject.Type, strings.Join(names, "`, `")))
}
