package preview

import "purlin.dev/purlin/internal/exports"

//go:wasmexport purlin:preview/preview@0.1.0#preview
func preview(effect uint32) uint32 { return exports.Preview(effect) }
