//! The examples of the published design of dependencies (SPEC §6 [P]): each in its spelling, with no
//! more than the fields that SPEC §2 requires.

use purlin_systems::{Project, Ran};
use serde_json::{Value, json};

/// A `porter.yaml` named `acme/NAME`.
fn porter(name: &str, rest: &str) -> String {
    format!("schemaVersion: 1.0.0\nname: {name}\nversion: 1.0.0\nregistry: acme\n{rest}")
}

/// A bundle whose driver returns its inputs.
fn echo(name: &str, version: &str, spec: &str) -> String {
    let head =
        format!("apiVersion: purlin.dev/v1\nkind: Bundle\nmetadata: {{name: {name}, version: {version}}}");
    format!("{head}\nspec:\n  driver: purlin/echo\n{spec}")
}

fn project(bundles: &[String]) -> Project {
    Project::with(&[("all.yaml", &bundles.join("\n---\n"))])
}

/// Runs a command for one bundle `acme/NAME`, installed as `NAME` in a namespace.
fn run(project: &Project, words: &[&str], bundle: &str, namespace: &str) -> Ran {
    let reference = format!("acme/{bundle}");
    let env = if namespace.is_empty() { "global" } else { namespace };
    let of = ["--bundle", &*reference, "--name", bundle, "--namespace", namespace, "--env", env];
    project.run(&[words, &of].concat())
}

#[track_caller]
fn up(project: &Project, bundle: &str, namespace: &str, more: &[&str]) -> Ran {
    run(project, &[&["up", "--yes"], more].concat(), bundle, namespace).status(0)
}

/// The outputs of an installation, with its secrets.
#[track_caller]
fn outputs(project: &Project, bundle: &str, namespace: &str, name: &str) -> Value {
    let words = ["outputs", "--format", "json", "--show-secrets"];
    let all = run(project, &words, bundle, namespace).status(0).json();
    all["resources"][format!("installation.default#{name}")].clone()
}

/// All installations: `ID BUNDLE in GROUP`.
#[track_caller]
fn installed(project: &Project) -> Vec<String> {
    let report = project.run(&["installations", "list", "--format", "json"]).status(0).json();
    let text = |one: &Value, name: &str| one[name].as_str().unwrap_or("none").to_owned();
    let all = report["installations"].as_array().expect("a list").iter();
    all.map(|one| format!("{} {} in {}", text(one, "id"), text(one, "bundle"), text(one, "group"))).collect()
}

/// The edges between installations: `FROM → TO`.
#[track_caller]
fn edges(project: &Project, bundle: &str) -> Vec<String> {
    let graph = run(project, &["graph", "--format", "json"], bundle, "dev").status(0).json();
    let name = |key: &Value| Some(key.as_str()?.strip_prefix("installation.default#")?.to_owned());
    let all = graph["edges"].as_array().expect("edges").iter();
    let mut edges: Vec<String> =
        all.filter_map(|one| Some(format!("{} → {}", name(&one["from"])?, name(&one["to"])?))).collect();
    edges.sort();
    edges
}

