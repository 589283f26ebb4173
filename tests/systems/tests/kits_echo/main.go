// A driver whose outputs are its inputs.
package main

import "shop/memo/purlin"

func init() {
	purlin.Export(purlin.DriverInfo{Name: "shop/memo", Version: "0.1.0", Description: "Returns its inputs."}, Note{})
}

func main() {}

// Note returns its inputs.
type Note struct{}

const inputs = `{"type": "object", "properties": {"values": {"type": "object"}, "secrets": {"type": "object"}}}`
const outputs = `{"type": "object", "properties": {"sealed": {"writeOnly": true}}}`

func (Note) Schema() purlin.TypeSchema {
	return purlin.TypeSchema{Type: "kept", RepeatCreate: true, Inputs: inputs, Outputs: outputs}
}

func (Note) Create(request purlin.CreateRequest) (purlin.State, error) {
	return purlin.State{
		ID:      request.Name,
		Outputs: purlin.Object{"all": request.Inputs.Values["all"]},
		Secrets: purlin.Object{"sealed": request.Inputs.Secrets["all"]},
	}, nil
}

func (Note) Delete(purlin.DeleteRequest) error { return nil }
