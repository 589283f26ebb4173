package purlin

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// The functions that the host calls. It calls only those that `describe` names.

//go:wasmexport purlin:driver/lifecycle@0.3.0#describe
func describe() uint32 {
	begin()
	defer func() {
		if cause := recover(); cause != nil {
			cannotDescribe(panicked(cause))
		}
	}()
	driver, err := Describe()
	if err != nil {
		cannotDescribe(err.Error())
	}
	record := &driverRecord{
		name: keepText(driver.Name), version: keepText(driver.Version), description: keepText(driver.Description),
	}
	types := make([]typeRecord, len(driver.Types))
	for i, one := range driver.Types {
		types[i] = typeRecord{
			keepText(one.Type), lowerTexts(one.Implements), keepText(one.Inputs), keepText(one.Outputs),
		}
	}
	capabilities := make([]capabilityRecord, len(driver.RequestedCapabilities))
	for i, one := range driver.RequestedCapabilities {
		capabilities[i] = capabilityRecord{keepText(one.Capability), lowerOption(one.Pattern), keepText(one.Reason)}
	}
	notes, err := lowerJSON(driver.Notes)
	if err != nil {
		cannotDescribe("the notes of the driver are not JSON: " + err.Error())
	}
	record.types, record.capabilities, record.notes = keepItems(types), keepItems(capabilities), notes
	return keep(record)
}

// cannotDescribe ends a describe, which cannot fail and may not log. The host shows the last lines of
// standard error.
func cannotDescribe(why string) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(1)
}

//go:wasmexport purlin:driver/lifecycle@0.3.0#check
func check(place uint32) uint32 {
	begin()
	defer crash()
	request, err := at[checkRecord](place).lift()
	one, err := serving(request.Subject, err)
	if err != nil {
		return lowerFailure(err)
	}
	checked, err := one.Check(request)
	if err != nil {
		return lowerFailure(withoutEffects(err))
	}
	if checked.Values == nil {
		checked.Values = request.Inputs.Values
	}
	if checked.Secrets == nil {
		checked.Secrets = request.Inputs.Secrets
	}
	values, wrong := lowerObject(checked.Values)
	secrets, err := lowerObject(checked.Secrets)
	return lower(checkedRecord{values, secrets, lowerFindings(checked.Warnings)}, errors.Join(wrong, err))
}

//go:wasmexport purlin:driver/lifecycle@0.3.0#name
func name(place uint32) uint32 {
	begin()
	defer crash()
	r := at[nameRecord](place)
	inputs, err := r.inputs.lift()
	call, wrong := r.call.lift()
	request := NameRequest[Inputs]{r.subject.lift(), inputs, inputs.Sensitive, call}
	one, err := serving(request.Subject, errors.Join(err, wrong))
	if err != nil {
		return lowerFailure(err)
	}
	name, err := one.Name(request)
	return lower(keepText(name), withoutEffects(err))
}

//go:wasmexport purlin:driver/lifecycle@0.3.0#create
func create(place uint32) uint32 {
	begin()
	defer crash()
	r := at[createRecord](place)
	inputs, err := r.inputs.lift()
	call, wrong := r.call.lift()
	request := CreateRequest[Inputs]{
		r.subject.lift(), inputs, inputs.Sensitive, r.name.text(), liftOption(r.replaces), call,
	}
	one, err := serving(request.Subject, errors.Join(err, wrong))
	if err != nil {
		return lowerFailure(err)
	}
	return lowerLive(one.Create(request))
}

