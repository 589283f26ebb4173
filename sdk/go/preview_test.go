package purlin

import (
	"reflect"
	"strings"
	"testing"

	"purlin.dev/purlin/internal/exports"
)

// foreseeing foresees the values of a resource as its outputs, and says what it was asked.
type foreseeing struct{ one }

func (foreseeing) Preview(request PreviewRequest) (Forecast, error) {
	after, is := request.After()
	if !is {
		return Forecast{Notes: Object{"gone": true}}, nil
	}
	if after.IsUnknown("/values/a") {
		return Forecast{Outputs: Object{"a": nil}, Unknown: []string{"/outputs/a"}}, nil
	}
	return Forecast{Outputs: Object{"a": after.Get("/values/a")}}, nil
}

// overlooking has a method that only looks like that of Previewer.
type overlooking struct{ one }

func (overlooking) Preview(PreviewRequest) Forecast { return Forecast{} }

func TestAnEffectIsForeseenByItsType(t *testing.T) {
	foresees := Typed(foreseeing{named("a")})
	known, unknown := Inputs{Values: Object{"a": "x"}}, Inputs{Values: Object{"a": nil}, Unknown: []string{"/values/a"}}
	for _, this := range []struct {
		effect Effect
		want   Forecast
	}{
		{CreateEffect{Inputs: known}, Forecast{Outputs: Object{"a": "x"}}},
		{CreateEffect{Inputs: unknown}, Forecast{Outputs: Object{"a": nil}, Unknown: []string{"/outputs/a"}}},
		{UpdateEffect{Before: unknown, After: known}, Forecast{Outputs: Object{"a": "x"}}},
		{DeleteEffect{Inputs: known}, Forecast{Notes: Object{"gone": true}}},
	} {
		got, err := foresees.Preview(PreviewRequest{Effect: this.effect})
		if err != nil || !reflect.DeepEqual(got, this.want) {
			t.Errorf("%+v: %+v %v", this.effect, got, err)
		}
	}
	// A type without a preview promises nothing, whatever other types of the driver do.
	got, err := Typed(named("b")).Preview(PreviewRequest{Effect: CreateEffect{Inputs: known}})
	if err != nil || !reflect.DeepEqual(got, Forecast{}) {
		t.Error(got, err)
	}
}

func TestAPreviewIsExportedIfATypeHasIt(t *testing.T) {
	defer func() { exports.Previews = false; Export(DriverInfo{}) }()
	for _, this := range []struct {
		types   []Exported
		imports bool
		fault   string
	}{
		{[]Exported{Typed(named("a"))}, false, ""},
		{[]Exported{Typed(named("a")), Typed(foreseeing{named("b")})}, true, ""},
		{[]Exported{Typed(foreseeing{named("b")})}, false, `write import _ "purlin.dev/purlin/preview"`},
		{[]Exported{Typed(named("a"))}, true, `remove the import of "purlin.dev/purlin/preview"`},
		{[]Exported{Typed(overlooking{named("a")})}, false, "purlin.overlooking.Preview is not the method of purlin.Previewer: it is Preview(purlin.PreviewRequest) purlin.Forecast, and has to be Preview(purlin.PreviewRequest) (purlin.Forecast, error)"},
	} {
		exports.Previews = this.imports
		Export(DriverInfo{Name: "acme/a"}, this.types...)
		described, err := Describe()
		if this.fault == "" && err != nil || this.fault != "" && (err == nil || !strings.Contains(err.Error(), this.fault)) {
			t.Errorf("%q: %v", this.fault, err)
		}
		for _, one := range described.Types {
			if len(one.Implements) > 0 {
				t.Error("the host does not expect it there", one.Implements)
			}
		}
	}
}

func TestAForecastHasTheOutputsOfAState(t *testing.T) {
	type inner struct {
		Name string
		Key  string `purlin:",secret"`
	}
	got := NewForecast(struct {
		Host  string
		Token string `purlin:",secret"`
		Port  *int
		Inner inner
	}{Host: "a", Token: "t", Inner: inner{"n", "k"}})
	want := Forecast{
		Outputs: Object{"host": "a", "inner": Object{"name": "n", "key": "k"}}, Secrets: Object{"token": "t"},
		Sensitive: []string{"/outputs/inner/key"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestTheTokenIsThatOfTheTest(t *testing.T) {
	defer func() { AgreedToken = nil }()
	if ConsentToken() != nil {
		t.Error("nobody agreed to anything")
	}
	if AgreedToken = []byte("plan"); string(ConsentToken()) != "plan" {
		t.Error(ConsentToken())
	}
	if got := Action(9).String(); got != "Action(9)" {
		t.Error(got)
	}
}
