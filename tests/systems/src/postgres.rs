//! A PostgreSQL server on loopback, with SCRAM and, if requested, TLS only.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use tempfile::TempDir;

use crate::certificates::Authority;
use crate::server::{Server, free_port, guarded, hand_over, listens};
use crate::tools::{need, root};

/// The password of the superuser `postgres`.
pub const PASSWORD: &str = "the-admin's-secret-0815";

/// The settings of `initdb`.
const INITIAL: [&str; 9] =
    ["--username", "postgres", "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync"];

/// A pooler in front of a server that gives each transaction a different connection.
#[derive(Debug)]
pub struct Pooler {
    server: Server,
    /// Its port on loopback.
    pub port: u16,
}

impl Pooler {
    /// PgBouncer in transaction mode, with two connections for all clients; none if it is not
    /// installed.
    ///
    /// # Panics
    /// If it cannot be configured.
    pub fn start(postgres: &Postgres) -> Option<Self> {
        let program = need("pgbouncer")?;
        let (folder, port) = (tempfile::tempdir().expect("a temporary folder"), free_port());
        let (settings, users) = (folder.path().join("pgbouncer.ini"), folder.path().join("users"));
        fs::write(&users, user("postgres", PASSWORD)).expect("a file");
        let text = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = scram-sha-256\nauth_file = {}\npool_mode = transaction\n\
             default_pool_size = 2\nserver_connect_timeout = 120\nserver_login_retry = 1\n",
            postgres.port,
            users.display()
        );
        fs::write(&settings, text).expect("a file");
        open_up(&folder);
        hand_over(folder.path(), "postgres");
        let mut command = guarded(program, Some("postgres"));
        command.arg(&settings);
        let server = Server::start(command, folder, || listens(port));
        Some(Self { server, port })
    }

    /// Makes it read its users again: this one, with a new password, and the superuser.
    ///
    /// # Panics
    /// If it cannot be told.
    pub fn rotate(&self, name: &str, password: &str) {
        let file = self.server.folder().join("users");
        let before = file.metadata().and_then(|file| file.modified()).expect("a time");
        fs::write(&file, user("postgres", PASSWORD) + &user(name, password)).expect("a file");
        // It reads a file again only if that changed in another second.
        let file = fs::File::options().append(true).open(file).expect("the file");
        file.set_modified(before + std::time::Duration::from_secs(2)).expect("another time");
        self.server.signal(rustix::process::Signal::HUP);
    }
}

/// A line of the pooler's file of users.
fn user(name: &str, password: &str) -> String {
    format!("\"{name}\" \"{password}\"\n")
}

/// A session that is open until it is dropped, or ended by the server.
#[derive(Debug)]
pub struct PostgresSession(Child);

impl Drop for PostgresSession {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running server, with its superuser `postgres`.
#[derive(Debug)]
pub struct Postgres {
    server: Server,
    program: PathBuf,
    settings: Vec<String>,
    psql: PathBuf,
    /// Its port on loopback.
    pub port: u16,
}

impl Postgres {
    /// A server without TLS; none if PostgreSQL is not installed.
    pub fn start() -> Option<Self> {
        Self::with(None, &[])
    }

    /// A server that accepts TLS only, with a certificate for `localhost` of this authority.
    pub fn with_tls(authority: &Authority) -> Option<Self> {
        Self::with(Some(authority), &[])
    }

    /// A server with further settings.
    ///
    /// # Panics
    /// If it cannot be configured.
    pub fn with(authority: Option<&Authority>, settings: &[&str]) -> Option<Self> {
        let issue = |data: &Path| {
            if let Some(authority) = authority {
                authority.issue("localhost", &data.join("server.crt"), &data.join("server.key"));
            }
        };
        let rules = authority.map(|_| "hostssl all all all scram-sha-256\n");
        let mut all = Vec::from_iter(authority.map(|_| "ssl=on"));
        all.extend(settings);
        Self::with_rules(rules, issue, &all)
    }

    /// A server with these rules of admission in place of its own, which must admit the superuser by its
    /// password. `prepare` adds files to its folder, such as `server.crt` and `server.key`.
    ///
    /// # Panics
    /// If it cannot be configured.
    pub fn with_rules(rules: Option<&str>, prepare: impl FnOnce(&Path), settings: &[&str]) -> Option<Self> {
        let (initdb, program, psql) = (need("initdb")?, need("postgres")?, need("psql")?);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data = folder.path().join("data");
        copy(&initialised(&initdb), &data);
        // The user `postgres` needs access.
        open_up(&folder);
        if let Some(rules) = rules {
            fs::write(data.join("pg_hba.conf"), rules).expect("a file");
        }
        prepare(&data);
        hand_over(folder.path(), "postgres");
        let mut all = vec!["fsync=off", "log_statement=all"];
        all.extend(settings);
        Some(Self::serve(program, psql, folder, free_port(), &all))
    }

