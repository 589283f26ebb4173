package main

import (
	"encoding/json"
	"net/url"
	"slices"

	"purlin.dev/purlin"
)

// api is a client of the API for one call of the driver: its requests, and the meaning of the responses.
// Everything that is specific to your API belongs here.
type api struct{ purlin.Client }

// project is a project as the API returns it.
type project struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Region string `json:"region"`
	Size   int    `json:"size"`
	// Owner is the resource that it belongs to. Names are not unique.
	Owner string `json:"owner"`
	// Token is only in the response that creates the project.
	Token string `json:"token"`
	// Status is one of busy while the API works on the project.
	Status string `json:"status"`
	// pending is nil if the project is ready.
	pending *purlin.Pending
}

// busy is what Status is while the API works on a project.
var busy = []string{"creating", "updating", "deleting"}

// judge decides whether a project is ready. If it is not, Purlin records it, and reads it later.
func (project *project) judge(answer purlin.Answer) {
	if answer.Status == 202 || slices.Contains(busy, project.Status) {
		pending := answer.Pending("the API is still working on the project")
		project.pending = &pending
	}
}

// state returns the state of a project. Only the response that creates it has the token; Purlin keeps it, as
// the schema says.
func (project project) state() purlin.State {
	return purlin.NewState(project.ID, Outputs{
		ID: project.ID, Name: project.Name, Region: project.Region, Size: project.Size, Token: project.Token,
	})
}

// unfinished is the failure of a project that is not ready, with its state; nil for any other.
func (project project) unfinished() error {
	if project.pending == nil {
		return nil
	}
	state := project.state()
	project.pending.State = &state
	return *project.pending
}

func newAPI(connection Connection, call purlin.Call) api {
	return api{purlin.Client{
		Server: connection.Server,
		Header: purlin.Header{"Authorization": {"Bearer " + connection.Token}},
		Call:   call,
	}}
}

// create creates a project. The key makes it safe to send this twice.
func (api api) create(wanted Values, owner string) (project, error) {
	body := purlin.Object{"name": wanted.Name, "region": wanted.Region, "size": wanted.Size, "owner": owner}
	return api.project(purlin.Ask{Method: "POST", Path: "/projects", Body: body, Keyed: true})
}

// get returns nil if there is no such project.
func (api api) get(id string) (*project, error) {
	answer, err := api.Send(purlin.Ask{Method: "GET", Path: path(id)})
	if err != nil || answer.Status == 404 {
		return nil, err
	}
	found, err := decoded(answer)
	return &found, err
}

// find looks for a project of this resource by its name, in all pages of the list. Ids in known
// belong to others.
func (api api) find(name, owner string, known []string) (*project, error) {
	query := url.Values{"name": {name}}
	for {
		answer, err := api.Send(purlin.Ask{Method: "GET", Path: "/projects", Query: query})
		if err != nil {
			return nil, err
		}
		var page struct {
			Items json.RawMessage `json:"items"`
			After string          `json:"after"`
		}
		if err := answer.Decode(&page); err != nil {
			return nil, err
		}
		// A page without any may have null. A list that lacks the field is not one.
		var items []project
		if err := json.Unmarshal(page.Items, &items); err != nil {
			return nil, answer.Unreadable("the list has no `items`")
		}
		for _, found := range items {
			if found.ID == "" {
				return nil, answer.Unreadable("a project has no `id`")
			}
			if found.Name == name && found.Owner == owner && !slices.Contains(known, found.ID) {
				found.judge(answer)
				return &found, nil
			}
		}
		// APIs end a list without `after`, with null, with an empty text, or with the same `after` again.
		if page.After == "" || page.After == query.Get("after") {
			return nil, nil
		}
		query.Set("after", page.After)
	}
}

// update changes the project in place.
func (api api) update(id string, wanted Values) (project, error) {
	body := purlin.Object{"size": wanted.Size}
	return api.project(purlin.Ask{Method: "PATCH", Path: path(id), Body: body, Keyed: true})
}

// delete deletes a project. A missing project is a success. APIs may answer before a project is gone, so
// until it cannot be read any more it is pending: Purlin calls again.
func (api api) delete(id string) error {
	answer, err := api.Send(purlin.Ask{Method: "DELETE", Path: path(id)})
	if err != nil {
		return err
	}
	if !answer.IsSuccess() && answer.Status != 404 {
		return answer.Failure()
	}
	if answer.Status != 202 {
		found, err := api.get(id)
		if err != nil || found == nil {
			return err
		}
	}
	return answer.Pending("it still exists")
}

// project sends a request whose response is a project.
func (api api) project(ask purlin.Ask) (project, error) {
	answer, err := api.Send(ask)
	if err != nil {
		return project{}, err
	}
	return decoded(answer)
}

func decoded(answer purlin.Answer) (found project, err error) {
	err = answer.Decode(&found)
	if err == nil && (found.ID == "" || found.Name == "" || found.Region == "" || found.Size == 0) {
		err = answer.Unreadable("the project has no `id`, `name`, `region` or `size`")
	}
	found.judge(answer)
	return found, err
}

func path(id string) string { return "/projects/" + purlin.Segment(id) }
