// The driver acme/project: a project in a REST API that speaks JSON.
package main

import "purlin.dev/purlin"

func init() {
	purlin.Export(purlin.DriverInfo{
		Name:        "acme/project",
		Version:     "0.1.0",
		Description: "A project in a REST API.",
		RequestedCapabilities: []purlin.RequestedCapability{{
			Capability: "http",
			Reason:     "the API that `connection.server` names",
		}},
	}, purlin.Typed(Project{}))
}

func main() {} // a driver is a library

// Project is a project in the API.
type Project struct{}

func (Project) Schema() purlin.TypeSchema[Inputs, Outputs] {
	return purlin.TypeSchema[Inputs, Outputs]{
		Type: "project",
		// The API accepts idempotency keys: a repeated Create returns the result of the first one, with the
		// token. Remove this line if your API may forget keys before an interrupted deployment continues.
		RepeatCreate: true,
	}
}

func (Project) Name(request purlin.NameRequest[Inputs]) (string, error) {
	return request.Inputs.Values.Name, nil
}

func (Project) Create(request purlin.CreateRequest[Inputs]) (purlin.State, error) {
	api := newAPI(request.Inputs.Connection, request.Call)
	created, err := api.create(request.Inputs.Values, request.Subject.Guresid)
	if err != nil {
		return purlin.State{}, err
	}
	// From here on, an interrupted call is resolved by this id.
	purlin.Checkpoint(created.ID)
	return created.state(), created.unfinished()
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
	return &purlin.Observed{
		State:  found.state(),
		Values: purlin.Object{"name": found.Name, "region": found.Region, "size": found.Size},
	}, found.unfinished()
}

func (Project) Update(change purlin.UpdateRequest[Inputs]) (purlin.State, error) {
	updated, err := newAPI(change.After.Connection, change.Call).update(change.State.ID, change.After.Values)
	if err != nil {
		return purlin.State{}, err
	}
	return updated.state(), updated.unfinished()
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
	given, err := purlin.Decode[struct{ Connection Connection }](inputs)
	return newAPI(given.Connection, call), err
}
