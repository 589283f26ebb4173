//! Logins to PostgreSQL, on real servers: credentials that change while a store is open, certificates, and
//! addresses that can never be right.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use purlin_state::{
    Address, ClientCertificate, CredentialSource, Credentials, Error, LoginFault, Outage, PostgresOptions,
    PostgresStore, Store as _,
};
use purlin_systems::certificates::{Authority, Key};
use purlin_systems::postgres::{PASSWORD, Pooler, Postgres};

use crate::common::scene::Scene;
use crate::common::*;

/// The longest patience: a test that waits for its end never ends.
const FOREVER: Duration = Duration::from_secs(1 << 20);

/// A secret store whose password others change.
#[derive(Debug)]
struct Rotating {
    password: Mutex<Result<String, String>>,
    reads: AtomicUsize,
}

impl Rotating {
    fn new(password: &str) -> Arc<Self> {
        Arc::new(Self { password: Mutex::new(Ok(password.to_owned())), reads: AtomicUsize::new(0) })
    }

    fn set(&self, password: Result<&str, &str>) {
        *self.password.lock().expect("no panic") = password.map(str::to_owned).map_err(str::to_owned);
    }

    fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }

    /// Waits until it was read so many times more.
    fn wait(&self, more: usize) {
        let before = self.reads();
        while self.reads() < before + more {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[async_trait]
impl CredentialSource for Rotating {
    async fn read(&self) -> Result<Credentials, Error> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        match &*self.password.lock().expect("no panic") {
            Ok(password) => Ok(Credentials::password(password.as_str())),
            Err(reason) => Err(Error::Credentials { reason: reason.clone(), help: None }),
        }
    }

    fn can_change(&self) -> bool {
        true
    }
}

/// The options of a user with its own schema, whose password is `one`.
fn member(scene: &Scene, credentials: Arc<dyn CredentialSource>) -> PostgresOptions {
    scene.sql("CREATE USER member PASSWORD 'one'");
    scene.sql("CREATE SCHEMA members AUTHORIZATION member");
    let mut options = scene.options();
    options.patience = FOREVER;
    options.address = Address {
        url: format!("postgres://member@127.0.0.1:{}/postgres", scene.server.port),
        schema: "members".into(),
        credentials,
        ca: None,
    };
    options
}

/// Changes the password of the user, and ends its connections.
fn rotate(scene: &Scene, password: &str) {
    scene.sql(&format!("ALTER USER member PASSWORD '{password}'"));
    scene.sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'member'");
}

/// The password changes while the store is open, in the database and in the secret store: at once, in the
/// database first, in the secret store first, and while that does not answer. An open deployment continues.
#[test]
fn a_rotated_password_ends_nothing() {
    let scene = scene!();
    let source = Rotating::new("one");
    let options = member(&scene, Arc::clone(&source) as _);
    scene.run(PostgresStore::prepare(&options)).expect("prepared");
    let store = scene.run(PostgresStore::open(options)).expect("opens");
    let lock = scene.lock(&store);
    let mut number = 0;
    let mut commit = || {
        number += 1;
        scene.run(lock.writer().commit(vec![put(record(number))])).expect("commits");
        assert_eq!(scene.run(store.load(&environment())).expect("loads").records.len(), number);
        scene.run(store.history(&environment())).expect("reads");
    };
    commit();

    source.set(Ok("two"));
    rotate(&scene, "two");
    commit();

    rotate(&scene, "three");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            source.wait(4);
            source.set(Ok("three"));
        });
        commit();
    });

    source.set(Ok("four"));
    scene.sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'member'");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            source.wait(4);
            rotate(&scene, "four");
        });
        commit();
    });

    source.set(Err("the vault is sealed"));
    rotate(&scene, "five");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            source.wait(4);
            source.set(Ok("five"));
        });
        commit();
    });
    scene.run(lock.release()).expect("released");
}

