package purlin

import "fmt"

// Previewer says what an effect would make (purlin:preview): which outputs are certain before it, and which
// parts it creates, changes or deletes. Without it a plan treats all outputs of a new resource as unknown. A
// driver that has it imports purlin.dev/purlin/preview, which exports it.
type Previewer interface {
	// Preview returns the forecast, from inputs that may have unknown places. The host calls it for the resources
	// that a plan creates, updates, replaces or deletes. It has no effects, and each certain output is what the effect
	// returns. Its error may not be Pending, Partial or NeedsDeleteBefore; InvalidInputs are faults of the
	// documents, as those of Check are.
	Preview(PreviewRequest) (Forecast, error)
}

// PreviewRequest has an effect to foresee.
type PreviewRequest struct {
	Subject Subject
	// Effect is a CreateEffect, an UpdateEffect or a DeleteEffect.
	Effect Effect
	// Name is the result of Namer; empty for a new resource whose inputs have unknown places, and for a deletion.
	Name string
	// Call has no idempotency key.
	Call Call
}

// Effect is what may follow: a CreateEffect, an UpdateEffect or a DeleteEffect.
type Effect interface{ effect() }

// CreateEffect is that of Create.
type CreateEffect struct {
	// Inputs are checked, and may have unknown places.
	Inputs Inputs
	// Replaces is the id of the resource that this one replaces, whichever of the two goes first; nil if there
	// is none.
	Replaces *string
}

// UpdateEffect is that of Update.
type UpdateEffect struct {
	// State is the existing resource.
	State State
	// Before are the inputs of the last provisioning, perhaps of an earlier version of the driver.
	Before Inputs
	// After are the new inputs. They are checked, and may have unknown places.
	After Inputs
}

// DeleteEffect is that of Delete.
type DeleteEffect struct {
	// State is the existing resource.
	State State
	// Inputs are those of the last provisioning, perhaps of an earlier version of the driver.
	Inputs Inputs
	// DataLossAllowed says that somebody agreed to lose the data that the object holds.
	DataLossAllowed bool
}

func (CreateEffect) effect() {}
func (UpdateEffect) effect() {}
func (DeleteEffect) effect() {}

// After returns the inputs of the resource that the effect leaves, and false for a deletion.
func (request PreviewRequest) After() (Inputs, bool) {
	switch effect := request.Effect.(type) {
	case CreateEffect:
		return effect.Inputs, true
	case UpdateEffect:
		return effect.After, true
	}
	return Inputs{}, false
}

// Forecast is what an effect would make. An empty one promises nothing.
type Forecast struct {
	// Outputs are those that are certain. Each is a promise that the host checks after the effect; nothing is said
	// about one that is left out.
	Outputs Object
	// Secrets are secret outputs that are certain. A name is in only one of the two.
	Secrets Object
	// Unknown are places within these outputs that are not certain, as pointers into {"outputs":…,"secrets":…}.
	// Their values are nil.
	Unknown []string
	// Sensitive are places within the outputs that hold secrets besides, as those of a State.
	Sensitive []string
	// Parts are those to which something happens, at most 10,000.
	Parts []Part
	// Token ties the effect to this forecast, such as a plan file of the driver's tool, if all inputs are known:
	// ConsentToken returns it. Nil if there is none.
	Token []byte
	// Notes are anything else for people, by name. Nothing depends on them.
	Notes Object
}

// NewForecast is a forecast with outputs from a struct, as those of NewState: all of them are certain, except
// those that are left out.
func NewForecast[O any](outputs O) Forecast {
	state := NewState("", outputs)
	return Forecast{Outputs: state.Outputs, Secrets: state.Secrets, Sensitive: state.Sensitive}
}

// Part is one of the objects that a resource consists of, such as one resource of a module.
type Part struct {
	// Address is its own within the resource, such as module.vpc.aws_subnet.a[0]: 1 to 4096 bytes, the same in
	// every forecast.
	Address string
	// MovedFrom is its address so far, if the effect changes that; otherwise empty.
	MovedFrom string
	// Type is its type, in the driver's words, such as aws_subnet.
	Type string
	// Action is what happens to it.
	Action Action
	// Before are its attributes so far, nil if it is new or they are not shown.
	Before any
	// After are its attributes afterwards, with nil in unknown places; nil if it goes away or they are not shown.
	After any
	// Unknown are places that are unknown, as pointers into {"before":…,"after":…}.
	Unknown []string
	// Sensitive are places that hold secrets, as pointers into the same object. If there is no such place, all of
	// what is above it counts as secret.
	Sensitive []string
	// Replaces are places that make a replacement necessary, as pointers into the same object.
	Replaces []string
	// HoldsData is the data that is lost if the part is deleted or replaced, such as "the tables of the database";
	// empty if it holds none.
	HoldsData string
	// Notes are anything else for people, such as reason, by name. Nothing depends on them.
	Notes Object
}

// Action is what happens to a part.
type Action uint8

// Actions of an effect.
const (
	// ActionNone changes nothing but the address.
	ActionNone Action = iota
	// ActionCreate creates it.
	ActionCreate
	// ActionRead only reads it.
	ActionRead
	// ActionUpdate changes it in place.
	ActionUpdate
	// ActionCreateThenDelete replaces it: the new one is created, then the old one is deleted.
	ActionCreateThenDelete
	// ActionDeleteThenCreate replaces it: the old one is deleted, then the new one is created.
	ActionDeleteThenCreate
	// ActionDelete deletes it.
	ActionDelete
	// ActionAdopt makes an existing object this part.
	ActionAdopt
	// ActionForget leaves it where it is, and the resource no longer has it.
	ActionForget
)

var actions = [...]string{
	"none", "create", "read", "update", "create-then-delete", "delete-then-create", "delete", "adopt", "forget",
}

// String is the contract's name of the action.
func (action Action) String() string {
	if int(action) < len(actions) {
		return actions[action]
	}
	return fmt.Sprintf("Action(%d)", uint8(action))
}

// AgreedToken is the result of ConsentToken in native tests.
var AgreedToken []byte

// ConsentToken returns the token of the forecast that people agreed to; nil if there is none, and in a function
// without effects. If the system has changed since, fail with Conflict before anything is done.
func ConsentToken() []byte { return hostToken() }

// Reached shows people that a part is done.
func Reached(address string, action Action) { hostReached(address, uint32(action)) }

// without is the preview of a type that has none.
func without(PreviewRequest) (Forecast, error) { return Forecast{}, nil }