/// The format of a requirement, with every field at once.
#[test]
fn every_field_of_a_requirement_has_its_effect() {
    let app = "parameters: [{name: size, type: string}]
credentials: [{name: admin, $id: 'urn:admin'}]
dependencies:
  requires:
    - name: db
      bundle:
        reference: acme/db:v1.0.0
        version: '>=1.0.0-0, <2'
        interface:
          id: https://getporter.org/interfaces/#mysql
          document:
            parameters:
              - name: amount
                type: string
                $id: urn:size
            credentials:
              - name: login
                type: string
                $id: urn:admin
            outputs:
              - name: place
                $id: urn:host
      credentials:
        login: ${bundle.credentials.admin}
      parameters:
        amount: ${bundle.parameters.size}
      outputs:
        url: https://${outputs.place}:${bundle.dependencies.db.outputs.port}
      sharing:
        mode: group
        group:
          name: team-${ installation.root.ID }
  provides:
    interface:
      id: https://getporter.org/interfaces/#app
";
    let db = |version: &str, provides: &str| {
        let spec = format!(
            "  parameters: [{{name: gigabytes, type: string, $id: 'urn:size'}}]
  credentials: [{{name: root, type: string, $id: 'urn:admin'}}]
  inputs:
    values: {{host: 'h-${{bundle.parameters.gigabytes}}', port: 3306}}
    secrets: {{login: '${{bundle.credentials.root}}'}}
  outputs: [{{name: host, type: string, $id: 'urn:host'}}, {{name: port, type: integer}}]
  provides: {{interface: {{id: '{provides}'}}}}
"
        );
        echo("acme/db", version, &spec)
    };
    let mysql = "https://getporter.org/interfaces/#mysql";
    let project = project(&[
        porter("app", app),
        db("1.0.0", mysql),
        db("1.1.0-beta.1", mysql),
        db("1.2.0", "https://getporter.org/interfaces/#other"),
        db("2.0.0", mysql),
    ]);
    up(&project, "app", "dev", &["--param", "size=20", "--credential", "admin=correct-horse"]);
    let (db, app) = (outputs(&project, "app", "dev", "app/db"), outputs(&project, "app", "dev", "app"));
    assert_eq!(db, json!({"host": "h-20", "port": 3306, "login": "correct-horse"}));
    assert_eq!(app, json!({"url": "https://h-20:3306"}));
    let root = "urn:purlin:dev/default::app::shared::installation.default::app";
    assert_eq!(
        installed(&project),
        [
            "dev/app acme/app:v1.0.0 in ".to_owned(),
            format!("dev/app/db acme/db:v1.1.0-beta.1 in team-{root}")
        ]
    );
    let shown = run(&project, &["outputs"], "app", "dev").status(0).out;
    assert!(shown.contains("[secret]") && !shown.contains("correct-horse"), "{shown}");
    // What a later query of installations needs is recorded.
    let report = project.run(&["installations", "list", "--format", "json"]).status(0).json();
    let interface = |at: usize| report["installations"][at]["interface"].clone();
    assert_eq!((interface(0), interface(1)), (json!("https://getporter.org/interfaces/#app"), json!(mysql)));
}

const ENVIRONMENT: &str = "dependencies:
  requires:
    - name: infra
      bundle:
        reference: \"localhost:5000/myinfra:v0.1.0\"
      sharing:
        mode: group
        group:
          name: myapp
      credentials:
        token: ${bundle.credentials.token}
      parameters:
        database: myenvdb
        logLevel: ${bundle.parameters.logLevel}
    - name: app
      bundle:
        reference: \"localhost:5000/myapp:v1.2.3\"
      sharing:
        mode: group
        group:
          name: myapp
      credentials:
        db-connstr: ${bundle.dependencies.infra.outputs.mysql-connstr}
      parameters:
        logLevel: ${bundle.parameters.logLevel}
      outputs:
        endpoint: \"https://${bundle.dependencies.infra.outputs.ip}:${outputs.port}/myapp\"
";

/// The bundles that [`ENVIRONMENT`] requires.
fn infra_and_app() -> [String; 2] {
    let infra = "  parameters: [{name: database, type: string}, {name: logLevel, type: integer}]
  credentials: [{name: token}]
  inputs:
    values: {ip: 10.0.0.7, mysql-connstr: 'mysql://${bundle.parameters.database}', log: '${bundle.parameters.logLevel}'}
    secrets: {token: '${bundle.credentials.token}'}
  outputs: [{name: ip, type: string}, {name: mysql-connstr, type: string}]
";
    let app = "  parameters: [{name: logLevel, type: integer}]
  credentials: [{name: db-connstr}]
  inputs:
    values: {port: 8443, log: '${bundle.parameters.logLevel}'}
    secrets: {database: '${bundle.credentials.db-connstr}'}
  outputs: [{name: port, type: integer}]
";
    [echo("localhost:5000/myinfra", "0.1.0", infra), echo("localhost:5000/myapp", "1.2.3", app)]
}