/// A password that changes between the read and the login is read again. Nothing waits for a login that was
/// never accepted, or whose password cannot change.
#[test]
fn a_rejected_password_is_read_once_more() {
    let scene = scene!();
    let wrong = Rotating::new("wrong");
    let options = member(&scene, Arc::clone(&wrong) as _);
    let with = |credentials: Arc<dyn CredentialSource>| {
        let mut options = options.clone();
        options.address.credentials = credentials;
        options
    };
    let prepare = |credentials: Arc<dyn CredentialSource>| {
        scene
            .run(PostgresStore::prepare(&with(credentials)))
            .map_err(|error| (fault(&error), error.to_string()))
    };
    let (fault, message) = prepare(Arc::clone(&wrong) as _).expect_err("rejected");
    assert_eq!((fault, wrong.reads()), (Some(LoginFault::Rejected), 2), "{message}");
    assert!(message.starts_with("cannot log in to `postgres://member@127.0.0.1"), "{message}");
    assert!(message.contains("?schema=members`: password authentication failed"), "{message}");

    /// Gives a new password at the second read.
    #[derive(Debug)]
    struct Late(AtomicUsize);
    #[async_trait]
    impl CredentialSource for Late {
        async fn read(&self) -> Result<Credentials, Error> {
            let number = self.0.fetch_add(1, Ordering::SeqCst);
            Ok(Credentials::password(if number == 0 { "zero" } else { "one" }))
        }
        fn can_change(&self) -> bool {
            true
        }
    }
    assert!(prepare(Arc::new(Late(AtomicUsize::new(0)))).expect("prepared"));

    let store = scene.run(PostgresStore::open(with(Arc::new(Credentials::password("one"))))).expect("opens");
    rotate(&scene, "two");
    let error = scene.run(store.load(&environment())).expect_err("rejected");
    assert_eq!(self::fault(&error), Some(LoginFault::Rejected), "{error}");
    let (fault, message) = prepare(Arc::new(Credentials::default())).expect_err("rejected");
    assert_eq!(fault, Some(LoginFault::NoPassword), "{message}");
    wrong.set(Err("there is no such secret"));
    let (_, message) = prepare(Arc::clone(&wrong) as _).expect_err("no password");
    assert_eq!(message, "there is no such secret");
}

fn fault(error: &Error) -> Option<LoginFault> {
    match error {
        Error::Login { fault, .. } => Some(*fault),
        _ => None,
    }
}

/// The password changes in a pooler that gives each transaction a different connection, and in the server
/// behind it.
#[test]
fn a_rotated_password_behind_a_pooler_ends_nothing() {
    let scene = scene!();
    let Some(pooler) = Pooler::start(&scene.server) else { return };
    let source = Rotating::new("one");
    let mut options = member(&scene, Arc::clone(&source) as _);
    options.address.url = format!("postgres://member@127.0.0.1:{}/postgres", pooler.port);
    pooler.rotate("member", "one");
    // The pooler reads its users when it gets to it.
    while scene.run(PostgresStore::prepare(&options)).is_err() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let store = scene.run(PostgresStore::open(options.clone())).expect("opens");
    let lock = scene.lock(&store);
    scene.run(lock.writer().commit(vec![put(record(1))])).expect("commits");
    rotate(&scene, "two");
    source.set(Ok("two"));
    pooler.rotate("member", "two");
    scene.run(lock.writer().commit(vec![put(record(2))])).expect("commits");
    assert_eq!(scene.run(store.load(&environment())).expect("loads").records.len(), 2);
    scene.run(lock.release()).expect("released");
    // A new process logs in to the pooler with the new password, and is told of the old one.
    scene.run(PostgresStore::open(options.clone())).expect("opens");
    let rejected = |from: &str, to: &str| {
        let mut options = options.clone();
        options.address.url = options.address.url.replace(from, to);
        let Err(error) = scene.run(PostgresStore::open(options)) else { panic!("it opens") };
        fault(&error).unwrap_or_else(|| panic!("{error}"))
    };
    assert_eq!(rejected("/postgres", "/nothing"), LoginFault::NoDatabase);
    assert_eq!(rejected("member@", "nobody@"), LoginFault::Rejected);
    source.set(Ok("one"));
    assert_eq!(rejected("", ""), LoginFault::Rejected);
}

