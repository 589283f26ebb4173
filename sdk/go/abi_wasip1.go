package purlin

// The canonical ABI of the contract: the memory layout of its records, and what keeps them alive. All
// unsafe code is in this file.
//
// Records have the layout of Go structs with the same fields, but pointers have 32 bits. An instance
// serves one call, so no memory that was passed in or out is ever freed.

import (
	"errors"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unsafe"
)

// arena is the memory for the host's data. It is used before Go runs, too: the adapter to WASI 0.2
// requests its memory (128 KiB) while Go starts.
var arena [512 << 10]byte

// arenaAt and arenaEnd are the limits of the rest of the arena, or of its replacement.
var arenaAt, arenaEnd uintptr

// held keeps the garbage collector from freeing memory that the host reads or writes.
var held []any

// No import may be called in cabi_realloc, and the collector reads the clock. So it is off until the
// request is complete.
func init() { debug.SetGCPercent(-1) }

// begin is called when the request is complete.
func begin() { debug.SetGCPercent(100) }

// reserve allocates memory for the result of an import. It returns the previous state, to restore
// once the result was copied.
func reserve(size uintptr) (release func()) {
	at, end := arenaAt, arenaEnd
	if end-at < size+64 {
		chunk := make([]uint64, (size+64)/8)
		held = append(held, chunk)
		arenaAt = uintptr(unsafe.Pointer(unsafe.SliceData(chunk)))
		arenaEnd = arenaAt + uintptr(len(chunk))*8
		at, end = arenaAt, arenaEnd
	}
	return func() { arenaAt, arenaEnd = at, end }
}

//go:wasmexport cabi_realloc
//go:nosplit
func cabiRealloc(old, oldSize, align, size uint32) uint32 {
	if arenaEnd == 0 {
		arenaAt = uintptr(unsafe.Pointer(&arena))
		arenaEnd = arenaAt + unsafe.Sizeof(arena)
	}
	start := (arenaAt + uintptr(align) - 1) &^ (uintptr(align) - 1)
	if start > arenaEnd || uintptr(size) > arenaEnd-start {
		return fromHeap(old, oldSize, size)
	}
	arenaAt = start + uintptr(size)
	move(pointer(uint32(start)), old, min(oldSize, size))
	return uint32(start)
}

// fromHeap returns memory that is aligned for every type.
func fromHeap(old, oldSize, size uint32) uint32 {
	words := make([]uint64, (uint64(size)+7)/8)
	place := unsafe.Pointer(unsafe.SliceData(words))
	held = append(held, words)
	move(place, old, min(oldSize, size))
	return uint32(uintptr(place))
}

//go:nosplit
func move(to unsafe.Pointer, from, size uint32) {
	for i := uint32(0); i < size; i++ {
		*(*byte)(unsafe.Add(to, i)) = *(*byte)(unsafe.Add(pointer(from), i))
	}
}

//go:nosplit
func pointer(at uint32) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(nil), at) }

// at reads a record that the host wrote.
func at[T any](place uint32) *T { return (*T)(pointer(place)) }

// keep holds a record for the host to read or to write, and returns its address.
func keep[T any](record *T) uint32 {
	held = append(held, record)
	return uint32(uintptr(unsafe.Pointer(record)))
}

// span is a string or a list: its start, and its length.
type span struct{ start, length uint32 }

func (s span) text() string { return unsafe.String((*byte)(pointer(s.start)), s.length) }

func items[T any](s span) []T { return unsafe.Slice((*T)(pointer(s.start)), s.length) }

// keepText holds a text for the host, which accepts only UTF-8.
func keepText(text string) span {
	text = strings.ToValidUTF8(text, "\uFFFD")
	held = append(held, text)
	return span{uint32(uintptr(unsafe.Pointer(unsafe.StringData(text)))), uint32(len(text))}
}

func keepItems[T any](list []T) span {
	held = append(held, list)
	return span{uint32(uintptr(unsafe.Pointer(unsafe.SliceData(list)))), uint32(len(list))}
}

type option[T any] struct {
	some  bool
	value T
}

