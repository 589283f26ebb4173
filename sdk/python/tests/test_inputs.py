"""Inputs and outputs as a driver has them: typed, with gaps where something is not there, and as JSON again."""

import copy
import json
import unittest
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

from purlin_driver import (
    Change, CheckRequest, Failed, Inputs, InvalidInputs, Schema, State, Subject, UnknownValue, is_unknown
)
from purlin_driver.inputs import inputs_form, outputs_form
from purlin_driver.records import written

SUBJECT = Subject("urn:purlin:test", "0123", "store")


class Engine(Enum):
    PLAIN = "plain"
    MEMORY = "in-memory"


@dataclass
class Disk:
    kind: Annotated[str, Schema(name="class")]
    gib: int = 5


@dataclass
class Values:
    name: str
    title: str | None = None
    engine: Engine = Engine.PLAIN
    size: int | None = 10
    wait: Annotated[int, Schema(assumed=True)] = 30
    share: float | None = None
    price: Decimal | None = None
    port: int | str | None = None
    flag: Literal[1, "a", True, None] = None
    disks: list[Disk] = field(default_factory=list)
    main: Disk | None = None
    tags: dict[str, str | None] = field(default_factory=dict)
    free: Any = None
    ünï: Annotated[str | None, Schema(name="grö/ße ~")] = None

    def __post_init__(self) -> None:
        if self.title is not None and self.main is not None:
            raise ValueError("has `title` and `main`; one of them is enough")


@dataclass
class Secrets:
    password: str | None = None


@dataclass
class Connection:
    server: str


@dataclass
class Account:
    region: str
    token: Annotated[str | None, Schema(secret=True)] = None


@dataclass
class CloudInputs(Inputs):
    account: Account


@dataclass
class StoreInputs(Inputs):
    values: Values
    secrets: Secrets
    connection: Connection


def read(values: Any, unknown=(), secrets=(), server="s", **more: Any) -> StoreInputs:
    document = {"values": values, "secrets": dict(secrets), "params": {"x": 1}, "connection": {"server": server}}
    return StoreInputs.read(document, unknown, **more)


def checked(given: StoreInputs, result: StoreInputs | None = None, group: str = "values") -> Any:
    return inputs_form(StoreInputs).checked(given, result or given, group)


