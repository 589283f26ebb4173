package purlin

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"slices"
	"strings"
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
	moves := ImpactRequest{Before: Inputs{Connection: Object{"server": "a"}}, After: Inputs{Connection: Object{"server": "b"}}}
	if !moves.Changes("/connection/server") || moves.Changes("/connection/user") {
		t.Fatal("a connection changes as other inputs do")
	}
	away := Inputs{Unknown: []string{"/connection/password"}}
	if !away.IsUnknown("/connection") || away.IsUnknown("/connection/user") {
		t.Fatal("a connection is unknown as other inputs are")
	}
	change := ImpactRequest{Before: inputs, After: inputs}
	if !change.Changes("/values/a") || change.Changes("/values/ab") {
		t.Fatal("what is unknown counts as changed, and only that")
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
type one struct{ schema TypeSchema[anyInputs, Object] }

type anyInputs struct{ Values Object }

func (one one) Schema() TypeSchema[anyInputs, Object] { return one.schema }
func (one one) Create(request CreateRequest[anyInputs]) (State, error) {
	return State{ID: one.schema.Type, Outputs: request.Inputs.Values}, nil
}
func (one) Delete(DeleteRequest) error { return nil }

func named(name string) one { return one{TypeSchema[anyInputs, Object]{Type: name}} }

// reading can be read and changed besides.
type reading struct{ one }

func (reading) Read(ReadRequest) (*Observed, error)            { return nil, nil }
func (reading) Update(UpdateRequest[anyInputs]) (State, error) { return State{}, nil }

// complete has all.
type complete struct{ reading }

func (complete) Check(CheckRequest) (Checked, error)         { return Checked{}, nil }
func (complete) Name(NameRequest[anyInputs]) (string, error) { return "a", nil }
func (complete) UpdateImpact(ImpactRequest) (Impact, error)  { return Impact{}, nil }

// misfit has methods that only look like optional ones.
type misfit struct{ one }

func (misfit) Read(*ReadRequest) (*Observed, error)        { return nil, nil }
func (misfit) Update(UpdateRequest[Inputs]) (State, error) { return State{}, nil }
func (*misfit) Check(CheckRequest) (Checked, error)        { return Checked{}, nil }

func TestEachTypeIsServedByItsOwn(t *testing.T) {
	plain, read, rest := Typed(named("plain")), Typed(reading{named("read")}), Typed(named("*"))
	served := func(name string) string {
		found, err := serving(Subject{Type: name}, nil)
		if err != nil {
			return err.Error()
		}
		state, _ := found.Create(CreateRequest[Inputs]{})
		return state.ID
	}
	defer Export(DriverInfo{})
	Export(DriverInfo{Name: "acme/several"}, rest, plain, read)
	for name, want := range map[string]string{"plain": "plain", "read": "read", "other": "*", "*": "*"} {
		if got := served(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if _, err := read.Read(ReadRequest{}); err != nil {
		t.Error(err)
	}
	if _, err := plain.Read(ReadRequest{}); err == nil || err.Error() != "this driver does not implement that for the type `plain`" {
		t.Error(err)
	}
	if _, err := serving(Subject{Type: "read"}, errors.New("no request")); err == nil {
		t.Error("a request that could not be read is answered")
	}
	Export(DriverInfo{Name: "acme/two"}, plain, read)
	if got := served("other"); got != "this driver has no type `other`; it has `plain`, `read`" {
		t.Error(got)
	}
	if got := served("read"); got != "read" {
		t.Error(got)
	}
}

func TestEachTypeImplementsItsOwn(t *testing.T) {
	repeating := one{TypeSchema[anyInputs, Object]{RepeatCreate: true}}
	for _, this := range []struct {
		one  Exported
		want []string
	}{
		{Typed(one{}), nil},
		{Typed(repeating), []string{"repeat-create"}},
		{Typed(reading{}), []string{"read", "update"}},
		{Typed(complete{reading{repeating}}), []string{
			"check", "name", "read", "update-impact", "update", "repeat-create",
		}},
	} {
		described, err := this.one.describe()
		if err != nil || !slices.Equal(described.Implements, this.want) {
			t.Errorf("%#v: %v", described, err)
		}
	}
}

func TestADriverDescribesItselfOrSaysWhyNot(t *testing.T) {
	defer Export(DriverInfo{})
	Export(DriverInfo{})
	if _, err := Describe(); err == nil || !strings.Contains(err.Error(), "call purlin.Export") {
		t.Error(err)
	}
	texts := one{TypeSchema[anyInputs, Object]{Type: "text", Inputs: `{"type":"object"}`, Outputs: "{}"}}
	Export(DriverInfo{Name: "acme/two"}, Typed(named("plain")), Typed(texts))
	described, err := Describe()
	if err != nil || described.Name != "acme/two" || described.Types[1].Inputs != `{"type":"object"}` || described.Types[1].Outputs != "{}" ||
		described.Types[0].Inputs != `{"type":"object","properties":{"values":{"type":"object"}}}` || described.Types[0].Outputs != `{"type":"object"}` {
		t.Error(described, err)
	}
	Export(DriverInfo{}, Typed(named("twice")), Typed(misfit{named("twice")}))
	_, err = Describe()
	for _, part := range []string{
		"two types have the name `twice`",
		"purlin.misfit.Read is not the method of purlin.Reader: it is Read(*purlin.ReadRequest) (*purlin.Observed, error), and has to be Read(purlin.ReadRequest) (*purlin.Observed, error)",
		"purlin.misfit.Update is not the method of purlin.Updater[",
		"and has to be Update(purlin.UpdateRequest[purlin.dev/purlin.anyInputs]) (purlin.State, error)",
		"purlin.misfit.Check is a method of the pointer; write purlin.Typed(&purlin.misfit{}), or (purlin.misfit) before its name",
	} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", part, err)
		}
	}
}

func TestTheDriverChoosesOnlyWhatIsNotThere(t *testing.T) {
	chosen := func(request CheckRequest, pointer string) any {
		request.Choose(pointer, "new")
		return request.Inputs.Get(pointer)
	}
	given := func(values Object, unknown ...string) Inputs { return Inputs{Values: values, Unknown: unknown} }
	before := given(Object{"a": "old", "b": nil, "c": nil}, "/values/c")
	for _, this := range []struct {
		inputs   Inputs
		previous *Inputs
		pointer  string
		want     any
	}{
		{given(nil), nil, "/values/a", "new"},
		{given(Object{"a": nil}), nil, "/values/a", "new"},
		{given(Object{"a": "given"}), &before, "/values/a", "given"},
		{given(Object{}), &before, "/values/a", "old"},
		{given(Object{}), &before, "/values/b", "new"},
		{given(Object{}), &before, "/values/c", "new"},
		{given(Object{"a": nil}, "/values/a"), &before, "/values/a", nil},
		{given(Object{"in": Object{}}), nil, "/values/in/a~1b", "new"},
		{given(Object{}), nil, "/values/in/a", nil},
		{given(Object{}), nil, "/secrets/a", "new"},
	} {
		if got := chosen(CheckRequest{Inputs: this.inputs, Previous: this.previous}, this.pointer); got != this.want {
			t.Errorf("%+v: %v", this, got)
		}
	}
	inputs := given(Object{"a": nil, "b": false}, "/values/c")
	if inputs.Has("/values/a") || !inputs.Has("/values/b") || !inputs.Has("/values/c") || inputs.Has("/values/d") {
		t.Error("null is no value, an unknown one is")
	}
}

func TestAPanicIsAtTheLineOfItsAuthor(t *testing.T) {
	frames := func(all ...string) func() (runtime.Frame, bool) {
		return func() (frame runtime.Frame, more bool) {
			if len(all) == 0 {
				return frame, false
			}
			frame.Function, frame.File, _ = strings.Cut(all[0], " ")
			frame.Line, all = 7, all[1:]
			return frame, len(all) > 0
		}
	}
	sdk := "purlin.dev/purlin.Typed[...].func3 purlin.dev/purlin@v0.0.0/driver.go"
	for _, this := range []struct {
		want   string
		frames func() (runtime.Frame, bool)
	}{
		{"note.go:7", frames("runtime.gopanic runtime/panic.go", "main.(*Note).Create example.com/note/note.go", "main.other a.go", sdk)},
		{"note.go:7", frames("runtime.goPanicIndex a.go", "strings.Repeat strings/strings.go", "purlin.dev/purlin.Decode a.go", "main.Note.Create /a/note.go")},
		{"note.go:7", frames("gopkg.in/yaml%2ev3.Unmarshal yaml.go", "main.init.func1 note.go", sdk)},
		{"api/v1/client.go:7", frames("note/api/v1.Client[...].Send /a/note/api/v1/client.go", "main.Note.Create note.go")},
		{"gopkg.in/yaml%2ev3/yaml.go:7", frames("purlin.dev/purlin/purlinhttp.Transport.RoundTrip a.go", "gopkg.in/yaml%2ev3.Unmarshal yaml.go", sdk)},
		{"", frames("runtime.gopanic a.go", "note.Only a.go", sdk)},
		{"", frames()},
	} {
		if got := authorsPlace(this.frames, "note"); got != this.want {
			t.Errorf("%s: %s", this.want, got)
		}
	}
	if got := panicked("no disk"); got != "panic: no disk" {
		t.Error(got)
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
	Reached("a.b", ActionDeleteThenCreate)
	if want := []string{
		"warn 1 of 2", "count asked 3", "measure asked_ms 1.5", "checkpoint a", `checkpoint a "c\x00"`, `checkpoint a ""`,
		"progress half", "progress half 50%", "reached a.b delete-then-create",
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
