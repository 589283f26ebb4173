package purlin

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// fromHost are inputs from JSON, as the host passes them.
func fromHost(t *testing.T, values string, unknown ...string) Inputs {
	t.Helper()
	object, err := parse(values)
	if err != nil {
		t.Fatal(err)
	}
	return Inputs{Values: object, Unknown: unknown, Connection: Object{"host": "h", "more": true}, Account: Object{"region": "eu-1"}}
}

func TestTheSameStructReadsInputs(t *testing.T) {
	given, err := decoded[storeInputs](fromHost(t, `{
		"name": "a", "engine": "in-memory", "size": 3.0, "most": 18446744073709551615, "disks": [{"type": "ssd"}],
		"all-names": null, "labels": {"x/~": "ü"}, "extra": {"big": 12345678901234567890}, "open": [1, null], "raw": {"b": 2.50},
		"number": 1e400, "from": "2026-11-30T00:00:00Z", "url": "http://a"
	}`), true)
	if err != nil {
		t.Fatal(err)
	}
	v := given.Values
	if v.Name != "a" || *v.Engine != "in-memory" || v.Size != 3 || *v.Most != math.MaxUint64 || v.Disks[0].Kind != "ssd" ||
		v.Names != nil || v.Labels["x/~"] != "ü" || v.Extra["big"] != json.Number("12345678901234567890") ||
		!reflect.DeepEqual(v.Open, []any{json.Number("1"), nil}) || string(v.Raw) != `{"b":2.50}` || v.Number != "1e400" ||
		v.From.Year() != 2026 || v.URL != "http://a" || given.Connection.Host != "h" || given.Account.Region != "eu-1" || given.Account.Token != nil {
		t.Errorf("%+v", given)
	}
	// An older resource has no defaults, and they are no empty values.
	given, err = decoded[storeInputs](fromHost(t, `{"name": "a", "number": 1}`), true)
	v = given.Values
	if err != nil || v.Size != 10 || v.Big != math.MinInt64 || v.Share != 0.5 || v.Disks == nil || string(v.Raw) != `{"a":1}` ||
		v.Engine != nil || !v.From.Equal(time.Time{}) {
		t.Errorf("%+v %v", v, err)
	}
}

func places(err error) (all []string) {
	var faults InvalidInputs
	errors.As(err, &faults)
	for _, fault := range faults {
		all = append(all, fault.Pointer+" "+fault.Message)
	}
	return all
}

func TestEveryFaultIsFoundAtOnce(t *testing.T) {
	inputs := fromHost(t, `{
		"engine": 7, "size": 300, "big": 9223372036854775808, "most": -1, "share": "much", "disks": [{}, {"type": "a", "kind": "b"}, 1],
		"labels": {"a/b": null}, "number": null, "from": "yesterday", "is_forced": 0, "stray": 1, "all-names": {}
	}`)
	inputs.Connection, inputs.Account = Object{"key": []any{}}, Object{}
	_, err := decoded[storeInputs](inputs, true)
	want := []string{
		"/values/name is missing",
		"/values/engine has to be a text, not a number",
		"/values/size is too large or too small",
		"/values/big is too large or too small",
		"/values/most is too large or too small",
		"/values/share has to be a number, not a text",
		"/values/disks/0/type is missing",
		"/values/disks/1/kind is unknown; the names are type",
		"/values/disks/2 has to be a map of known names, not a number",
		"/values/all-names has to be a list, not a map",
		"/values/labels/a~1b has to be a text, not null",
		"/values/number has to be a number, not null",
		`/values/from parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"`,
		"/values/is_forced has to be true or false, not a number",
		"/values/stray is unknown; the names are name, engine, size, big, most, share, disks, all-names, labels, extra, open, raw, number, from, is_forced, spare, url",
		"/connection/host is missing",
		"/connection/key has to be a text, not a list",
		"/account/region is missing",
	}
	if got := places(err); !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	// A part of recorded inputs is read even if the rest does not fit, or has other names.
	part, err := Decode[struct{ Values struct{ Stray int } }](inputs)
	if err != nil || part.Values.Stray != 1 {
		t.Error(part, err)
	}
}