/// A server whose rules admit the superuser by its password, and these.
fn server(rules: &str, settings: &[&str], prepare: impl FnOnce(&Path)) -> Option<Postgres> {
    let rules = format!("host all postgres all scram-sha-256\n{rules}");
    Postgres::with_rules(Some(&rules), prepare, settings)
}

/// Prepares a state there, with an address that ends so.
fn prepare(
    server: &Postgres,
    host: &str,
    rest: &str,
    change: impl FnOnce(&mut Address),
) -> Result<bool, Error> {
    let key = tempfile::tempdir().expect("a folder");
    let mut address = Address {
        url: format!("postgres://postgres@{host}:{}/{rest}", server.port),
        schema: "purlin".into(),
        credentials: Arc::new(Credentials::password(PASSWORD)),
        ca: None,
    };
    change(&mut address);
    let key = purlin_state::KeyProvider::File(key.path().join("key"));
    let options = PostgresOptions { address, key, lease: scene::LONG, patience: FOREVER, memory: None };
    scene::runtime().block_on(PostgresStore::prepare(&options))
}

/// What a login with TLS ends with, for a certificate in `ca` and a word of `sslmode`.
fn with_ca(server: &Postgres, host: &str, mode: &str, ca: &str) -> Result<(), LoginFault> {
    let rest = format!("postgres?sslmode={mode}");
    let result = prepare(server, host, &rest, |address| address.ca = Some(ca.as_bytes().to_vec()));
    result.map(drop).map_err(|error| fault(&error).unwrap_or_else(|| panic!("{mode}: {error}")))
}

/// The words of PostgreSQL's own clients check what they check there, except that nothing is trusted
/// unverified.
#[test]
fn the_words_of_sslmode_check_certificates() {
    let Some(authority) = Authority::new(Key::P256) else { return };
    let Some(stranger) = Authority::new(Key::Rsa) else { return };
    let issue = |data: &Path| {
        authority.issue("db.internal", &data.join("server.crt"), &data.join("server.key"));
    };
    let Some(server) = server("", &["ssl=on"], issue) else { return };
    let (own, other) = (authority.pem(), stranger.pem());
    for (mode, ca, expected) in [
        ("verify-full", &own, Err(LoginFault::OtherName)),
        ("require", &own, Err(LoginFault::OtherName)),
        // With `ca`, the default encrypts on this machine, too.
        ("prefer", &own, Err(LoginFault::OtherName)),
        ("verify-ca", &own, Ok(())),
        ("disable", &own, Ok(())),
        ("verify-full", &other, Err(LoginFault::Untrusted)),
        ("verify-ca", &other, Err(LoginFault::Untrusted)),
    ] {
        assert_eq!(with_ca(&server, "127.0.0.1", mode, ca), expected, "{mode}");
    }
    let encrypted = |rest: &str, ca: Option<&str>| {
        prepare(&server, "127.0.0.1", rest, |address| address.ca = ca.map(|ca| ca.as_bytes().to_vec()))
            .unwrap_or_else(|error| panic!("{rest}: {error}"));
    };
    // By name, where the address of the host is another.
    encrypted("postgres?sslmode=verify-ca&sslrootcert=system", Some(&own));
    let url =
        format!("postgres://postgres@/postgres?host=db.internal&hostaddr=127.0.0.1&port={}", server.port);
    prepare(&server, "", "", |address| {
        address.url = format!("{url}&sslmode=verify-full");
        address.ca = Some(own.clone().into_bytes());
    })
    .expect("the name of the certificate");
    for (query, expected) in [
        ("sslmode=allow", "`sslmode=allow` encrypts only if the server insists"),
        (
            "sslmode=verify_full",
            "`sslmode=verify_full` does not exist; write `verify-full`, `verify-ca`, `require`, `prefer` or `disable`",
        ),
        (
            "sslrootcert=ca.pem",
            "the URL names a file in `sslrootcert`; write `ca: FILE` next to `url` instead",
        ),
        (
            "sslkey=key.pem",
            "write `client: {certificate: FILE, key: {store: STORE, ref: NAME}}` next to `url`",
        ),
    ] {
        let error =
            prepare(&server, "127.0.0.1", &format!("postgres?{query}"), |_| ()).expect_err("rejected");
        assert!(matches!(error, Error::Address { .. }), "{query}: {error}");
        assert!(error.to_string().contains(expected), "{query}: {error}");
    }
}

