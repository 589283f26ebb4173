//! Existing installations (SPEC §6, step 2): the rows INST-01 to INST-16, decided by the SPEC if it
//! departs from the published implementation.

use std::sync::Arc;

use purlin_model::{
    Answer, Choices, Claim, Existing, InstallationShare, InstallationUse, Installed, Offered,
    RequirementContext, Setting, SettingDigest, Settings, Urn, User, Value,
};
use purlin_requirements::{Installation, Resolution, Why, suits};

use crate::support::{after, bundle, catalog, deployed, errors, resolved};

/// An installation of another environment: its namespace, name, bundle, group and outputs.
fn installation(id: &str, bundle: &str, group: Option<&str>, outputs: &[&str]) -> Existing {
    let (namespace, name) = id.split_once('/').expect("a namespace");
    let offers =
        outputs.iter().map(|name| Offered { name: Arc::from(*name), ..Offered::default() }).collect();
    let urn = format!("urn:purlin:e/o::of-{}::shared::installation.default::{name}", namespace.len());
    Existing {
        urn: Urn::parse(&urn).expect("a URN"),
        name: name.into(),
        place: "e of o/a".into(),
        reference: bundle.parse().expect("a reference"),
        share: Arc::new(InstallationShare::new(namespace.into(), group.map(Arc::from), None, offers)),
        outputs: Arc::new(outputs.iter().map(|name| Arc::from(*name)).collect()),
        settings: Arc::new(settings(&[("size", "1")])),
        created: 1,
        is_ready: true,
    }
}

/// Recorded parameters, by name, each in JSON.
fn settings(parameters: &[(&str, &str)]) -> Settings {
    let value = |text: &str| Value::from(serde_json::from_str::<serde_json::Value>(text).expect("JSON"));
    let one = |(name, text): &(&str, &str)| {
        let digest = SettingDigest::of(&value(text)).expect("known");
        ((Setting::Parameter, Arc::from(*name)), digest)
    };
    Settings { digests: parameters.iter().map(one).collect(), ..Settings::default() }
}

fn seeing(existing: Vec<Existing>) -> RequirementContext {
    RequirementContext { existing, ..RequirementContext::default() }
}

fn bundles() -> Vec<String> {
    let db = |version| {
        bundle(
            "db",
            version,
            "parameters: [{name: size, $id: 'urn:size', default: 1}]\noutputs: [{name: connstr, default: x}]",
        )
    };
    vec![
        db("1.0.0"),
        db("1.2.0"),
        db("2.0.0"),
        bundle("other", "1.0.0", "outputs: [{name: connstr, default: x}, {name: port, default: 1}]"),
    ]
}

/// The existing installation for the only requirement of a bundle, if one is used.
fn used(requirement: &str, context: &RequirementContext) -> Option<String> {
    let resolution = app(requirement, context);
    assert_eq!(errors(&resolution), Vec::<&str>::new(), "{requirement}");
    let one = resolution.installations.first().expect("one");
    let uses = one.uses.as_ref().map(|uses| format!("{}/{}", uses.0.share.namespace, uses.0.name));
    assert_eq!(uses.is_some(), matches!(one.why, Why::Existing(_) | Why::Named), "{:?}", one.why);
    uses
}

/// The resolution of an application in the namespace `dev` that reads `connstr`.
fn app(requirement: &str, context: &RequirementContext) -> Resolution {
    let mut all = bundles();
    let spec = format!(
        "requires:\n- {requirement}\nparameters: [{{name: url, default: ''}}]\ndriver: purlin/echo\ninputs: {{values: {{url: '${{bundle.dependencies.db.outputs.connstr}}'}}}}"
    );
    all.push(bundle("app", "1.0.0", &spec));
    resolved(&catalog(&all), "acme/app:v1.0.0", context)
}

const PLAIN: &str = "{name: db, bundle: acme/db:v1.0.0, sharing: {group: {name: app-db}}}";

