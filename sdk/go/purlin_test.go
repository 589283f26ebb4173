package purlin

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"testing"
	"time"
)

func TestPointersLeadThroughInputs(t *testing.T) {
	values, err := parse(`{"a/b":{"~":[1,{"x":"found"}]},"big":12345678901234567890}`)
	if err != nil {
		t.Fatal(err)
	}
	inputs := Inputs{Values: values, Connection: Object{"server": "db.internal"}}
	if got := inputs.Get("/connection/server"); got != "db.internal" {
		t.Fatal(got)
	}
	if got := inputs.Get(Pointer("values", "a/b", "~", "1", "x")); got != "found" {
		t.Fatal(got)
	}
	for _, nothing := range []string{"/values/none", "/values/a~1b/~0/2", "/values/a~1b/~0/-1", "/values/big/x", "/x"} {
		if got := inputs.Get(nothing); got != nil {
			t.Fatal(nothing, got)
		}
	}
	if back, err := write(values); err != nil || back != `{"a/b":{"~":[1,{"x":"found"}]},"big":12345678901234567890}` {
		t.Fatal("digits were lost:", back, err)
	}
}

func TestWhatIsUnknownIsKnownToBe(t *testing.T) {
	inputs := Inputs{Unknown: []string{"/values/a/b"}}
	for pointer, unknown := range map[string]bool{
		"": true, "/values/a": true, "/values/a/b": true, "/values/a/b/c": true, "/values/ab": false, "/values/a/bc": false,
	} {
		if inputs.IsUnknown(pointer) != unknown {
			t.Fatal(pointer)
		}
	}
	moves := Change{Before: Inputs{Connection: Object{"server": "a"}}, After: Inputs{Connection: Object{"server": "b"}}}
	if !moves.Changes("/connection/server") || moves.Changes("/connection/user") {
		t.Fatal("a connection changes as other inputs do")
	}
	away := Inputs{Unknown: []string{"/connection/password"}}
	if !away.IsUnknown("/connection") || away.IsUnknown("/connection/user") {
		t.Fatal("a connection is unknown as other inputs are")
	}
	change := Change{Before: inputs, After: inputs}
	if !change.Changes("/values/a") || change.Changes("/values/ab") {
		t.Fatal("what is unknown counts as changed, and only that")
	}
}

func TestWhatDoesNotFitIsPointedAt(t *testing.T) {
	var wanted struct {
		Values struct {
			Size struct{ Width int }
		}
		Connection struct{ Server string }
	}
	inputs := Inputs{Values: Object{"size": Object{"width": "wide"}}}
	var faults InvalidInputs
	if err := inputs.Decode(&wanted); !errors.As(err, &faults) || faults[0].Pointer != "/values/size/width" {
		t.Fatal(err)
	}
	inputs = Inputs{Connection: Object{"server": "db.internal"}}
	if err := inputs.Decode(&wanted); err != nil || wanted.Connection.Server != "db.internal" {
		t.Fatal(wanted, err)
	}
	inputs.Connection["server"] = true
	if err := inputs.Decode(&wanted); !errors.As(err, &faults) || faults[0].Pointer != "/connection/server" {
		t.Fatal(err)
	}
}

func TestAbsentObjectsAreEmpty(t *testing.T) {
	if text, err := write(nil); err != nil || text != "{}" {
		t.Fatal(text, err)
	}
	if text, err := write(Object{"html": "<&>"}); err != nil || text != `{"html":"<&>"}` {
		t.Fatal(text, err)
	}
	if _, err := write(Object{"no": func() {}}); err == nil {
		t.Fatal("a function is not JSON")
	}
	if inputs, err := parseInputs(`{"values":{"a":1}}`); err != nil || fmt.Sprint(inputs.Values["a"]) != "1" {
		t.Fatal(inputs, err)
	}
}

func TestWrappedFailuresAreFound(t *testing.T) {
	for _, failure := range []error{
		InvalidInputs{{"/values/a", "is wrong"}}, Denied{"tcp", "db:5432", "to look"}, NotFound("a"), Conflict("a"),
		RetryAfter{time.Second, "a"}, Partial{State{ID: "a"}, "b"}, Undecided("a"), NeedsDeleteBefore("a"),
	} {
		if got := failureOf(fmt.Errorf("while looking: %w", failure)); !reflect.DeepEqual(got, failure) {
			t.Errorf("%#v: %#v", failure, got)
		}
	}
	if got := failureOf(errors.New("no JSON")); got != failed("no JSON") {
		t.Errorf("%#v", got)
	}
	var faults InvalidInputs
	if faults.Err() != nil {
		t.Fatal("without faults, there is no error")
	}
	faults.Add("/values/a", "is wrong")
	if !slices.Equal(faults, InvalidInputs{{"/values/a", "is wrong"}}) || faults.Err() == nil {
		t.Fatal(faults)
	}
}

func TestFetchReadsAnAnswer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("x-seen", r.Method+" "+r.Header.Get("X-Asked"))
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "you said %s", body)
	}))
	defer server.Close()
	answer, err := Fetch(Request{
		Method: "PUT", URL: server.URL + "/a?b=c", Header: Header{"X-Asked": {"so"}}, Body: []byte("hello"),
	})
	if err != nil || answer.Status != 418 || answer.Header.Get("x-seen") != "PUT so" ||
		string(answer.Body) != "you said hello" {
		t.Fatal(answer, err)
	}
	for _, wrong := range []string{"", "/a", "ftp://a/b", "http://", "http://a b/"} {
		if _, err := Fetch(Request{URL: wrong}); err == nil {
			t.Fatal(wrong)
		}
	}
}