/// A certificate that is its own authority, as PostgreSQL's manual makes it, is trusted if `ca` names it,
/// and no other one with the same name.
#[test]
fn a_self_signed_certificate_in_ca_is_trusted() {
    let Some(authority) = Authority::new(Key::Rsa) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let [own, other] = ["own", "other"].map(|name| {
        let (certificate, key) = (folder.path().join(name), folder.path().join(format!("{name}.key")));
        authority.self_signed("localhost", &certificate, &key);
        std::fs::read_to_string(certificate).expect("a certificate")
    });
    let copy = |data: &Path| {
        for (from, to) in [("own", "server.crt"), ("own.key", "server.key")] {
            std::fs::copy(folder.path().join(from), data.join(to)).expect("copied");
        }
    };
    let Some(server) = server("", &["ssl=on"], copy) else { return };
    for (host, mode, ca, expected) in [
        ("localhost", "verify-full", &own, Ok(())),
        ("127.0.0.1", "verify-full", &own, Err(LoginFault::OtherName)),
        ("127.0.0.1", "verify-ca", &own, Ok(())),
        ("localhost", "verify-ca", &other, Err(LoginFault::Untrusted)),
        ("localhost", "verify-full", &authority.pem(), Err(LoginFault::Untrusted)),
    ] {
        assert_eq!(with_ca(&server, host, mode, ca), expected, "{host} {mode}");
    }
}

/// A server that recognises its users by their certificates, which may be renewed while a store is open.
#[test]
fn a_client_certificate_logs_in() {
    let (Some(authority), Some(stranger)) = (Authority::new(Key::P256), Authority::new(Key::P256)) else {
        return;
    };
    let issue = |data: &Path| {
        authority.issue("localhost", &data.join("server.crt"), &data.join("server.key"));
        std::fs::write(data.join("clients.crt"), authority.pem()).expect("written");
    };
    let settings = ["ssl=on", "ssl_ca_file=clients.crt"];
    let Some(server) = server("hostssl all member all cert\n", &settings, issue) else { return };
    server.ask("CREATE USER member");
    server.ask("CREATE SCHEMA purlin AUTHORIZATION member");
    let folder = tempfile::tempdir().expect("a folder");
    let client = |authority: &Authority, user: &str| {
        let (certificate, key) = (folder.path().join("crt"), folder.path().join("key"));
        authority.issue(user, &certificate, &key);
        ClientCertificate {
            chain: std::fs::read(certificate).expect("a certificate"),
            key: std::fs::read_to_string(key).expect("a key").into(),
        }
    };
    let attempt = |client: Option<ClientCertificate>| {
        prepare(&server, "localhost", "postgres", |address| {
            address.url = address.url.replace("postgres@", "member@");
            address.ca = Some(authority.pem().into_bytes());
            address.credentials = Arc::new(Credentials { password: None, client });
        })
    };
    assert!(attempt(Some(client(&authority, "member"))).expect("prepared"));
    let without = attempt(None).expect_err("rejected");
    assert_eq!(fault(&without), Some(LoginFault::NeedsCertificate), "{without}");
    let of_other = attempt(Some(client(&stranger, "member"))).expect_err("rejected");
    assert_eq!(fault(&of_other), Some(LoginFault::NeedsCertificate), "{of_other}");
    let other_user = attempt(Some(client(&authority, "ada"))).expect_err("rejected");
    assert_eq!(fault(&other_user), Some(LoginFault::Rejected), "{other_user}");
    // Neither the certificate nor the key is what it should be; no message shows any of the key.
    let member = client(&authority, "member");
    let text = |secret: &str| secret.to_owned().into();
    for (client, expected) in [
        (
            ClientCertificate { key: text("AAAA"), ..member.clone() },
            "`client.key` contains no private key in PEM",
        ),
        (
            ClientCertificate { key: client(&authority, "ada").key, ..member.clone() },
            "`client.key` is not the key of `client.certificate`",
        ),
        (ClientCertificate { chain: b"AAAA".to_vec(), ..member }, "`client.certificate` contains no PEM"),
    ] {
        let error = attempt(Some(client)).expect_err("rejected");
        assert!(matches!(error, Error::Credentials { .. }), "{error}");
        let message = error.to_string();
        assert!(message.contains(expected) && !message.contains("AAAA"), "{message}");
    }
}