#[test]
fn an_installation_that_fits_is_used() {
    let one = |id: &str, bundle: &str, group: Option<&str>, outputs: &[&str]| {
        seeing(vec![installation(id, bundle, group, outputs)])
    };
    for (row, context, requirement, expected) in [
        ("INST-01", one("/db", "acme/db:v1.0.0", Some("app-db"), &["connstr"]), PLAIN, Some("/db")),
        (
            "INST-01 near",
            one("dev/db", "acme/db:v1.0.0", Some("app-db"), &["connstr"]),
            PLAIN,
            Some("dev/db"),
        ),
        ("INST-02", one("/db", "acme/db:v1.0.0", Some("app-db"), &[]), PLAIN, None),
        ("INST-03", one("/db", "acme/db:v1.0.0", Some("other-group"), &["connstr"]), PLAIN, None),
        ("INST-03 unshared", one("/db", "acme/db:v1.0.0", None, &["connstr"]), PLAIN, None),
        (
            "INST-04",
            one("/db", "acme/db:v1.0.0", Some(""), &["connstr"]),
            "{name: db, bundle: acme/db:v1.0.0, sharing: {mode: none}}",
            None,
        ),
        (
            "INST-04 default",
            one("/db", "acme/db:v1.0.0", Some(""), &["connstr"]),
            "{name: db, bundle: acme/db:v1.0.0}",
            Some("/db"),
        ),
        ("another namespace", one("qa/db", "acme/db:v1.0.0", Some("app-db"), &["connstr"]), PLAIN, None),
        ("another version", one("/db", "acme/db:v1.2.0", Some("app-db"), &["connstr"]), PLAIN, None),
        ("another bundle", one("/db", "acme/other:v1.0.0", Some("app-db"), &["connstr"]), PLAIN, None),
        (
            "INST-08",
            one("/db", "acme/db:v1.0.0", Some(""), &["connstr"]),
            "{name: db, bundle: {reference: acme/other:v1.0.0, interface: {document: {outputs: [{name: port}]}}}}",
            None,
        ),
        (
            "INST-10",
            one("/db", "acme/elsewhere:v7.0.0", Some(""), &["connstr", "port"]),
            "{name: db, bundle: {reference: acme/db:v1.0.0, interface: {reference: acme/other:v1.0.0}}}",
            Some("/db"),
        ),
        (
            "INST-11",
            one("/db", "acme/db:v1.0.0", Some(""), &["connstr"]),
            "{name: db, bundle: {reference: acme/db:v1.0.0, interface: {reference: acme/nowhere:v1.0.0}}}",
            None,
        ),
        (
            "INST-16",
            one("/db", "acme/db:v1.1.0", Some(""), &["connstr"]),
            "{name: db, bundle: {reference: acme/db:v1.2.0, version: 1.x}}",
            Some("/db"),
        ),
        (
            "out of range",
            one("/db", "acme/db:v2.0.0", Some(""), &["connstr"]),
            "{name: db, bundle: {reference: acme/db:v1.2.0, version: 1.x}}",
            None,
        ),
        (
            "any version",
            one("/db", "acme/db:v2.0.0", Some(""), &["connstr"]),
            "{name: db, bundle: acme/db}",
            Some("/db"),
        ),
    ] {
        assert_eq!(used(requirement, &context).as_deref(), expected, "{row}");
    }
}

/// INST-15. Bundles in folders have no digests, so that only an existing installation can satisfy
/// the requirement.
#[test]
fn a_digest_names_one_content() {
    let pinned = format!("acme/db@sha256:{}", "a".repeat(64));
    let requirement = format!("{{name: db, bundle: '{pinned}'}}");
    let one = |bundle: &str| seeing(vec![installation("/db", bundle, Some(""), &["connstr"])]);
    assert_eq!(used(&requirement, &one(&pinned)).as_deref(), Some("/db"));
    let other = app(&requirement, &one("acme/db:v1.0.0"));
    assert_eq!(errors(&other), ["no-bundle"]);
    let fault = &other.diagnostics[0];
    assert!(fault.location.is_some() && fault.notes[0].contains("have no digests"), "{fault:?}");
}

