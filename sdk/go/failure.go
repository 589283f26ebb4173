package purlin

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Any error of a driver ends a call. Those below tell the host more; errors.As finds them if they are
// wrapped. All but Pending, Partial and Undecided promise that nothing was created or changed. An error of
// a context that ended is Undecided, too: nobody knows what was sent until then (mayHaveChanged).

// Finding is something about one input.
type Finding struct {
	// Pointer leads into {"values":…,"secrets":…,"params":…,"connection":…,"account":…}.
	Pointer string
	// Message says what is wrong or noteworthy, and what would be right.
	Message string
}

// InvalidInputs are wrong inputs; another attempt does not help.
type InvalidInputs []Finding

func (faults InvalidInputs) Error() string {
	texts := make([]string, len(faults))
	for i, fault := range faults {
		texts[i] = fault.Pointer + ": " + fault.Message
	}
	return "invalid inputs: " + strings.Join(texts, "; ")
}

// Add collects one more fault, so that all are reported at once.
func (faults *InvalidInputs) Add(pointer, message string) {
	*faults = append(*faults, Finding{pointer, message})
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
	// Capability is http, tcp, udp, dns, env, dirs, secrets or another one that operators grant.
	Capability string
	// Target is the denied target, such as db.internal:5432.
	Target string
	// Message is the purpose.
	Message string
}

func (denied Denied) Error() string {
	return fmt.Sprintf("denied: %s %s: %s", denied.Capability, denied.Target, denied.Message)
}

// Problem is a fault, for people and programs. Failures that consist of one are made from a message, such
// as Conflict{Message: "there is one already"}, or from a whole problem, such as Conflict(problem).
type Problem struct {
	// Message says what happened.
	Message string
	// Details are facts about it, by name, such as code, status, request-id and operation of the service
	// that answered. People see them; secrets of the call are masked.
	Details map[string]string
}

// NotFound says that something that the resource needs does not exist. A resource that does not exist
// itself is nil from Read, and a success of Delete.
type NotFound Problem

func (failure NotFound) Error() string { return "not found: " + failure.Message }

// Conflict says that an object that is not this resource's, or the contents of it, stands in the way.
type Conflict Problem

func (failure Conflict) Error() string { return "conflict: " + failure.Message }

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

// Pending says that the resource exists, or is going away, and is not done yet; nothing failed. The host
// records it, and looks again later: with Read, or with Delete after Delete. Only for Create, Update,
// Read and Delete.
type Pending struct {
	// State is what exists so far, as Create returns it. It is needed in Create and Update, and nil in
	// Delete.
	State *State
	// After is the time after which it makes sense to look again.
	After time.Duration
	// Message says what it waits for.
	Message string
}

func (pending Pending) Error() string {
	return fmt.Sprintf("pending for %s: %s", pending.After, pending.Message)
}

// Partial says that something exists that must not be forgotten, and the rest failed.
type Partial struct {
	// State is the existing part.
	State State
	// Message says what failed.
	Message string
	// Details are facts about that, as in a Problem.
	Details map[string]string
}

func (partial Partial) Error() string {
	return fmt.Sprintf("partly done, %s exists: %s", partial.State.ID, partial.Message)
}

// Failed is an ordinary error with details: nothing was created or changed.
type Failed Problem

func (failure Failed) Error() string { return failure.Message }

// Undecided says that it is unknown whether anything was created or changed. The host finds out with
// Read, or calls again with the same idempotency key. Fetch returns it for a request with effects
// whose answer was lost (FetchError).
type Undecided Problem

func (failure Undecided) Error() string { return "undecided: " + failure.Message }

// NeedsDeleteBefore says that the resource cannot be created while the one that it replaces exists. Only
// for a Create with Replaces: the host deletes the old one, if the plan allows it, and calls again.
type NeedsDeleteBefore Problem

func (failure NeedsDeleteBefore) Error() string { return "needs delete before: " + failure.Message }

func (failure NotFound) details() map[string]string          { return failure.Details }
func (failure Conflict) details() map[string]string          { return failure.Details }
func (failure Partial) details() map[string]string           { return failure.Details }
func (failure Failed) details() map[string]string            { return failure.Details }
func (failure Undecided) details() map[string]string         { return failure.Details }
func (failure NeedsDeleteBefore) details() map[string]string { return failure.Details }

