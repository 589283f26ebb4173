// Package purlin turns Go types into a driver for Purlin. A Go type for each resource type describes it,
// and creates and deletes a resource (Type); its further methods are its optional functions (Checker,
// Namer, Reader, ImpactTeller, Updater). Export registers them with the host:
//
//	func init() { purlin.Export(purlin.DriverInfo{Name: "acme/note", Version: "0.1.0"}, Note{}) }
//
//	func main() {} // never called: a driver is a library
//
// Only the standard library is used. On systems other than wasip1 the package works without a host,
// so that a driver can be tested natively.
package purlin

import (
	"fmt"
	"strings"
)

// Type is the interface of every resource type.
type Type interface {
	// Schema describes the type. Always the same; it calls no function of the host.
	Schema() TypeSchema

	// Create creates the resource. It is transactional: any error but Pending, Partial and Undecided
	// means that nothing was created. Checkpoint the id as soon as it is known.
	Create(CreateRequest) (State, error)

	// Delete deletes the resource. A missing resource is a success. If the system only accepted that, or
	// still shows the resource, the error is Pending.
	Delete(DeleteRequest) error
}

// Checker validates inputs, fills in defaults and normalises them. Without it inputs are used
// unchanged.
type Checker interface {
	// Check returns the inputs as they will be used, or InvalidInputs with every fault. It has no
	// effects, and checking its result again changes nothing.
	Check(CheckRequest) (Checked, error)
}

// Namer names the real object. Without it the name is the resource's Guresid.
type Namer interface {
	// Name returns the same name for the same request, and has no effects.
	Name(NameRequest) (string, error)
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
type Updater interface {
	// Update returns the resource as it is now. Its id may not change.
	Update(Change) (State, error)
}

// ImpactTeller decides which changes replace. Without it every change is an update in place.
type ImpactTeller interface {
	// UpdateImpact agrees with what Update accepts, and has no effects.
	UpdateImpact(Change) (Impact, error)
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

// TypeSchema is a driver's description of one resource type.
type TypeSchema struct {
	// Type is the resource type, or * for every type that has no description of its own.
	Type string
	// RepeatCreate promises that Create, called again with the idempotency key of an earlier
	// attempt, finds and returns the object of that attempt, or creates nothing outside itself.
	RepeatCreate bool
	// Inputs is the JSON Schema (2020-12) of {"values":…,"secrets":…,"params":…,"connection":…}, as
	// text.
	Inputs string
	// Outputs is the JSON Schema of the outputs, secret ones with "writeOnly": true.
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
	types []Type
}

// Export registers the driver that receives the host's calls, with each type that it provisions. It
// belongs in a function init.
func Export(info DriverInfo, types ...Type) { exported.info, exported.types = info, types }

// implements returns what the host may call for a type, by the contract's names.
func implements(one Type) []string {
	var names []string
	add := func(name string, has bool) {
		if has {
			names = append(names, name)
		}
	}
	add("check", is[Checker](one))
	add("name", is[Namer](one))
	add("read", is[Reader](one))
	add("update-impact", is[ImpactTeller](one))
	add("update", is[Updater](one))
	add("repeat-create", one.Schema().RepeatCreate)
	return names
}

func is[T any](one Type) bool {
	_, ok := one.(T)
	return ok
}

// serving returns the type of a resource, or else the one for every type, as what a call needs of it.
func serving[T any](subject Subject) (found T, err error) {
	var server Type
	var known []string
	for _, one := range exported.types {
		name := one.Schema().Type
		if name == subject.Type || (name == "*" && server == nil) {
			server = one
		}
		if name == subject.Type {
			break
		}
		known = append(known, "`"+name+"`")
	}
	if server == nil {
		return found, fmt.Errorf("this driver has no type `%s`; it has %s", subject.Type, strings.Join(known, ", "))
	}
	found, ok := server.(T)
	if !ok {
		return found, fmt.Errorf("this driver does not implement that for the type `%s`", subject.Type)
	}
	return found, nil
}