#[test]
fn the_nearest_and_oldest_is_used() {
    let requirement = "{name: db, bundle: {reference: acme/db:v1.0.0, version: '>=1'}}";
    let mut all = vec![
        installation("/db", "acme/db:v2.0.0", Some(""), &["connstr"]),
        installation("dev/old", "acme/db:v1.0.0", Some(""), &["connstr"]),
        installation("dev/new", "acme/db:v1.2.0", Some(""), &["connstr"]),
    ];
    all[1].created = 2;
    assert_eq!(used(requirement, &seeing(all.clone())).as_deref(), Some("dev/new"));
    let resolution = app(requirement, &seeing(all.clone()));
    let over: Vec<(&str, &str)> =
        resolution.installations[0].rejected.iter().map(|(id, why)| (&**id, why.code())).collect();
    assert_eq!(over, [("dev/old", "farther"), ("/db", "farther")]);
    for one in &mut all[1..] {
        one.is_ready = false;
    }
    assert_eq!(used(requirement, &seeing(all)).as_deref(), Some("/db"));
}

#[test]
fn an_interface_that_was_changed_on_the_disk_is_not_relied_on() {
    let mut one = installation("/db", "acme/db:v1.0.0", Some("app-db"), &["connstr"]);
    Arc::make_mut(&mut one.share).offers[0].name = "other".into();
    assert_eq!(used(PLAIN, &seeing(vec![one])), None);
}

#[test]
fn users_keep_their_installation_and_owners_keep_theirs() {
    let requirement = "{name: db, bundle: {reference: acme/db:v1.0.0, version: '>=1'}}";
    let first = installation("dev/a", "acme/db:v1.0.0", Some(""), &["connstr"]);
    let better = installation("dev/b", "acme/db:v1.2.0", Some(""), &["connstr"]);
    let before = app(requirement, &seeing(vec![first.clone()]));
    // Even if it is now shared with another group, and not ready.
    let mut moved = first.clone();
    moved.is_ready = false;
    Arc::make_mut(&mut moved.share).group = Some("others".into());
    let again = RequirementContext { existing: vec![better.clone(), moved], ..after(&before) };
    assert_eq!(used(requirement, &again).as_deref(), Some("dev/a"));
    // Until a person revokes it.
    let mut taken_back = again.clone();
    taken_back.now.with.insert("db".into(), None);
    assert_eq!(used(requirement, &taken_back).as_deref(), Some("dev/b"));
    // A missing one is searched again.
    assert_eq!(
        used(requirement, &RequirementContext { existing: vec![better.clone()], ..after(&before) })
            .as_deref(),
        Some("dev/b")
    );
    // Its own installation stays, unless it failed.
    let own = app(requirement, &RequirementContext::default());
    let context = RequirementContext { existing: vec![better.clone()], ..after(&own) };
    assert_eq!(used(requirement, &context), None);
    let made = [(Arc::from("root/db"), None)].into();
    let forgotten = RequirementContext { recorded: Some(made), installed: None, ..context.clone() };
    assert_eq!(
        used(requirement, &forgotten),
        None,
        "what is recorded is its own, whatever the last run was about"
    );
    assert_eq!(
        used(requirement, &RequirementContext { recorded: Some(Default::default()), ..context }).as_deref(),
        Some("dev/b")
    );
}

/// An interrupted run created a dependency of `root/db`, but not `root/db`. If others use the
/// dependency, another environment's installation in the place of `root/db` would require its
/// deletion.
#[test]
fn an_installation_whose_dependencies_others_use_is_created() {
    let other = installation("dev/other", "acme/db:v1.0.0", Some("app-db"), &["connstr"]);
    for (dependency, expected) in [
        ("root/db/disk", None),
        ("root/db/disk/volume", None),
        ("root/db", Some("dev/other")),
        ("root/db2/disk", Some("dev/other")),
        ("root", Some("dev/other")),
        ("other/db/disk", Some("dev/other")),
    ] {
        let mut context = seeing(vec![other.clone()]);
        let needs = InstallationUse {
            installation: Urn::parse("urn:purlin:e/o::a::shared::installation.default::x").expect("a URN"),
            by_hand: false,
            bundle: None,
            by_interface: false,
            version: None,
            outputs: Vec::new(),
            interface: None,
            given: Arc::default(),
        };
        let urn = Urn::parse("urn:purlin:e/o::b::shared::installation.default::x").expect("a URN");
        context.users.insert(dependency.into(), vec![User { urn, needs }]);
        assert_eq!(used(PLAIN, &context).as_deref(), expected, "others use `{dependency}`");
        // What was handed over stays in any case.
        context.handed_over.insert(dependency.into());
        assert_eq!(used(PLAIN, &context).as_deref(), Some("dev/other"), "`{dependency}` was handed over");
        context.handed_over.clear();
        // A use that was recorded stays.
        let mut uses = after(&app(PLAIN, &seeing(vec![other.clone()])));
        (uses.existing, uses.users) = (context.existing.clone(), context.users.clone());
        assert_eq!(used(PLAIN, &uses).as_deref(), Some("dev/other"), "others use `{dependency}`");
        if expected.is_some() {
            continue;
        }
        // The requirement of a resource whose id looks like a dependency.
        context.installed = Some(vec![Installed {
            name: dependency.into(),
            root: "config-map.default#x".into(),
            claims: vec![Claim {
                made_for: format!("config-map.default#{dependency}").into(),
                identity: None,
            }],
            reference: "acme/db:v1.0.0".parse().expect("a reference"),
            uses: None,
        }]);
        assert_eq!(used(PLAIN, &context).as_deref(), Some("dev/other"), "a resource requires `{dependency}`");
    }
}