// answer is a result. The longest failure, pending, decides its length and its alignment.
type answer[T any] struct {
	failed bool
	_      [0]uint64
	value  T
	_      [unsafe.Sizeof(variant[pendingRecord]{})]byte
}

// variant is one case of a failure or of an effect.
type variant[T any] struct {
	kind   uint8
	_      [0]uint64
	detail T
}

// Records of the contract, field by field as the contract has them.
type (
	// A name with a text, or with JSON.
	pairRecord struct{ name, value span }

	contextRecord struct {
		org               option[span]
		app, env, envType span
		namespace         option[span]
		labels            span
	}

	subjectRecord struct {
		urn, guresid, kind, class, localName span
		context                              contextRecord
	}

	inputsRecord struct {
		values, secrets, params, connection, account span
		unknown, sensitive                           span
	}

	manifestFileRecord struct{ name, location, data span }

	stateRecord struct {
		id, outputs, secrets, cookie, manifests, sensitive span
		version                                            uint32
		notes                                              span
	}

	callRecord struct {
		idempotencyKey span
		deadline       uint64
		hints          span
	}

	checkRecord struct {
		subject  subjectRecord
		inputs   inputsRecord
		previous option[inputsRecord]
		call     callRecord
	}

	nameRecord struct {
		subject subjectRecord
		inputs  inputsRecord
		call    callRecord
	}

	createRecord struct {
		subject  subjectRecord
		inputs   inputsRecord
		name     span
		replaces option[span]
		call     callRecord
	}

	readRecord struct {
		subject subjectRecord
		id      option[span]
		name    span
		inputs  inputsRecord
		state   option[stateRecord]
		known   span
		call    callRecord
	}

	changeRecord struct {
		subject       subjectRecord
		state         stateRecord
		before, after inputsRecord
		name          span
		call          callRecord
	}

	deleteRecord struct {
		subject         subjectRecord
		state           stateRecord
		inputs          inputsRecord
		dataLossAllowed bool
		call            callRecord
	}

	capabilityRecord struct {
		capability span
		pattern    option[span]
		reason     span
	}

	typeRecord struct{ kind, implements, inputs, outputs span }

	driverRecord struct{ name, version, description, types, capabilities, notes span }

	findingRecord struct{ pointer, message span }

	checkedRecord struct{ values, secrets, warnings span }

	observedRecord struct {
		state  stateRecord
		values option[span]
	}

	impactRecord struct {
		replaces            span
		deleteBeforeReplace bool
		stableOutputs       span
	}

	problemRecord struct{ message, details span }

	deniedRecord struct{ capability, target, message span }

	retryRecord struct {
		afterMs uint64
		message span
	}

	pendingRecord struct {
		state   option[stateRecord]
		afterMs uint64
		message span
	}

	partialRecord struct {
		state   stateRecord
		problem problemRecord
	}

	partRecord struct {
		address                      span
		movedFrom                    option[span]
		kind                         span
		action                       uint8
		before, after                option[span]
		unknown, sensitive, replaces span
		holdsData                    option[span]
		notes                        span
	}

	forecastRecord struct {
		outputs, secrets, unknown, sensitive, parts span
		token                                       option[span]
		notes                                       span
	}
)

func (r *subjectRecord) lift() Subject {
	c := r.context
	labels := map[string]string{}
	for _, label := range items[pairRecord](c.labels) {
		labels[label.name.text()] = label.value.text()
	}
	return Subject{
		URN: r.urn.text(), Guresid: r.guresid.text(), Type: r.kind.text(), Class: r.class.text(),
		LocalName: r.localName.text(),
		Context: Context{
			Org: orEmpty(c.org), App: c.app.text(), Env: c.env.text(), EnvType: c.envType.text(),
			Namespace: orEmpty(c.namespace), Labels: labels,
		},
	}
}

