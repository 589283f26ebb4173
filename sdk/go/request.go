package purlin

import "time"

// Object is a JSON object. Numbers in it are json.Number, so that none loses digits.
type Object = map[string]any

// Context is where a deployment takes place.
type Context struct {
	Org       string // may be empty
	App       string
	Env       string
	EnvType   string
	Namespace string // the empty one is global
	// Deployment differs from run to run: never derive names from it.
	Deployment string
}

// Resource is what a call is about.
type Resource struct {
	// URN is its stable logical name.
	URN string
	// Guresid has 40 hexadecimal digits: permanent, unique, fit for names.
	Guresid string
	Type    string
	// Class is default when none was asked for.
	Class string
	// ID is its id within the environment.
	ID      string
	Context Context
}

// State is a live resource.
type State struct {
	// ID is the driver's own name for the real thing: not empty, at most 4 KiB, unique.
	ID string
	// Outputs are what others may read.
	Outputs Object
	// Secrets are outputs that are secret. A name stands in one of the two only.
	Secrets Object
	// Cookie is anything the driver wants back at the next call, at most 10 KiB. Stored encrypted.
	Cookie []byte
	// Manifests are to be delivered with the workloads, often none.
	Manifests []ManifestFile
}

// ManifestFile is a manifest to deliver.
type ManifestFile struct {
	// Name is unique within the resource.
	Name string
	// Location is where it goes, such as namespace, cluster or volumes.
	Location string
	// Data is the manifest.
	Data any
}

// Call has facts about one call.
type Call struct {
	// IdempotencyKey is the same for every attempt at the same effect, also across a crash. Pass it
	// on to systems that take one.
	IdempotencyKey string
	// Deadline is when the host ends the call.
	Deadline time.Time
}

// CheckRequest has inputs to look at.
type CheckRequest struct {
	Resource Resource
	// Inputs may have unknown places.
	Inputs Inputs
	// Previous are the inputs that Check returned when the resource was last provisioned, without
	// Connection; nil when it never was.
	Previous *Inputs
}

// Checked are inputs as they will be used. Secrets of nil mean those that came.
type Checked struct {
	// Values have defaults filled in and spellings normalised; unknown places stay nil.
	Values Object
	// Secrets likewise.
	Secrets Object
	// Warnings are advice that does not stand in the way.
	Warnings []InvalidInput
}

// NameRequest says what a name is wanted for.
type NameRequest struct {
	Resource Resource
	Inputs   Inputs
}

// CreateRequest says what to make.
type CreateRequest struct {
	Resource Resource
	// Inputs are checked; nothing is unknown.
	Inputs Inputs
	// Name is what Namer said.
	Name string
	// Replaces is the id of the resource that this one replaces, nil where none exists. What Create
	// finds under this id was not made by an earlier attempt.
	Replaces *string
	Call     Call
}

// ReadRequest says what to look at.
type ReadRequest struct {
	Resource Resource
	// ID is the provider's id, or nil to look for it by Name.
	ID *string
	// Name is what Namer said.
	Name string
	// Inputs are those it was last provisioned with, or is to be provisioned with.
	Inputs Inputs
	// State is what is recorded; nil in an import and after a lost answer.
	State *State
	// Known are ids of other resources that may have this name, such as the one that is being
	// replaced. Without ID, what has one of these ids is not the resource that is looked for.
	Known []string
	Call  Call
}

// Observed is what there is.
type Observed struct {
	// State has the id that was asked for, if any.
	State State
	// Values are as reality has them, in the shape that Check returns, without what cannot be told
	// and without anything from secrets. What differs from the record is drift. Nil when nothing
	// can be told.
	Values Object
}

// Change says what is to become of what.
type Change struct {
	Resource Resource
	// State is what exists.
	State State
	// Before are the inputs it was made with.
	Before Inputs
	// After are the inputs it is to have; only in UpdateImpact with unknown places.
	After Inputs
	// Name is what Namer said.
	Name string
	Call Call
}

// Impact is what a change would do.
type Impact struct {
	// Replaces points to what forces a replacement; none means an update in place.
	Replaces []string
	// DeleteBeforeReplace says that the old one has to go before the new one can be made.
	DeleteBeforeReplace bool
	// StableOutputs keep their value for certain.
	StableOutputs []string
}

// DeleteRequest says what to delete.
type DeleteRequest struct {
	Resource Resource
	// State is what exists.
	State State
	// Inputs are those it was last provisioned with.
	Inputs Inputs
	Call   Call
}
