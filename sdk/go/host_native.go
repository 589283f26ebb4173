//go:build !wasip1

package purlin

import "fmt"

func say(format string, arguments ...any) { Messages = append(Messages, fmt.Sprintf(format, arguments...)) }

func hostLog(level uint32, message string) {
	say("%s %s", [...]string{"trace", "debug", "info", "warn", "error"}[level], message)
}

func hostCount(name string, by uint64)      { say("count %s %d", name, by) }
func hostRecord(name string, value float64) { say("record %s %g", name, value) }
func hostCheckpoint(id string)              { say("checkpoint %s", id) }

func hostProgress(message string, known bool, percent uint32) {
	if known {
		message = fmt.Sprintf("%s %d%%", message, percent)
	}
	say("progress %s", message)
}

func hostCancelled() bool { return false }
