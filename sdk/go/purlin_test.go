package purlin

import (
	"errors"
	"fmt"
	"io"
	"math"
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
	inputs := Inputs{Values: values, Connection: Object{"server": "db.internal"}, Account: Object{"name": "main"}}
	if got := inputs.Get("/account/name"); got != "main" {
		t.Fatal(got)
	}
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
		Account    struct{ Name string }
	}
	inputs := Inputs{Values: Object{"size": Object{"width": "wide"}}}
	var faults InvalidInputs
	if err := inputs.Decode(&wanted); !errors.As(err, &faults) || faults[0].Pointer != "/values/size/width" {
		t.Fatal(err)
	}
	inputs = Inputs{Connection: Object{"server": "db.internal"}, Account: Object{"name": "main"}}
	if err := inputs.Decode(&wanted); err != nil || wanted.Connection.Server != "db.internal" || wanted.Account.Name != "main" {
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
	if texts, err := written(nil); err != nil || len(texts) != 0 {
		t.Fatal(texts, err)
	}
}

func TestEveryDigitOfANumberIsKept(t *testing.T) {
	const all = `{"least":-9223372036854775808,"most":18446744073709551615,"real":1.5e-7}`
	values, err := parse(all)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := write(values); err != nil || back != all {
		t.Fatal(back, err)
	}
	var wanted struct {
		Values struct {
			Least int64
			Most  uint64
			Real  float64
		}
	}
	inputs := Inputs{Values: values}
	if err := inputs.Decode(&wanted); err != nil || wanted.Values.Least != math.MinInt64 ||
		wanted.Values.Most != math.MaxUint64 || wanted.Values.Real != 1.5e-7 {
		t.Fatal(wanted, err)
	}
	var narrow struct{ Values struct{ Most int64 } }
	if err := inputs.Decode(&narrow); as[InvalidInputs](err) == nil {
		t.Fatal("a number that does not fit was taken:", narrow)
	}
}