/// An address that can never be right ends at once, however long the patience, and the error has what to
/// change. So does one that is probably wrong, at the first contact.
#[test]
fn addresses_that_can_never_be_right_end_at_once() {
    let rules = "hostssl all coded all scram-sha-256\nhost all member all scram-sha-256\n";
    let Some(authority) = Authority::new(Key::P256) else { return };
    let issue =
        |data: &Path| authority.issue("localhost", &data.join("server.crt"), &data.join("server.key"));
    let Some(encrypting) = server(rules, &["ssl=on"], issue) else { return };
    let Some(plain) = Postgres::start() else { return };
    encrypting.ask("CREATE USER coded PASSWORD 'one'");
    encrypting.ask("CREATE USER member PASSWORD 'one'");
    encrypting.ask("CREATE SCHEMA others");
    encrypting.ask("CREATE TABLE others.meta (version integer)");
    let as_user = |user: &str| {
        let user = format!("{user}@");
        move |address: &mut Address| {
            address.url = address.url.replace("postgres@", &user);
            address.credentials = Arc::new(Credentials::password("one"));
        }
    };
    let error = prepare(&encrypting, "127.0.0.1", "postgres", as_user("coded")).expect_err("not encrypted");
    assert_eq!(fault(&error), Some(LoginFault::NeedsTls), "{error}");
    let error = prepare(&encrypting, "127.0.0.1", "postgres", as_user("nobody")).expect_err("no such user");
    assert_eq!(fault(&error), Some(LoginFault::NeedsTls), "{error}");
    let error = prepare(&encrypting, "localhost", "postgres?sslmode=require", |address| {
        as_user("nobody")(address);
        address.ca = Some(authority.pem().into_bytes());
    });
    assert_eq!(fault(&error.expect_err("no such user")), Some(LoginFault::NotAdmitted));
    let error = prepare(&plain, "127.0.0.1", "postgres?sslmode=require", |_| ()).expect_err("no TLS");
    assert_eq!(fault(&error), Some(LoginFault::NoTls), "{error}");
    let error = prepare(&plain, "127.0.0.1", "nothing", |_| ()).expect_err("no such database");
    assert_eq!(fault(&error), Some(LoginFault::NoDatabase), "{error}");
    let error = prepare(&encrypting, "127.0.0.1", "postgres", |address| {
        as_user("member")(address);
        address.schema = "others".into();
    });
    assert!(matches!(error, Err(Error::Denied { .. })), "{error:?}");

    let outage = |result: Result<bool, Error>| match result {
        Err(Error::Unreachable { outage, .. }) => outage,
        other => panic!("{other:?}"),
    };
    let nobody = |address: &mut Address| address.url = "postgres://ada@127.0.0.1:1/state".into();
    assert_eq!(outage(prepare(&plain, "", "", nobody)), Outage::Refused);
    let no_socket = |address: &mut Address| address.url = "postgres:///state?host=/nowhere&user=ada".into();
    assert_eq!(outage(prepare(&plain, "", "", no_socket)), Outage::Refused);
    // A label of a name has 63 characters at most, so that no name server is asked.
    let name = "x".repeat(64);
    assert_eq!(outage(prepare(&plain, &name, "postgres?sslmode=disable", |_| ())), Outage::NoAddress);
    let (first, standby) = (&plain, plain.standby());
    let Some(standby) = standby else { return };
    assert_eq!(outage(prepare(&standby, "127.0.0.1", "postgres", |_| ())), Outage::ReadOnly);
    let read_write = "postgres?target_session_attrs=read-write";
    assert_eq!(outage(prepare(&standby, "127.0.0.1", read_write, |_| ())), Outage::ReadOnly);
    assert!(prepare(first, "127.0.0.1", read_write, |_| ()).expect("prepared"));
}