#[test]
fn an_environment_passes_values_between_its_infrastructure_and_its_application() {
    let [infra, app] = infra_and_app();
    let own = "parameters: [{name: logLevel, type: integer, default: 3}]\ncredentials: [{name: token}]\n";
    // The encoded form names the bundle directly.
    let short = ENVIRONMENT.replace("bundle:\n        reference: ", "bundle: ");
    assert!(short.contains("bundle: \"localhost:5000/myapp:v1.2.3\""), "{short}");
    for requires in [ENVIRONMENT, &short] {
        let project = project(&[porter("myenv", &format!("{own}{requires}")), infra.clone(), app.clone()]);
        let up = up(&project, "myenv", "dev", &["--credential", "token=correct-horse"]);
        let of = |name: &str| outputs(&project, "myenv", "dev", name);
        assert_eq!(of("myenv"), json!({"endpoint": "https://10.0.0.7:8443/myapp"}));
        let infra =
            json!({"ip": "10.0.0.7", "mysql-connstr": "mysql://myenvdb", "log": 3, "token": "correct-horse"});
        assert_eq!(of("myenv/infra"), infra);
        assert_eq!(of("myenv/app"), json!({"port": 8443, "log": 3, "database": "mysql://myenvdb"}));
        assert_eq!(
            edges(&project, "myenv"),
            ["myenv → myenv/app", "myenv → myenv/infra", "myenv/app → myenv/infra"]
        );
        assert_eq!(
            installed(&project),
            [
                "dev/myenv acme/myenv:v1.0.0 in ",
                "dev/myenv/app localhost:5000/myapp:v1.2.3 in myapp",
                "dev/myenv/infra localhost:5000/myinfra:v0.1.0 in myapp",
            ]
        );
        let shown = run(&project, &["outputs"], "myenv", "dev").status(0).out;
        for text in [&shown, &up.out, &up.err] {
            assert!(!text.contains("correct-horse"), "{text}");
        }
        // A credential is secret, whatever it is made from.
        assert!(
            shown.contains("database: '[secret]'") || shown.contains("database: \"[secret]\""),
            "{shown}"
        );
    }
}

/// As printed, the example reads a parameter and a credential that it does not declare.
#[test]
fn undeclared_parameters_and_credentials_are_errors() {
    let [infra, app] = infra_and_app();
    let project = project(&[porter("myenv", ENVIRONMENT), infra, app]);
    let report = run(&project, &["plan", "--format", "json"], "myenv", "dev").status(2);
    for (line, column, name) in
        [(15, 16, "credential `token`"), (18, 19, "parameter `logLevel`"), (29, 19, "parameter `logLevel`")]
    {
        let place = format!("all.yaml:{line}:{column}");
        let found = report.err.contains(&place) && report.err.contains(&format!("has no {name}"));
        assert!(found, "{place}: {}", report.err);
    }
    assert_eq!(report.err.matches("error[unknown-parameter]").count(), 3, "{}", report.err);
}

/// A credential that only a well-known identifier describes.
#[test]
fn a_bundle_is_known_by_the_identifier_of_its_credential() {
    let id = "https://getporter.org/interfaces#kubernetes.config.cluster-admin";
    let parent = format!(
        "dependencies:
  requires:
    - name: cluster
      bundle:
        interface:
          credentials:
            - $id: \"{id}\"
"
    );
    let cluster = |name: &str, id: &str| {
        let credential = "credentials:\n  - name: admin-kubeconfig\n    $id: ";
        porter(name, &format!("{credential}\"{id}\"\n"))
    };
    let project = project(&[porter("parent", &parent), cluster("aks", id), cluster("other", "urn:other")]);
    let nothing = run(&project, &["plan"], "parent", "dev").status(2).err;
    assert!(
        nothing.contains("error[no-bundle]") && nothing.contains("`--with cluster=acme/aks:v1.0.0`"),
        "{nothing}"
    );
    let plan = |with: &str| run(&project, &["plan", "--with", with], "parent", "dev").status(2).err;
    let other = plan("cluster=acme/other:v1.0.0");
    assert!(other.contains("error[no-bundle]") && other.contains(id), "{other}");
    let open = plan("cluster=acme/aks:v1.0.0");
    let help = "`--credential-env parent/cluster.admin-kubeconfig=VARIABLE`";
    assert!(open.contains("error[unmapped]") && open.contains(help), "{open}");
    let given = "parent/cluster.admin-kubeconfig=correct-horse";
    let up = up(&project, "parent", "dev", &["--with", "cluster=acme/aks:v1.0.0", "--credential", given]);
    assert!(!format!("{}{}", up.out, up.err).contains("correct-horse"), "{}{}", up.out, up.err);
    assert!(installed(&project).contains(&"dev/parent/cluster acme/aks:v1.0.0 in ".to_owned()));
}

