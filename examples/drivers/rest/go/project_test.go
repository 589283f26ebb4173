package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"purlin.dev/purlin"
)

// answer is the response to a request; a status of 0 is a lost response.
type answer struct {
	status int
	body   any
}

var (
	lost   answer
	gone   = answer{404, nil}
	wanted = Values{Name: "hello", Region: "eu", Size: 2}
)

func thing(id, owner, token string) project {
	return project{ID: id, Name: "hello", Region: "eu", Size: 2, Owner: owner, Token: token}
}

// answers is an API that returns these responses, and the requests that it received.
func answers(t *testing.T, all ...answer) (api, *[]purlin.Request) {
	t.Helper()
	requests := new([]purlin.Request)
	call := purlin.Call{IdempotencyKey: "key-1"}
	api := newAPI(Connection{Server: "https://api.example/v1/", Token: "secret"}, call)
	api.Fetch = func(request purlin.Request) (purlin.Response, error) {
		*requests = append(*requests, request)
		answer := all[0]
		all = all[1:]
		if answer.status == 0 {
			message := "the connection ended before the answer"
			return purlin.Response{}, purlin.FetchError{
				Kind: purlin.FetchLost, Method: request.Method, URL: request.URL, Message: message,
			}
		}
		body, err := json.Marshal(answer.body)
		if err != nil {
			t.Fatal(err)
		}
		header := purlin.Header{"Retry-After": {"0"}}
		return purlin.Response{Status: answer.status, Header: header, Body: body}, nil
	}
	return api, requests
}

func TestTheDriverDescribesItself(t *testing.T) {
	if _, err := purlin.Describe(); err != nil {
		t.Fatal(err)
	}
}

func TestTheTokenIsASecretThatIsShownOnce(t *testing.T) {
	if state := thing("p-1", "me", "shown-once").state(); state.Secrets["token"] != "shown-once" || state.Outputs["id"] != "p-1" {
		t.Fatal(state)
	}
	if state := thing("p-1", "me", "").state(); len(state.Secrets) > 0 {
		t.Fatal(state)
	}
}

func TestALostAnswerIsAskedForAgainWithTheSameKey(t *testing.T) {
	api, requests := answers(t, lost, answer{429, nil}, answer{201, thing("p-1", "me", "shown-once")})
	created, err := api.create(wanted, "me")
	if err != nil || created.ID != "p-1" || created.Token != "shown-once" || len(*requests) != 3 {
		t.Fatal(created, err, *requests)
	}
	for _, request := range *requests {
		if request.Method != "POST" || request.URL != "https://api.example/v1/projects" {
			t.Fatal(request)
		}
		if request.Header.Get("idempotency-key") != "key-1" || request.Header.Get("authorization") != "Bearer secret" {
			t.Fatal(request.Header)
		}
	}
}

func TestWhatIsNotKnownIsUndecided(t *testing.T) {
	api, _ := answers(t, lost, lost, lost, lost, answer{201, purlin.Object{"ok": true}})
	for range 2 {
		if _, err := api.create(wanted, "me"); !errors.As(err, new(purlin.Undecided)) {
			t.Fatal(err)
		}
	}
	api, _ = answers(t, answer{400, purlin.Object{"error": "no such region"}})
	_, err := api.create(wanted, "me")
	if err == nil || errors.As(err, new(purlin.Undecided)) || !strings.Contains(err.Error(), "no such region") {
		t.Fatal(err)
	}
}

func TestAProjectIsFoundOnAnyPage(t *testing.T) {
	others := purlin.Object{"items": []project{thing("p-1", "other", ""), thing("p-2", "me", "")}, "after": "2"}
	none := purlin.Object{"items": nil, "after": "3"}
	own := purlin.Object{"items": []project{thing("p-3", "me", "")}, "after": nil}
	api, requests := answers(t, answer{200, others}, answer{200, none}, answer{200, own})
	found, err := api.find("hello", "me", []string{"p-2"})
	if err != nil || found == nil || found.ID != "p-3" {
		t.Fatal(found, err)
	}
	var urls []string
	for _, request := range *requests {
		urls = append(urls, request.URL)
	}
	page := "https://api.example/v1/projects?"
	if !slices.Equal(urls, []string{page + "name=hello", page + "after=2&name=hello", page + "after=3&name=hello"}) {
		t.Fatal(urls)
	}
}

func TestGoneIsDeletedAndNothingToRead(t *testing.T) {
	api, requests := answers(t, answer{204, nil}, gone, gone, gone, gone)
	for range 2 {
		if err := api.delete("a/b"); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := api.get("a/b"); found != nil || err != nil {
		t.Fatal(found, err)
	}
	if url := (*requests)[0].URL; url != "https://api.example/v1/projects/a%2Fb" {
		t.Fatal(url)
	}
}

func TestAProjectThatCanStillBeReadIsNotGone(t *testing.T) {
	shown := answer{200, thing("p-1", "me", "")}
	for _, all := range [][]answer{{{200, nil}, shown}, {{202, nil}}} {
		api, _ := answers(t, all...)
		var pending purlin.Pending
		if err := api.delete("p-1"); !errors.As(err, &pending) || pending.State != nil {
			t.Fatal(err)
		}
	}
}

func TestAProjectThatIsNotReadyIsPending(t *testing.T) {
	begun := thing("p-1", "me", "")
	begun.Status = "creating"
	ready := begun
	ready.Status = "ready"
	list := purlin.Object{"items": []project{begun}}
	api, _ := answers(t, answer{202, thing("p-1", "me", "")}, answer{201, begun}, answer{200, list}, answer{200, begun})
	var all []project
	for range 2 {
		created, err := api.create(wanted, "me")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, created)
	}
	found, err := api.find("hello", "me", nil)
	if err != nil {
		t.Fatal(err)
	}
	read, err := api.get("p-1")
	if err != nil {
		t.Fatal(err)
	}
	for _, project := range append(all, *found, *read) {
		var pending purlin.Pending
		if err := project.unfinished(); !errors.As(err, &pending) || pending.State.ID != "p-1" {
			t.Fatal(project, err)
		}
	}
	api, _ = answers(t, answer{200, ready}, answer{200, thing("p-1", "me", "")})
	for range 2 {
		read, err := api.get("p-1")
		if err != nil || read.unfinished() != nil {
			t.Fatal(read, err)
		}
	}
}

func TestAFailureHasTheStatus(t *testing.T) {
	api, _ := answers(t, answer{409, purlin.Object{"error": "the name is taken"}})
	_, err := api.create(wanted, "me")
	var conflict purlin.Conflict
	if !errors.As(err, &conflict) || conflict.Details["status"] != "409" {
		t.Fatal(err)
	}
}

func TestWhatCannotBeReadIsNotTakenForGone(t *testing.T) {
	api, _ := answers(t, answer{200, purlin.Object{"uid": "p-1"}}, answer{401, nil}, answer{200, purlin.Object{}})
	for range 2 {
		if _, err := api.get("p-1"); err == nil {
			t.Fatal("it was read")
		}
	}
	if _, err := api.find("hello", "me", nil); err == nil {
		t.Fatal("a list without items was read")
	}
}
