package purlin

import (
	"fmt"
	"strings"
	"time"
)

// Any error of a driver ends a call. Those below tell the host more; errors.As finds them where they
// are wrapped. All but Partial promise that nothing was made or changed.

// InvalidInput is one input that cannot be used.
type InvalidInput struct {
	// Pointer leads into {"values":…,"secrets":…,"params":…}.
	Pointer string
	// Message says what is wrong and what would be right.
	Message string
}

// InvalidInputs are inputs that are wrong; trying again changes nothing.
type InvalidInputs []InvalidInput

func (faults InvalidInputs) Error() string {
	texts := make([]string, len(faults))
	for i, fault := range faults {
		texts[i] = fault.Pointer + ": " + fault.Message
	}
	return "invalid inputs: " + strings.Join(texts, "; ")
}

// Add gathers one more fault, so that all are told at once.
func (faults *InvalidInputs) Add(pointer, message string) {
	*faults = append(*faults, InvalidInput{pointer, message})
}

// Err is nil where there is no fault.
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
	// Target is what was asked for, such as db.internal:5432.
	Target string
	// Message says what for.
	Message string
}

func (denied Denied) Error() string {
	return fmt.Sprintf("denied: %s %s: %s", denied.Capability, denied.Target, denied.Message)
}

// NotFound says that the resource, or one it needs, does not exist.
type NotFound string

func (message NotFound) Error() string { return "not found: " + string(message) }

// Conflict says that somebody else's change stands in the way.
type Conflict string

func (message Conflict) Error() string { return "conflict: " + string(message) }

// RetryAfter says that the outside is busy or limits the rate.
type RetryAfter struct {
	// After how long another attempt makes sense.
	After time.Duration
	// Message is what the outside said.
	Message string
}

func (retry RetryAfter) Error() string {
	return fmt.Sprintf("busy for %s: %s", retry.After, retry.Message)
}

// Partial says that something exists that must not be forgotten.
type Partial struct {
	// State is what exists now.
	State State
	// Message says what failed.
	Message string
}

func (partial Partial) Error() string {
	return fmt.Sprintf("partly done, %s exists: %s", partial.State.ID, partial.Message)
}
