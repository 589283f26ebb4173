package purlin

// The canonical ABI of the contract: the memory layout of its records, and what keeps them alive. All
// unsafe code is in this file.
//
// Records have the layout of Go structs with the same fields, but pointers have 32 bits. An instance
// serves one call, so no memory that was passed in or out is ever freed.

import (
	"errors"
	"runtime/debug"
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

// answer is a result. The longest failure decides its length and its alignment.
type answer[T any] struct {
	failed bool
	_      [0]uint64
	value  T
	_      [64]byte
}

type failure[T any] struct {
	kind   uint8
	_      [0]uint64
	detail T
}

// Records of the contract, field by field as the contract has them.
type (
	contextRecord struct{ org, app, env, envType, namespace, deployment span }

	resourceRecord struct {
		urn, guresid, kind, class, id span
		context                       contextRecord
	}

	inputsRecord struct {
		values, secrets, params, connection span
		account                             option[span]
		unknown, sensitive                  span
	}

	manifestFileRecord struct{ name, location, data span }

	stateRecord struct{ id, outputs, secrets, cookie, manifests span }

	callRecord struct {
		idempotencyKey span
		deadline       uint64
	}

	checkRecord struct {
		resource resourceRecord
		inputs   inputsRecord
		previous option[span]
	}

	nameRecord struct {
		resource resourceRecord
		inputs   inputsRecord
	}

	createRecord struct {
		resource resourceRecord
		inputs   inputsRecord
		name     span
		replaces option[span]
		call     callRecord
	}

	readRecord struct {
		resource resourceRecord
		id       option[span]
		name     span
		inputs   inputsRecord
		state    option[stateRecord]
		known    span
		call     callRecord
	}

	changeRecord struct {
		resource      resourceRecord
		state         stateRecord
		before, after inputsRecord
		name          span
		call          callRecord
	}

	deleteRecord struct {
		resource resourceRecord
		state    stateRecord
		inputs   inputsRecord
		call     callRecord
	}

	capabilityRecord struct{ capability, pattern, reason span }

	typeRecord struct{ kind, inputs, outputs span }

	manifestRecord struct {
		name, version, description span
		implements                 uint8
		types, capabilities        span
	}

	invalidRecord struct{ pointer, message span }

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

	deniedRecord struct{ capability, target, message span }

	retryRecord struct {
		afterMs uint64
		message span
	}

	partialRecord struct {
		state   stateRecord
		message span
	}
)

func (r *resourceRecord) lift() Resource {
	c := r.context
	return Resource{
		URN: r.urn.text(), Guresid: r.guresid.text(), Type: r.kind.text(), Class: r.class.text(),
		ID: r.id.text(),
		Context: Context{
			Org: c.org.text(), App: c.app.text(), Env: c.env.text(), EnvType: c.envType.text(),
			Namespace: c.namespace.text(), Deployment: c.deployment.text(),
		},
	}
}

func (r *inputsRecord) lift() (inputs Inputs, err error) {
	var faults [4]error
	inputs.Values, faults[0] = parse(r.values.text())
	inputs.Secrets, faults[1] = parse(r.secrets.text())
	inputs.Params, faults[2] = parse(r.params.text())
	inputs.Connection, faults[3] = parse(r.connection.text())
	if r.account.some {
		inputs.Account = r.account.value.text()
	}
	inputs.Unknown = liftTexts(r.unknown)
	inputs.Sensitive = liftTexts(r.sensitive)
	return inputs, errors.Join(faults[:]...)
}

func (r *stateRecord) lift() (state State, err error) {
	var faults []error
	parsed := func(s span) Object {
		object, err := parse(s.text())
		faults = append(faults, err)
		return object
	}
	state = State{ID: r.id.text(), Outputs: parsed(r.outputs), Secrets: parsed(r.secrets)}
	state.Cookie = items[byte](r.cookie)
	for _, file := range items[manifestFileRecord](r.manifests) {
		var data any
		faults = append(faults, parseInto(file.data.text(), &data))
		state.Manifests = append(state.Manifests, ManifestFile{file.name.text(), file.location.text(), data})
	}
	return state, errors.Join(faults...)
}

func (r *callRecord) lift() Call {
	return Call{IdempotencyKey: r.idempotencyKey.text(), Deadline: time.UnixMilli(int64(r.deadline))}
}

func liftOption(text option[span]) *string {
	if !text.some {
		return nil
	}
	lifted := text.value.text()
	return &lifted
}

func liftTexts(list span) []string {
	var texts []string
	for _, one := range items[span](list) {
		texts = append(texts, one.text())
	}
	return texts
}

func lowerTexts(texts []string) span {
	spans := make([]span, len(texts))
	for i, text := range texts {
		spans[i] = keepText(text)
	}
	return keepItems(spans)
}

func lowerInvalid(faults []InvalidInput) span {
	records := make([]invalidRecord, len(faults))
	for i, fault := range faults {
		records[i] = invalidRecord{keepText(fault.Pointer), keepText(fault.Message)}
	}
	return keepItems(records)
}

func lowerObject(object Object) (span, error) {
	text, err := write(object)
	return keepText(text), err
}

func lowerState(state State) (record stateRecord, err error) {
	var faults [2]error
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
	return record, errors.Join(err, faults[0], faults[1])
}