#[test]
fn a_person_may_name_an_installation() {
    let with = |choice: &str, existing| {
        let mut context = seeing(existing);
        context.now.with.insert("db".into(), Some(choice.parse().expect("a choice")));
        context
    };
    let other = || installation("/shared", "acme/unknown:v9.0.0", Some("elsewhere"), &["connstr"]);
    assert_eq!(used(PLAIN, &with("/shared", vec![other()])).as_deref(), Some("/shared"));
    let near = || installation("dev/shared", "acme/unknown:v9.0.0", Some("elsewhere"), &["connstr"]);
    let named = app(PLAIN, &with("dev/shared", vec![near()]));
    assert_eq!(errors(&named), Vec::<&str>::new());
    // It is remembered, and reported when it is gone.
    let again = RequirementContext { existing: vec![near()], ..after(&named) };
    assert_eq!(used(PLAIN, &again).as_deref(), Some("dev/shared"));
    // If two have the same name, one must be named by its URN.
    let mut twin = near();
    twin.urn = Urn::parse("urn:purlin:e/o::twin::shared::installation.default::shared").expect("a URN");
    let urn = twin.urn.to_string();
    assert_eq!(errors(&app(PLAIN, &with("dev/shared", vec![near(), twin.clone()]))), ["no-installation"]);
    let by_urn = app(PLAIN, &with(&urn, vec![near(), twin]));
    let uses = by_urn.installations[0].uses.as_ref().map(|uses| uses.0.urn.to_string());
    assert_eq!((errors(&by_urn), uses), (Vec::new(), Some(urn)));
    // Only the search is limited to namespaces, not what a person names.
    let far = || installation("qa/shared", "acme/db:v1.0.0", Some(""), &["connstr"]);
    assert_eq!(used(PLAIN, &seeing(vec![far()])), None);
    assert_eq!(used(PLAIN, &with("qa/shared", vec![far()])).as_deref(), Some("qa/shared"));
    assert_eq!(used(PLAIN, &with(far().urn.as_str(), vec![far()])).as_deref(), Some("qa/shared"));
    for (choice, existing, code) in [
        ("/nowhere", vec![other()], "no-installation"),
        ("/shared", vec![installation("/shared", "acme/db:v1.0.0", None, &["connstr"])], "no-installation"),
        ("/shared", vec![installation("/shared", "acme/db:v1.0.0", Some(""), &["port"])], "no-installation"),
        ("/sharedd", vec![other()], "no-installation"),
        ("dev/missing", vec![near()], "no-installation"),
        ("prod/missing", vec![near()], "no-bundle"),
    ] {
        assert_eq!(errors(&app(PLAIN, &with(choice, existing))), [code], "{choice}");
    }
}

#[test]
fn requested_bundles_are_always_installed() {
    let all = catalog(&bundles());
    let one = installation("dev/db", "acme/db:v1.0.0", Some(""), &["connstr"]);
    let requirement = "{name: mine, bundle: acme/db:v1.0.0}";
    let uses = |context: &RequirementContext| {
        deployed(&all, &[requirement], context).installations[0].uses.is_some()
    };
    let mut context = seeing(vec![one]);
    assert!(uses(&context));
    context.now.makes = true;
    assert!(!uses(&context));
}

