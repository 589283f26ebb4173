//! A certificate authority for one test, created with `openssl`.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::tools::need;

/// The kind of key of the certificates.
#[derive(Clone, Copy, Debug)]
pub enum Key {
    /// RSA with 2048 bits.
    Rsa,
    /// The curve P-256.
    P256,
}

/// An authority.
#[derive(Debug)]
pub struct Authority {
    folder: TempDir,
    openssl: std::path::PathBuf,
    key: Key,
}

impl Authority {
    /// A new one; none if `openssl` is not installed.
    pub fn new(key: Key) -> Option<Self> {
        let openssl = need("openssl")?;
        let authority = Self { folder: tempfile::tempdir().expect("a temporary folder"), openssl, key };
        let (certificate, private) = (authority.path("ca.crt"), authority.path("ca.key"));
        let mut arguments = vec!["req", "-x509", "-days", "2", "-nodes", "-subj", "/CN=Authority of a test"];
        arguments.extend(authority.new_key());
        arguments.extend(["-keyout", &private, "-out", &certificate]);
        authority.openssl(&arguments);
        Some(authority)
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn new_key(&self) -> Vec<&'static str> {
        match self.key {
            Key::Rsa => vec!["-newkey", "rsa:2048"],
            Key::P256 => vec!["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
        }
    }

    fn openssl(&self, arguments: &[&str]) {
        let done = Command::new(&self.openssl).args(arguments).output().expect("openssl runs");
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// The authority's own certificate, as PEM.
    pub fn pem(&self) -> String {
        fs::read_to_string(self.path("ca.crt")).expect("the certificate")
    }

    /// Writes a certificate of no authority for a name, and its key, as PostgreSQL's manual makes them: the
    /// name is only its common name.
    pub fn self_signed(&self, name: &str, certificate: &Path, key: &Path) {
        let (certificate, key) = (certificate.display().to_string(), key.display().to_string());
        let subject = format!("/CN={name}");
        let mut arguments = vec!["req", "-new", "-x509", "-days", "2", "-nodes", "-subj", &subject];
        arguments.extend(self.new_key());
        arguments.extend(["-keyout", &key, "-out", &certificate]);
        self.openssl(&arguments);
        make_private(&key);
    }

    /// Writes a certificate for the name of a server or a user, and its key.
    pub fn issue(&self, name: &str, certificate: &Path, key: &Path) {
        let (request, extensions) = (self.path("request"), self.path("extensions"));
        fs::write(
            &extensions,
            format!("subjectAltName=DNS:{name}\nextendedKeyUsage=serverAuth,clientAuth\n"),
        )
        .expect("a file");
        let (certificate, key) = (certificate.display().to_string(), key.display().to_string());
        let subject = format!("/CN={name}");
        let mut arguments = vec!["req", "-new", "-nodes", "-subj", &subject];
        arguments.extend(self.new_key());
        arguments.extend(["-keyout", &key, "-out", &request]);
        self.openssl(&arguments);
        let (ca, private) = (self.path("ca.crt"), self.path("ca.key"));
        self.openssl(&[
            "x509",
            "-req",
            "-days",
            "2",
            "-in",
            &request,
            "-CA",
            &ca,
            "-CAkey",
            &private,
            "-CAcreateserial",
            "-extfile",
            &extensions,
            "-out",
            &certificate,
        ]);
        make_private(&key);
    }
}

/// Lets only its owner read a file, as servers demand of keys.
fn make_private(key: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(key, fs::Permissions::from_mode(0o600)).expect("permissions");
}