#[test]
fn a_credential_is_passed_on() {
    let wordpress = "credentials:
- name: kubeconfig

dependencies:
  requires:
    - name: redis
      bundle:
        reference: getporter/redis:v1.0.0
      credentials:
        kubeconfig: ${ bundle.credentials.kubeconfig }
";
    let redis = "  credentials: [{name: kubeconfig}]
  inputs: {values: {server: 'by ${bundle.credentials.kubeconfig}'}}
  outputs: [{name: server, type: string}]
";
    let project = project(&[porter("wordpress", wordpress), echo("getporter/redis", "1.0.0", redis)]);
    let up = up(&project, "wordpress", "dev", &["--credential", "kubeconfig=correct-horse"]);
    assert!(!format!("{}{}", up.out, up.err).contains("correct-horse"), "{}{}", up.out, up.err);
    let redis = outputs(&project, "wordpress", "dev", "wordpress/redis");
    assert_eq!(redis, json!({"server": "by correct-horse"}));
    let shown = run(&project, &["outputs"], "wordpress", "dev").status(0).out;
    assert!(shown.contains("[secret]") && !shown.contains("correct-horse"), "{shown}");
}

/// An output becomes a parameter or a credential of another requirement, and an output of the parent.
#[test]
fn an_output_is_passed_on() {
    for (setting, of_myapp) in
        [("parameters", "parameters: [{name: connstr}]"), ("credentials", "credentials: [{name: connstr}]")]
    {
        let parent = format!(
            "outputs: [{{name: connection, type: string}}]
dependencies:
  requires:
    - name: myapp
      bundle:
        reference: getporter/myapp:v1.0.0
      {setting}:
        connstr: ${{ bundle.dependencies.mysql.outputs.connection-string }}
    - name: mysql
      bundle:
        reference: getporter/mysql:v5.7.13
      outputs:
        connection: ${{ outputs.connection-string }}
"
        );
        let myapp =
            format!("  {of_myapp}\n  inputs: {{values: {{uses: '${{bundle.{setting}.connstr}}'}}}}\n");
        let mysql = "  inputs: {values: {connection-string: 'mysql://db'}}\n  outputs: [{name: connection-string, type: string}]\n";
        let project = project(&[
            porter("parent", &parent),
            echo("getporter/myapp", "1.0.0", &myapp),
            echo("getporter/mysql", "5.7.13", mysql),
        ]);
        let up = up(&project, "parent", "dev", &[]);
        let made =
            |name: &str| up.err.find(&format!("created installation.default#{name} (")).expect("created");
        assert!(made("parent/mysql") < made("parent/myapp"), "{}", up.err);
        assert_eq!(outputs(&project, "parent", "dev", "parent/myapp"), json!({"uses": "mysql://db"}));
        assert_eq!(outputs(&project, "parent", "dev", "parent"), json!({"connection": "mysql://db"}));
    }
}

/// A bundle whose only requirement is this.
fn requiring(name: &str, requirement: &str) -> String {
    porter(name, &format!("dependencies:\n  requires:\n{requirement}"))
}

/// A service with a record of its own.
fn service(name: &str, cname: &str) -> String {
    requiring(
        name,
        &format!(
            "  - name: dns
    bundle: example.com/dns-bundle:v1.2.3
    parameters:
      cname: {cname}
    outputs:
      host: ${{outputs.host}}
"
        ),
    )
}

fn dns() -> String {
    let spec = "  parameters: [{name: cname, type: string}]
  inputs: {values: {host: '${bundle.parameters.cname}.example.com'}}
  outputs: [{name: host, type: string}]
";
    echo("example.com/dns-bundle", "1.2.3", spec)
}

