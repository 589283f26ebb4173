//go:build !wasip1

package purlin

import (
	"fmt"
	"math"
)

func say(format string, arguments ...any) {
	Messages = append(Messages, fmt.Sprintf(format, arguments...))
}

func hostLog(level uint32, message string) {
	say("%s %s", [...]string{"trace", "debug", "info", "warn", "error"}[level], message)
}

func hostCount(name string, by uint64)       { say("count %s %d", name, by) }
func hostMeasure(name string, value float64) { say("measure %s %g", name, value) }

func hostCheckpoint(id string, some bool, cookie string) {
	if some {
		id = fmt.Sprintf("%s %q", id, cookie)
	}
	say("checkpoint %s", id)
}

func hostProgress(message string, known bool, percent uint32) {
	if known {
		message = fmt.Sprintf("%s %d%%", message, percent)
	}
	say("progress %s", message)
}

func hostToken() []byte { return AgreedToken }

func hostReached(address string, action uint32) { say("reached %s %s", address, Action(action)) }

func hostCancelled() bool { return false }

// timeLeft is another time in tests of this package; a driver's native tests have all the time.
var timeLeft uint64 = math.MaxUint64

func hostTimeLeft() uint64 { return timeLeft }
