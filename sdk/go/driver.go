// Package purlin turns a Go type into a driver for Purlin. The type describes itself, and creates
// and deletes a resource (Driver); its further methods are its optional functions (Checker, Namer,
// Reader, ImpactTeller, Updater). Export registers it with the host:
//
//	func init() { purlin.Export(Note{}) }
//
//	func main() {} // never called: a driver is a library
//
// Only the standard library is used. On systems other than wasip1 the package works without a host,
// so that a driver can be tested natively.
package purlin

// Driver is the interface of every driver.
type Driver interface {
	// Manifest describes the driver. Always the same; it calls no function of the host.
	Manifest() Manifest

	// Create creates the resource. It is transactional: any error but Partial and Undecided means that
	// nothing was created. Checkpoint the id as soon as it is known.
	Create(CreateRequest) (State, error)

	// Delete deletes the resource. A missing resource is a success.
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
	// only once the grace of the driver has passed. A driver that cannot look returns an error. By
	// name (ID is nil), it returns only this resource's own object; one of Known is not, and another
	// one with the name is a Conflict.
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

// Manifest is a driver's description of itself.
type Manifest struct {
	// Name is ORG/NAME, such as acme/note.
	Name string
	// Version is a semantic version.
	Version string
	// Description says in one sentence what it provisions.
	Description string
	// RepeatCreate promises that Create, called again with the idempotency key of an earlier
	// attempt, finds and returns the object of that attempt, or creates nothing outside itself.
	RepeatCreate bool
	// Types are those that it provisions, at least one.
	Types []TypeSchema
	// RequestedCapabilities are the capabilities that it requests.
	RequestedCapabilities []RequestedCapability
}

// TypeSchema is a driver's description of one resource type.
type TypeSchema struct {
	// Type is the resource type, or * for any.
	Type string
	// Inputs is the JSON Schema (2020-12) of {"values":…,"secrets":…,"params":…,"connection":…}, as
	// text.
	Inputs string
	// Outputs is the JSON Schema of the outputs, secret ones with "writeOnly": true.
	Outputs string
}

// RequestedCapability is a capability that a driver requests. It is only a request: the operator grants.
type RequestedCapability struct {
	// Capability is http, tcp, udp, dns, env, dirs or secrets.
	Capability string
	// Pattern is the target, empty if the inputs decide.
	Pattern string
	// Reason is the purpose, as a sentence for an operator.
	Reason string
}

// exported is the driver that receives the host's calls.
var exported Driver

// Export registers the driver that receives the host's calls. It belongs in a function init.
func Export(driver Driver) { exported = driver }
