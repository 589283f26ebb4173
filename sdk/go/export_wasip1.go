package purlin

import (
	"errors"
	"fmt"
)

// The functions that the host calls. It calls only those that `describe` names.

//go:wasmexport purlin:driver/lifecycle@0.2.0#describe
func describe() uint32 {
	begin()
	defer crash()
	if exported == nil {
		panic("no driver: call purlin.Export in a function init of package main")
	}
	m := exported.Manifest()
	record := &manifestRecord{
		name: keepText(m.Name), version: keepText(m.Version), description: keepText(m.Description),
		implements: implements(exported, m.RepeatCreate),
	}
	types := make([]typeRecord, len(m.Types))
	for i, one := range m.Types {
		types[i] = typeRecord{keepText(one.Type), keepText(one.Inputs), keepText(one.Outputs)}
	}
	capabilities := make([]capabilityRecord, len(m.RequestedCapabilities))
	for i, one := range m.RequestedCapabilities {
		capabilities[i] = capabilityRecord{keepText(one.Capability), keepText(one.Pattern), keepText(one.Reason)}
	}
	record.types, record.capabilities = keepItems(types), keepItems(capabilities)
	return keep(record)
}

//go:wasmexport purlin:driver/lifecycle@0.2.0#check
func check(place uint32) uint32 {
	begin()
	defer crash()
	r := at[checkRecord](place)
	inputs, err := r.inputs.lift()
	request := CheckRequest{Resource: r.resource.lift(), Inputs: inputs}
	if r.previous.some {
		previous, wrong := parseInputs(r.previous.value.text())
		request.Previous, err = &previous, errors.Join(err, wrong)
	}
	checker, ok := exported.(Checker)
	if err = orMissing(err, ok); err != nil {
		return lowerFailure(err)
	}
	checked, err := checker.Check(request)
	if err != nil {
		return lowerFailure(withoutEffects(err))
	}
	if checked.Secrets == nil {
		checked.Secrets = inputs.Secrets
	}
	values, wrong := lowerObject(checked.Values)
	secrets, err := lowerObject(checked.Secrets)
	return lower(checkedRecord{values, secrets, lowerInvalid(checked.Warnings)}, errors.Join(wrong, err))
}

//go:wasmexport purlin:driver/lifecycle@0.2.0#name
func name(place uint32) uint32 {
	begin()
	defer crash()
	r := at[nameRecord](place)
	inputs, err := r.inputs.lift()
	namer, ok := exported.(Namer)
	if err = orMissing(err, ok); err != nil {
		return lowerFailure(err)
	}
	name, err := namer.Name(NameRequest{r.resource.lift(), inputs})
	return lower(keepText(name), withoutEffects(err))
}

//go:wasmexport purlin:driver/lifecycle@0.2.0#create
func create(place uint32) uint32 {
	begin()
	defer crash()
	r := at[createRecord](place)
	inputs, err := r.inputs.lift()
	if err = orMissing(err, exported != nil); err != nil {
		return lowerFailure(err)
	}
	return lowerLive(exported.Create(CreateRequest{
		r.resource.lift(), inputs, r.name.text(), liftOption(r.replaces), r.call.lift(),
	}))
}

//go:wasmexport purlin:driver/lifecycle@0.2.0#read
func read(place uint32) uint32 {
	begin()
	defer crash()
	r := at[readRecord](place)
	inputs, err := r.inputs.lift()
	request := ReadRequest{
		Resource: r.resource.lift(), ID: liftOption(r.id), Name: r.name.text(), Inputs: inputs,
		Known: liftTexts(r.known), Call: r.call.lift(),
	}
	if r.state.some {
		state, wrong := r.state.value.lift()
		request.State, err = &state, errors.Join(err, wrong)
	}
	reader, ok := exported.(Reader)
	if err = orMissing(err, ok); err != nil {
		return lowerFailure(err)
	}
	observed, err := reader.Read(request)
	if err != nil || observed == nil {
		return lower(option[observedRecord]{}, withoutEffects(err))
	}
	var record observedRecord
	record.state, err = lowerState(observed.State)
	if observed.Values != nil {
		values, wrong := lowerObject(observed.Values)
		record.values, err = option[span]{true, values}, errors.Join(err, wrong)
	}
	return lower(option[observedRecord]{true, record}, err)
}

