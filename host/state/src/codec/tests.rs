use proptest::collection::vec;
use proptest::prelude::*;
use purlin_model::driver::{Inputs, ManifestFile, ResourceState};
use purlin_model::{Map, Unknown, Value};

use super::*;
use crate::{DriverVersion, Status};

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

prop_compose! {
    fn record()(
        (urn, dependencies) in (urn(), vec(urn(), 0..4)),
        message in proptest::option::of(".{0,9}"),
        texts in vec(".{0,9}", 6),
        (definition, account) in (proptest::option::of("[a-z]{0,9}"), proptest::option::of(".{0,9}")),
        (values, secrets, params, outputs) in (value(), value(), value(), value()),
        cookie in vec(any::<u8>(), 0..40),
        manifests in vec((".{0,5}", ".{0,5}", value()), 0..3),
        (digest, protect, retain) in (any::<[u8; 32]>(), any::<bool>(), any::<bool>()),
        (created, updated) in (any::<u64>(), any::<u64>()),
    ) -> Record {
        let [name, driver, version, hex, id, deployment] = <[String; 6]>::try_from(texts).expect("six");
        Record {
            urn,
            status: message.map_or(Status::Ready, |message| Status::Partial { message }),
            driver: DriverVersion { name: driver.into(), version: version.into(), digest: hex.into() },
            definition: definition.map(Into::into),
            name,
            inputs: Inputs { values, secrets, params, account },
            state: ResourceState {
                id,
                outputs,
                cookie,
                manifests: manifests.into_iter().map(|(name, location, data)| ManifestFile { name, location, data }).collect(),
            },
            dependencies,
            digest,
            protect,
            retain,
            created,
            updated,
            deployment: deployment.into(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn records_read_back(record in record()) {
        let keys = Keyring::in_memory();
        let encoded = encode(&record, &keys).expect("writes");
        prop_assert_eq!(&decode_urn(&encoded.bytes, "").expect("reads"), &record.urn);
        prop_assert_eq!(decode(&encoded.bytes, "", &keys).expect("reads"), record);
    }

    #[test]
    fn a_changed_byte_is_noticed(record in record(), at in any::<prop::sample::Index>(), bit in 0..8) {
        let keys = Keyring::in_memory();
        let mut bytes = encode(&record, &keys).expect("writes").bytes;
        let at = at.index(bytes.len());
        bytes[at] ^= 1_u8 << bit;
        prop_assert!(decode(&bytes, "x", &keys).is_err());
        bytes.truncate(at);
        prop_assert!(decode(&bytes, "x", &keys).is_err());
    }

    #[test]
    fn arbitrary_bytes_are_refused_or_read(bytes in vec(any::<u8>(), 0..300)) {
        let _ = decode(&bytes, "x", &Keyring::in_memory());
        let _ = v1::read(wire::Reader::new(&bytes), &bytes);
    }

    /// Past the checksum: what a right checksum over wrong bytes would let through.
    #[test]
    fn damaged_parts_are_refused_or_read(
        record in record(),
        hits in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let parts = v1::write(&record).expect("writes");
        let (mut clear, mut secret) = (parts.clear.clone(), parts.secret.to_vec());
        for (at, byte) in hits {
            let part = if byte % 2 == 0 && !secret.is_empty() { &mut secret } else { &mut clear };
            let at = at.index(part.len());
            part[at] = byte;
        }
        let _ = v1::read(wire::Reader::new(&clear), &secret);
    }
}

fn plain() -> Record {
    Record {
        urn: Urn::parse("urn:purlin:dev/o::a::shared::dns.default::shared.x").expect("a URN"),
        status: Status::Ready,
        driver: DriverVersion { name: "purlin/echo".into(), version: "1.0.0".into(), digest: "".into() },
        definition: None,
        name: "n".into(),
        inputs: Inputs { values: Value::map(), secrets: Value::map(), params: Value::map(), account: None },
        state: ResourceState { id: "i".into(), outputs: Value::map(), ..ResourceState::default() },
        dependencies: Vec::new(),
        digest: [0xd1; 32],
        protect: false,
        retain: false,
        created: 1,
        updated: 2,
        deployment: "1".into(),
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn only_what_is_secret_needs_a_key() {
    let keys = Keyring::open(&crate::KeyProvider::Generate("/nowhere/key".into()), None).expect("no key yet");
    let encoded = encode(&plain(), &keys).expect("writes without a key");
    assert!(encoded.key.is_none());
    assert!(contains(&encoded.bytes, &[0xd1; 32]));
    let mut record = plain();
    record.state.cookie = b"c".to_vec();
    assert!(matches!(encode(&record, &keys), Err(Error::Io { .. })));
}

#[test]
fn what_is_secret_is_nowhere_in_clear() {
    let keys = Keyring::in_memory();
    let mut record = plain();
    // Not marked as secret, but where secrets stand.
    record.inputs.secrets = serde_json::json!({"password": "hidden-one"}).into();
    let secret = Value::from("hidden-two").into_secret();
    record.state.outputs = Value::List(vec![secret.clone()]);
    record.state.manifests.push(ManifestFile { name: "m".into(), location: "l".into(), data: secret });
    record.state.cookie = b"hidden-three".to_vec();
    let bytes = encode(&record, &keys).expect("writes").bytes;
    assert!(!contains(&bytes, b"hidden") && !contains(&bytes, b"password") && !contains(&bytes, &[0xd1; 32]));
    let read = decode(&bytes, "", &keys).expect("reads");
    assert_eq!(read, record);
    let error = decode(&bytes, "x", &Keyring::in_memory()).expect_err("another key");
    assert_eq!(error.to_string(), "the record of `x` is damaged: its secrets cannot be decrypted");
}

#[test]
fn a_newer_record_is_refused_by_name() {
    let keys = Keyring::in_memory();
    let mut bytes = encode(&plain(), &keys).expect("writes").bytes;
    bytes[0] = 2;
    let error = decode(&bytes, "urn:x", &keys).expect_err("newer");
    assert!(matches!(error, Error::Newer { found: 2, supported: 1, .. }));
    assert!(error.to_string().contains("urn:x"));
}

#[test]
fn depth_has_an_end() {
    let mut deep = Value::Null;
    for _ in 0..250 {
        deep = Value::List(vec![deep]);
    }
    let mut record = plain();
    record.state.outputs = deep.clone();
    let keys = Keyring::in_memory();
    let bytes = encode(&record, &keys).expect("writes").bytes;
    assert_eq!(decode(&bytes, "", &keys).expect("reads"), record);
    for _ in 0..10 {
        deep = Value::List(vec![deep]);
    }
    record.state.outputs = deep;
    assert!(matches!(encode(&record, &keys), Err(Error::Unwritable { .. })));
    let bytes = [8, 1].repeat(1 << 20);
    assert!(v1::read(wire::Reader::new(&bytes), &[]).is_err());
}
