use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use purlin_model::driver::{
    Checkpoint, Cookie, Inputs, ManifestFile, RecordedPart, ResourceState, StoredCookie,
};
use purlin_model::{
    Awaited, InstallationShare, InstallationUse, Key, Label, Map, Obstacle, Offered, Settings, Unfinished,
    Unknown, Urn, Value, Wait,
};
use strum::VariantArray as _;

use super::*;
use crate::envelope::VERSION;
use crate::wire::Reader;
use crate::{
    AuditAction, DatabaseUser, DriverVersion, Listed, MarkState, MayLose, Operation, Outcome, RecordId,
    RejectedDocuments, RolloutMark, RolloutStatus, Status,
};

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<u64>().prop_map(|n| Value::Number(n.into())),
        any::<i64>().prop_map(|n| Value::Number(n.into())),
        any::<f64>().prop_filter_map("finite", serde_json::Number::from_f64).prop_map(Value::Number),
        ".{0,12}".prop_map(|text| Value::String(text.into())),
        any::<bool>().prop_map(|secret| Value::Unknown(Unknown { secret })),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::List),
            vec((".{0,6}", inner.clone()), 0..4).prop_map(|entries| Value::Map(Map::from_iter(
                entries.into_iter().map(|(k, v)| (k.into(), v))
            ))),
            inner.prop_map(Value::into_secret),
        ]
    })
}

fn urn() -> impl Strategy<Value = Urn> {
    "[a-z]{1,4}/[a-z]{0,3}::[a-z]{1,4}::shared::[a-z]{1,4}\\.[a-z]{1,4}::shared\\.[a-zé]{1,9}"
        .prop_map(|rest| Urn::parse(&format!("urn:purlin:{rest}")).expect("a URN"))
}

fn label() -> impl Strategy<Value = Label> {
    (".{0,9}", any::<bool>()).prop_map(|(text, secret)| Label::new(text, secret))
}

fn checkpoint() -> impl Strategy<Value = Checkpoint> {
    (label(), proptest::option::of(cookie())).prop_map(|(id, cookie)| Checkpoint { id, cookie })
}

fn staleness() -> impl Strategy<Value = Staleness> {
    use Staleness::{Copied, Imported, Lost, Restarted, Restored};
    proptest::sample::select(vec![Restarted, Copied, Imported, Restored, Lost])
}

/// In boxes, because a test's stack is small, and what a strategy makes lies on it.
fn unfinished() -> BoxedStrategy<Unfinished> {
    prop_oneof![
        Just(Unfinished::Drifted),
        Just(Unfinished::InterruptedUpdate),
        Just(Unfinished::InterruptedCreate),
        Just(Unfinished::Unconfirmed),
        ".{0,9}".prop_map(|message| Unfinished::Failed { message }),
        (".{0,9}", 0..3).prop_map(|(message, kind)| Unfinished::InProgress {
            message,
            deletes: kind == 1,
            in_doubt: kind == 2,
        }),
    ]
    .boxed()
}

/// Here, or stored apart.
fn cookie() -> impl Strategy<Value = Cookie> {
    let stored = (any::<[u8; 16]>(), any::<[u8; 32]>(), any::<u64>());
    prop_oneof![
        vec(any::<u8>(), 0..40).prop_map(Cookie::from),
        stored.prop_map(|(id, digest, length)| StoredCookie { id, digest, length }.into()),
    ]
}

fn part() -> impl Strategy<Value = RecordedPart> {
    let part = (".{0,9}", ".{0,9}", proptest::option::of(".{0,9}"));
    part.prop_map(|(address, type_name, holds_data)| RecordedPart {
        address: address.into(),
        type_name: type_name.into(),
        holds_data: holds_data.map(Into::into),
    })
}

