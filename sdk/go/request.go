package purlin

import (
	"errors"
	"reflect"
	"strings"
	"time"
)

// Object is a JSON object. Numbers in it are json.Number, so that none loses digits.
type Object = map[string]any

// Context is the place of a deployment.
type Context struct {
	Org       string // empty for none
	App       string
	Env       string
	EnvType   string
	Namespace string // empty for the global one
	// Labels are those that the operator wants on every real object, by name. A driver whose system has
	// labels or tags adds them to those of the inputs, which win.
	Labels map[string]string
}

// Subject is the resource that a call is about.
type Subject struct {
	// URN is its stable logical name.
	URN string
	// Guresid has 40 hexadecimal digits: permanent, unique, usable in names.
	Guresid string
	Type    string
	// Class is default if none is named.
	Class string
	// LocalName is its name within the environment.
	LocalName string
	// Context is where it is deployed.
	Context Context
}

// State is a live resource.
type State struct {
	// ID is the driver's own name for the real object: not empty, at most 4 KiB, unique.
	ID string
	// Outputs are values that others may read.
	Outputs Object
	// Secrets are outputs that are secret. A name is in only one of the two.
	Secrets Object
	// Cookie is anything that the driver needs in the next call, at most 10 KiB unless the operator
	// allows more. Stored encrypted.
	Cookie []byte
	// Manifests to deliver with the workloads, often none.
	Manifests []ManifestFile
	// Sensitive are places that hold secrets besides, such as one field of a larger output, as pointers
	// into {"outputs":…,"manifests":{NAME: data}}.
	Sensitive []string
	// Version is the driver's own number of the form of its cookie, outputs and inputs, 0 if that never
	// changed. The host returns it as it was.
	Version uint32
	// Notes are anything else for people, such as console-url or health, by name.
	Notes Object
}

// bare is what can be returned of any state.
func (state State) bare() State {
	return State{ID: state.ID, Cookie: state.Cookie, Version: state.Version}
}

// fault says why a state cannot be written, if so.
func (state State) fault() error {
	_, outputs := write(state.Outputs)
	_, secrets := write(state.Secrets)
	_, notes := written(state.Notes)
	err := errors.Join(outputs, secrets, notes)
	for _, file := range state.Manifests {
		_, fault := text(file.Data)
		err = errors.Join(err, fault)
	}
	return err
}

// ManifestFile is a manifest to deliver.
type ManifestFile struct {
	// Name is unique within the resource.
	Name string
	// Location is its destination, such as namespace, cluster or volumes.
	Location string
	// Data is the manifest.
	Data any
}

// Call has facts about one call.
type Call struct {
	// IdempotencyKey is the same for every attempt at the same effect, also across a crash. Pass it
	// on to systems that accept one. It is empty in a function without effects, except in a Read that
	// recovers a lost Create: then it is the key of that Create.
	IdempotencyKey string
	// Deadline is when the host ends the call, by the host's clock. No clock changes TimeLeft.
	Deadline time.Time
	// Hints are facts that may be ignored, by name.
	Hints Object
}

// CheckRequest has inputs to check.
type CheckRequest struct {
	Subject Subject
	// Inputs may have unknown places. All others fit the struct of the type.
	Inputs Inputs
	// Previous are the inputs that Check returned when the resource was last provisioned; nil if it
	// never was. Connection and Account are empty there.
	Previous *Inputs
	Call     Call
}

// Choose fills in an input that the documents omit: an existing resource keeps the value that it has, and a
// new one gets this. It does nothing if the map that contains the input is omitted or unknown.
//
// Use it for values that the driver chooses, such as a name made from Subject.Guresid: that changes when the
// resource is renamed, and must not change or replace the resource.
func (request *CheckRequest) Choose(pointer string, value any) {
	end := strings.LastIndex(pointer, "/")
	if end < 0 || request.Inputs.Has(pointer) {
		return
	}
	if previous := request.Previous; previous != nil && !previous.IsUnknown(pointer) {
		if before := previous.Get(pointer); before != nil {
			value = before
		}
	}
	for _, group := range []struct {
		name string
		of   *Object
	}{{"/values", &request.Inputs.Values}, {"/secrets", &request.Inputs.Secrets}} {
		if pointer[:end] == group.name && *group.of == nil {
			*group.of = Object{}
		}
	}
	if above, is := request.Inputs.Get(pointer[:end]).(Object); is {
		above[unescape.Replace(pointer[end+1:])] = value
	}
}

