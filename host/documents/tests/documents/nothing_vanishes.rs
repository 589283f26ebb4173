//! Random edits of documents: everything that the edited text still names is in the result, or
//! there is an error. Nothing is omitted silently.

use std::fs;

use proptest::prelude::*;
use proptest::sample::Index;
use purlin_documents::{Input, Loaded, load};

const DEFINITIONS: &str = "apiVersion: purlin.dev/v1
kind: Definition
metadata:
  id: zq-postgres
spec:
  type: postgres
  driver: purlin/echo
  inputs:
    values:
      host: zq-host
      port: 5432
  provision:
    zq-policy#zq-first:
      is_dependent: false
      match_dependents: true
  criteria:
    - env_id: zq-dev
      res_id: zq-criterion
    - class: zq-large
---
apiVersion: entity.humanitec.io/v1b1
kind: Definition
metadata:
  id: zq-dns
entity:
  name: a-remark
  type: dns
  driver_type: humanitec/echo
  driver_inputs:
    values:
      host: zq-domain
  provision:
    zq-zone#zq-second:
      is_dependent: true
  criteria:
    - app_id: zq-shop
    - env_type: zq-type
";

const SCORE: &str = "apiVersion: score.dev/v1b1
metadata:
  name: zq-web
  annotations:
    zq.example/zq-note: zq-text
service:
  ports:
    zq-port:
      port: 80
containers:
  zq-main:
    image: zq-image
    variables:
      ZQ_HOST: ${resources.zq-db.host}
      ZQ_ZONE: ${resources.zq-zone.host}
resources:
  zq-db:
    type: postgres
    class: zq-large
    params:
      size: zq-small
  zq-zone:
    type: dns
    id: zq-shared
";

const DEPLOYMENT: &str = "apiVersion: purlin.dev/v1
kind: Deployment
metadata:
  name: a-remark
spec:
  app: zq-shop
  env:
    id: zq-dev
    type: zq-type
  values:
    domain: zq-domain
  workloads:
    - metadata:
        name: zq-worker
      containers:
        zq-main:
          image: zq-image
      resources:
        zq-queue:
          type: zq-queues
  shared:
    zq-db:
      type: postgres
      class: zq-large
    zq-cache:
      type: redis
      params:
        size: zq-small
  lifecycle:
    postgres.zq-large#shared.zq-db:
      protect: true
";

const DEPLOYMENT_SET: &str = "modules:
  zq-web:
    profile: zq-profile
    spec:
      containers:
        zq-main:
          image: zq-image
    externals:
      zq-db:
        type: postgres
        class: zq-large
      zq-zone:
        type: dns
        id: zq-zones
  zq-api:
    externals:
      zq-queue:
        type: zq-queues
shared:
  zq-cache:
    type: redis
    params:
      size: zq-small
";

const WORKSPACE: &str = "apiVersion: purlin.dev/v1
kind: Workspace
spec:
  defaults:
    app: zq-shop
    env: zq-dev
  drivers:
    zq/driver:
      source: zq-driver.wasm
      grants:
        tcp:
          - zq-server:5432
        env:
          - ZQ_VARIABLE
";

const TYPES: &str = "apiVersion: purlin.dev/v1
kind: ResourceType
spec:
  type: zq-queues
  params:
    type: object
    properties:
      zq-size:
        type: string
";

const MANIFESTS: &str = "apiVersion: zq.crossplane.io/v1
kind: ZqVpc
metadata:
  name: zq-net
  labels:
    zq-tier: zq-front
spec:
  forProvider:
    zq-cidr: zq-range
---
apiVersion: zq.crossplane.io/v1
kind: ZqSubnet
metadata:
  name: zq-subnet
  namespace: zq-shop
  annotations:
    purlin.dev/depends-on: |
      - kind: ZqVpc
        name: zq-net
        namespace: zq-other
spec:
  forProvider:
    zqVpcIdRef:
      name: zq-net
      namespace: zq-space
    zqGroupRefs:
      - name: zq-first
      - name: zq-second
    zqTableSelector:
      matchLabels:
        zq-tier: zq-front
    password:
      key: zq-key
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: zq-settings
data:
  zq-name: zq-value
";

const ALL: [(&str, &str); 7] = [
    ("definitions.yaml", DEFINITIONS),
    ("score.yaml", SCORE),
    ("deployment.yaml", DEPLOYMENT),
    ("set.yaml", DEPLOYMENT_SET),
    ("purlin.yaml", WORKSPACE),
    ("types.yaml", TYPES),
    ("manifests.yaml", MANIFESTS),
];