func TestAnAccountIsDecodedAsItIsDescribed(t *testing.T) {
	type closed struct {
		Account struct {
			Region string
			Token  string `purlin:",secret"`
		}
	}
	given, err := decoded[closed](Inputs{Account: Object{"region": "eu-1", "token": "hush"}}, true)
	if err != nil || given.Account.Region != "eu-1" || given.Account.Token != "hush" {
		t.Errorf("%+v %v", given, err)
	}
	for _, this := range []struct {
		account Object
		want    []string
	}{
		{Object{"token": "hush"}, []string{"/account/region is missing"}},
		{Object{"region": 1, "token": "hush", "name": "main"}, []string{
			"/account/region has to be a text, not a number", "/account/name is unknown; the names are region, token",
		}},
		// The definition names none.
		{Object{}, []string{"/account/region is missing", "/account/token is missing"}},
		{nil, []string{"/account/region is missing", "/account/token is missing"}},
	} {
		if _, err := decoded[closed](Inputs{Account: this.account}, true); !slices.Equal(places(err), this.want) {
			t.Errorf("%v: %v", this.account, err)
		}
	}
	// While a plan is made, its secrets are unknown.
	unread := Inputs{Account: Object{"region": "eu-1", "token": nil}, Unknown: []string{"/account/token"}}
	if given, err := decoded[closed](unread, true); err != nil || given.Account.Region != "eu-1" || given.Account.Token != "" {
		t.Errorf("%+v %v", given, err)
	}
	// Nothing is required, so the definition need not name one.
	free, err := decoded[struct{ Account struct{ Region *string } }](Inputs{}, true)
	if err != nil || free.Account.Region != nil {
		t.Errorf("%+v %v", free, err)
	}
	whole := Inputs{Account: Object{"name": "main", "type": "cloud", "region": "eu-1"}}
	open, err := decoded[struct {
		Account struct{ Name string } `purlin:",open"`
	}](whole, true)
	if err != nil || open.Account.Name != "main" {
		t.Errorf("%+v %v", open, err)
	}
	all, err := decoded[struct{ Account Object }](whole, true)
	if err != nil || !reflect.DeepEqual(all.Account, whole.Account) {
		t.Errorf("%+v %v", all, err)
	}
	// A driver that does not describe it still gets the name.
	if _, err := decoded[struct{}](Inputs{Account: Object{"name": "main"}}, true); err != nil {
		t.Error(err)
	}
}

func TestUnknownValuesAreNeitherFaultsNorValues(t *testing.T) {
	inputs := fromHost(t, `{"name": null, "size": null, "number": 1, "disks": [{"type": null}, null], "labels": {"a": null}}`,
		"/values/name", "/values/size", "/values/disks/0/type", "/values/disks/1", "/values/labels/a", "/values/engine", "/secrets")
	given, err := decoded[storeInputs](inputs, true)
	if err != nil || given.Values.Name != "" || given.Values.Size != 0 || len(given.Values.Disks) != 2 || given.Values.Engine != nil {
		t.Fatalf("%+v %v", given.Values, err)
	}
	if !inputs.IsUnknown("/values/size") || !inputs.Has("/values/engine") || inputs.Has("/values/spare") {
		t.Fatal("a driver cannot ask")
	}
	inputs.Unknown = nil
	if _, err := decoded[storeInputs](inputs, true); len(places(err)) != 5 {
		t.Fatal(places(err))
	}
}

func TestTestsWriteInputsInGo(t *testing.T) {
	type counts map[string]int
	inputs := Inputs{Values: Object{"size": 2, "names": []string{"a"}, "counts": counts{"a": 1}, "at": region("eu")}}
	given, err := Decode[struct {
		Values struct {
			Size   int
			Names  []string
			Counts map[string]int
			At     region
		}
	}](inputs)
	if err != nil || given.Values.Size != 2 || given.Values.Names[0] != "a" || given.Values.Counts["a"] != 1 || given.Values.At != "eu" {
		t.Fatal(given, err)
	}
	inputs.Values["size"] = func() {}
	if _, err := Decode[struct{ Values struct{ Size int } }](inputs); err == nil {
		t.Fatal("a function is not JSON")
	}
	if _, err := Decode[struct {
		Values struct {
			Size int `min:"1" patern:"a"`
		}
	}](Inputs{Values: Object{"size": 1}}); err == nil || !strings.Contains(err.Error(), "`patern`") {
		t.Fatal("a wrong tag is ignored:", err)
	}
}