#[test]
fn each_set_of_parameters_has_an_installation_of_its_own() {
    let app = porter(
        "app",
        "dependencies: {requires: [{name: a, bundle: 'acme/mysvc-a:v1.0.0'}, {name: b, bundle: 'acme/mysvc-b:v1.0.0'}]}\n",
    );
    let services =
        [service("mysvc-a", "mysvc-a"), service("mysvc-b", "mysvc-b"), service("again", "mysvc-a")];
    let project = project(&[&services[..], &[app, dns()]].concat());
    // In one graph.
    up(&project, "app", "one", &[]);
    assert_eq!(outputs(&project, "app", "one", "app/a")["host"], "mysvc-a.example.com");
    assert_eq!(outputs(&project, "app", "one", "app/b")["host"], "mysvc-b.example.com");
    // In two runs, after which a third one asks for the same as the first.
    for name in ["mysvc-a", "mysvc-b", "again"] {
        up(&project, name, "two", &[]);
    }
    assert_eq!(outputs(&project, "mysvc-a", "two", "mysvc-a")["host"], "mysvc-a.example.com");
    assert_eq!(outputs(&project, "mysvc-b", "two", "mysvc-b")["host"], "mysvc-b.example.com");
    assert_eq!(outputs(&project, "again", "two", "again")["host"], "mysvc-a.example.com");
    let records: Vec<String> = installed(&project).into_iter().filter(|one| one.contains("dns")).collect();
    let dns = "example.com/dns-bundle:v1.2.3 in ";
    let expected = ["one/app/a/dns", "one/app/b/dns", "two/mysvc-a/dns", "two/mysvc-b/dns"];
    assert_eq!(records, expected.map(|id| format!("{id} {dns}")));
}

#[test]
fn mode_none_is_never_shared() {
    let requirement = |name: &str| {
        format!(
            "  - name: {name}
    bundle:
      reference: getporter/redis:v1.0.2
    sharing:
      mode: none
"
        )
    };
    let both = format!("{}{}", requirement("redis"), requirement("cache"));
    let redis = echo("getporter/redis", "1.0.2", "  inputs: {values: {host: h}}\n");
    let project = project(&[requiring("one", &both), requiring("two", &requirement("redis")), redis]);
    up(&project, "one", "dev", &[]);
    up(&project, "two", "dev", &[]);
    let redis = "getporter/redis:v1.0.2 in none";
    assert_eq!(
        installed(&project),
        [
            "dev/one acme/one:v1.0.0 in ".to_owned(),
            format!("dev/one/cache {redis}"),
            format!("dev/one/redis {redis}"),
            "dev/two acme/two:v1.0.0 in ".to_owned(),
            format!("dev/two/redis {redis}"),
        ]
    );
}

/// First the installation of the namespace, then the global one, then a new one.
#[test]
fn what_is_present_is_reused() {
    let requirement = "  - name: flux
    bundle:
      reference: getporter/flux:v2.1.3
      version: 2.x
";
    let explicit =
        format!("{requirement}    sharing:\n      mode: group\n      group:\n        name: \"\"\n");
    let flux = |version: &str| {
        echo(
            "getporter/flux",
            version,
            "  inputs: {values: {at: '${installation.namespace}/${installation.name}'}}\n",
        )
    };
    let global = requiring("global", &requirement.replace("2.x", "2.0.0"));
    let operators = ["first", "second"].map(|name| requiring(name, requirement));
    let third = requiring("third", &explicit);
    let versions = ["2.0.0", "2.1.3", "3.0.0"].map(flux);
    let project = project(&[&operators[..], &[third, global], &versions[..]].concat());
    let uses = |bundle: &str, namespace: &str| {
        outputs(&project, bundle, namespace, &format!("{bundle}/flux"))["at"]
            .as_str()
            .expect("text")
            .to_owned()
    };
    // Nothing is present: the default implementation, in the same namespace.
    up(&project, "first", "dev", &[]);
    assert_eq!(uses("first", "dev"), "dev/first/flux");
    assert!(installed(&project).contains(&"dev/first/flux getporter/flux:v2.1.3 in ".to_owned()));
    up(&project, "global", "", &[]);
    // Both are present: the one in the namespace.
    up(&project, "second", "dev", &[]);
    assert_eq!(uses("second", "dev"), "dev/first/flux");
    // Only the global one is present.
    up(&project, "third", "qa", &[]);
    assert_eq!(uses("third", "qa"), "/global/flux");
}