prop_compose! {
    fn record()(
        (urn, dependencies) in (urn(), vec(urn(), 0..4)),
        unfinished in proptest::option::of(unfinished()),
        texts in vec(".{0,9}", 4),
        (name, id) in (label(), label()),
        (definition, account) in (proptest::option::of("[a-z]{0,9}"), proptest::option::of(".{0,9}")),
        (values, secrets, params, connection, outputs) in (value(), value(), value(), value(), value()),
        cookie in cookie(),
        manifests in vec((label(), label(), value()), 0..3),
        (form, notes) in (any::<u32>(), vec((".{0,6}", value()), 0..3)),
        (digest, flags, absent) in (any::<[u8; 32]>(), any::<[bool; 6]>(), any::<bool>()),
        share in proptest::option::of(share()),
        (superseded, deleted_with) in (proptest::option::of(any::<u32>()), proptest::option::of(urn())),
        perhaps in vec(urn(), 0..3),
        (holds_data, named) in (proptest::option::of(".{0,9}"), proptest::option::of(".{0,9}")),
        parts in vec(part(), 0..3),
        (created, updated) in (any::<u64>(), any::<u64>()),
    ) -> Record {
        let [driver, version, hex, deployment] = <[String; 4]>::try_from(texts).expect("four");
        Record {
            urn,
            superseded,
            status: match (unfinished, absent) {
                (Some(unfinished), _) => Status::Partial(unfinished),
                (None, true) => Status::Absent,
                (None, false) => Status::Ready,
            },
            driver: DriverVersion { name: driver.into(), version: version.into(), digest: hex.into() }.into(),
            definition: definition.map(Into::into),
            name,
            inputs: Inputs { values, secrets, params, connection, account: account.map(Into::into), ..Inputs::default() },
            state: ResourceState {
                id,
                outputs,
                cookie,
                manifests: manifests.into_iter().map(|(name, location, data)| ManifestFile { name, location, data }).collect(),
                version: form,
                notes: notes.into_iter().map(|(name, note)| (name.into(), note)).collect(),
            },
            dependencies: dependencies.into(),
            digest,
            protect: flags[0],
            pinned: flags[4],
            retain: flags[1],
            external: flags[2],
            tainted: flags[3],
            named: named.map(Into::into),
            deleted_with,
            perhaps_deleted_with: perhaps.into(),
            share: share.map(Arc::new),
            abandoned: flags[5],
            holds_data: holds_data.map(Into::into),
            parts: parts.into(),
            created,
            updated,
            deployment: deployment.into(),
        }
    }
}

fn share() -> impl Strategy<Value = InstallationShare> {
    let text = || ".{0,9}".prop_map(Arc::<str>::from);
    let offered = (text(), proptest::option::of(text()), ".{0,5}", any::<bool>());
    let offered = offered.prop_map(|(name, id, word, is_sensitive)| {
        let schema = [("title".to_owned(), word.into())].into_iter().collect();
        Offered { name, id, schema, is_sensitive }
    });
    let needs = (urn(), any::<bool>(), proptest::option::of(text()), vec(text(), 0..3)).prop_map(
        |(installation, by_hand, version, outputs)| {
            let given = Arc::from("0a");
            let interface = version.clone();
            let (bundle, by_interface) = (version.clone(), !by_hand);
            InstallationUse {
                installation,
                by_hand,
                bundle,
                by_interface,
                version,
                outputs,
                interface,
                given,
            }
        },
    );
    let group = || proptest::option::of(text());
    (text(), group(), any::<bool>(), group(), vec(offered, 0..3), proptest::option::of(needs)).prop_map(
        |(namespace, group, by_hand, provides, offers, uses)| InstallationShare {
            by_hand,
            uses,
            promoted: offers.iter().map(|one| (Arc::clone(&one.name), "${params.a}".into())).collect(),
            ..InstallationShare::new(namespace, group, provides, offers)
        },
    )
}

fn holder() -> impl Strategy<Value = Holder> {
    (vec(".{0,5}", 3), any::<u32>(), any::<u64>()).prop_map(|(texts, pid, since)| Holder {
        user: texts[0].clone(),
        host: texts[1].clone(),
        command: texts[2].clone(),
        pid,
        since,
    })
}