//go:wasmexport purlin:driver/lifecycle@0.3.0#read
func read(place uint32) uint32 {
	begin()
	defer crash()
	request, err := at[readRecord](place).lift()
	one, err := serving(request.Subject, err)
	if err != nil {
		return lowerFailure(err)
	}
	observed, err := one.Read(request)
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

//go:wasmexport purlin:driver/lifecycle@0.3.0#update-impact
func updateImpact(place uint32) uint32 {
	begin()
	defer crash()
	change, err := at[changeRecord](place).lift()
	request := ImpactRequest{change.Subject, change.State, change.Before, change.After, change.Name, change.Call}
	one, err := serving(request.Subject, err)
	if err != nil {
		return lowerFailure(err)
	}
	impact, err := one.UpdateImpact(request)
	return lower(impactRecord{
		lowerTexts(impact.Replaces), impact.DeleteBeforeReplace, lowerTexts(impact.StableOutputs),
	}, withoutEffects(err))
}

//go:wasmexport purlin:driver/lifecycle@0.3.0#update
func update(place uint32) uint32 {
	begin()
	defer crash()
	request, err := at[changeRecord](place).lift()
	one, err := serving(request.Subject, err)
	if err != nil {
		return lowerFailure(err)
	}
	return lowerLive(one.Update(request))
}

//go:wasmexport purlin:driver/lifecycle@0.3.0#delete
func remove(place uint32) uint32 {
	begin()
	defer crash()
	request, err := at[deleteRecord](place).lift()
	one, err := serving(request.Subject, err)
	if err != nil {
		return lowerFailure(err)
	}
	return lower(struct{}{}, one.Delete(request))
}

// crash logs why and where a driver panics, before the runtime prints the details and traps: after a panic,
// nothing may be answered.
func crash() {
	if cause := recover(); cause != nil {
		Log(Error, "%s", panicked(cause))
		panic(cause)
	}
}

func (r *checkRecord) lift() (request CheckRequest, err error) {
	var faults [3]error
	request.Subject = r.subject.lift()
	request.Inputs, faults[0] = r.inputs.lift()
	if r.previous.some {
		var previous Inputs
		previous, faults[1] = r.previous.value.lift()
		request.Previous = &previous
	}
	request.Call, faults[2] = r.call.lift()
	return request, errors.Join(faults[:]...)
}

func (r *readRecord) lift() (request ReadRequest, err error) {
	var faults [3]error
	request = ReadRequest{
		Subject: r.subject.lift(), ID: liftOption(r.id), Name: r.name.text(), Known: liftTexts(r.known),
	}
	request.Inputs, faults[0] = r.inputs.lift()
	if r.state.some {
		var state State
		state, faults[1] = r.state.value.lift()
		request.State = &state
	}
	request.Call, faults[2] = r.call.lift()
	return request, errors.Join(faults[:]...)
}

func (r *changeRecord) lift() (change UpdateRequest[Inputs], err error) {
	var faults [4]error
	change = UpdateRequest[Inputs]{Subject: r.subject.lift(), Name: r.name.text()}
	change.State, faults[0] = r.state.lift()
	change.Before, faults[1] = r.before.lift()
	change.After, faults[2] = r.after.lift()
	change.Call, faults[3] = r.call.lift()
	change.Sensitive = change.After.Sensitive
	return change, errors.Join(faults[:]...)
}

func (r *deleteRecord) lift() (request DeleteRequest, err error) {
	var faults [3]error
	request = DeleteRequest{Subject: r.subject.lift(), DataLossAllowed: r.dataLossAllowed}
	request.State, faults[0] = r.state.lift()
	request.Inputs, faults[1] = r.inputs.lift()
	request.Call, faults[2] = r.call.lift()
	return request, errors.Join(faults[:]...)
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
		return lowerFailure(unwritable(state, err))
	}
	return lower(record, nil)
}

// lowerFailure numbers failures as the contract does.
func lowerFailure(err error) uint32 {
	switch failure := failureOf(err).(type) {
	case InvalidInputs:
		return fail(0, lowerFindings(failure))
	case Denied:
		return fail(1, deniedRecord{
			keepText(failure.Capability), keepText(failure.Target), keepText(failure.Message),
		})
	case NotFound:
		return fail(2, lowerProblem(Problem(failure)))
	case Conflict:
		return fail(3, lowerProblem(Problem(failure)))
	case RetryAfter:
		return fail(4, retryRecord{milliseconds(failure.After), keepText(failure.Message)})
	case Pending:
		record := pendingRecord{afterMs: milliseconds(failure.After), message: keepText(failure.Message)}
		if failure.State != nil {
			state, wrong := lowerState(*failure.State)
			if wrong != nil {
				return lowerFailure(unwritable(*failure.State, wrong))
			}
			record.state = option[stateRecord]{true, state}
		}
		return fail(5, record)
	case Partial:
		state, wrong := lowerState(failure.State)
		if wrong != nil {
			state, _ = lowerState(failure.State.bare())
		}
		return fail(6, partialRecord{state, lowerProblem(Problem{failure.Message, failure.Details})})
	case Undecided:
		return fail(8, lowerProblem(Problem(failure)))
	case NeedsDeleteBefore:
		return fail(9, lowerProblem(Problem(failure)))
	default:
		return fail(7, lowerProblem(ProblemOf(failure)))
	}
}

func milliseconds(time time.Duration) uint64 { return uint64(max(time.Milliseconds(), 0)) }

func fail[T any](kind uint8, detail T) uint32 {
	return keep(&answer[variant[T]]{failed: true, value: variant[T]{kind: kind, detail: detail}})
}
