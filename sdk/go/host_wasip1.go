package purlin

import "runtime/debug"

//go:wasmimport purlin:driver/log@0.3.0 write
func hostLog(level uint32, message string)

//go:wasmimport purlin:metrics/metrics@0.1.0 count
func hostCount(name string, by uint64)

//go:wasmimport purlin:metrics/metrics@0.1.0 measure
func hostMeasure(name string, value float64)

//go:wasmimport purlin:driver/operation@0.3.0 checkpoint
func hostCheckpoint(id string, some bool, cookie string)

//go:wasmimport purlin:driver/operation@0.3.0 progress
func hostProgress(message string, known bool, percent uint32)

//go:wasmimport purlin:driver/operation@0.3.0 cancelled
func hostCancelled() bool

//go:wasmimport purlin:driver/operation@0.3.0 time-left
func hostTimeLeft() uint64

//go:wasmimport purlin:preview/consent@0.1.0 token
func consentToken(into uint32)

//go:wasmimport purlin:preview/consent@0.1.0 reached
func hostReached(address string, action uint32)

// hostToken does not know how long the token is, so that the host may need memory from the heap: the collector
// is off meanwhile, as for a request.
func hostToken() []byte {
	debug.SetGCPercent(-1)
	var token option[span]
	consentToken(keep(&token))
	begin()
	if !token.some {
		return nil
	}
	return items[byte](token.value)
}