    /// Runs a server on the folder `data` of a folder.
    fn serve(
        program: PathBuf,
        psql: PathBuf,
        folder: impl Into<Arc<TempDir>>,
        port: u16,
        settings: &[impl AsRef<str>],
    ) -> Self {
        let folder = folder.into();
        let mut command = guarded(&program, Some("postgres"));
        command.arg("-D").arg(folder.path().join("data"));
        command.args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1"]);
        command.arg("-c").arg(format!("unix_socket_directories={}", folder.path().display()));
        // In the folder, and not in shared memory of the system, where a killed server would leave it.
        command.args(["-c", "dynamic_shared_memory_type=mmap"]);
        for setting in settings {
            command.args(["-c", setting.as_ref()]);
        }
        let server = Server::start(command, folder, || listens(port));
        let settings = settings.iter().map(|setting| setting.as_ref().to_owned()).collect();
        let postgres = Self { server, program, settings, psql, port };
        let begun = std::time::Instant::now();
        while postgres.try_ask("postgres", "SELECT 1").is_err() {
            assert!(begun.elapsed().as_secs() < 300, "{}", postgres.log());
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        postgres
    }

    /// A standby that follows the server; nothing where PostgreSQL is not installed.
    ///
    /// # Panics
    /// When it cannot be set up.
    pub fn standby(&self) -> Option<Self> {
        let folder = self.base_backup(&["--write-recovery-conf"])?;
        let (program, psql) = (self.program.clone(), self.psql.clone());
        Some(Self::serve(program, psql, folder, free_port(), &["fsync=off", "log_statement=all"]))
    }

    /// A backup of the server's files while it runs, in the folder `data` of a folder; nothing where
    /// PostgreSQL is not installed.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn backup(&self) -> Option<TempDir> {
        self.base_backup(&[])
    }

    fn base_backup(&self, options: &[&str]) -> Option<TempDir> {
        let program = need("pg_basebackup")?;
        let folder = tempfile::tempdir().expect("a temporary folder");
        open_up(&folder);
        hand_over(folder.path(), "postgres");
        let mut command = self.client(&program);
        command.args(options).args(["--wal-method=stream", "--checkpoint=fast", "--no-sync"]);
        command.arg("-D").arg(folder.path().join("data"));
        finish(command);
        hand_over(folder.path(), "postgres");
        Some(folder)
    }