#[test]
fn a_newer_version_is_offered_if_all_users_accept_it() {
    let all = catalog(&bundles());
    let requirement = |reference: &str, version: &str| {
        format!("{{name: db, bundle: {{reference: {reference}, version: '{version}'}}}}")
    };
    let deploy = |requirement: &str, context: &RequirementContext| deployed(&all, &[requirement], context);
    let needs = |version: &str, outputs: &[&str]| User {
        urn: Urn::parse("urn:purlin:e/o::b::shared::installation.default::db").expect("a URN"),
        needs: InstallationUse {
            installation: Urn::parse("urn:purlin:e/o::a::shared::installation.default::db").expect("a URN"),
            by_hand: false,
            bundle: None,
            by_interface: false,
            version: Some(version.into()),
            outputs: outputs.iter().map(|name| Arc::from(*name)).collect(),
            interface: None,
            given: Arc::default(),
        },
    };
    let before = deploy(&requirement("acme/db:v1.0.0", "1.0.x"), &RequirementContext::default());
    assert_eq!(before.installations[0].reference.to_string(), "acme/db:v1.0.0");
    let used_by = |version: &str, outputs: &[&str]| {
        let mut context = after(&before);
        context.users.insert("db".into(), vec![needs(version, outputs)]);
        context
    };
    let wider = requirement("acme/db:v1.0.0", "1.x");
    let offered = |context: &RequirementContext| deploy(&wider, context).offers.len();
    assert_eq!((offered(&used_by("1.x", &["connstr"])), offered(&used_by("1.0.x", &["connstr"]))), (1, 0));
}

#[test]
fn a_user_accepts_what_its_requirement_accepts() {
    let user = |bundle: &str, by_interface: bool, version: &str, interface: Option<&str>| User {
        urn: Urn::parse("urn:purlin:e/o::b::shared::installation.default::db").expect("a URN"),
        needs: InstallationUse {
            installation: Urn::parse("urn:purlin:e/o::a::shared::installation.default::db").expect("a URN"),
            by_hand: false,
            bundle: Some(bundle.into()),
            by_interface,
            version: Some(version.into()),
            outputs: vec!["connstr".into()],
            interface: interface.map(Into::into),
            given: Arc::default(),
        },
    };
    let accepts = |user: &User, reference: &str, provided: Option<&str>, offered: &[&str]| {
        let offered = offered.iter().map(|name| Arc::from(*name)).collect();
        let reference = reference.parse().expect("a reference");
        suits(user, &reference, provided.map(Arc::from).as_ref(), &offered).map_err(|why| why.code())
    };
    let both = ["connstr", "more"];
    let strict = user("acme/db", false, "1.x", None);
    assert_eq!(accepts(&strict, "acme/db:v1.1.0", None, &both), Ok(()));
    assert_eq!(accepts(&strict, "acme/db:v2.0.0", None, &both), Err("out-of-range"));
    assert_eq!(accepts(&strict, "acme/db:v1.1.0", None, &["more"]), Err("lacks-output"));
    assert_eq!(accepts(&strict, "acme/other:v1.1.0", None, &both), Err("other-bundle"));
    // The version is that of the named bundle.
    let by_interface = user("acme/db", true, "1.x", Some("urn:db"));
    assert_eq!(accepts(&by_interface, "acme/other:v7.0.0", Some("urn:db"), &both), Ok(()));
    assert_eq!(accepts(&by_interface, "acme/other:v7.0.0", None, &both), Err("lacks-interface"));
    assert_eq!(accepts(&by_interface, "acme/db:v2.0.0", Some("urn:db"), &both), Err("out-of-range"));
    // A person who named it compares neither.
    let needs = InstallationUse { by_hand: true, ..strict.needs };
    assert_eq!(accepts(&User { needs, ..strict }, "acme/other:v2.0.0", None, &both), Ok(()));
}

