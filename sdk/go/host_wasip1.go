package purlin

//go:wasmimport purlin:driver/log@0.2.0 write
func hostLog(level uint32, message string)

//go:wasmimport purlin:driver/metrics@0.2.0 count
func hostCount(name string, by uint64)

//go:wasmimport purlin:driver/metrics@0.2.0 record-value
func hostRecord(name string, value float64)

//go:wasmimport purlin:driver/operation@0.2.0 checkpoint
func hostCheckpoint(id string)

//go:wasmimport purlin:driver/operation@0.2.0 progress
func hostProgress(message string, known bool, percent uint32)

//go:wasmimport purlin:driver/operation@0.2.0 cancelled
func hostCancelled() bool