    /// A program of PostgreSQL that connects to the server as the superuser.
    fn client(&self, program: &Path) -> Command {
        let mut command = guarded(program, None);
        command.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "postgres"]);
        command.env("PGPASSWORD", PASSWORD);
        command
    }

    /// Stops the server and starts it again at the same port: with its own files, or with those of a backup,
    /// as they are.
    ///
    /// # Panics
    /// If it does not stop or start.
    #[must_use]
    pub fn restarted(self, backup: Option<&TempDir>) -> Self {
        let Self { server, program, settings, psql, port } = self;
        // Sessions are ended, and nothing is lost.
        let folder = server.stop(rustix::process::Signal::INT);
        if let Some(backup) = backup {
            let data = folder.path().join("data");
            fs::remove_dir_all(&data).expect("the old files");
            copy(&backup.path().join("data"), &data);
        }
        Self::serve(program, psql, folder, port, &settings)
    }

    /// Saves a schema of the database `postgres` to a file, as `pg_dump` does; nothing where PostgreSQL is not
    /// installed.
    ///
    /// # Panics
    /// When it cannot be saved.
    pub fn dump(&self, schema: &str, file: &Path) -> Option<()> {
        let mut command = self.client(&need("pg_dump")?);
        command.args(["--format=custom", "--schema", schema, "--dbname=postgres", "--file"]).arg(file);
        finish(command);
        Some(())
    }

    /// Restores the tables of such a file in a database, in place of those there.
    ///
    /// # Panics
    /// When they cannot be restored.
    pub fn restore(&self, database: &str, file: &Path) -> Option<()> {
        let mut command = self.client(&need("pg_restore")?);
        command.args(["--clean", "--if-exists", "--exit-on-error", "--dbname", database]).arg(file);
        finish(command);
        Some(())
    }

    /// The content of the server's log.
    pub fn log(&self) -> String {
        self.server.log()
    }

    fn command(&self, user: &str, password: &str, database: &str) -> Command {
        let mut command = Command::new(&self.psql);
        command.args(["-X", "-A", "-t", "-q", "-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", user]);
        command.args(["-d", database, "-v", "ON_ERROR_STOP=1"]);
        command.env("PGPASSWORD", password).env("PGCONNECT_TIMEOUT", "120");
        command
    }

    /// Runs statements as any role.
    ///
    /// # Errors
    /// The message of `psql`.
    pub fn try_as(&self, user: &str, password: &str, database: &str, sql: &str) -> Result<String, String> {
        let done = self.command(user, password, database).args(["-c", sql]).output().expect("psql runs");
        match done.status.success() {
            true => Ok(String::from_utf8_lossy(&done.stdout).trim_end_matches('\n').to_owned()),
            false => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
        }
    }

    /// The same of the superuser, in a database.
    ///
    /// # Errors
    /// The error output of `psql`.
    pub fn try_ask(&self, database: &str, sql: &str) -> Result<String, String> {
        self.try_as("postgres", PASSWORD, database, sql)
    }

    /// Runs statements as the superuser.
    ///
    /// # Panics
    /// If they fail.
    #[track_caller]
    pub fn ask(&self, sql: &str) -> String {
        self.ask_in("postgres", sql)
    }

    /// The same in another database.
    ///
    /// # Panics
    /// If they fail.
    #[track_caller]
    pub fn ask_in(&self, database: &str, sql: &str) -> String {
        self.try_ask(database, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// Opens a session of the superuser in a database, which does nothing.
    ///
    /// # Panics
    /// If it cannot be opened.
    pub fn session(&self, database: &str) -> PostgresSession {
        let mut command = self.command("postgres", PASSWORD, database);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let session = PostgresSession(command.spawn().expect("psql runs"));
        let count = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}' AND application_name = 'psql'"
        );
        let begun = std::time::Instant::now();
        while self.ask(&count) == "0" {
            assert!(begun.elapsed().as_secs() < 300, "psql does not connect: {}", self.log());
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        session
    }

    /// Databases besides those that every server has, in order.
    pub fn databases(&self) -> Vec<String> {
        let all = self
            .ask("SELECT datname FROM pg_database WHERE datname !~ '^(postgres|template[01])$' ORDER BY 1");
        all.lines().map(str::to_owned).collect()
    }

    /// Roles besides those that every server has, in order.
    pub fn roles(&self) -> Vec<String> {
        let all = self.ask("SELECT rolname FROM pg_roles WHERE rolname !~ '^(postgres$|pg_)' ORDER BY 1");
        all.lines().map(str::to_owned).collect()
    }
}

/// The data of a server that was never started. `initdb` needs half a second of processor time, and
/// there are many servers, so each of its versions runs once.
fn initialised(initdb: &Path) -> PathBuf {
    let version = Command::new(initdb).arg("--version").output().expect("initdb runs").stdout;
    // Named after everything that determines it.
    let mut hasher = DefaultHasher::new();
    (version, INITIAL, PASSWORD).hash(&mut hasher);
    let kept = root().join("target/tmp/postgres");
    let data = kept.join(format!("{:016x}", hasher.finish()));
    if data.exists() {
        return data;
    }
    // The user `postgres` may have no access to the project, so it initialises a temporary folder.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (password, new) = (folder.path().join("password"), folder.path().join("data"));
    fs::create_dir(&new).expect("a folder");
    fs::write(&password, PASSWORD).expect("a file");
    open_up(&folder);
    hand_over(folder.path(), "postgres");
    let mut command = guarded(initdb, Some("postgres"));
    command.args(INITIAL).arg("--pwfile").arg(password).arg("--pgdata").arg(&new);
    let done = command.output().expect("initdb runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    fs::create_dir_all(&kept).expect("a folder");
    let staging = tempfile::tempdir_in(&kept).expect("a folder").keep();
    copy(&new, &staging.join("data"));
    // Another test may have been faster.
    let renamed = fs::rename(staging.join("data"), &data);
    fs::remove_dir_all(staging).expect("ours");
    assert!(renamed.is_ok() || data.exists(), "{renamed:?}");
    data
}

/// Runs a command that has to succeed.
fn finish(mut command: Command) {
    let done = command.output().expect("it runs");
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Copies a folder, with its owners and permissions.
fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-a").arg(from).arg(to).output().expect("cp runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Gives others access to a temporary folder.
fn open_up(folder: &TempDir) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("permissions");
}