class Reading(unittest.TestCase):
    def test_values_have_their_types(self):
        values = json.loads(
            '{"name": "ä", "engine": "in-memory", "size": 18446744073709551615, "share": 9007199254740993,'
            '"price": 0.1, "port": "http", "flag": true, "disks": [{"class": "ssd", "gib": 7.0}],'
            '"tags": {"a": null, "b": ""}, "free": {"deep": [0.5, {}]}, "grö/ße ~": "🎉"}'
        )
        its = read(values).values
        self.assertIs(its.engine, Engine.MEMORY)
        self.assertEqual((its.size, its.share, its.port), (2**64 - 1, 2**53 + 1, "http"))
        self.assertEqual((its.price, its.flag), (Decimal("0.1"), True))
        self.assertIsInstance(its.price, Decimal)
        self.assertIs(its.flag, True)
        self.assertEqual(its.disks, [Disk("ssd", 7)])
        self.assertIsInstance(its.disks[0].gib, int)
        self.assertEqual((its.tags, its.free, its.ünï), ({"a": None, "b": ""}, {"deep": [0.5, {}]}, "🎉"))
        self.assertEqual((its.title, its.wait, its.main), (None, 30, None))

    def test_every_fault_is_told_with_its_place(self):
        with self.assertRaises(InvalidInputs) as refused:
            read(
                {
                    "engine": 3, "size": True, "share": "1", "price": [], "port": 1.5, "flag": 2,
                    "disks": [{"kind": "ssd"}, 7], "main": [], "tags": {"a~/": 1}, "grö/ße ~": 1, "gröss/e": 1,
                },
                secrets={"password": 7},
                server=None,
            )
        self.assertEqual(list(refused.exception.faults), [
            ("/values/gröss~1e", "is unknown; the names are name, title, engine, size, wait, share, price, port, "
             "flag, disks, main, tags, free, grö/ße ~"),
            ("/values/name", "is missing"),
            ("/values/engine", "has to be one of `plain`, `in-memory`"),
            ("/values/size", "has to be an integer"),
            ("/values/share", "has to be a number"),
            ("/values/price", "has to be a number"),
            ("/values/port", "has to be a string or an integer"),
            ("/values/flag", "has to be one of `1`, `a`, `True`, null"),
            ("/values/disks/0/kind", "is unknown; the names are class, gib"),
            ("/values/disks/0/class", "is missing"),
            ("/values/disks/1", "has to be a map"),
            ("/values/main", "has to be a map"),
            ("/values/tags/a~0~1", "has to be a string"),
            ("/values/grö~1ße ~0", "has to be a string"),
            ("/secrets/password", "has to be a string"),
            ("/connection/server", "has to be a string"),
        ])
        for wrong in ([], "x", 7, None):
            with self.assertRaisesRegex(InvalidInputs, "/values: has to be a map"):
                read(wrong)
        with self.assertRaisesRegex(InvalidInputs, "^/values: has `title` and `main`; one of them is enough$"):
            read({"name": "a", "title": "b", "main": {"class": "ssd"}})

    def test_an_account_is_read_as_it_is_described(self):
        its = CloudInputs.read({"account": {"region": "eu-1", "token": "hush"}}).account
        self.assertEqual(its, Account("eu-1", "hush"))
        # The definition may name none.
        for account in ({"account": {"token": "hush"}}, {"account": {}}, {}):
            with self.assertRaisesRegex(InvalidInputs, "^/account/region: is missing$"):
                CloudInputs.read(account)
        with self.assertRaisesRegex(InvalidInputs, "^/account/name: is unknown; the names are region, token$"):
            CloudInputs.read({"account": {"region": "eu-1", "name": "main"}})
        # While a plan is made, its secrets are unknown.
        planned = CloudInputs.read({"account": {"region": "eu-1", "token": None}}, ["/account/token"]).account
        self.assertEqual((planned.region, is_unknown(planned.token)), ("eu-1", True))
        old = CloudInputs.read({"account": {}}, recorded=True)
        with self.assertRaisesRegex(InvalidInputs, "^/account/region: is missing$"):
            old.account.region.upper()

        @dataclass
        class Free:
            region: str | None = None

        @dataclass
        class FreeInputs(Inputs):
            account: Free

        self.assertEqual(FreeInputs.read({"account": {}}).account, Free())

        @dataclass
        class AnyInputs(Inputs):
            account: dict[str, Any]

        whole = {"name": "main", "type": "cloud", "region": "eu-1"}
        self.assertEqual(AnyInputs.read({"account": whole}).account, whole)
        # A driver that does not describe it still gets the name.
        self.assertEqual(Inputs.read({"account": {"name": "main"}}).document["account"], {"name": "main"})

    def test_null_is_what_is_not_there(self):
        its = read({"name": "a", "title": None, "size": None, "main": None})
        self.assertEqual((its.values.title, its.values.size), (None, None))
        # A null that differs from the default is kept.
        self.assertEqual(checked(its), {"name": "a", "size": None})
        with self.assertRaisesRegex(InvalidInputs, "/values/name: has to be a string"):
            read({"name": None})

    def test_recorded_inputs_are_read_as_far_as_they_fit(self):
        old = read({"title": 7, "size": 3, "gone": 1, "disks": "none"}, recorded=True, server=None)
        self.assertEqual(old.values.size, 3)
        for use, message in [
            (lambda: f"{old.values.name}", "/values/name: is missing"),
            (lambda: old.values.title or "x", "/values/title: has to be a string"),
            (lambda: [*old.values.disks], "/values/disks: has to be a list"),
            (lambda: old.connection.server + "/", "/connection/server: has to be a string"),
        ]:
            with self.assertRaises(InvalidInputs) as refused:
                use()
            self.assertEqual(str(refused.exception), message)
        self.assertFalse(is_unknown(old.values.name))
        self.assertEqual(old.document["values"]["gone"], 1)
        # The connection is not recorded in `previous`.
        bare = StoreInputs.read({"values": {"name": "a"}, "secrets": {}, "connection": {}}, recorded=True)
        self.assertEqual((bare.values.name, bare.secrets), ("a", Secrets()))


