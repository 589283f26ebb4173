// Package exports connects package purlin with the packages that export further functions to the host. A
// driver has such a function only if it imports the package, because Go exports a function of every package
// that is linked.
package exports

// Previews reports whether the driver exports its previews. Package preview sets it.
var Previews bool

// Preview answers the host: from the address of an effect to that of its result. In a component, package purlin
// sets it.
var Preview func(effect uint32) (result uint32)
