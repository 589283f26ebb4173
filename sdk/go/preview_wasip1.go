package purlin

import (
	"errors"

	"purlin.dev/purlin/internal/exports"
)

// The glue of previews. Package preview exports it.

func init() { exports.Preview = foresee }

func foresee(place uint32) uint32 {
	begin()
	defer crash()
	request, err := liftEffect(place)
	one, err := serving(request.Subject, err)
	if err != nil {
		return lowerFailure(err)
	}
	forecast, err := one.Preview(request)
	if err != nil {
		return lowerFailure(withoutEffects(err))
	}
	return lower(lowerForecast(forecast))
}

func liftEffect(place uint32) (PreviewRequest, error) {
	switch *at[uint8](place) {
	case 0:
		r := &at[variant[createRecord]](place).detail
		inputs, err := r.inputs.lift()
		call, wrong := r.call.lift()
		effect := CreateEffect{inputs, liftOption(r.replaces)}
		return PreviewRequest{r.subject.lift(), effect, r.name.text(), call}, errors.Join(err, wrong)
	case 1:
		change, err := at[variant[changeRecord]](place).detail.lift()
		effect := UpdateEffect{change.State, change.Before, change.After}
		return PreviewRequest{change.Subject, effect, change.Name, change.Call}, err
	default:
		request, err := at[variant[deleteRecord]](place).detail.lift()
		effect := DeleteEffect{request.State, request.Inputs, request.DataLossAllowed}
		return PreviewRequest{request.Subject, effect, "", request.Call}, err
	}
}

func lowerForecast(forecast Forecast) (record forecastRecord, err error) {
	var faults [3]error
	record.outputs, faults[0] = lowerObject(forecast.Outputs)
	record.secrets, faults[1] = lowerObject(forecast.Secrets)
	record.unknown = lowerTexts(forecast.Unknown)
	record.sensitive = lowerTexts(forecast.Sensitive)
	parts := make([]partRecord, len(forecast.Parts))
	for i, part := range forecast.Parts {
		var fault error
		parts[i], fault = lowerPart(part)
		err = errors.Join(err, fault)
	}
	record.parts = keepItems(parts)
	record.token = option[span]{forecast.Token != nil, keepItems(forecast.Token)}
	record.notes, faults[2] = lowerJSON(forecast.Notes)
	return record, errors.Join(err, errors.Join(faults[:]...))
}

func lowerPart(part Part) (record partRecord, err error) {
	var faults [3]error
	record = partRecord{
		address: keepText(part.Address), movedFrom: lowerOption(part.MovedFrom), kind: keepText(part.Type),
		action: uint8(part.Action), unknown: lowerTexts(part.Unknown), sensitive: lowerTexts(part.Sensitive),
		replaces: lowerTexts(part.Replaces), holdsData: lowerOption(part.HoldsData),
	}
	record.before, faults[0] = lowerAttributes(part.Before)
	record.after, faults[1] = lowerAttributes(part.After)
	record.notes, faults[2] = lowerJSON(part.Notes)
	return record, errors.Join(faults[:]...)
}

func lowerAttributes(attributes any) (option[span], error) {
	if attributes == nil {
		return option[span]{}, nil
	}
	json, err := text(attributes)
	return option[span]{true, keepText(json)}, err
}