#[test]
fn a_group_shares_one_installation_in_each_namespace() {
    let requirement = |group: &str| {
        format!(
            "  - name: postgres
    bundle:
      reference: getporter/postgres:v2.3.4
      version: 2.x
    sharing:
      mode: group
      group:
        name: {group}
"
        )
    };
    let mine = requirement("my-application");
    let project = project(&[
        requiring("orders", &mine),
        requiring("stock", &mine),
        requiring("other", &requirement("another")),
        echo("getporter/postgres", "2.3.4", "  inputs: {values: {host: h}}\n"),
    ]);
    for (bundle, namespace) in [("orders", "dev"), ("stock", "dev"), ("other", "dev"), ("stock", "qa")] {
        up(&project, bundle, namespace, &[]);
    }
    let databases: Vec<String> =
        installed(&project).into_iter().filter(|one| one.contains("postgres")).collect();
    let postgres = "getporter/postgres:v2.3.4 in";
    assert_eq!(
        databases,
        [
            format!("dev/orders/postgres {postgres} my-application"),
            format!("dev/other/postgres {postgres} another"),
            format!("qa/stock/postgres {postgres} my-application"),
        ]
    );
}

#[test]
fn each_namespace_has_one_vault() {
    let requirement = "  - name: keyvault
    bundle:
      reference: getporter/keyvault:v1.2.3
    sharing:
      mode: group
      group:
        name: ${ installation.Namespace }
";
    let vault = echo("getporter/keyvault", "1.2.3", "  inputs: {values: {host: h}}\n");
    let project = project(&[requiring("one", requirement), requiring("two", requirement), vault]);
    for namespace in ["east", "west"] {
        up(&project, "one", namespace, &[]);
        up(&project, "two", namespace, &[]);
    }
    let vaults: Vec<String> =
        installed(&project).into_iter().filter(|one| one.contains("keyvault")).collect();
    let keyvault = "getporter/keyvault:v1.2.3 in";
    assert_eq!(
        vaults,
        [format!("east/one/keyvault {keyvault} east"), format!("west/one/keyvault {keyvault} west")]
    );
}

/// Services share a database with those of the same root, and telemetry with those of every root.
#[test]
fn a_root_shares_its_database_and_all_share_their_telemetry() {
    let requires = "  - name: otel
    bundle:
      reference: getporter/otel:v1.2.3
    sharing:
      mode: group
      group:
        name: myapp
  - name: postgres
    bundle: getporter/postgres:v1.0.0
    sharing:
      mode: group
      group:
        name: ${ installation.root.ID }
";
    // Services of the default group would be reused themselves.
    let root = "  - {name: a, bundle: 'acme/a:v1.0.0', sharing: {mode: none}}
  - {name: b, bundle: 'acme/b:v1.0.0', sharing: {mode: none}}
";
    let nothing = "  inputs: {values: {host: h}}\n";
    let project = project(&[
        requiring("blue", root),
        requiring("green", root),
        requiring("a", requires),
        requiring("b", requires),
        echo("getporter/otel", "1.2.3", nothing),
        echo("getporter/postgres", "1.0.0", nothing),
    ]);
    up(&project, "blue", "dev", &[]);
    up(&project, "green", "dev", &[]);
    let shared: Vec<String> =
        installed(&project).into_iter().filter(|one| one.contains("getporter")).collect();
    let urn = |name: &str| format!("urn:purlin:dev/default::{name}::shared::installation.default::{name}");
    assert_eq!(
        shared,
        [
            "dev/blue/a/otel getporter/otel:v1.2.3 in myapp".to_owned(),
            format!("dev/blue/a/postgres getporter/postgres:v1.0.0 in {}", urn("blue")),
            format!("dev/green/a/postgres getporter/postgres:v1.0.0 in {}", urn("green")),
        ]
    );
}

