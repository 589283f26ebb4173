// Package preview exports the previews of a driver, whose types are each a purlin.Previewer. Import it for that
// alone:
//
//	import _ "purlin.dev/purlin/preview"
//
// It is a package of its own so that other drivers do not export a preview: Purlin would call it for every
// resource of a plan.
package preview

import "purlin.dev/purlin/internal/exports"

func init() { exports.Previews = true }