func TestWrappedFailuresAreFound(t *testing.T) {
	problem := Problem{"a", map[string]string{"status": "503"}}
	for _, failure := range []error{
		InvalidInputs{{"/values/a", "is wrong"}}, Denied{"tcp", "db:5432", "to look"},
		NotFound{Message: "a"}, NotFound(problem), Conflict{Message: "a"}, Conflict(problem),
		RetryAfter{time.Second, "a"}, Partial{State: State{ID: "a"}, Message: "b"},
		Partial{State{ID: "a"}, "b", problem.Details}, Undecided{Message: "a"}, Undecided(problem),
		NeedsDeleteBefore{Message: "a"}, NeedsDeleteBefore(problem),
		Pending{After: time.Second, Message: "a"}, Pending{&State{ID: "a"}, time.Second, "a"},
	} {
		if got := failureOf(fmt.Errorf("while looking: %w", failure)); !reflect.DeepEqual(got, failure) {
			t.Errorf("%#v: %#v", failure, got)
		}
	}
	if got := failureOf(errors.New("no JSON")); !reflect.DeepEqual(got, Failed{Message: "no JSON"}) {
		t.Errorf("%#v", got)
	}
	// The text of an ordinary error is all of it.
	wrapped := fmt.Errorf("while looking: %w", Failed(problem))
	if got := failureOf(wrapped); !reflect.DeepEqual(got, Failed{"while looking: a", problem.Details}) {
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

func TestDetailsOfOneFailureAreThoseOfAnother(t *testing.T) {
	details := map[string]string{"code": "TooMany"}
	problem := ProblemOf(fmt.Errorf("while tagging: %w", Conflict{"there is one", details}))
	if !reflect.DeepEqual(problem, Problem{"while tagging: conflict: there is one", details}) {
		t.Fatal(problem)
	}
	if problem := ProblemOf(Denied{"tcp", "db:5432", "to look"}); problem.Details != nil {
		t.Fatal(problem)
	}
}

func TestAStateThatIsNotJSONIsNotForgotten(t *testing.T) {
	function := func() {}
	state := State{ID: "a", Cookie: []byte("c"), Version: 2}
	if err := state.fault(); err != nil {
		t.Fatal(err)
	}
	for _, spoil := range []func(*State){
		func(state *State) { state.Outputs = Object{"no": function} },
		func(state *State) { state.Secrets = Object{"no": function} },
		func(state *State) { state.Notes = Object{"no": function} },
		func(state *State) { state.Manifests = []ManifestFile{{"a", "cluster", function}} },
		func(state *State) { state.Outputs = Object{"no": math.NaN()} },
	} {
		spoilt := state
		spoil(&spoilt)
		fault := spoilt.fault()
		if fault == nil {
			t.Fatalf("%#v", spoilt)
		}
		if partial := unwritable(spoilt, fault); !reflect.DeepEqual(partial.State, state) {
			t.Fatalf("%#v", partial)
		}
	}
}

// one has only what each type must have.
type one struct{ schema TypeSchema }

func (one one) Schema() TypeSchema                          { return one.schema }
func (one one) Create(request CreateRequest) (State, error) { return State{ID: one.schema.Type}, nil }
func (one) Delete(DeleteRequest) error                      { return nil }

// reading can be read and changed besides.
type reading struct{ one }

func (reading) Read(ReadRequest) (*Observed, error) { return nil, nil }
func (reading) Update(Change) (State, error)        { return State{}, nil }

// complete has all.
type complete struct{ reading }

func (complete) Check(CheckRequest) (Checked, error) { return Checked{}, nil }
func (complete) Name(NameRequest) (string, error)    { return "a", nil }
func (complete) UpdateImpact(Change) (Impact, error) { return Impact{}, nil }

func TestEachTypeIsServedByItsOwn(t *testing.T) {
	plain, read := one{TypeSchema{Type: "plain"}}, reading{one{TypeSchema{Type: "read"}}}
	rest := one{TypeSchema{Type: "*"}}
	served := func(name string) string {
		found, err := serving[Type](Subject{Type: name})
		if err != nil {
			return err.Error()
		}
		state, _ := found.Create(CreateRequest{})
		return state.ID
	}
	defer Export(DriverInfo{})
	Export(DriverInfo{Name: "acme/several"}, rest, plain, read)
	for name, want := range map[string]string{"plain": "plain", "read": "read", "other": "*", "*": "*"} {
		if got := served(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if _, err := serving[Reader](Subject{Type: "read"}); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"plain", "other"} {
		_, err := serving[Reader](Subject{Type: name})
		if err == nil || err.Error() != "this driver does not implement that for the type `"+name+"`" {
			t.Error(err)
		}
	}
	Export(DriverInfo{Name: "acme/two"}, plain, read)
	if got := served("other"); got != "this driver has no type `other`; it has `plain`, `read`" {
		t.Error(got)
	}
	if got := served("read"); got != "read" {
		t.Error(got)
	}
	Export(DriverInfo{Name: "acme/one"}, read)
	if got := served("plain"); got != "this driver has no type `plain`; it has `read`" {
		t.Error(got)
	}
}

func TestEachTypeImplementsItsOwn(t *testing.T) {
	for _, this := range []struct {
		one  Type
		want []string
	}{
		{one{}, nil},
		{one{TypeSchema{RepeatCreate: true}}, []string{"repeat-create"}},
		{reading{}, []string{"read", "update"}},
		{complete{reading{one{TypeSchema{RepeatCreate: true}}}}, []string{
			"check", "name", "read", "update-impact", "update", "repeat-create",
		}},
	} {
		if got := implements(this.one); !slices.Equal(got, this.want) {
			t.Errorf("%#v: %q", this.one, got)
		}
	}
}

func TestTheHostIsTold(t *testing.T) {
	Messages = nil
	Log(Warn, "%d of %d", 1, 2)
	Count("asked", 3)
	Measure("asked_ms", 1.5)
	Checkpoint("a")
	CheckpointCookie("a", []byte{'c', 0})
	CheckpointCookie("a", nil)
	Progress("half")
	ProgressPercent("half", 50)
	if want := []string{
		"warn 1 of 2", "count asked 3", "measure asked_ms 1.5", "checkpoint a", `checkpoint a "c\x00"`, `checkpoint a ""`,
		"progress half", "progress half 50%",
	}; !slices.Equal(Messages, want) {
		t.Fatalf("%q", Messages)
	}
	if Cancelled() || TimeLeft() < 24*time.Hour {
		t.Fatal("a native test has all the time", TimeLeft())
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
