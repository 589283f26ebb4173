// A driver whose outputs are its inputs, as it foresees.
package main

import (
	"fmt"
	"strings"

	"purlin.dev/purlin"
)

func init() {
	info := purlin.DriverInfo{Name: "shop/memo", Version: "0.1.0", Description: "Returns its inputs."}
	purlin.Export(info, purlin.Typed(Note{}))
}

func main() {}

// Inputs are any.
type Inputs struct{ Values, Secrets purlin.Object }

// Outputs are the inputs, and the token of the forecast that people agreed to.
type Outputs struct {
	All    any
	Sealed any `purlin:",secret"`
	Agreed *string
}

// Note returns its inputs.
type Note struct{}

func (Note) Schema() purlin.TypeSchema[Inputs, Outputs] {
	return purlin.TypeSchema[Inputs, Outputs]{Type: "kept", RepeatCreate: true}
}

func state(id string, inputs Inputs) (purlin.State, error) {
	outputs := Outputs{All: inputs.Values["all"], Sealed: inputs.Secrets["all"]}
	if token := purlin.ConsentToken(); token != nil {
		agreed := string(token)
		outputs.Agreed = &agreed
	}
	return purlin.NewState(id, outputs), nil
}

func (Note) Create(request purlin.CreateRequest[Inputs]) (purlin.State, error) {
	purlin.Reached("list", purlin.ActionCreate)
	return state(request.Name, request.Inputs)
}

func (Note) Update(request purlin.UpdateRequest[Inputs]) (purlin.State, error) {
	purlin.Reached("list", purlin.ActionUpdate)
	return state(request.State.ID, request.After)
}

func (Note) Delete(purlin.DeleteRequest) error { return nil }

// Preview is certain of all that is known. The only part has the number of values.
func (Note) Preview(request purlin.PreviewRequest) (purlin.Forecast, error) {
	after, is := request.After()
	if !is {
		return purlin.Forecast{}, nil
	}
	all, _ := after.Values["all"].([]any)
	forecast := purlin.Forecast{
		Outputs: purlin.Object{"all": after.Values["all"]}, Secrets: purlin.Object{"sealed": after.Secrets["all"]},
	}
	part := purlin.Part{
		Address: "list", Type: "list", Action: purlin.ActionCreate, After: purlin.Object{"size": len(all)},
	}
	if _, is := request.Effect.(purlin.UpdateEffect); is {
		part.Action = purlin.ActionUpdate
	}
	for _, place := range after.Unknown {
		if rest, is := strings.CutPrefix(place, "/values/all"); is {
			forecast.Unknown = append(forecast.Unknown, "/outputs/all"+rest)
		} else if rest, is := strings.CutPrefix(place, "/secrets/all"); is {
			forecast.Unknown = append(forecast.Unknown, "/secrets/sealed"+rest)
		}
	}
	if len(after.Unknown) > 0 {
		part.After, part.Unknown = purlin.Object{"size": nil}, []string{"/after/size"}
	} else {
		forecast.Token = fmt.Appendf(nil, "%s %d", part.Action, len(all))
	}
	forecast.Parts = []purlin.Part{part}
	return forecast, nil
}
