package purlin

import "time"

// Object is a JSON object. Numbers in it are json.Number, so that none loses digits.
type Object = map[string]any

// Context is the place of a deployment.
type Context struct {
	Org       string // may be empty
	App       string
	Env       string
	EnvType   string
	Namespace string // empty for the global one
	// Deployment differs from run to run: never derive names from it.
	Deployment string
}

// Resource is the resource of a call.
type Resource struct {
	// URN is its stable logical name.
	URN string
	// Guresid has 40 hexadecimal digits: permanent, unique, usable in names.
	Guresid string
	Type    string
	// Class is default if none is named.
	Class string
	// ID is its id within the environment.
	ID      string
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
	// Cookie is anything that the driver needs in the next call, at most 10 KiB. Stored encrypted.
	Cookie []byte
	// Manifests to deliver with the workloads, often none.
	Manifests []ManifestFile
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
	// on to systems that accept one.
	IdempotencyKey string
	// Deadline is when the host ends the call.
	Deadline time.Time
}

// CheckRequest has inputs to check.
type CheckRequest struct {
	Resource Resource
	// Inputs may have unknown places.
	Inputs Inputs
	// Previous are the inputs that Check returned when the resource was last provisioned, without
	// Connection; nil if it never was.
	Previous *Inputs
}

// Checked are inputs as they will be used. Secrets of nil are the original ones.
type Checked struct {
	// Values have defaults filled in and spellings normalised; unknown places stay nil.
	Values Object
	// Secrets likewise.
	Secrets Object
	// Warnings are advice that does not block.
	Warnings []InvalidInput
}

// NameRequest has the resource to name.
type NameRequest struct {
	Resource Resource
	Inputs   Inputs
}

// CreateRequest has the resource to create.
type CreateRequest struct {
	Resource Resource
	// Inputs are checked; all are known.
	Inputs Inputs
	// Name is the result of Namer.
	Name string
	// Replaces is the id of the resource that this one replaces, nil if none exists. An object with
	// this id was not created by an earlier attempt.
	Replaces *string
	Call     Call
}

// ReadRequest has the resource to read.
type ReadRequest struct {
	Resource Resource
	// ID is the provider's id, or nil to search by Name.
	ID *string
	// Name is the result of Namer.
	Name string
	// Inputs are those of the last or the next provisioning.
	Inputs Inputs
	// State is the record; nil in an import and after a lost answer.
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

// Change is a change of a resource.
type Change struct {
	Resource Resource
	// State is the existing resource.
	State State
	// Before are the inputs that it was created with.
	Before Inputs
	// After are the new inputs; only in UpdateImpact with unknown places.
	After Inputs
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
	// StableOutputs certainly keep their value.
	StableOutputs []string
}

// DeleteRequest has the resource to delete.
type DeleteRequest struct {
	Resource Resource
	// State is the existing resource.
	State State
	// Inputs are those of the last provisioning.
	Inputs Inputs
	Call   Call
}