/// A server that exists already, and the bundles that use it by the identifier of its output.
#[test]
fn an_unmanaged_server_is_used_by_the_identifier_of_its_output() {
    let server = "name: shared-dev-sql-server

parameters:
- name: connection-string
  type: string
  path: /cnab/app/outputs/connection-string

outputs:
- name: connection-string
  type: string
  $id: \"azure-sql-server-connection-string\"
  path: /cnab/app/outputs/connection-string
";
    let requirement = "  - name: sqlserver
    bundle:
      reference: azure/sqlserver:v1.2.68
      interface:
        outputs:
          - name: dbCon
            $id: \"azure-sql-server-connection-string\"
";
    let install = "
install:
- exec:
    description: \"Install it\"
    commands: ./install.sh
    arguments:
    - ${ bundle.dependencies.sqlserver.outputs.dbCon }
";
    // The same with a driver in place of the steps, which Purlin does not run.
    let runs = format!(
        "  inputs: {{values: {{arguments: ['${{ bundle.dependencies.sqlserver.outputs.dbCon }}']}}}}\n  requires:\n{requirement}"
    );
    let project = project(&[
        format!("schemaVersion: 1.0.0\nversion: 0.1.0\n{server}"),
        porter("myapp", &format!("dependencies:\n  requires:\n{requirement}{install}")),
        echo("acme/runs", "1.0.0", &runs),
    ]);
    // Before it is registered, nothing fits.
    let nothing = run(&project, &["plan"], "runs", "dev").status(2).err;
    assert!(nothing.contains("error[no-bundle]"), "{nothing}");
    let given = "connection-string=existing-connection-string";
    let reference = "shared-dev-sql-server:v0.1.0";
    project.run(&["up", "--yes", "--bundle", reference, "--namespace", "dev", "--param", given]).status(0);
    up(&project, "runs", "dev", &[]);
    let arguments = json!({"arguments": ["existing-connection-string"]});
    assert_eq!(outputs(&project, "runs", "dev", "runs"), arguments);
    let plan = run(&project, &["plan"], "myapp", "dev").status(0).out;
    assert!(plan.contains("it uses `installation.default#shared-dev-sql-server` of dev"), "{plan}");
    assert_eq!(
        installed(&project),
        ["dev/runs acme/runs:v1.0.0 in ", &format!("dev/shared-dev-sql-server {reference} in ")]
    );
}

/// Any bundle with the output, and none by default. As printed, the steps read another name.
#[test]
fn an_interface_without_a_default_needs_a_bundle() {
    let requirement = "  - name: mysql
    bundle:
      interface:
        outputs:
          - name: dbCon
            $id: \"mysql-5.7-connection-string\"
";
    let steps = |name: &str| {
        format!(
            "\ninstall:\n- exec:\n    description: \"Install it\"\n    commands: ./install.sh\n    arguments:\n    - ${{ bundle.dependencies.{name}.outputs.dbCon }}\n"
        )
    };
    let project = project(&[
        requiring("printed", &format!("{requirement}{}", steps("sqlserver"))),
        requiring("meant", &format!("{requirement}{}", steps("mysql"))),
        requiring("more", &format!("{requirement}{}", steps("mysql").replace("dbCon", "port"))),
        echo(
            "acme/mysql",
            "5.7.1",
            "  inputs: {values: {connstr: 'mysql://db'}}\n  outputs: [{name: connstr, $id: mysql-5.7-connection-string}]\n",
        ),
        echo(
            "acme/old",
            "5.6.0",
            "  inputs: {values: {connstr: 'mysql://old'}}\n  outputs: [{name: connstr, $id: mysql-5.6-connection-string}]\n",
        ),
    ]);
    let wrong = run(&project, &["plan"], "printed", "dev").status(2).err;
    assert!(
        wrong.contains(
            "error[unknown-requirement]: `acme/printed` requires no `sqlserver`\n  --> all.yaml:19:7\n"
        ),
        "{wrong}"
    );
    assert!(wrong.contains("${ bundle.dependencies.sqlserver.outputs.dbCon }\n"), "{wrong}");
    assert!(wrong.contains("help: ") && wrong.contains("`mysql`"), "{wrong}");
    let open = run(&project, &["plan"], "meant", "dev").status(2).err;
    assert!(open.contains("error[no-bundle]: no bundle is specified for `mysql`"), "{open}");
    assert!(open.contains("`--with mysql=acme/mysql:v5.7.1`") && !open.contains("acme/old"), "{open}");
    let other = run(&project, &["plan", "--with", "mysql=acme/old:v5.6.0"], "meant", "dev").status(2).err;
    assert!(other.contains("error[no-bundle]") && other.contains("lacks the output `dbCon`"), "{other}");
    run(&project, &["plan", "--with", "mysql=acme/mysql:v5.7.1"], "meant", "dev").status(0);
    // An existing installation comes first.
    project.run(&["up", "--yes", "--bundle", "acme/mysql", "--namespace", "dev"]).status(0);
    let plan = run(&project, &["plan"], "meant", "dev").status(0).out;
    assert!(plan.contains("it uses `installation.default#mysql` of dev"), "{plan}");
    // What the steps read is part of the interface.
    let more = run(&project, &["plan"], "more", "dev").status(2).err;
    assert!(more.contains("error[no-bundle]") && more.contains("no bundle is specified"), "{more}");
}