class Unknown(unittest.TestCase):
    places = ["/values/size", "/values/name", "/values/tags/a", "/values/disks/0/gib", "/values/free/x"]

    def given(self) -> StoreInputs:
        values = {"name": None, "size": None, "tags": {"a": None}, "disks": [{"class": "b", "gib": None}]}
        return read({**values, "free": {"x": None, "y": 1}}, self.places)

    def test_what_is_unknown_is_no_value(self):
        its = self.given().values
        for unknown in (its.size, its.name, its.tags["a"], its.disks[0].gib, its.free["x"]):
            self.assertTrue(is_unknown(unknown))
            self.assertFalse(unknown is None or isinstance(unknown, (str, int)))
        for known in (its.title, its.tags, its.disks[0].kind, its.free["y"], None, 0):
            self.assertFalse(is_unknown(known))
        for use in (
            lambda: bool(its.size), lambda: its.size == 3, lambda: 3 != its.size, lambda: its.size > 3,
            lambda: 3 <= its.size, lambda: its.size + 1, lambda: 1 + its.size, lambda: f"{its.name}",
            lambda: str(its.name), lambda: "%s" % its.name, lambda: len(its.name), lambda: its.name[0],
            lambda: "a" in its.name, lambda: [*its.name], lambda: its.name.encode(), lambda: int(its.size),
            lambda: {its.name: 1}, lambda: its.name or "x", lambda: its.name in ("x", "y"), lambda: range(its.size),
            lambda: open(its.name), lambda: setattr(its.name, "x", 1),
        ):
            with self.assertRaisesRegex(UnknownValue, "`/values/(size|name)` is not known yet; ask `is_unknown`"):
                use()
        for use in (lambda: "".join([its.name]), lambda: json.dumps(its.size), lambda: its.size - 1):
            self.assertRaises(TypeError, use)
        # It can be shown and copied.
        self.assertIn("name=<unknown /values/name>", repr(its))
        self.assertTrue(is_unknown(copy.deepcopy(its).size) and is_unknown(asdict(its)["size"]))

    def test_all_values_may_be_unknown(self):
        given = read(None, ["/values"])
        self.assertTrue(is_unknown(given.values) and is_unknown(given.values.main))
        given.values.title = CheckRequest(SUBJECT, given).choose(lambda its: its.values.title, "mine")
        self.assertIsNone(checked(given))

    def test_it_stays_null_in_its_place_and_in_no_other(self):
        given = self.given()
        self.assertEqual(checked(given), {
            "name": None, "size": None, "tags": {"a": None}, "disks": [{"class": "b", "gib": None}],
            "free": {"x": None, "y": 1},
        })
        given.values.title = given.values.name
        with self.assertRaisesRegex(UnknownValue, "/values/name"):
            checked(given)

    def test_a_rule_of_a_class_that_needs_it_says_so(self):
        @dataclass
        class Checked:
            a: int

            def __post_init__(self) -> None:
                if self.a < 0:
                    raise ValueError("is negative")

        it = dataclass(type("It", (Inputs,), {"__annotations__": {"values": Checked}}))
        self.assertRaises(UnknownValue, it.read, {"values": {"a": None}}, ["/values/a"])
        self.assertRaisesRegex(InvalidInputs, "/values: is negative", it.read, {"values": {"a": -1}})


class Requests(unittest.TestCase):
    def test_defaults_that_were_not_given_stay_out(self):
        given = read({"name": "a", "engine": "plain", "disks": [{"class": "ssd"}]})
        self.assertEqual(checked(given), given.document["values"])
        result = replace(given, values=replace(given.values, size=11, disks=[*given.values.disks, Disk("hdd")]))
        self.assertEqual(checked(given, result), {
            "name": "a", "engine": "plain", "size": 11,
            "disks": [{"class": "ssd"}, {"class": "hdd", "gib": 5}],
        })
        # What was given stays, whoever made the result.
        fresh = StoreInputs(Values("b"), Secrets("p"), Connection("s"))
        self.assertEqual(checked(given, fresh), {"name": "b", "engine": "plain", "disks": []})
        self.assertEqual(checked(given, fresh, "secrets"), {"password": "p"})

        @dataclass
        class Bare(Inputs):
            """A driver that reads nothing."""

        bare = Bare.read(given.document)
        self.assertEqual(inputs_form(Bare).checked(bare, bare, "values"), given.document["values"])

    def test_an_assumed_default_is_never_written(self):
        self.assertNotIn("wait", written(Values("a")))
        self.assertEqual(written(Values("a", wait=31))["wait"], 31)
        self.assertEqual(written(Values("a"))["size"], 10)

    def test_a_choice_is_kept(self):
        title = lambda its: its.values.title
        request = lambda values, previous: CheckRequest(SUBJECT, read(values), previous)
        self.assertEqual(request({"name": "a", "title": "b"}, read({"name": "a", "title": "c"})).choose(title, "d"), "b")
        self.assertEqual(request({"name": "a"}, read({"name": "a", "title": "c"})).choose(title, "d"), "c")
        self.assertEqual(request({"name": "a"}, read({"name": "a"})).choose(title, "d"), "d")
        self.assertEqual(request({"name": "a"}, None).choose(title, "d"), "d")
        other = read({"title": 7}, recorded=True)
        self.assertEqual(request({"name": "a"}, other).choose(title, "d"), "d")
        kind = lambda its: its.values.main.kind
        self.assertEqual(request({"name": "a", "main": {"class": "x"}}, other).choose(kind, "d"), "x")
        main = lambda its: None if its is not other else its.values.main.kind
        self.assertEqual(request({"name": "a"}, other).choose(main, "d"), "d")

    def test_a_change_of_an_input(self):
        def changes(before, after, of, unknown=()):
            change = Change(SUBJECT, State("x", None), read(before, recorded=True), read(after, unknown), "x")
            return change.changes(of)

        name, disks = lambda its: its.values.name, lambda its: its.values.disks
        self.assertFalse(changes({"name": "a"}, {"name": "a"}, name))
        self.assertTrue(changes({"name": "a"}, {"name": "b"}, name))
        self.assertTrue(changes({}, {"name": "b"}, name))
        self.assertTrue(changes({"name": "a"}, {"name": None}, name, ["/values/name"]))
        one = {"name": "a", "disks": [{"class": "x"}]}
        self.assertFalse(changes(one, {**one, "name": "b"}, disks))
        self.assertTrue(changes(one, {**one, "disks": [{"class": None}]}, disks, ["/values/disks/0/class"]))

    def test_observed_values(self):
        form, given = inputs_form(StoreInputs), read({"name": "a", "engine": "plain"})
        self.assertEqual(form.observed(given, Values("b", "t")), {"name": "b", "title": "t", "engine": "plain"})
        self.assertEqual(form.observed(given, {"size": 10, "disks": [Disk("x")]}), {
            "size": 10, "disks": [{"class": "x", "gib": 5}],
        })
        with self.assertRaisesRegex(ValueError, "`/values/titel` is no input; these are name, title"):
            form.observed(given, {"titel": "x"})
        with self.assertRaisesRegex(TypeError, "not `str`"):
            form.observed(given, "x")


