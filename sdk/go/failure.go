package purlin

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Any error of a driver ends a call. Those below tell the host more; errors.As finds them if they are
// wrapped. All but Partial and Undecided promise that nothing was created or changed.

// InvalidInput is one input that cannot be used.
type InvalidInput struct {
	// Pointer leads into {"values":…,"secrets":…,"params":…,"connection":…}.
	Pointer string
	// Message is the fault, and how to correct it.
	Message string
}

// InvalidInputs are wrong inputs; another attempt does not help.
type InvalidInputs []InvalidInput

func (faults InvalidInputs) Error() string {
	texts := make([]string, len(faults))
	for i, fault := range faults {
		texts[i] = fault.Pointer + ": " + fault.Message
	}
	return "invalid inputs: " + strings.Join(texts, "; ")
}

// Add collects one more fault, so that all are reported at once.
func (faults *InvalidInputs) Add(pointer, message string) {
	*faults = append(*faults, InvalidInput{pointer, message})
}

// Err is nil if there is no fault.
func (faults InvalidInputs) Err() error {
	if len(faults) == 0 {
		return nil
	}
	return faults
}

// Invalid is one wrong input.
func Invalid(pointer, message string) error {
	return InvalidInputs{{pointer, message}}
}

// Denied is a capability that the operator has not granted.
type Denied struct {
	// Capability is http, tcp, udp, dns, env, dirs or secrets.
	Capability string
	// Target is the denied target, such as db.internal:5432.
	Target string
	// Message is the purpose.
	Message string
}

func (denied Denied) Error() string {
	return fmt.Sprintf("denied: %s %s: %s", denied.Capability, denied.Target, denied.Message)
}

// NotFound says that the resource, or one it needs, does not exist.
type NotFound string

func (message NotFound) Error() string { return "not found: " + string(message) }

// Conflict says that somebody else's change blocks it.
type Conflict string

func (message Conflict) Error() string { return "conflict: " + string(message) }

// RetryAfter says that the other side is busy or limits the rate.
type RetryAfter struct {
	// After is the time after which another attempt makes sense.
	After time.Duration
	// Message is the message of the other side.
	Message string
}

func (retry RetryAfter) Error() string {
	return fmt.Sprintf("busy for %s: %s", retry.After, retry.Message)
}

// Partial says that something exists that must not be forgotten.
type Partial struct {
	// State is the existing part.
	State State
	// Message says what failed.
	Message string
}

func (partial Partial) Error() string {
	return fmt.Sprintf("partly done, %s exists: %s", partial.State.ID, partial.Message)
}

// Undecided says that it is unknown whether anything was created or changed. The host finds out with
// Read, or calls again with the same idempotency key. Fetch returns it for a request with effects
// whose answer was lost (FetchError).
type Undecided string

func (message Undecided) Error() string { return "undecided: " + string(message) }

// NeedsDeleteBefore says that the resource cannot be created while the one that it replaces exists. Only
// for a Create with Replaces: the host deletes the old one, if the plan allows it, and calls again.
type NeedsDeleteBefore string

func (message NeedsDeleteBefore) Error() string { return "needs delete before: " + string(message) }

// failed is any other failure: nothing was created or changed.
type failed string

func (message failed) Error() string { return string(message) }

// failureOf returns the failure of an error. Partial and Undecided come first: a resource that exists,
// or may exist, must not be forgotten.
func failureOf(err error) error {
	for _, find := range [...]func(error) error{
		as[Partial], as[Undecided], as[InvalidInputs], as[Denied], as[NotFound], as[Conflict], as[RetryAfter],
		as[NeedsDeleteBefore],
	} {
		if found := find(err); found != nil {
			return found
		}
	}
	return failed(err.Error())
}

// as returns the error of this type, wrapped or not; nil if there is none.
func as[T error](err error) error {
	var found T
	if errors.As(err, &found) {
		return found
	}
	return nil
}

// withoutEffects replaces Undecided, which a function without effects may not return, with an ordinary
// error.
func withoutEffects(err error) error {
	if as[Undecided](err) != nil {
		return failed(err.Error())
	}
	return err
}