func (r *inputsRecord) lift() (inputs Inputs, err error) {
	var faults [5]error
	inputs.Values, faults[0] = parse(r.values.text())
	inputs.Secrets, faults[1] = parse(r.secrets.text())
	inputs.Params, faults[2] = parse(r.params.text())
	inputs.Connection, faults[3] = parse(r.connection.text())
	inputs.Account, faults[4] = parse(r.account.text())
	inputs.Unknown = liftTexts(r.unknown)
	inputs.Sensitive = liftTexts(r.sensitive)
	return inputs, errors.Join(faults[:]...)
}

func (r *stateRecord) lift() (state State, err error) {
	var faults [3]error
	state = State{ID: r.id.text(), Sensitive: liftTexts(r.sensitive), Version: r.version}
	state.Outputs, faults[0] = parse(r.outputs.text())
	state.Secrets, faults[1] = parse(r.secrets.text())
	state.Cookie = items[byte](r.cookie)
	for _, file := range items[manifestFileRecord](r.manifests) {
		var data any
		err = errors.Join(err, parseInto(file.data.text(), &data))
		state.Manifests = append(state.Manifests, ManifestFile{file.name.text(), file.location.text(), data})
	}
	state.Notes, faults[2] = liftJSON(r.notes)
	return state, errors.Join(err, errors.Join(faults[:]...))
}

func (r *callRecord) lift() (call Call, err error) {
	call = Call{IdempotencyKey: r.idempotencyKey.text(), Deadline: time.UnixMilli(int64(r.deadline))}
	call.Hints, err = liftJSON(r.hints)
	return call, err
}

func liftOption(text option[span]) *string {
	if !text.some {
		return nil
	}
	lifted := text.value.text()
	return &lifted
}

func orEmpty(text option[span]) string {
	if !text.some {
		return ""
	}
	return text.value.text()
}

func liftTexts(list span) []string {
	var texts []string
	for _, one := range items[span](list) {
		texts = append(texts, one.text())
	}
	return texts
}

// liftJSON reads a list of names with JSON.
func liftJSON(list span) (all Object, err error) {
	all = Object{}
	for _, one := range items[pairRecord](list) {
		var value any
		err = errors.Join(err, parseInto(one.value.text(), &value))
		all[one.name.text()] = value
	}
	return all, err
}

// lowerOption has no text if it is empty.
func lowerOption(text string) option[span] { return option[span]{text != "", keepText(text)} }

func lowerTexts(texts []string) span {
	spans := make([]span, len(texts))
	for i, text := range texts {
		spans[i] = keepText(text)
	}
	return keepItems(spans)
}

// lowerPairs has the names in order, so that equal maps are equal lists.
func lowerPairs(texts map[string]string) span {
	records := make([]pairRecord, 0, len(texts))
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		records = append(records, pairRecord{keepText(name), keepText(texts[name])})
	}
	return keepItems(records)
}

func lowerJSON(all Object) (span, error) {
	texts, err := written(all)
	return lowerPairs(texts), err
}

func lowerFindings(findings []Finding) span {
	records := make([]findingRecord, len(findings))
	for i, one := range findings {
		records[i] = findingRecord{keepText(one.Pointer), keepText(one.Message)}
	}
	return keepItems(records)
}

func lowerProblem(problem Problem) problemRecord {
	return problemRecord{keepText(problem.Message), lowerPairs(problem.Details)}
}

func lowerObject(object Object) (span, error) {
	text, err := write(object)
	return keepText(text), err
}

func lowerState(state State) (record stateRecord, err error) {
	var faults [3]error
	record.id = keepText(state.ID)
	record.outputs, faults[0] = lowerObject(state.Outputs)
	record.secrets, faults[1] = lowerObject(state.Secrets)
	record.cookie = keepItems(state.Cookie)
	files := make([]manifestFileRecord, len(state.Manifests))
	for i, file := range state.Manifests {
		data, fault := text(file.Data)
		err = errors.Join(err, fault)
		files[i] = manifestFileRecord{keepText(file.Name), keepText(file.Location), keepText(data)}
	}
	record.manifests = keepItems(files)
	record.sensitive = lowerTexts(state.Sensitive)
	record.version = state.Version
	record.notes, faults[2] = lowerJSON(state.Notes)
	return record, errors.Join(err, errors.Join(faults[:]...))
}
