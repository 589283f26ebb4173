//go:build !wasip1

package purlin

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"
)

// answered is an answer of a server.
func answered(method string, status int, header Header) Answer {
	response := Response{Status: status, Header: header, Body: []byte(`{"error":"why"}`)}
	return Answer{response, method + " https://api.example/a", hasEffects(method), method != "POST"}
}

func TestAFailureHasTheDetailsOfTheAnswer(t *testing.T) {
	known := map[string]string{"request-id": "r-1"}
	for _, one := range []struct {
		method  string
		status  int
		header  string
		failure func(Problem) error
	}{
		{"GET", 404, "X-Request-Id", func(problem Problem) error { return NotFound(problem) }},
		{"DELETE", 410, "X-Amzn-Requestid", func(problem Problem) error { return NotFound(problem) }},
		{"POST", 409, "X-Amz-Request-Id", func(problem Problem) error { return Conflict(problem) }},
		{"PUT", 412, "X-Other", func(problem Problem) error { return Conflict(problem) }},
		{"POST", 503, "X-Request-Id", func(problem Problem) error { return Undecided(problem) }},
		{"GET", 400, "X-Request-Id", func(problem Problem) error { return Failed(problem) }},
		{"POST", 501, "X-Other", func(problem Problem) error { return Failed(problem) }},
	} {
		header := Header{}
		header.Set(one.header, "r-1")
		details := map[string]string{"status": fmt.Sprint(one.status)}
		if one.header != "X-Other" {
			details["request-id"] = known["request-id"]
		}
		message := fmt.Sprintf("%s https://api.example/a: status %d: why", one.method, one.status)
		got := answered(one.method, one.status, header).Failure()
		if want := one.failure(Problem{message, details}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s %d: %#v", one.method, one.status, got)
		}
	}
	unreadable := Problem{"GET https://api.example/a: it has no id", map[string]string{"status": "200"}}
	if got := answered("GET", 200, nil).Unreadable("it has no id"); !reflect.DeepEqual(got, Failed(unreadable)) {
		t.Errorf("%#v", got)
	}
	unreadable.Message = "POST https://api.example/a: it has no id"
	if got := answered("POST", 200, nil).Unreadable("it has no id"); !reflect.DeepEqual(got, Undecided(unreadable)) {
		t.Errorf("%#v", got)
	}
	if got := answered("GET", 429, nil).Failure(); as[RetryAfter](got) == nil {
		t.Errorf("%#v", got)
	}
}

func TestTheServerSaysWhenToLookAgain(t *testing.T) {
	for told, after := range map[string]time.Duration{"": time.Second, "0": 0, "30": 30 * time.Second} {
		header := Header{}
		if told != "" {
			header.Set("Retry-After", told)
		}
		if got := answered("POST", 202, header).Pending("it is being made"); got != (Pending{nil, after, "it is being made"}) {
			t.Errorf("%s: %#v", told, got)
		}
	}
}

func TestAClientWaitsOnlyWhileThereIsTime(t *testing.T) {
	defer func() { timeLeft = math.MaxUint64 }()
	for left, want := range map[uint64]int{math.MaxUint64: 3, 150: 1} {
		timeLeft = left
		asked := 0
		client := Client{Server: "https://api.example", Attempts: 3, Fetch: func(Request) (Response, error) {
			asked++
			return Response{Status: 502}, nil
		}}
		if answer, err := client.Send(Ask{Method: "GET", Path: "/a"}); err != nil || answer.Status != 502 || asked != want {
			t.Errorf("%d ms: asked %d times: %v", left, asked, err)
		}
	}
}