/// The interface that a requirement names is provided by a new bundle, a named one, and an existing
/// installation, near or global; and it is provided as long as somebody uses it.
#[test]
fn a_named_interface_is_provided_by_whatever_is_used() {
    let asks = "  - name: db
    bundle:
      interface:
        id: https://getporter.org/interfaces/#mysql
    outputs:
      host: ${outputs.host}
";
    let defaults = asks.replace(
        "      interface:\n",
        "      reference: acme/good:v1.0.0\n      version: 1.x\n      interface:\n        reference: acme/shape:v1.0.0\n",
    );
    let bundle = |name: &str, version: &str, id: &str| {
        let provides = format!("  provides: {{interface: {{id: '{id}'}}}}\n");
        let spec = "  inputs: {values: {host: '${installation.namespace}/${bundle.version}'}}\n  outputs: [{name: host, type: string}]\n";
        echo(name, version, &format!("{spec}{provides}"))
    };
    let mysql = "https://getporter.org/interfaces/#mysql";
    let project = project(&[
        requiring("asks", asks),
        requiring("defaults", &defaults),
        bundle("acme/good", "1.0.0", mysql),
        bundle("acme/good", "1.1.0", "https://getporter.org/interfaces/#postgres"),
        bundle("acme/plain", "1.0.0", "https://getporter.org/interfaces/#postgres"),
        porter("shape", "outputs: [{name: host, type: string, default: x}]\n"),
    ]);
    let root = |reference: &str, namespace: &str| {
        let env = if namespace.is_empty() { "global" } else { namespace };
        let name = reference.split([':', '/']).nth(1).expect("a name");
        let words =
            ["up", "--yes", "--bundle", reference, "--name", name, "--namespace", namespace, "--env", env];
        project.run(&words)
    };
    let host = |bundle: &str, namespace: &str| outputs(&project, bundle, namespace, bundle)["host"].clone();
    // A new bundle: the highest version that provides it.
    up(&project, "defaults", "new", &[]);
    assert_eq!(host("defaults", "new"), "new/1.0.0");
    // A named bundle.
    let nothing = run(&project, &["plan"], "asks", "named").status(2).err;
    assert!(nothing.contains("error[no-bundle]") && !nothing.contains("acme/plain"), "{nothing}");
    assert!(nothing.contains("`--with db=acme/good:v1.0.0`"), "{nothing}");
    let wrong = run(&project, &["plan", "--with", "db=acme/good:v1.1.0"], "asks", "named").status(2).err;
    assert!(wrong.contains(&format!("does not provide the interface `{mysql}`")), "{wrong}");
    up(&project, "asks", "named", &["--with", "db=acme/good:v1.0.0"]);
    assert_eq!(host("asks", "named"), "named/1.0.0");
    // An existing installation of the same namespace, and one that does not provide it.
    root("acme/plain:v1.0.0", "near").status(0);
    run(&project, &["plan"], "asks", "near").status(2);
    let wrong = run(&project, &["plan", "--with", "db=near/plain"], "asks", "near").status(2).err;
    assert!(wrong.contains("error[no-installation]") && wrong.contains(mysql), "{wrong}");
    root("acme/good:v1.0.0", "near").status(0);
    up(&project, "asks", "near", &[]);
    assert_eq!(host("asks", "near"), "near/1.0.0");
    let changed = root("acme/good:v1.1.0", "near").status(2).err;
    assert!(changed.contains("error[breaks-user]") && changed.contains(mysql), "{changed}");
    // A global one.
    root("acme/plain:v1.0.0", "").status(0);
    run(&project, &["plan"], "asks", "far").status(2);
    root("acme/good:v1.0.0", "").status(0);
    up(&project, "asks", "far", &[]);
    assert_eq!(host("asks", "far"), "/1.0.0");
}