// Checked are inputs as they will be used.
type Checked struct {
	// Values have defaults filled in and spellings normalised; unknown places stay nil. Without them, those
	// of the request are used.
	Values Object
	// Secrets likewise.
	Secrets Object
	// Warnings are advice that does not block.
	Warnings []Finding
}

// NameRequest has the resource to name.
type NameRequest[I any] struct {
	Subject Subject
	// Inputs are checked; all are known.
	Inputs I
	// Sensitive is that of Inputs.
	Sensitive []string
	Call      Call
}

// CreateRequest has the resource to create.
type CreateRequest[I any] struct {
	Subject Subject
	// Inputs are checked; all are known.
	Inputs I
	// Sensitive is that of Inputs.
	Sensitive []string
	// Name is the result of Namer.
	Name string
	// Replaces is the id of the resource that this one replaces, nil if none exists. An object with
	// this id was not created by an earlier attempt.
	Replaces *string
	Call     Call
}

// ReadRequest has the resource to read.
type ReadRequest struct {
	Subject Subject
	// ID is the provider's id, or nil to search by Name.
	ID *string
	// Name is the result of Namer.
	Name string
	// Inputs are those of the last or the next provisioning, perhaps of an earlier version of the driver.
	// Decode reads them.
	Inputs Inputs
	// State is the record; nil in an import, and after a lost answer unless a cookie was checkpointed:
	// then it has that id and cookie, and nothing else.
	State *State
	// Known are ids of other resources that may have this name, such as the one that is being
	// replaced. Without ID, an object with one of these ids is not the requested resource.
	Known []string
	Call  Call
}

// Observed is the existing resource.
type Observed struct {
	// State has the requested id, if any.
	State State
	// Values are as reality has them, in the shape that Check returns, without unknown values and
	// without anything from secrets. A difference from the record is drift. Nil if all are
	// unknown.
	Values Object
}

// ImpactRequest has a change whose effect is wanted.
type ImpactRequest struct {
	Subject Subject
	// State is the existing resource.
	State State
	// Before are the inputs of the last provisioning. After a refresh that found differences, their
	// Values are those that reality has.
	Before Inputs
	// After are the new inputs, perhaps with unknown places.
	After Inputs
	// Name is the result of Namer.
	Name string
	Call Call
}

// Changes reports whether the value at a pointer changes. An unknown value is treated as changed.
func (request ImpactRequest) Changes(pointer string) bool {
	return request.After.IsUnknown(pointer) ||
		!reflect.DeepEqual(request.Before.Get(pointer), request.After.Get(pointer))
}

// UpdateRequest has a change of a resource.
type UpdateRequest[I any] struct {
	Subject Subject
	// State is the existing resource.
	State State
	// Before are the inputs of the last provisioning, perhaps of an earlier version of the driver. After a
	// refresh that found differences, their Values are those that reality has.
	Before Inputs
	// After are the new inputs. Bring the object to them, also where Before is the same.
	After I
	// Sensitive is that of After.
	Sensitive []string
	// Name is the result of Namer.
	Name string
	Call Call
}

// Impact is the effect of a change.
type Impact struct {
	// Replaces points to the inputs that force a replacement; none means an update in place.
	Replaces []string
	// DeleteBeforeReplace says that the old one must be deleted before the new one can be created.
	DeleteBeforeReplace bool
	// StableOutputs point to outputs that certainly keep their value, such as /outputs/host, or to all of
	// them: /outputs. They lead into {"outputs":…,"secrets":…}.
	StableOutputs []string
}

// DeleteRequest has the resource to delete.
type DeleteRequest struct {
	Subject Subject
	// State is the existing resource.
	State State
	// Inputs are those of the last provisioning, perhaps of an earlier version of the driver. Decode reads
	// them.
	Inputs Inputs
	// DataLossAllowed says that somebody agreed to lose the data that the object holds. A driver whose
	// system asks for that, such as by a flag or a last snapshot, answers accordingly.
	DataLossAllowed bool
	Call            Call
}
