package purlin

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
)

// failureFor is the host's failure for a wrapped error of this kind.
func failureFor(kind FetchErrorKind, method string) error {
	err := FetchError{kind, method, "https://api.example/v1/a", "why"}
	return failureOf(fmt.Errorf("while making it: %w", err))
}

func TestEachKindOfFetchErrorIsAFailure(t *testing.T) {
	const place = " https://api.example/v1/a: why"
	const lost = "; it is unknown whether it was carried out"
	failed := func(method string) error { return Failed{Message: "while making it: " + method + place} }
	later := func(method string) error { return RetryAfter{time.Second, method + place} }
	for _, one := range []struct {
		kind FetchErrorKind
		// The failure for methods with effects, and for others.
		effects, others func(method string) error
	}{
		{FetchDenied, denied, denied},
		{FetchUnusable, failed, failed},
		{FetchUnreachable, later, later},
		{FetchUntrusted, failed, failed},
		{FetchLost, func(method string) error { return Undecided{Message: method + place + lost} }, later},
		{FetchTooLarge, func(method string) error { return Undecided{Message: method + place} }, failed},
	} {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "PURGE"} {
			if got := failureFor(one.kind, method); !reflect.DeepEqual(got, one.effects(method)) {
				t.Errorf("%s of %s: %#v", one.kind, method, got)
			}
		}
		for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
			if got := failureFor(one.kind, method); !reflect.DeepEqual(got, one.others(method)) {
				t.Errorf("%s of %s: %#v", one.kind, method, got)
			}
		}
	}
}

func denied(string) error { return Denied{"http", "https://api.example", "why"} }

func TestADriverThatKnowsBetterReturnsAnotherFailure(t *testing.T) {
	err := error(FetchError{FetchLost, "POST", "https://api.example/v1/a", "why"})
	var lost FetchError
	if errors.As(fmt.Errorf("%w", err), &lost) && lost.Kind == FetchLost {
		err = Conflict{Message: "somebody else made it"}
	}
	if as[Conflict](failureOf(err)) == nil {
		t.Fatal(err)
	}
}

func TestWhatMayExistIsNotForgotten(t *testing.T) {
	lost := FetchError{FetchLost, "POST", "https://api.example/v1/a", "why"}
	if got := failureOf(errors.Join(NotFound{Message: "nothing there"}, lost)); as[Undecided](got) == nil {
		t.Fatal(got)
	}
	partial := Partial{State: State{ID: "a"}, Message: "half of it"}
	pending := Pending{State: &State{ID: "a"}, After: time.Second, Message: "it is being made"}
	for _, exists := range []error{partial, pending} {
		if got := failureOf(errors.Join(lost, exists)); !reflect.DeepEqual(got, exists) {
			t.Fatal(got)
		}
	}
}

func TestAClientOfOthersMayHideWhatWasSent(t *testing.T) {
	lost := FetchError{FetchLost, "POST", "https://api.example/v1/a", "why"}
	unusable := FetchError{FetchUnusable, "POST", "https://api.example/v1/a", "why"}
	for _, this := range []struct {
		err  error
		want any
	}{
		{context.DeadlineExceeded, new(Undecided)},
		{fmt.Errorf("while making it: %w", context.Canceled), new(Undecided)},
		{&url.Error{Op: "Post", Err: context.DeadlineExceeded}, new(Undecided)},
		{&url.Error{Op: "Put", Err: errors.New("stopped after 10 redirects")}, new(Undecided)},
		{&url.Error{Op: "Get", Err: context.DeadlineExceeded}, new(Failed)},
		{&url.Error{Op: "parse", Err: errors.New("no URL")}, new(Failed)},
		{&url.Error{Op: "Post", Err: lost}, new(Undecided)},
		// The transport knows that nothing was sent.
		{&url.Error{Op: "Post", Err: errors.Join(unusable, context.Canceled)}, new(Failed)},
		{errors.Join(context.Canceled, Conflict{Message: "a"}), new(Conflict)},
	} {
		if got := failureOf(this.err); !errors.As(got, this.want) {
			t.Errorf("%v: %#v", this.err, got)
		}
		if got := failureOf(withoutEffects(this.err)); as[Undecided](got) != nil {
			t.Errorf("%v: %#v", this.err, got)
		}
	}
}

func TestNothingIsUndecidedWithoutEffects(t *testing.T) {
	lost := fmt.Errorf("while looking: %w", failureFor(FetchLost, "POST"))
	if got := failureOf(withoutEffects(lost)); !reflect.DeepEqual(got, Failed{Message: lost.Error()}) {
		t.Fatalf("%#v", got)
	}
	told := Undecided{Message: "a", Details: map[string]string{"status": "502"}}
	if got := failureOf(withoutEffects(told)); !reflect.DeepEqual(got, Failed{"undecided: a", told.Details}) {
		t.Fatalf("%#v", got)
	}
	pending := func(outputs Object) error { return Pending{State: &State{ID: "a", Outputs: outputs}} }
	if got := withoutEffects(pending(Object{"no": func() {}})); as[Failed](got) == nil {
		t.Fatalf("a state that is not JSON was kept: %#v", got)
	}
	for _, err := range []error{nil, Conflict{Message: "a"}, Pending{Message: "a"}, pending(nil)} {
		if !reflect.DeepEqual(withoutEffects(err), err) {
			t.Fatal(err)
		}
	}
}

func TestWhatWASISaysHasAKind(t *testing.T) {
	kinds := map[string]FetchErrorKind{
		"HTTP-request-denied": FetchDenied, "destination-IP-prohibited": FetchDenied,
		"HTTP-request-URI-invalid": FetchUnusable, "connection-limit-reached": FetchUnusable,
		"connection-refused": FetchUnreachable, "DNS-timeout": FetchUnreachable,
		"DNS-error": FetchUntrusted, "TLS-certificate-error": FetchUntrusted,
		"connection-terminated": FetchLost, "HTTP-response-timeout": FetchLost, "internal-error": FetchLost,
		"HTTP-response-body-size": FetchTooLarge,
	}
	request := Request{Method: "POST", URL: "https://api.example/"}
	for number, name := range httpErrors {
		kind, known := kinds[name]
		if err := as[FetchError](request.failWith(number, "")).(FetchError); known && err.Kind != kind {
			t.Errorf("%s: %v", name, err)
		}
		delete(kinds, name)
	}
	if len(kinds) > 0 || httpErrors[15] != "HTTP-request-denied" || httpErrors[28] != "HTTP-response-body-size" {
		t.Fatal("names do not stand where WASI has them", kinds)
	}
	if err := request.failWith(200, ""); as[Undecided](err) == nil {
		t.Fatal(err)
	}
	err := request.failWith(httpInternal, "out of order")
	if !strings.HasPrefix(err.Error(), "POST https://api.example/: internal-error: out of order") {
		t.Fatal(err)
	}
}

func TestErrorsTellNoSecretsOfTheURL(t *testing.T) {
	request := Request{Method: "GET", URL: "https://user:hush@api.example/v1?token=hush#hush"}
	if err := request.fail(FetchUnusable, "why"); err.Error() != "GET https://api.example/v1: why" {
		t.Fatal(err)
	}
	_, err := Fetch(Request{URL: "http://127.0.0.1:1/?token=hush"})
	if err == nil || strings.Contains(err.Error(), "hush") {
		t.Fatal(err)
	}
}