/// Another installation is used only where every value that the requirement gives, and that it has
/// a setting for, equals the recorded one.
#[test]
fn an_installation_with_other_values_is_not_used() {
    let with = |parameters: &str| {
        format!(
            "{{name: db, bundle: acme/db:v1.0.0, parameters: {{{parameters}}}, sharing: {{group: {{name: app-db}}}}}}"
        )
    };
    let one = |size: &str| {
        let mut one = installation("dev/a", "acme/db:v1.0.0", Some("app-db"), &["connstr"]);
        one.settings = Arc::new(settings(&[("size", size)]));
        one
    };
    for (parameters, expected) in [
        ("", Some("dev/a")),
        ("size: 1", Some("dev/a")),
        ("size: 2", None),
        ("size: '1'", None),
        // A value of the parent counts as far as it is known.
        ("size: '${bundle.parameters.url}'", None),
        // What the bundle of the installation does not declare does not count.
        ("colour: red", Some("dev/a")),
    ] {
        assert_eq!(used(&with(parameters), &seeing(vec![one("1")])).as_deref(), expected, "{parameters}");
    }
    let resolution = app(&with("size: 2"), &seeing(vec![one("1")]));
    let rejected: Vec<_> = resolution.installations[0].rejected.iter().map(|(_, why)| why.code()).collect();
    assert_eq!(rejected, ["other-value"]);
    assert!(resolution.diagnostics.iter().any(|note| note.code == "other-value" && !note.is_error()));
    // The owner's changes do not matter to a user, but its own do.
    let before = app(&with("size: 1"), &seeing(vec![one("1")]));
    let uses = before.installations[0].uses.as_ref().map(|uses| uses.1.clone());
    let recorded = [(Arc::from("root/db"), uses)].into();
    let changed = RequirementContext { recorded: Some(recorded), ..seeing(vec![one("2")]) };
    assert_eq!(used(&with("size: 1"), &changed).as_deref(), Some("dev/a"));
    assert_eq!(used(&with("size: 2"), &changed).as_deref(), Some("dev/a"));
    assert_eq!(used(&with("size: 3"), &changed), None);
    // A value of a person counts, too.
    let mut answered = seeing(vec![one("1")]);
    answered.now.answers = vec![Answer {
        part: Setting::Parameter,
        name: "root/db.size".into(),
        value: "2".into(),
        is_text: true,
    }];
    assert_eq!(used(&with(""), &answered), None);
    answered.now.answers[0].value = "1".into();
    assert_eq!(used(&with(""), &answered).as_deref(), Some("dev/a"));
    // A person who names it takes it as it is.
    let mut named = seeing(vec![one("1")]);
    named.now.with.insert("db".into(), Some("dev/a".parse().expect("a choice")));
    assert_eq!(used(&with("size: 2"), &named).as_deref(), Some("dev/a"));
}

/// Where a `$id` decides which parameter a requirement sets, it decides which recorded one counts.
#[test]
fn an_id_decides_which_recorded_value_counts() {
    let with = |size: u8| {
        format!(
            "{{name: db, bundle: {{reference: 'acme/db:v1.0.0', interface: {{parameters: [{{name: s, $id: 'urn:size'}}]}}}}, parameters: {{s: {size}}}, sharing: {{group: {{name: app-db}}}}}}"
        )
    };
    let seen = seeing(vec![installation("dev/a", "acme/db:v1.0.0", Some("app-db"), &["connstr"])]);
    assert_eq!(used(&with(1), &seen).as_deref(), Some("dev/a"));
    assert_eq!(used(&with(2), &seen), None);
}