/// One editing mistake.
#[derive(Clone, Debug)]
enum Edit {
    DropLine(Index),
    DropCharacter(Index),
    Cut(Index, usize),
    Truncate(Index),
    Duplicate(Index),
    Swap(Index, Index),
    Indent(Index, usize, isize),
    Insert(Index, &'static str),
    Empty(Index),
    Letter(Index, char),
}

fn edit() -> impl Strategy<Value = Edit> {
    let any_line = || any::<Index>();
    prop_oneof![
        3 => any_line().prop_map(Edit::DropLine),
        3 => any_line().prop_map(Edit::DropCharacter),
        2 => (any_line(), 2usize..8).prop_map(|(at, lines)| Edit::Cut(at, lines)),
        1 => any_line().prop_map(Edit::Truncate),
        1 => any_line().prop_map(Edit::Duplicate),
        2 => (any_line(), any_line()).prop_map(|(a, b)| Edit::Swap(a, b)),
        4 => (any_line(), 1usize..7, -6isize..7).prop_map(|(at, lines, by)| Edit::Indent(at, lines, by)),
        1 => (any_line(), proptest::sample::select(vec!["---", "...", "", "x:", "- "]))
            .prop_map(|(at, line)| Edit::Insert(at, line)),
        2 => any_line().prop_map(Edit::Empty),
        2 => (any_line(), proptest::char::range('a', 'z')).prop_map(|(at, c)| Edit::Letter(at, c)),
    ]
}

fn apply(text: &str, edit: &Edit) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        return String::new();
    }
    let count = lines.len();
    match edit {
        Edit::DropLine(at) => {
            lines.remove(at.index(count));
        }
        Edit::DropCharacter(at) => {
            let mut text = text.to_owned();
            text.remove(at.index(text.len()));
            return text;
        }
        Edit::Letter(at, letter) => {
            let mut text = text.to_owned();
            let at = at.index(text.len());
            text.replace_range(at..=at, &letter.to_string());
            return text;
        }
        Edit::Cut(at, many) => {
            let at = at.index(count);
            lines.drain(at..(at + many).min(count));
        }
        Edit::Truncate(at) => return text[..at.index(text.len())].to_owned(),
        Edit::Duplicate(at) => {
            let at = at.index(count);
            lines.insert(at, lines[at].clone());
        }
        Edit::Swap(a, b) => lines.swap(a.index(count), b.index(count)),
        Edit::Indent(at, many, by) => {
            let at = at.index(count);
            for line in lines.iter_mut().skip(at).take(*many) {
                let content = line.trim_start().to_owned();
                let indent = (line.len() - content.len()).saturating_add_signed(*by);
                *line = " ".repeat(indent) + &content;
            }
        }
        Edit::Insert(at, line) => lines.insert(at.index(count), (*line).to_owned()),
        Edit::Empty(at) => {
            let line = &mut lines[at.index(count)];
            if let Some(colon) = line.find(": ") {
                line.truncate(colon + 1);
            }
        }
    }
    lines.join("\n") + "\n"
}

/// The names in a text: ours all begin with `zq` or `ZQ`. A text has no comments.
fn names(text: &str) -> Vec<&str> {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    text.split(|c| !part(c))
        .filter(|word| word.len() > 3 && word.to_ascii_lowercase().starts_with("zq"))
        .collect()
}

/// Everything that was read, as text.
fn everything(loaded: &Loaded) -> String {
    let Loaded { context, deployment, definitions, resource_types, workspace, .. } = loaded;
    format!("{context:?} {deployment:?} {definitions:?} {resource_types:?} {workspace:?}")
}

/// The text without the difference between a kind and a type.
fn bare(text: &str) -> String {
    text.chars().filter(|c| *c != '-').flat_map(char::to_lowercase).collect()
}

/// The lines of the field that begins on a line, counted from 1: this line and those below it that are indented
/// deeper, because a value may begin on the next line.
fn field_at(text: &str, line: usize) -> impl Iterator<Item = &str> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut lines = text.lines().skip(line.saturating_sub(1));
    let own = lines.next().filter(|_| line > 0);
    let below = lines
        .take_while(move |line| line.trim().is_empty() || own.is_some_and(|own| indent(line) > indent(own)));
    own.into_iter().chain(below)
}

fn holds(loaded: &Loaded, text: &str) -> Result<(), TestCaseError> {
    if loaded.has_errors() {
        return Ok(());
    }
    let all = everything(loaded);
    for name in names(text) {
        // A remark in another format: an unknown field that holds a word.
        let reported = loaded.diagnostics.iter().any(|diagnostic| {
            let line = diagnostic.location.as_ref().map_or(0, |location| location.line as usize);
            diagnostic.code == "unknown-field" && field_at(text, line).any(|line| line.contains(name))
        });
        // A kind appears as its type: `ZqVpc` as `zq/zq-vpc`.
        let is_type = name.starts_with('Z') && bare(&all).contains(&bare(name));
        prop_assert!(
            reported || is_type || all.contains(name),
            "`{name}` is gone without a word:\n{text}\n{all}"
        );
    }
    Ok(())
}

#[test]
fn the_documents_are_right_before_they_are_edited() {
    for (name, text) in ALL {
        let loaded = load(&[Input::Text { name: name.into(), text: text.into() }]);
        let shown = loaded.sources.render(&loaded.diagnostics, false, 80);
        assert!(!loaded.has_errors(), "{shown}");
        holds(&loaded, text).expect("everything is there");
        assert!(names(text).len() > 1, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn everything_in_a_text_is_loaded_or_an_error(
        which in 0..ALL.len(),
        edits in proptest::collection::vec(edit(), 1..4),
    ) {
        let (name, text) = ALL[which];
        let text = edits.iter().fold(text.to_owned(), |text, edit| apply(&text, edit));
        let loaded = load(&[Input::Text { name: name.into(), text: text.clone() }]);
        holds(&loaded, &text)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// In a folder a file may belong to another program; one that still says that it is ours may
    /// not.
    #[test]
    fn an_edited_file_of_a_folder_never_vanishes(
        which in 0..ALL.len(),
        edits in proptest::collection::vec(edit(), 1..3),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut edited = String::new();
        for (index, (name, text)) in ALL.iter().enumerate().filter(|(_, (name, _))| *name != "score.yaml") {
            let mut text = (*text).to_owned();
            if index == which {
                text = edits.iter().fold(text, |text, edit| apply(&text, edit));
                edited.clone_from(&text);
            }
            fs::write(folder.path().join(name), text).expect("written");
        }
        let loaded = load(&[Input::Path(folder.path().to_owned())]);
        let ours = edited.contains("purlin.dev/v1")
            || edited.contains("entity.humanitec.io/v1b1")
            // As a key: `modules:a` is a word of another format.
            || edited.lines().any(|line| line.trim() == "modules:");
        if ours {
            holds(&loaded, &edited)?;
        }
    }
}