func TestEveryRequestHasInputsThatFit(t *testing.T) {
	var seen []string
	one := Typed(watching{seen: &seen})
	good, wrong := Inputs{Values: Object{"size": 1}, Sensitive: []string{"/values/size"}}, Inputs{Values: Object{"size": "x"}}
	for _, call := range []func(Inputs) error{
		func(in Inputs) error { _, err := one.Check(CheckRequest{Inputs: in}); return err },
		func(in Inputs) error { _, err := one.Name(NameRequest[Inputs]{Inputs: in}); return err },
		func(in Inputs) error { _, err := one.Create(CreateRequest[Inputs]{Inputs: in}); return err },
		func(in Inputs) error { _, err := one.Update(UpdateRequest[Inputs]{After: in}); return err },
	} {
		if err := call(good); err != nil {
			t.Error(err)
		}
		if err := call(wrong); !slices.Equal(places(err), []string{"/values/size has to be a whole number, not a text"}) {
			t.Error(err)
		}
	}
	// Inputs of an earlier version of the driver do not keep anybody from reading and deleting.
	if _, err := one.Read(ReadRequest{Inputs: wrong}); err != nil {
		t.Error(err)
	}
	if err := one.Delete(DeleteRequest{Inputs: wrong}); err != nil {
		t.Error(err)
	}
	if !slices.Equal(seen, []string{"check", "name /values/size", "create /values/size", "update /values/size", "read", "delete"}) {
		t.Error(seen)
	}
}

type sized struct{ Values struct{ Size int } }

type watching struct{ seen *[]string }

func (w watching) see(what string, sensitive ...string) {
	*w.seen = append(*w.seen, strings.Join(append([]string{what}, sensitive...), " "))
}
func (watching) Schema() TypeSchema[sized, Object] { return TypeSchema[sized, Object]{Type: "sized"} }
func (w watching) Check(CheckRequest) (Checked, error) {
	w.see("check")
	return Checked{}, nil
}
func (w watching) Name(request NameRequest[sized]) (string, error) {
	w.see("name", request.Sensitive...)
	return "a", nil
}
func (w watching) Create(request CreateRequest[sized]) (State, error) {
	w.see("create", request.Sensitive...)
	return State{}, nil
}
func (w watching) Update(request UpdateRequest[sized]) (State, error) {
	w.see("update", request.Sensitive...)
	return State{}, nil
}
func (w watching) Read(ReadRequest) (*Observed, error) {
	w.see("read")
	return nil, nil
}
func (w watching) Delete(DeleteRequest) error {
	w.see("delete")
	return nil
}

func TestAStateHasTheOutputsOfAStruct(t *testing.T) {
	port := uint16(5432)
	state := NewState("a", storeOutputs{
		Host: "h", Token: "t", Users: []user{{"x", "hush"}, {"y", "hush"}}, Region: "eu", Port: &port,
	})
	want := State{
		ID: "a", Secrets: Object{"token": "t"}, Sensitive: []string{"/outputs/users/0/password", "/outputs/users/1/password"},
		Outputs: Object{"host": "h", "region": "eu", "port": port, "users": []any{
			Object{"name": "x", "password": "hush"}, Object{"name": "y", "password": "hush"},
		}},
	}
	if !reflect.DeepEqual(state, want) {
		t.Errorf("%#v", state)
	}
	if state := NewState("a", storeOutputs{}); !reflect.DeepEqual(state.Outputs, Object{"host": "", "region": "", "users": []any{}}) {
		t.Errorf("%#v", state)
	}
	if state := NewState("a", Object{"x": 1}); !reflect.DeepEqual(state.Outputs, Object{"x": 1}) {
		t.Errorf("%#v", state)
	}
	// What is not JSON must not make the host forget the resource.
	if state := NewState("a", struct{ A float64 }{math.NaN()}); state.fault() == nil {
		t.Errorf("%#v", state)
	}
	open := NewState("a", struct {
		At   time.Time
		Any  any
		Raw  json.RawMessage
		Maps map[string]map[string]int
	}{Any: struct {
		A int `json:"of_others"`
	}{1}, Raw: json.RawMessage("[1]"), Maps: map[string]map[string]int{"a": nil}})
	if text, err := text(open.Outputs); err != nil || text != `{"any":{"of_others":1},"at":"0001-01-01T00:00:00Z","maps":{"a":{}},"raw":[1]}` {
		t.Error(text, err)
	}
	for _, call := range []func(){
		func() { NewState("a", 1) },
		func() {
			NewState("a", struct {
				A int `patern:"a"`
			}{})
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a wrong tag is ignored")
				}
			}()
			call()
		}()
	}
}
