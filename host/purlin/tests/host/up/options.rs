//! What the options of a deployment do.

use std::sync::{Arc, Mutex};

use futures::StreamExt as _;
use purlin_host::{
    Answer, CancelToken, Consent, EngineError, Error, Event, Finding, Key, Phase, Plan, UpOptions,
};

use super::project_folder::{ProjectFolder, done, up};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refresh_finds_what_others_changed_and_repairs_it() {
    let project = ProjectFolder::new();
    let purlin = project.purlin();
    let documents = || project.documents(&purlin, "readme: {type: note, params: {text: hello}}");
    let (events, _) = up(&purlin, documents(), UpOptions::default()).await.expect("a run");
    assert_eq!(done(&events), ["create readme"]);
    let file = project.path().join("data/shared.readme.txt");
    std::fs::write(&file, "somebody else").expect("written");

    // The records match the documents, and nobody looks at the real object.
    let (events, summary) = up(&purlin, documents(), UpOptions::default()).await.expect("a run");
    assert_eq!((done(&events), summary.calls), (vec![], 0));
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "somebody else");

    let refresh = UpOptions { refresh: true, ..UpOptions::default() };
    let (events, summary) = up(&purlin, documents(), refresh).await.expect("a run");
    let found = events.iter().any(|event| {
        matches!(event, Event::Resource { phase: Phase::Observed { finding: Finding::Changed, .. }, .. })
    });
    assert!(found, "{events:?}");
    assert_eq!(done(&events).last().map(String::as_str), Some("update readme"), "{events:?}");
    assert!(summary.is_success(), "{summary:?}");
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "hello");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_graph_of_documents_is_built_once() {
    let project = ProjectFolder::new();
    let purlin = project.purlin();
    let documents = project.documents(&purlin, "readme: {type: note, params: {text: hello}}");
    let graph = purlin.graph(&documents).await.expect("a graph");
    assert!(Arc::ptr_eq(&graph, &purlin.graph(&documents).await.expect("a graph")));
    let plan = purlin.plan(&documents, Default::default()).await.expect("a plan");
    assert!(plan.graph().is_some_and(|planned| std::ptr::eq(planned, &*graph)));
    // The drivers of another host may have other outputs.
    let other = project.purlin();
    assert!(!Arc::ptr_eq(&graph, &other.graph(&documents).await.expect("a graph")));
    // A deployment with another id fills in other values.
    let later = project.documents(&purlin, "readme: {type: note, params: {text: hello}}");
    assert_ne!(documents.context.deployment, later.context.deployment);
    assert!(!Arc::ptr_eq(&graph, &purlin.graph(&later).await.expect("a graph")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_named_resources_may_lose_their_data() {
    let project = ProjectFolder::new();
    let purlin = project.purlin();
    let with = |fixed: &str| {
        let line =
            |name| format!("{name}: {{type: thing, params: {{value: v, fixed: {fixed}, data: true}}}}");
        project.documents(&purlin, &format!("{}\n{}", line("one"), line("two")))
    };
    let (_, summary) = up(&purlin, with("before"), UpOptions::default()).await.expect("a run");
    assert_eq!((summary.is_success(), project.things()), (true, 2), "{summary:?}");

    let key = |name: &str| Key::parse(&format!("thing.default#shared.{name}")).expect("a key");
    let rejected = async |may_lose: &[Key]| {
        let options = UpOptions { may_lose: may_lose.to_vec(), ..UpOptions::default() };
        match up(&purlin, with("after"), options).await {
            Err(error @ Error::Engine(EngineError::DataLoss(_))) => {
                assert!(error.is_input(), "{error:?}");
                let Error::Engine(EngineError::DataLoss(keys)) = error else { panic!("{error:?}") };
                keys
            }
            other => panic!("the plan loses data: {other:?}"),
        }
    };
    // Without consent for both, neither is replaced.
    assert_eq!(rejected(&[]).await, [key("one"), key("two")]);
    assert_eq!(rejected(&[key("two")]).await, [key("one")]);
    assert_eq!(rejected(&[key("three")]).await, [key("one"), key("two")]);
    assert_eq!(project.things(), 2);

    let options = UpOptions { may_lose: vec![key("one"), key("two")], ..UpOptions::default() };
    let (_, summary) = up(&purlin, with("after"), options).await.expect("a run");
    assert_eq!((summary.done.replace, summary.is_success(), project.things()), (2, true, 2), "{summary:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_run_finishes_its_calls_and_the_next_one_continues() {
    let project = ProjectFolder::new();
    let purlin = project.purlin();
    let lines: Vec<String> = (0..4)
        .map(|n| format!("t{n}: {{type: thing, params: {{value: v, fixed: f, data: false}}}}"))
        .collect();
    let documents = || project.documents(&purlin, &lines.join("\n"));

    // A run that is cancelled before it begins does nothing.
    let cancel = CancelToken::default();
    cancel.request();
    let options = UpOptions { cancel, ..UpOptions::default() };
    let (events, summary) = up(&purlin, documents(), options).await.expect("a run");
    assert_eq!((done(&events), summary.cancelled, project.things()), (vec![], true, 0), "{summary:?}");

    // One that is cancelled in the middle finishes the call in flight.
    let cancel = CancelToken::default();
    let options = UpOptions { cancel: cancel.clone(), ..UpOptions::default() };
    let mut run = purlin.up(documents(), options);
    let (mut events, mut summary) = (Vec::new(), None);
    while let Some(event) = run.next().await {
        match event.expect("an event") {
            Event::Summary(end) => summary = Some(end),
            event => {
                if matches!(&event, Event::Resource { key, phase: Phase::Started, .. } if key.type_name() == "thing")
                {
                    cancel.request();
                }
                events.push(event);
            }
        }
    }
    drop(run);
    let summary = summary.expect("a summary");
    assert!(summary.cancelled && summary.unknown.is_empty() && !summary.is_success(), "{summary:?}");
    let made = project.things();
    assert!((1..4).contains(&made), "{summary:?}");
    let skipped = summary.skipped.iter().filter(|(key, _)| key.type_name() == "thing").count();
    assert_eq!((done(&events).len(), skipped), (made, 4 - made), "{summary:?}");

    let (events, summary) = up(&purlin, documents(), UpOptions::default()).await.expect("a run");
    assert_eq!((done(&events).len(), summary.is_success()), (4 - made, true), "{events:?}");
    assert_eq!(project.things(), 4);
}

/// A consent that gives this answer, and the number of changes of each plan about which it was
/// asked.
fn answering(answer: Answer) -> (UpOptions, Arc<Mutex<Vec<usize>>>) {
    let counts = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&counts);
    // ANCHOR: consent
    let consent = Consent::new(move |plan: &Plan| {
        noted.lock().expect("a list").push(plan.summary().changes());
        std::future::ready(answer.clone())
    });
    let options = UpOptions { consent: Some(consent), ..UpOptions::default() };
    // ANCHOR_END: consent
    (options, counts)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_happens_without_consent() {
    let project = ProjectFolder::new();
    let purlin = project.purlin();
    let documents = |fixed: &str| {
        let line = format!("one: {{type: thing, params: {{value: v, fixed: {fixed}, data: true}}}}");
        project.documents(&purlin, &line)
    };
    let (no, counts) = answering(Answer::No);
    let (events, summary) = up(&purlin, documents("before"), no).await.expect("a run");
    assert_eq!((done(&events), summary.cancelled, project.things()), (vec![], true, 0), "{summary:?}");
    // The implicit `base-env` is the other change.
    assert_eq!(*counts.lock().expect("a list"), [2]);

    let (yes, counts) = answering(Answer::Yes);
    let (_, summary) = up(&purlin, documents("before"), yes.clone()).await.expect("a run");
    assert_eq!((summary.is_success(), project.things()), (true, 1), "{summary:?}");
    // A plan without changes needs no answer.
    let (_, summary) = up(&purlin, documents("before"), yes.clone()).await.expect("a run");
    assert_eq!((summary.is_success(), summary.calls), (true, 0), "{summary:?}");
    assert_eq!(*counts.lock().expect("a list"), [2]);

    // A yes does not include the loss of data; naming the resource does.
    let error = up(&purlin, documents("after"), yes).await.expect_err("it would lose data");
    assert!(matches!(error, Error::Engine(EngineError::DataLoss(_))), "{error:?}");
    let key = Key::parse("thing.default#shared.one").expect("a key");
    let (lose, _) = answering(Answer::YesAndLose(vec![key]));
    let (_, summary) = up(&purlin, documents("after"), lose).await.expect("a run");
    assert_eq!((summary.done.replace, summary.is_success(), project.things()), (1, true, 1), "{summary:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollback_goes_back_from_the_deployment_that_was_seen() {
    let project = ProjectFolder::new();
    let purlin = project.purlin();
    let with =
        |text: &str| project.documents(&purlin, &format!("readme: {{type: note, params: {{text: {text}}}}}"));
    for text in ["one", "two"] {
        up(&purlin, with(text), UpOptions::default()).await.expect("a run");
    }
    let environment = with("two").environment();
    let history = purlin.history(&environment).await.expect("a history");
    let back =
        purlin.rollback_documents(&environment, &history, &history[0], "back").await.expect("documents");
    up(&purlin, with("three"), UpOptions::default()).await.expect("a run");
    let refused = purlin.plan(&back, Default::default()).await.err();
    assert!(matches!(refused, Some(Error::DeployedMeanwhile { .. })), "{refused:?}");
    let history = purlin.history(&environment).await.expect("a history");
    let again = purlin.rollback_documents(&environment, &history, &history[0], "again").await;
    let again = again.expect("documents");
    purlin.plan(&again, Default::default()).await.expect("a plan");
}
