// Package purlin makes a driver for Purlin of a Go type. The type says what it is and how a
// resource is made and deleted (Driver); whatever more it can do is told by the methods that it
// has (Checker, Namer, Reader, ImpactTeller, Updater). Export hands it to the host:
//
//	func init() { purlin.Export(Note{}) }
//
//	func main() {} // nobody calls it: a driver is a library
//
// Only the standard library is used. On other systems than wasip1 the package does without a host,
// so that a driver can be tested natively.
package purlin

// Driver is what every driver is.
type Driver interface {
	// Manifest says what the driver is. Always the same; it calls nothing of the host.
	Manifest() Manifest

	// Create makes the resource. It is transactional: any error but Partial and Undecided means that
	// nothing was made. Checkpoint the id as soon as it is known.
	Create(CreateRequest) (State, error)

	// Delete deletes the resource. What is gone already is a success.
	Delete(DeleteRequest) error
}

// Checker validates inputs, fills in defaults and normalises them. Without it inputs are taken as
// they are.
type Checker interface {
	// Check returns the inputs as they will be used, or InvalidInputs with every fault. It has no
	// effects, and checking its answer again changes nothing.
	Check(CheckRequest) (Checked, error)
}

// Namer names the real thing. Without it the name is the resource's Guresid.
type Namer interface {
	// Name returns the same name for the same request, and has no effects.
	Name(NameRequest) (string, error)
}

// Reader looks at the resource as it is. Without it reality is taken to be what was recorded: there
// is no drift, no import, and no finding again after a crash.
type Reader interface {
	// Read returns what exists, nil only when it is certain that it is gone. Asked by name (ID is
	// nil), only what is this resource's own is returned; one of Known is not, and another that has
	// the name is a Conflict.
	Read(ReadRequest) (*Observed, error)
}

// Updater changes the resource in place. Without it every change is a replacement.
type Updater interface {
	// Update returns the resource as it is now. Its id may not change.
	Update(Change) (State, error)
}

// ImpactTeller says which changes replace. Without it every change is an update in place.
type ImpactTeller interface {
	// UpdateImpact agrees with what Update accepts, and has no effects.
	UpdateImpact(Change) (Impact, error)
}

// Manifest is what a driver says of itself.
type Manifest struct {
	// Name is ORG/NAME, such as acme/note.
	Name string
	// Version is a semantic version.
	Version string
	// Description says in a sentence what it provisions.
	Description string
	// RepeatCreate promises that Create, called again with the idempotency key of an earlier
	// attempt, finds what that made and returns it, or makes nothing outside itself.
	RepeatCreate bool
	// Types are those that it provisions, at least one.
	Types []TypeSchema
	// Wishes are the capabilities that it would like.
	Wishes []Wish
}

// TypeSchema is what a driver says of one resource type.
type TypeSchema struct {
	// Type is the resource type, or * for any.
	Type string
	// Inputs is the JSON Schema (2020-12) of {"values":…,"secrets":…,"params":…,"connection":…}, as
	// text.
	Inputs string
	// Outputs is the JSON Schema of the outputs, secret ones with "writeOnly": true.
	Outputs string
}

// Wish is a capability that a driver asks for. It is only a wish: the operator grants.
type Wish struct {
	// Capability is http, tcp, udp, dns, env, dirs or secrets.
	Capability string
	// Pattern is what is to be reached, empty where the inputs decide.
	Pattern string
	// Reason says what for, in a sentence to an operator.
	Reason string
}

// exported is the driver that the host's calls go to.
var exported Driver

// Export makes this the driver that the host's calls go to. It belongs in a function init.
func Export(driver Driver) { exported = driver }
