package purlin

import (
	"fmt"
	"math"
	"time"
)

// Messages has a driver's messages to the host in a native test, one line per call; empty it to start
// again.
var Messages []string

// Level is the importance of a line.
type Level uint32

// Levels, from messages for the driver's author to errors.
const (
	Trace Level = iota
	Debug
	Info
	Warn
	Error
)

// Log writes a line for the operator. Never write a secret, although those of the call are masked.
func Log(level Level, format string, arguments ...any) {
	hostLog(uint32(level), fmt.Sprintf(format, arguments...))
}

// Count adds to a counter. Names are [a-z][a-z0-9_.]*; others are ignored.
func Count(name string, by uint64) { hostCount(name, by) }

// Measure records a measurement, in the unit that the name ends with (_ms, _bytes).
func Measure(name string, value float64) { hostMeasure(name, value) }

// Checkpoint reports to the host what exists before Create finishes, so that nothing is created twice
// after a crash: the provider's id. It returns once the id is stored. In Update, it is the resource's id.
func Checkpoint(id string) { hostCheckpoint(id, false, "") }

// CheckpointCookie is a Checkpoint with a cookie, which takes the place of the recorded one: after a
// crash, the next call has it in its state.
func CheckpointCookie(id string, cookie []byte) { hostCheckpoint(id, true, string(cookie)) }

// Progress shows people the progress.
func Progress(message string) { hostProgress(message, false, 0) }

// ProgressPercent shows people the progress, with a percentage from 0 to 100.
func ProgressPercent(message string, percent uint8) { hostProgress(message, true, uint32(percent)) }

// Cancelled reports whether the operator cancelled this call. A driver that polls should check each
// time.
func Cancelled() bool { return hostCancelled() }

// TimeLeft is the time until the host ends the call. In native tests, there is no end.
func TimeLeft() time.Duration {
	const longest = math.MaxInt64 / uint64(time.Millisecond)
	return time.Duration(min(hostTimeLeft(), longest)) * time.Millisecond
}