fn obstacle() -> impl Strategy<Value = Obstacle> {
    let text = || ".{0,9}".prop_map(Arc::<str>::from);
    let key = || "[a-z]{1,5}".prop_map(|id| Key::parse(&format!("db.default#{id}")).expect("a key"));
    let what = prop_oneof![
        (text(), text(), text(), proptest::option::of(key()))
            .prop_map(|(target, field, at, near)| Awaited::Missing { target, field, at, near }),
        (text(), text(), vec(key(), 0..3)).prop_map(|(field, at, candidates)| Awaited::Ambiguous {
            field,
            at,
            candidates
        }),
        key().prop_map(|key| Awaited::Paused { key }),
        (key(), text()).prop_map(|(key, message)| Awaited::Failed { key, message }),
        key().prop_map(|key| Awaited::NeedsConsent { key }),
        key().prop_map(|key| Awaited::Dependent { key }),
        (key(), text(), text()).prop_map(|(key, path, at)| Awaited::Empty { key, path, at }),
    ];
    let wait = (vec(key(), 0..3), 0usize..9, what).prop_map(|(through, left_out, what)| Wait {
        through,
        left_out,
        what,
    });
    let waits = vec(wait, 0..3).boxed();
    prop_oneof![
        (text(), text(), text()).prop_map(|(action, code, message)| Obstacle::Failed {
            action,
            code,
            message
        }),
        waits.clone().prop_map(|waits| Obstacle::Waits { waits }),
        text().prop_map(|action| Obstacle::NeedsConsent { action }),
        Just(Obstacle::Paused),
        Just(Obstacle::Drifted),
        waits.prop_map(|waits| Obstacle::Beside { waits }),
    ]
}

fn deployment() -> impl Strategy<Value = Deployment> {
    let steps = vec((urn(), "[a-z]{0,4}".prop_map(Into::into), any::<bool>()), 0..5);
    let outcome = prop::sample::select(vec![
        Outcome::Unfinished,
        Outcome::Succeeded,
        Outcome::Failed,
        Outcome::Cancelled,
    ]);
    let about = (".{0,5}", any::<u64>(), holder(), proptest::option::of(any::<u64>()));
    let rejected = (any::<u64>(), ".{0,9}", any::<u64>())
        .prop_map(|(since, why, faults)| Box::new(RejectedDocuments { since, why: why.into(), faults }));
    let rejected = proptest::option::of(rejected);
    let source =
        (proptest::option::of(any::<[u8; 32]>()), proptest::option::of(any::<u64>()), rejected, marks());
    (about, outcome, steps, source).prop_map(
        |((id, number, holder, ended), outcome, steps, (documents, rollback_of, rejected, rollouts))| {
            Deployment {
                id: id.into(),
                number,
                holder,
                ended,
                outcome,
                steps,
                documents,
                rollback_of,
                rejected,
                rollouts,
            }
        },
    )
}

fn marks() -> impl Strategy<Value = Arc<[RolloutMark]>> {
    let state = prop_oneof![
        Just(MarkState::Applied),
        Just(MarkState::Left),
        Just(MarkState::Undone),
        ".{0,9}".prop_map(|why| MarkState::Refused(why.into())),
    ];
    let mark = (any::<u64>(), state).prop_map(|(number, state)| RolloutMark { number, state });
    vec(mark, 0..3).prop_map(Into::into)
}

fn rollout() -> impl Strategy<Value = Rollout> {
    let status = prop::sample::select(vec![
        RolloutStatus::Running,
        RolloutStatus::Paused,
        RolloutStatus::Stopped,
        RolloutStatus::Done,
        RolloutStatus::Undoing,
        RolloutStatus::Undone,
    ]);
    let one = || Environment { org: "o".into(), app: "a".into(), env: "dev".into() };
    let may_lose =
        prop::sample::select(vec![MayLose::Nowhere, MayLose::Everywhere, MayLose::In(vec![one(), one()])]);
    let text = || proptest::option::of(".{0,9}".prop_map(Arc::from));
    let about = (any::<u64>(), holder(), text(), any::<[u8; 32]>());
    let waves = (any::<u32>(), any::<u32>(), proptest::option::of(any::<u32>()), any::<u32>());
    let rest = (vec(Just(one()), 0..3), may_lose, vec(any::<u64>(), 0..3));
    (about, (status, holder(), text()), waves, rest).prop_map(
        |(
            (number, holder, reason, plan),
            (status, changed, why),
            (waves, opened, pause_after, max_failures),
            (excused, may_lose, supersedes),
        )| Rollout {
            number,
            holder,
            reason,
            plan,
            status,
            changed,
            why,
            waves,
            opened,
            pause_after,
            max_failures,
            excused,
            may_lose,
            supersedes,
        },
    )
}

