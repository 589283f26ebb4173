// The driver acme/project: a project in a REST API that speaks JSON.
package main

import "acme/project/purlin"

func init() {
	purlin.Export(purlin.DriverInfo{
		Name:        "acme/project",
		Version:     "0.1.0",
		Description: "A project in a REST API.",
		RequestedCapabilities: []purlin.RequestedCapability{{
			Capability: "http",
			Reason:     "the API that `connection.server` names",
		}},
	}, Project{})
}

func main() {} // a driver is a library

// Project is a project in the API.
type Project struct{}

func (Project) Schema() purlin.TypeSchema {
	return purlin.TypeSchema{
		Type: "project", Inputs: inputSchema, Outputs: outputSchema,
		// The API accepts idempotency keys: a repeated Create returns the result of the first one, with the
		// token. Remove this line if your API may forget keys before an interrupted deployment continues.
		RepeatCreate: true,
	}
}

func (Project) Name(request purlin.NameRequest) (string, error) {
	given, err := decode(request.Inputs)
	return given.Values.Name, err
}

func (Project) Create(request purlin.CreateRequest) (purlin.State, error) {
	given, err := decode(request.Inputs)
	if err != nil {
		return purlin.State{}, err
	}
	created, err := newAPI(given.Connection, request.Call).create(given.Values, request.Subject.Guresid)
	if err != nil {
		return purlin.State{}, err
	}
	// From here on, an interrupted call is resolved by this id.
	purlin.Checkpoint(created.ID)
	state := state(created)
	if created.Token != "" {
		state.Secrets = purlin.Object{"token": created.Token}
	}
	return state, created.unfinished(state)
}

func (Project) Read(request purlin.ReadRequest) (*purlin.Observed, error) {
	api, err := reach(request.Inputs, request.Call)
	if err != nil {
		return nil, err
	}
	var found *project
	if request.ID != nil {
		found, err = api.get(*request.ID)
	} else {
		found, err = api.find(request.Name, request.Subject.Guresid, request.Known)
	}
	if err != nil || found == nil {
		return nil, err
	}
	state := state(*found)
	return &purlin.Observed{
		State:  state,
		Values: purlin.Object{"name": found.Name, "region": found.Region, "size": found.Size},
	}, found.unfinished(state)
}

func (Project) Update(change purlin.Change) (purlin.State, error) {
	given, err := decode(change.After)
	if err != nil {
		return purlin.State{}, err
	}
	updated, err := newAPI(given.Connection, change.Call).update(change.State.ID, given.Values)
	if err != nil {
		return purlin.State{}, err
	}
	state := state(updated)
	return state, updated.unfinished(state)
}

func (Project) Delete(request purlin.DeleteRequest) error {
	api, err := reach(request.Inputs, request.Call)
	if err != nil {
		return err
	}
	return api.delete(request.State.ID)
}

// reach returns a client of the API with the current connection. The other inputs may be from an older version.
func reach(inputs purlin.Inputs, call purlin.Call) (api, error) {
	var given struct{ Connection connection }
	err := inputs.Decode(&given)
	return newAPI(given.Connection, call), err
}

// state returns the outputs of a project, without the token: only Create gets it, and Purlin keeps it,
// as the schema says.
func state(found project) purlin.State {
	return purlin.State{ID: found.ID, Outputs: purlin.Object{
		"id": found.ID, "name": found.Name, "region": found.Region, "size": found.Size,
	}}
}