//go:wasmexport purlin:driver/lifecycle@0.2.0#update-impact
func updateImpact(place uint32) uint32 {
	begin()
	defer crash()
	change, err := at[changeRecord](place).lift()
	teller, ok := exported.(ImpactTeller)
	if err = orMissing(err, ok); err != nil {
		return lowerFailure(err)
	}
	impact, err := teller.UpdateImpact(change)
	return lower(impactRecord{
		lowerTexts(impact.Replaces), impact.DeleteBeforeReplace, lowerTexts(impact.StableOutputs),
	}, withoutEffects(err))
}

//go:wasmexport purlin:driver/lifecycle@0.2.0#update
func update(place uint32) uint32 {
	begin()
	defer crash()
	change, err := at[changeRecord](place).lift()
	updater, ok := exported.(Updater)
	if err = orMissing(err, ok); err != nil {
		return lowerFailure(err)
	}
	return lowerLive(updater.Update(change))
}

//go:wasmexport purlin:driver/lifecycle@0.2.0#delete
func remove(place uint32) uint32 {
	begin()
	defer crash()
	r := at[deleteRecord](place)
	state, err := r.state.lift()
	inputs, wrong := r.inputs.lift()
	if err = orMissing(errors.Join(err, wrong), exported != nil); err != nil {
		return lowerFailure(err)
	}
	err = exported.Delete(DeleteRequest{r.resource.lift(), state, inputs, r.call.lift()})
	return lower(struct{}{}, err)
}

// crash logs why a driver panics, before the runtime prints the details.
func crash() {
	if cause := recover(); cause != nil {
		Log(Error, "panic: %v", cause)
		panic(cause)
	}
}

func (r *changeRecord) lift() (Change, error) {
	state, err := r.state.lift()
	before, wrongBefore := r.before.lift()
	after, wrongAfter := r.after.lift()
	change := Change{r.resource.lift(), state, before, after, r.name.text(), r.call.lift()}
	return change, errors.Join(err, wrongBefore, wrongAfter)
}

// implements tells the host which functions the driver has.
func implements(driver Driver, repeatCreate bool) uint8 {
	var flags uint8
	for bit, has := range [...]bool{
		is[Checker](driver), is[Namer](driver), is[Reader](driver), is[ImpactTeller](driver),
		is[Updater](driver), repeatCreate,
	} {
		if has {
			flags |= 1 << bit
		}
	}
	return flags
}

func is[T any](driver Driver) bool {
	_, ok := driver.(T)
	return ok
}

func orMissing(err error, there bool) error {
	if err == nil && !there {
		return errors.New("this driver does not implement that")
	}
	return err
}

// lower returns a record, or a failure.
func lower[T any](record T, err error) uint32 {
	if err != nil {
		return lowerFailure(err)
	}
	return keep(&answer[T]{value: record})
}

// lowerLive returns a live resource. A resource that cannot be returned must not be forgotten.
func lowerLive(state State, err error) uint32 {
	if err != nil {
		return lowerFailure(err)
	}
	record, err := lowerState(state)
	if err != nil {
		return lowerFailure(Partial{State{ID: state.ID}, fmt.Sprintf("its outputs are not JSON: %s", err)})
	}
	return lower(record, nil)
}

func lowerFailure(err error) uint32 {
	switch failure := failureOf(err).(type) {
	case InvalidInputs:
		return fail(0, lowerInvalid(failure))
	case Denied:
		return fail(1, deniedRecord{
			keepText(failure.Capability), keepText(failure.Target), keepText(failure.Message),
		})
	case NotFound:
		return fail(2, keepText(string(failure)))
	case Conflict:
		return fail(3, keepText(string(failure)))
	case RetryAfter:
		after := max(failure.After.Milliseconds(), 0)
		return fail(4, retryRecord{uint64(after), keepText(failure.Message)})
	case Partial:
		state, wrong := lowerState(failure.State)
		if wrong != nil {
			state, _ = lowerState(State{ID: failure.State.ID})
		}
		return fail(5, partialRecord{state, keepText(failure.Message)})
	case Undecided:
		return fail(7, keepText(string(failure)))
	case NeedsDeleteBefore:
		return fail(8, keepText(string(failure)))
	default:
		return fail(6, keepText(failure.Error()))
	}
}

func fail[T any](kind uint8, detail T) uint32 {
	return keep(&answer[failure[T]]{failed: true, value: failure[T]{kind: kind, detail: detail}})
}
