package purlin

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
