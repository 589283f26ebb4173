"""Converts forecasts, and connects `consent`. Only a component that exports previews has these bindings:
`component` imports this module when it makes one."""

from wit_world.imports import consent as theirs
from wit_world.imports import purlin_preview_types as types

from .component import text, texts
from .preview import Action, Forecast, Part, consent

#: The functions of the effects, whose requests a preview gets.
FUNCTIONS = {types.Effect_Create: "create", types.Effect_Update: "update", types.Effect_Delete: "delete"}


def forecast(ours: Forecast, kind, *_) -> types.Forecast:
    ours.need()
    form = kind.outputs_form
    outputs, secrets, sensitive = form.certain(ours.outputs, ours.sensitive)
    unknown = [place for pointer in ours.unknown for place in form.places(pointer, ours.sensitive)]
    parts = [part(one) for one in ours.parts]
    return types.Forecast(
        text(outputs), text(secrets), unknown, sensitive, parts, ours.token, texts(ours.notes)
    )


def part(ours: Part) -> types.Part:
    before, after = (None if one is None else text(one) for one in (ours.before, ours.after))
    return types.Part(
        ours.address, ours.moved_from, ours.type_name, action(ours.action), before, after, ours.unknown,
        ours.sensitive, ours.replaces, ours.holds_data, texts(ours.notes),
    )


def action(ours: Action) -> types.Action:
    return types.Action[ours.name]


consent.find = lambda: theirs.token()
consent.say = lambda address, what: theirs.reached(address, action(what))