@dataclass
class Outputs:
    host: str
    disk: Disk | None = None
    token: Annotated[str | None, Schema(secret=True, name="the-token")] = None


class Out(unittest.TestCase):
    def test_secret_outputs_are_told_apart(self):
        form = outputs_form(Outputs)
        split = lambda *given: form.split(*given)
        self.assertEqual(split(Outputs("h"), []), ({"host": "h"}, {}, []))
        whole = Outputs("h", Disk("x", 6), "t")
        self.assertEqual(split(whole, ["/outputs/disk/class", "/manifests/a", "/outputs/the-token"]), (
            {"host": "h", "disk": {"class": "x", "gib": 6}}, {"the-token": "t"},
            ["/outputs/disk/class", "/manifests/a"],
        ))
        self.assertEqual(split(whole, ["/outputs/disk", "/outputs/disk/class"]), (
            {"host": "h"}, {"the-token": "t", "disk": {"class": "x", "gib": 6}}, [],
        ))
        # The host hides everything if there is no such place.
        self.assertEqual(split(Outputs("h"), ["/outputs/tokn"])[2], ["/outputs/tokn"])
        with self.assertRaisesRegex(TypeError, "outputs are `Outputs`, not `dict`"):
            split({"host": "h"}, [])

    def test_outputs_of_a_record_come_back(self):
        form = outputs_form(Outputs)
        self.assertEqual(form.read({"host": "h"}, {"the-token": "t"}, ["/outputs/host"]), (
            Outputs("h", None, "t"), ["/outputs/host"],
        ))
        open = outputs_form(dict[str, Any])
        state, sensitive = open.read({"a": 1}, {"b": 2}, [])
        self.assertEqual(open.split(state, sensitive), ({"a": 1}, {"b": 2}, []))
        # After a checkpoint, there are none.
        bare, _ = form.read({}, {}, [])
        with self.assertRaisesRegex(Failed, "another version of the driver: `/outputs/host` is missing"):
            bool(bare.host)
        self.assertEqual(outputs_form(None).read({"a": 1}, {}, []), (None, []))
        self.assertEqual(outputs_form(None).split(None, []), ({}, {}, []))

    def test_stable_outputs_have_their_places(self):
        form = outputs_form(Outputs)
        for pointer, places in [
            ("/outputs/host", ["/outputs/host"]), ("/outputs/the-token", ["/secrets/the-token"]),
            ("/outputs/disk/gib", ["/secrets/disk/gib"]), ("/outputs", ["/outputs", "/secrets"]),
        ]:
            self.assertEqual(form.places(pointer, ["/outputs/disk"]), places)
        for wrong in ("/outputs/token", "/secrets/the-token", "host", ""):
            with self.assertRaisesRegex(ValueError, "is no output; these are /outputs/host, /outputs/disk, "):
                form.places(wrong, [])
        self.assertEqual(outputs_form(dict[str, Any]).places("/outputs/any", []), ["/outputs/any"])

    def test_what_json_cannot_keep_fails(self):
        self.assertEqual(written(Decimal("0.10")), 0.1)
        self.assertEqual(written(Decimal(2**63)), 2**63)
        for wrong in (Decimal("0.10000000000000000001"), Decimal("NaN")):
            self.assertRaises((ValueError, ArithmeticError), written, wrong)
        for wrong in (object(), {1: 2}, {"a": {1, 2}}, Outputs):
            self.assertRaises(TypeError, written, wrong)


if __name__ == "__main__":
    unittest.main()