// ProblemOf is any error as a problem: its text, with the details of the failure in it, if any. It is of
// use where one failure becomes another, such as a Partial.
func ProblemOf(err error) Problem {
	problem := Problem{Message: err.Error()}
	var detailed interface{ details() map[string]string }
	if errors.As(err, &detailed) {
		problem.Details = detailed.details()
	}
	return problem
}

// failureOf returns the failure of an error. Those of a resource that exists, or may exist, come first:
// it must not be forgotten.
func failureOf(err error) error {
	for _, find := range [...]func(error) error{
		as[Partial], as[Pending], as[Undecided], as[InvalidInputs], as[Denied], as[NotFound], as[Conflict],
		as[RetryAfter], as[NeedsDeleteBefore],
	} {
		if found := find(err); found != nil {
			return found
		}
	}
	if mayHaveChanged(err) {
		return Undecided(ProblemOf(err))
	}
	return Failed(ProblemOf(err))
}

// mayHaveChanged reports whether an error that is no failure comes from a request that may have had effects:
// one of net/http's, such as too many redirects after a POST, or that of a context that ended, which clients
// return instead of the error of the transport. The transport itself knows what was sent.
func mayHaveChanged(err error) bool {
	if as[FetchError](err) != nil {
		return false
	}
	if request := (*url.Error)(nil); errors.As(err, &request) {
		switch request.Op {
		case "Post", "Put", "Patch", "Delete":
			return true
		case "Get", "Head", "Options":
			return false
		}
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// as returns the error of this type, wrapped or not; nil if there is none.
func as[T error](err error) error {
	var found T
	if errors.As(err, &found) {
		return found
	}
	return nil
}

// withoutEffects replaces what a function without effects may not return, with an ordinary error:
// Undecided, and the Partial that a Pending would become whose state cannot be written.
func withoutEffects(err error) error {
	if err == nil {
		return nil
	}
	switch failure := failureOf(err).(type) {
	case Undecided:
		return Failed(ProblemOf(err))
	case Pending:
		if failure.State == nil {
			break
		}
		if fault := failure.State.fault(); fault != nil {
			return Failed(ProblemOf(unwritable(*failure.State, fault)))
		}
	}
	return err
}

// unwritable is the failure of a resource that exists, and whose state cannot be returned.
func unwritable(state State, fault error) Partial {
	return Partial{State: state.bare(), Message: fmt.Sprintf("its state is not JSON: %s", fault)}
}

// panicked is a panic in words, with the author's line that it comes from. It is called while the function
// panics.
func panicked(cause any) string {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	module := ""
	if build, is := debug.ReadBuildInfo(); is {
		module = build.Main.Path
	}
	message := fmt.Sprintf("panic: %v", cause)
	if place := authorsPlace(frames.Next, module); place != "" {
		message += " at " + place
	}
	return message
}

// authorsPlace is the innermost file and line of the driver's own packages, which are main and those of its
// module; otherwise the innermost of a package that is neither Go's nor this one. Empty without any.
func authorsPlace(next func() (runtime.Frame, bool), module string) string {
	others := ""
	for more := true; more; {
		var frame runtime.Frame
		frame, more = next()
		// Only the last part of a path to a package has dots that are not its own.
		slash := strings.LastIndexByte(frame.Function, '/') + 1
		name, _, _ := strings.Cut(frame.Function[slash:], ".")
		where := frame.Function[:slash] + name
		isOurs := where == "purlin.dev/purlin" || strings.HasPrefix(where, "purlin.dev/purlin/")
		place := fmt.Sprintf("%s:%d", path.Base(frame.File), frame.Line)
		first, _, _ := strings.Cut(where, "/")
		switch {
		case isOurs || where == "":
		case where == "main":
			return place
		case module != "" && strings.HasPrefix(where, module+"/"):
			return path.Join(where[len(module)+1:], place)
		case others == "" && strings.Contains(first, "."):
			others = path.Join(where, place)
		}
	}
	return others
}