/// Whatever satisfies a requirement provides the interface that it asks for: a new bundle, a named one,
/// and an existing installation, of the same namespace or global.
#[test]
fn an_interface_is_provided_by_whatever_is_used() {
    const ID: &str = "https://example.com/db";
    let good = |version, id: &str| {
        bundle("good", version, &format!("{DB}\nprovides: {{interface: {{id: '{id}'}}}}"))
    };
    let bundles =
        [good("1.0.0", ID), good("1.1.0", "https://example.com/other"), bundle("plain", "1.0.0", DB)];
    let has = |id: &str, bundle: &str, provides: &str| {
        let one = installation(id, bundle, Some(""), &["connstr"]);
        let provides = Some(Arc::from(provides)).filter(|id: &Arc<str>| !id.is_empty());
        let InstallationShare { namespace, group, offers, .. } = (*one.share).clone();
        Existing { share: Arc::new(InstallationShare::new(namespace, group, provides, offers)), ..one }
    };
    let resolution = |of_bundle: &str, context: &RequirementContext| {
        let db = format!("{{name: db, bundle: {{{of_bundle}interface: {{id: '{ID}'}}}}}}");
        let spec = format!(
            "requires:\n- {db}\ndriver: purlin/echo\ninputs: {{values: {{url: '${{bundle.dependencies.db.outputs.connstr}}'}}}}"
        );
        let all = [&bundles[..], &[bundle("app", "1.0.0", &spec)]].concat();
        resolved(&catalog(&all), "acme/app:v1.0.0", context)
    };
    let chosen = |resolution: &Resolution| match &*errors(resolution) {
        [] => match &resolution.installations[0] {
            one if one.uses.is_some() => format!("{}", one.why).replace(" exists and fits", ""),
            one => one.reference.to_string(),
        },
        codes => codes.join(" "),
    };
    let nothing: &[Existing] = &[];
    let (near, global) = (|id| has("dev/db", "acme/x:v1.0.0", id), |id| has("/db", "acme/x:v1.0.0", id));
    for (row, reference, named, existing, expected) in [
        ("a new bundle", "reference: 'acme/good:v1.0.0', ", "", nothing, "acme/good:v1.0.0"),
        ("a new bundle without it", "reference: 'acme/plain:v1.0.0', ", "", nothing, "no-bundle"),
        ("a version with it", "reference: acme/good, version: 1.x, ", "", nothing, "acme/good:v1.0.0"),
        ("a named bundle", "reference: acme/plain, ", "acme/good:v1.0.0", nothing, "acme/good:v1.0.0"),
        ("a named bundle, and no default", "", "acme/good:v1.0.0", nothing, "acme/good:v1.0.0"),
        ("a named bundle without it", "reference: acme/good, ", "acme/plain:v1.0.0", nothing, "no-bundle"),
        ("a named version without it", "reference: acme/good, ", "acme/good:v1.1.0", nothing, "no-bundle"),
        ("the same namespace", "", "", &[near(ID)], "`dev/db`"),
        ("the same namespace, another one", "", "", &[near("https://example.com/other")], "no-bundle"),
        (
            "the same namespace without it",
            "reference: 'acme/good:v1.0.0', ",
            "",
            &[near("")],
            "acme/good:v1.0.0",
        ),
        ("the global namespace", "", "", &[global(ID)], "`/db`"),
        ("the global namespace without it", "", "", &[global("")], "no-bundle"),
        ("both, and the near one without it", "", "", &[near(""), global(ID)], "`/db`"),
        ("both", "", "", &[global(ID), near(ID)], "`dev/db`"),
        (
            "of the same bundle, recorded without it",
            "reference: 'acme/good:v1.0.0', ",
            "",
            &[has("dev/db", "acme/good:v1.0.0", "")],
            "acme/good:v1.0.0",
        ),
        ("a named installation", "", "/db", &[near(ID), global(ID)], "`--with` names it"),
        ("a named installation without it", "", "/db", &[near(ID), global("")], "no-installation"),
    ] {
        let mut context = seeing(existing.to_vec());
        if !named.is_empty() {
            context.now.with.insert("db".into(), Some(named.parse().expect("a choice")));
        }
        assert_eq!(chosen(&resolution(reference, &context)), expected, "{row}");
    }
    // A user does not keep one that no longer provides it, and says so.
    let before = resolution("reference: 'acme/good:v1.0.0', ", &seeing(vec![near(ID)]));
    assert_eq!(chosen(&before), "`dev/db`");
    let context = RequirementContext { existing: vec![near("")], ..after(&before) };
    let now = resolution("reference: 'acme/good:v1.0.0', ", &context);
    assert_eq!(chosen(&now), "acme/good:v1.0.0");
    let warning = now.diagnostics.iter().find(|one| one.code == "no-longer-fits").expect("a warning");
    assert!(
        warning.message.contains(&format!("does not provide the interface `{ID}`")),
        "{}",
        warning.message
    );
}

const DB: &str = "outputs: [{name: connstr, default: x}]";