fn audit_entry() -> impl Strategy<Value = AuditEntry> {
    let text = || proptest::option::of(".{0,9}".prop_map(Arc::from));
    let database_user = (".{0,5}", proptest::option::of(".{0,5}"));
    let database_user = database_user.prop_map(|(role, address)| DatabaseUser { role, address });
    let action = prop::sample::select(AuditAction::VARIANTS);
    let subjects = vec(".{0,9}".prop_map(Arc::from), 0..3);
    let about = (proptest::option::of(database_user), subjects, text(), any::<u64>(), text());
    (holder(), action, about).prop_map(
        |(by, action, (database_user, subjects, deployment, resources, reason))| {
            let entry = AuditEntry::new(by, action);
            AuditEntry { database_user, subjects, deployment, resources, reason, ..entry }
        },
    )
}

fn change() -> impl Strategy<Value = Change> {
    let id = || {
        (urn(), proptest::option::of(any::<u32>())).prop_map(|(urn, superseded)| RecordId { urn, superseded })
    };
    let operation = prop_oneof![
        record().boxed().prop_map(|record| Operation::Create(record.into())),
        record().boxed().prop_map(|record| Operation::Update(record.into())),
        id().prop_map(Operation::Delete),
    ];
    let times = (any::<u64>(), proptest::option::of(any::<u64>()), proptest::option::of(any::<u64>()));
    let intent = (operation, ".{0,9}", proptest::option::of(checkpoint()), times).prop_map(
        |(operation, idempotency_key, checkpoint, (since, deadline, deleted))| {
            let intent =
                Intent { operation, idempotency_key, checkpoint, since, deadline, open_deletion: None };
            let deletion = |since| {
                let operation = Operation::Delete(intent.id());
                Box::new(Intent { operation, checkpoint: None, since, ..intent.clone() })
            };
            Intent { open_deletion: deleted.map(deletion), ..intent }
        },
    );
    prop_oneof![
        record().prop_map(|record| Change::Put(record.into())),
        id().prop_map(Change::Remove),
        intent.prop_map(|intent| Change::Intend(intent.into())),
        (id(), checkpoint()).prop_map(|(id, checkpoint)| Change::Checkpoint { id, checkpoint }),
        id().prop_map(Change::Settle),
        (deployment(), proptest::option::of(vec(any::<u8>(), 0..9))).prop_map(|(deployment, documents)| {
            Change::Deployed { deployment: deployment.into(), documents }
        }),
        (rollout(), proptest::option::of(vec(any::<u8>(), 0..9)))
            .prop_map(|(rollout, plan)| Change::Roll { rollout: rollout.into(), plan }),
        rollout().prop_map(|rollout| Change::ForgetRollout(rollout.into())),
        (audit_entry(), any::<u64>())
            .prop_map(|(entry, kept_since)| Change::Audited { entry: entry.into(), kept_since }),
        proptest::option::of(holder()).prop_map(Change::SetClosed),
        proptest::option::of(staleness()).prop_map(Change::SetStaleness),
        (id(), proptest::option::of((obstacle(), any::<u64>()))).prop_map(|(id, obstacle)| {
            let obstacle =
                obstacle.map(|(obstacle, since)| ObstacleRecord { urn: id.urn.clone(), obstacle, since });
            Change::Obstruct { urn: id.urn, obstacle: obstacle.map(Box::new) }
        }),
        (id(), vec((label(), any::<u64>()), 0..3)).prop_map(|(id, objects)| {
            let objects = objects.into_iter().map(|(id, since)| Vanished { id, since });
            Change::Vanish { urn: id.urn, objects: objects.collect() }
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn records_read_back(record in record()) {
        let keys = Keyring::in_memory();
        let encoded = encode(&record, &keys).expect("writes");
        let environment = decode_environment(&encoded, "").expect("reads");
        prop_assert_eq!(environment, Environment::of_urn(&record.urn));
        prop_assert_eq!(decode(&encoded, "", &keys).expect("reads"), record);
    }

    #[test]
    fn changes_read_back(changes in vec(change(), 0..5)) {
        let bytes = encode_changes(&changes).expect("writes");
        prop_assert_eq!(decode_changes(&bytes).expect("reads"), changes);
        prop_assert!(decode_changes(&bytes[..bytes.len() - 1]).is_err());
    }

    #[test]
    fn intents_and_deployments_read_back(change in change()) {
        let keys = Keyring::in_memory();
        match change {
            Change::Intend(intent) => {
                let encoded = encode_intent(&intent, &keys).expect("writes");
                prop_assert_eq!(decode_intent(&encoded, "", &keys).expect("reads"), *intent);
                prop_assert!(decode(&encoded, "", &keys).is_err());
            }
            Change::Obstruct { obstacle: Some(obstacle), .. } => {
                let encoded = encode_obstacle(&obstacle, &keys).expect("writes");
                prop_assert_eq!(decode_obstacle(&encoded, "", &keys).expect("reads"), *obstacle);
            }
            Change::Roll { rollout, .. } => {
                let encoded = encode_rollout(&Environment::fleet(), &rollout, &keys).expect("writes");
                let read = decode_rollout(&encoded, rollout.number, "", &keys).expect("reads");
                prop_assert_eq!(read, *rollout);
                prop_assert_eq!(decode_environment(&encoded, "").expect("reads"), Some(Environment::fleet()));
            }
            Change::Audited { entry, .. } => {
                let (content, encoded) = encode_audit(&Environment::fleet(), &entry, &keys).expect("writes");
                prop_assert_eq!(decode_audit(&encoded, "", &keys).expect("reads"), (content, *entry));
                prop_assert_eq!(decode_environment(&encoded, "").expect("reads"), Some(Environment::fleet()));
            }
            Change::Vanish { urn, objects } => {
                let encoded = encode_vanished(&urn, &objects, &keys).expect("writes");
                prop_assert_eq!(decode_vanished(&encoded, "", &keys).expect("reads"), (urn, objects));
            }
            Change::Deployed { deployment, .. } => {
                let environment = Environment { org: "o".into(), app: "a".into(), env: "dev".into() };
                // First without a key, then with one.
                for _ in 0..2 {
                    let bytes = encode_deployment(&environment, &deployment, &keys).expect("writes");
                    let read = decode_deployment(&bytes, deployment.number, "", &keys).expect("reads");
                    prop_assert_eq!(&read, &*deployment);
                    let place = decode_environment(&bytes, "").expect("reads");
                    prop_assert_eq!(place.as_ref(), Some(&environment));
                    let named = encode_name(&environment, &keys).expect("writes");
                    prop_assert_eq!(&decode_name(&named).expect("reads"), &environment);
                    let last = Some(Deployment { steps: Vec::new(), ..(*deployment).clone() });
                    let closed_by = Some(deployment.holder.clone());
                    let unready = [(ResourceStatus::Failed, 2), (ResourceStatus::Drifted, 1)].into();
                    let (environment, holder) = (environment.clone(), None);
                    let known = EnvironmentSummary { environment, records: 7, installations: 3, last, unready, closed_by, holder };
                    let bytes = encode_known(&known, &keys).expect("writes");
                    prop_assert_eq!(decode_known(&bytes, &keys).expect("reads"), known);
                    keys.data().expect("a key");
                }
            }
            Change::Put(record) => {
                let environment = Environment { org: "o".into(), app: "a".into(), env: "dev".into() };
                let share = record.share.clone().unwrap_or_default();
                let one = |urn: &Urn, is_ready| Listed {
                    urn: urn.clone(),
                    definition: record.definition.clone(),
                    share: Arc::clone(&share),
                    outputs: Arc::new(share.offers.iter().map(|offered| offered.name.clone()).collect()),
                    settings: Arc::new(Settings::of_params(&record.inputs.params)),
                    created: record.created,
                    is_ready,
                    abandoned: record.abandoned,
                };
                let others = record.dependencies.iter().map(|urn| one(urn, false));
                let installations = [one(&record.urn, true)].into_iter().chain(others).collect();
                let uses = share.uses.iter().map(|needs| (record.urn.clone(), needs.clone())).collect();
                let listing = Listing { environment, installations, uses };
                let bytes = encode_listing(&listing, &keys).expect("writes");
                prop_assert_eq!(decode_listing(&bytes, &keys).expect("reads"), listing);
            }
            Change::SetClosed(Some(holder)) => {
                for _ in 0..2 {
                    let bytes = encode_closed(&holder, &keys).expect("writes");
                    prop_assert_eq!(&decode_closed(&bytes, "", &keys).expect("reads"), &holder);
                    keys.data().expect("a key");
                }
            }
            Change::Checkpoint { checkpoint, .. } => {
                let bytes = encode_checkpoint(&checkpoint, &keys).expect("writes");
                prop_assert_eq!(decode_checkpoint(&bytes, "", &keys).expect("reads"), checkpoint);
            }
            _ => {}
        }
    }

    #[test]
    fn everything_is_sealed_for_another_key(change in change()) {
        let (from, to) = (Keyring::in_memory(), Keyring::in_memory());
        let again = |bytes: &[u8]| reseal(bytes, "", &from, &to).expect("seals");
        match change {
            Change::Put(record) => {
                let bytes = again(&encode(&record, &from).expect("writes"));
                prop_assert_eq!(decode(&bytes, "", &to).expect("reads"), *record);
                prop_assert!(decode(&bytes, "", &from).is_err());
            }
            Change::Intend(intent) => {
                let bytes = again(&encode_intent(&intent, &from).expect("writes"));
                prop_assert_eq!(decode_intent(&bytes, "", &to).expect("reads"), *intent);
                prop_assert!(decode_intent(&bytes, "", &from).is_err());
            }
            _ => {}
        }
    }

    #[test]
    fn a_changed_byte_is_noticed(record in record(), at in any::<prop::sample::Index>(), bit in 0..8) {
        let keys = Keyring::in_memory();
        let mut bytes = encode(&record, &keys).expect("writes");
        let at = at.index(bytes.len());
        bytes[at] ^= 1_u8 << bit;
        prop_assert!(decode(&bytes, "x", &keys).is_err());
        bytes.truncate(at);
        prop_assert!(decode(&bytes, "x", &keys).is_err());
    }

    #[test]
    fn a_changed_version_is_noticed(record in record(), version in any::<u8>()) {
        let keys = Keyring::in_memory();
        let mut bytes = encode(&record, &keys).expect("writes");
        let unchanged = bytes[0] == version;
        bytes[0] = version;
        prop_assert_eq!(decode(&bytes, "x", &keys).is_ok(), unchanged);
    }

    #[test]
    fn arbitrary_bytes_are_rejected_or_read(bytes in vec(any::<u8>(), 0..300)) {
        let _ = decode(&bytes, "x", &Keyring::in_memory());
        let _ = records::get(&mut Reader::new(&bytes), plain().id());
        let _ = records::get_intent(&mut Reader::new(&bytes), plain().id(), false);
        let _ = entries::get_deployment(&mut Reader::new(&bytes), 1);
        let _ = decode_changes(&bytes);
    }

    /// Tests decoding behind the checksum, with bytes that a correct checksum would let through.
    #[test]
    fn damaged_parts_are_rejected_or_read(
        record in record(),
        hits in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = Vec::new();
        records::put(&mut bytes, &record).expect("writes");
        for (at, byte) in hits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = records::get(&mut Reader::new(&bytes), record.id());
    }
}

pub(crate) fn plain() -> Record {
    Record {
        urn: Urn::parse("urn:purlin:dev/o::a::shared::dns.default::shared.x").expect("a URN"),
        superseded: None,
        status: Status::Ready,
        driver: DriverVersion { name: "purlin/echo".into(), version: "1.0.0".into(), digest: "".into() }
            .into(),
        definition: None,
        name: "n".into(),
        inputs: Inputs {
            values: Value::map(),
            secrets: Value::map(),
            params: Value::map(),
            ..Inputs::default()
        },
        state: ResourceState { id: "i".into(), outputs: Value::map(), ..ResourceState::default() },
        dependencies: Box::default(),
        digest: [0xd1; 32],
        protect: false,
        pinned: false,
        retain: false,
        external: false,
        tainted: false,
        deleted_with: None,
        perhaps_deleted_with: Box::default(),
        share: None,
        abandoned: false,
        named: None,
        holds_data: None,
        parts: Arc::default(),
        created: 1,
        updated: 2,
        deployment: "1".into(),
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn only_secrets_need_a_key() {
    let nowhere = std::path::Path::new("/nowhere");
    let keys = Keyring::open(&crate::KeyProvider::Generate(nowhere.join("key")), &nowhere.join("data-key"));
    let keys = keys.expect("no key yet");
    let encoded = encode(&plain(), &keys).expect("writes without a key");
    assert!(contains(&encoded, &[0xd1; 32]));
    let secret = || Label::new("hidden", true);
    let with: [fn(&mut Record, Label); 7] = [
        |record, _| record.state.cookie = b"c".to_vec().into(),
        |record, _| record.inputs.secrets = serde_json::json!({"password": "p"}).into(),
        |record, secret| record.name = secret,
        |record, secret| record.state.id = secret,
        |record, secret| {
            record.state.manifests.push(ManifestFile {
                name: secret,
                location: "l".into(),
                data: Value::Null,
            })
        },
        |record, secret| {
            record.state.manifests.push(ManifestFile {
                name: "n".into(),
                location: secret,
                data: Value::Null,
            })
        },
        |record, _| {
            record.state.notes.insert("n".into(), Value::from("hidden").into_secret());
        },
    ];
    for with in with {
        let mut record = plain();
        with(&mut record, secret());
        assert!(matches!(encode(&record, &keys), Err(Error::Io { .. })), "{record:?}");
    }
    assert!(matches!(encode_checkpoint(&secret().into(), &keys), Err(Error::Io { .. })));
    let with_cookie = Checkpoint { cookie: Some(b"c".to_vec().into()), ..Checkpoint::from("plain") };
    assert!(matches!(encode_checkpoint(&with_cookie, &keys), Err(Error::Io { .. })));
    assert!(encode_checkpoint(&"plain".into(), &keys).is_ok());
}

#[test]
fn with_a_key_everything_is_sealed() {
    let keys = Keyring::in_memory();
    keys.data().expect("a key");
    let mut record = plain();
    record.status = Status::Partial(Unfinished::Failed { message: "a-message".into() });
    record.name = "a-name".into();
    record.state.id = "an-id".into();
    record.dependencies =
        Box::new([Urn::parse("urn:purlin:dev/o::a::shared::s3.default::shared.y").expect("a URN")]);
    record.state.outputs = serde_json::json!({"a-key": "an-output"}).into();
    record.state.notes.insert("a-fact".into(), "a-note".into());
    record.state.manifests.push(ManifestFile {
        name: "a-manifest".into(),
        location: "a-location".into(),
        data: Value::Null,
    });
    let hidden: [&[u8]; 11] = [
        b"a-message",
        b"a-name",
        b"an-id",
        b"a-key",
        b"an-output",
        b"a-fact",
        b"a-note",
        b"a-manifest",
        b"a-location",
        b"purlin/echo",
        b"s3.default",
    ];
    let encoded = encode(&record, &keys).expect("writes");
    for part in hidden {
        assert!(!contains(&encoded, part), "{}", String::from_utf8_lossy(part));
    }
    assert!(contains(&encoded, b"dns.default"), "it is found by its URN");
    assert_eq!(decode(&encoded, "", &keys).expect("reads"), record);
    let intent = Intent {
        operation: Operation::Create(record.into()),
        idempotency_key: "a-key-of-a-call".into(),
        checkpoint: Some("a-checkpoint".into()),
        since: 1,
        deadline: Some(2),
        open_deletion: None,
    };
    let bytes = encode_intent(&intent, &keys).expect("writes");
    for part in hidden.into_iter().chain([&b"a-key-of-a-call"[..], b"a-checkpoint"]) {
        assert!(!contains(&bytes, part), "{}", String::from_utf8_lossy(part));
    }
    assert_eq!(decode_intent(&bytes, "", &keys).expect("reads"), intent);
    let checkpoint =
        Checkpoint { cookie: Some(b"a-cookie".to_vec().into()), ..Checkpoint::from("a-checkpoint") };
    let bytes = encode_checkpoint(&checkpoint, &keys).expect("writes");
    assert!(!contains(&bytes, b"a-checkpoint") && !contains(&bytes, b"a-cookie"));
    let holder = Holder {
        user: "somebody".into(),
        host: "somewhere".into(),
        pid: 1,
        command: "a-command".into(),
        since: 1,
    };
    let bytes = encode_closed(&holder, &keys).expect("writes");
    assert!(!contains(&bytes, b"some") && !contains(&bytes, b"a-command"));
}

#[test]
fn a_sealed_entry_opens_only_with_its_kind_and_lookup_key() {
    let keys = Keyring::in_memory();
    keys.data().expect("a key");
    let bytes = encode(&plain(), &keys).expect("writes");
    let stored = Stored::open(&bytes, "").expect("whole");
    // The sealed part of one entry with the clear part of another.
    let mut other = plain();
    other.superseded = Some(1);
    let other = encode(&other, &keys).expect("writes");
    let swapped =
        assemble(stored.sealed, Stored::open(&other, "").expect("whole").clear, &[]).expect("written");
    let error = decode(&swapped, "x", &keys).expect_err("of another");
    assert_eq!(error.to_string(), "the record of `x` is damaged: its secrets cannot be decrypted");
    assert!(decode_intent(&bytes, "x", &keys).is_err() && decode_closed(&bytes, "x", &keys).is_err());
    // A sealed entry must not have a clear body.
    let longer = assemble(stored.sealed, stored.clear, b"more").expect("written");
    assert!(decode(&longer, "x", &keys).is_err());
    // An entry that must be sealed is not accepted in plain text.
    for kind in [BLOB, DOCUMENTS, COOKIE] {
        let clear = assemble(&[], &head(kind, nowhere).expect("written"), b"forged").expect("written");
        let error = decode_blob(&clear, &keys).expect_err("not sealed");
        assert!(error.to_string().contains("it is not sealed"), "{error}");
    }
}

#[test]
fn a_cookie_that_is_stored_apart_opens_only_under_its_id() {
    let keys = Keyring::in_memory();
    let bytes = encode_cookie(&[1; 16], &b"hidden".repeat(1000), &keys).expect("writes");
    assert!(!contains(&bytes, b"hidden"));
    assert_eq!(**decode_cookie(&bytes, &[1; 16], &keys).expect("reads"), b"hidden".repeat(1000));
    let error = decode_cookie(&bytes, &[2; 16], &keys).expect_err("of another");
    assert!(error.to_string().contains("it is that of another resource"), "{error}");
    assert!(decode_cookie(&bytes, &[1; 16], &Keyring::in_memory()).is_err());
    let record = Record {
        state: ResourceState {
            cookie: StoredCookie { id: [1; 16], digest: [2; 32], length: 6000 }.into(),
            ..plain().state
        },
        ..plain()
    };
    let read = decode(&encode(&record, &keys).expect("writes"), "", &keys).expect("reads");
    assert_eq!(read.state.cookie.stored(), record.state.cookie.stored(), "the id too");
}

#[test]
fn secrets_are_never_in_plain_text() {
    let keys = Keyring::in_memory();
    let mut record = plain();
    // These values are not marked as secret, but are in secret places.
    record.inputs.secrets = serde_json::json!({"password": "hidden-one"}).into();
    let secret = Value::from("hidden-two").into_secret();
    record.state.outputs = Value::List(vec![secret.clone()]);
    record.state.manifests.push(ManifestFile { name: "m".into(), location: "l".into(), data: secret });
    record.state.cookie = b"hidden-three".to_vec().into();
    let bytes = encode(&record, &keys).expect("writes");
    assert!(!contains(&bytes, b"hidden") && !contains(&bytes, b"password") && !contains(&bytes, &[0xd1; 32]));
    let read = decode(&bytes, "", &keys).expect("reads");
    assert_eq!(read, record);
    let error = decode(&bytes, "x", &Keyring::in_memory()).expect_err("another key");
    assert_eq!(error.to_string(), "the record of `x` is damaged: its secrets cannot be decrypted");
}

#[test]
fn a_newer_record_is_rejected() {
    let keys = Keyring::in_memory();
    let mut bytes = encode(&plain(), &keys).expect("writes");
    bytes[0] = VERSION + 1;
    let error = decode(&bytes, "urn:x", &keys).expect_err("damaged");
    assert!(matches!(error, Error::Damaged { .. }), "the checksum covers the version: {error}");
    let checksum = crc32fast::hash(&[&bytes[..1], &bytes[5..]].concat());
    bytes[1..5].copy_from_slice(&checksum.to_le_bytes());
    let error = decode(&bytes, "urn:x", &keys).expect_err("newer");
    assert!(matches!(error, Error::Newer { found: 2, supported: 1, .. }));
    assert!(error.to_string().contains("urn:x"));
}

#[test]
fn the_nesting_depth_is_limited() {
    let mut deep = Value::Null;
    for _ in 0..250 {
        deep = Value::List(vec![deep]);
    }
    let mut record = plain();
    record.state.outputs = deep.clone();
    let keys = Keyring::in_memory();
    let bytes = encode(&record, &keys).expect("writes");
    assert_eq!(decode(&bytes, "", &keys).expect("reads"), record);
    for _ in 0..10 {
        deep = Value::List(vec![deep]);
    }
    record.state.outputs = deep;
    assert!(matches!(encode(&record, &keys), Err(Error::Unwritable { .. })));
    let bytes = [8, 1].repeat(1 << 20);
    assert!(value::get(&mut Reader::new(&bytes)).is_err());
}
