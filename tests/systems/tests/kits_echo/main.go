// A driver whose outputs are its inputs.
package main

import "purlin.dev/purlin"

func init() {
	info := purlin.DriverInfo{Name: "shop/memo", Version: "0.1.0", Description: "Returns its inputs."}
	purlin.Export(info, purlin.Typed(Note{}))
}

func main() {}

// Inputs are any.
type Inputs struct{ Values, Secrets purlin.Object }

// Outputs are the inputs.
type Outputs struct {
	All    any
	Sealed any `purlin:",secret"`
}

// Note returns its inputs.
type Note struct{}

func (Note) Schema() purlin.TypeSchema[Inputs, Outputs] {
	return purlin.TypeSchema[Inputs, Outputs]{Type: "kept", RepeatCreate: true}
}

func (Note) Create(request purlin.CreateRequest[Inputs]) (purlin.State, error) {
	outputs := Outputs{All: request.Inputs.Values["all"], Sealed: request.Inputs.Secrets["all"]}
	return purlin.NewState(request.Name, outputs), nil
}

func (Note) Delete(purlin.DeleteRequest) error { return nil }
