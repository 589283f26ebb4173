package purlin

import "fmt"

// Said has what a driver told the host in a native test, a line for each call; empty it to begin
// anew.
var Said []string

// Level says how much a line matters.
type Level uint32

// Levels, from what is for the driver's author to what failed.
const (
	Trace Level = iota
	Debug
	Info
	Warn
	Error
)

// Log writes a line for the operator. Never write a secret, though those of the call are masked.
func Log(level Level, format string, arguments ...any) {
	hostLog(uint32(level), fmt.Sprintf(format, arguments...))
}

// Count adds to a counter. Names are [a-z][a-z0-9_.]*; others are ignored.
func Count(name string, by uint64) { hostCount(name, by) }

// Record records a measurement, in the unit that the name ends with (_ms, _bytes).
func Record(name string, value float64) { hostRecord(name, value) }

// Checkpoint tells the host the provider's id before Create is finished, so that nothing is made
// twice after a crash. It returns once the id is safe.
func Checkpoint(id string) { hostCheckpoint(id) }

// Progress tells people what is going on.
func Progress(message string) { hostProgress(message, false, 0) }

// ProgressPercent tells people what is going on and how far, 0 to 100.
func ProgressPercent(message string, percent uint8) { hostProgress(message, true, uint32(percent)) }

// Cancelled tells whether the operator wants this call to end. A driver that polls should ask each
// time.
func Cancelled() bool { return hostCancelled() }