/// Each requirement keeps the installation that it uses, whatever its owner changes, also when
/// another one gives other values and uses the same installation.
#[test]
fn users_of_one_installation_keep_it_in_any_order() {
    let all = catalog(&bundles());
    let one = |size: &str| {
        let mut one = installation("dev/a", "acme/db:v1.0.0", Some(""), &["connstr"]);
        one.settings = Arc::new(settings(&[("size", size)]));
        one
    };
    let (open, sized) =
        ("{name: a, bundle: acme/db:v1.0.0}", "{name: b, bundle: acme/db:v1.0.0, parameters: {size: 1}}");
    for requires in [[open, sized], [sized, open]] {
        let before = deployed(&all, &requires, &seeing(vec![one("1")]));
        let uses = |one: &Installation| (Arc::clone(&one.name), one.uses.as_ref().map(|uses| uses.1.clone()));
        let context = RequirementContext {
            recorded: Some(before.installations.iter().map(uses).collect()),
            existing: vec![one("2")],
            ..after(&before)
        };
        for requires in [[open, sized], [sized, open]] {
            let now = deployed(&all, &requires, &context);
            let notes: Vec<_> = now.diagnostics.iter().map(|note| note.code).collect();
            assert_eq!(notes, [""; 0], "{requires:?}");
            assert!(now.installations.iter().all(|one| one.uses.is_some()), "{requires:?}");
        }
    }
}

/// A requirement that leaves the installation that it shared is a new one: it uses an existing one
/// that fits, although the installation that it leaves was created here.
#[test]
fn requirements_that_part_look_for_existing_ones() {
    let passes = "requires: [{name: db, bundle: acme/db:v1.0.0, parameters: {size: '${bundle.parameters.size}'}}]\nparameters: [{name: size, default: 1}]";
    let mut all = bundles();
    all.push(bundle("app", "1.0.0", passes));
    let all = catalog(&all);
    let site =
        |name: &str, parameters: &str| format!("{{name: {name}, bundle: acme/app:v1.0.0{parameters}}}");
    for (stays, leaves) in [("a", "b"), ("b", "a")] {
        let (stays, leaves) = (
            site(stays, ", parameters: {size: 1}"),
            (site(leaves, ""), site(leaves, ", parameters: {size: 2}")),
        );
        let before = deployed(&all, &[&stays, &leaves.0], &RequirementContext::default());
        assert_eq!(before.installations.len(), 3, "they share one");
        let recorded = before.installations.iter().map(|one| (Arc::clone(&one.name), None)).collect();
        let mut other = installation("dev/c", "acme/db:v1.0.0", Some(""), &["connstr"]);
        other.settings = Arc::new(settings(&[("size", "2")]));
        let context =
            RequirementContext { recorded: Some(recorded), existing: vec![other], ..after(&before) };
        let now = deployed(&all, &[&stays, &leaves.1], &context);
        let uses = now.installations.iter().filter(|one| one.uses.is_some()).count();
        assert_eq!(uses, 1, "{leaves:?}");
    }
}

/// Two answers for equal requirements make them two, and each is compared with its own value.
#[test]
fn each_answer_is_compared_for_its_own_requirement() {
    let all = catalog(&bundles());
    let mut one = installation("dev/a", "acme/db:v1.0.0", Some(""), &["connstr"]);
    one.settings = Arc::new(settings(&[("size", "2")]));
    let requires = ["{name: a, bundle: acme/db:v1.0.0}", "{name: b, bundle: acme/db:v1.0.0}"];
    for answers in [[("a.size", "1"), ("b.size", "2")], [("b.size", "2"), ("a.size", "1")]] {
        let answer = |(name, value): (&str, &str)| Answer {
            part: Setting::Parameter,
            name: name.into(),
            value: value.into(),
            is_text: true,
        };
        let now = Choices { answers: answers.map(answer).into(), ..Choices::default() };
        let context = RequirementContext { now, ..seeing(vec![one.clone()]) };
        let resolution = deployed(&all, &requires, &context);
        assert_eq!(errors(&resolution), Vec::<&str>::new());
        let uses = |one: &&Installation| one.uses.is_some();
        let used: Vec<&str> = resolution.installations.iter().filter(uses).map(|one| &*one.name).collect();
        assert_eq!(used, ["b"], "{answers:?}");
    }
}
