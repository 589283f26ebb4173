//! Signatures (AWS Signature Version 4), created by AWS's own library.

use std::time::SystemTime;

use aws_credential_types::Credentials as Keys;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings,
    UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4;
use purlin_sdk::Failure;
use purlin_sdk_http::Request;

use crate::Credentials;

/// The scope of a signature.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// As in the signature, such as `s3`.
    pub(crate) service: &'static str,
    /// Likewise.
    pub(crate) region: String,
}

/// Adds the headers that authenticate a request at this time.
pub(crate) fn signed(
    mut request: Request,
    scope: &Scope,
    credentials: &Credentials,
    now: SystemTime,
) -> Result<Request, Failure> {
    let Credentials { access_key_id, secret_access_key, session_token } = credentials.clone();
    let identity = Keys::new(access_key_id, secret_access_key, session_token, None, "inputs").into();
    let parameters = v4::SigningParams::builder()
        .identity(&identity)
        .region(&scope.region)
        .name(scope.service)
        .time(now)
        .settings(settings(scope.service))
        .build()?
        .into();
    let headers = request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let body = SignableBody::Bytes(&request.body);
    let signable = SignableRequest::new(&request.method, &request.url, headers, body)?;
    let (instructions, _) = sign(signable, &parameters)?.into_parts();
    let added: Vec<_> =
        instructions.headers().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    request.headers.extend(added);
    Ok(request)
}

/// S3 uses paths as they are sent, and requires the body's digest.
fn settings(service: &str) -> SigningSettings {
    let mut settings = SigningSettings::default();
    if service == "s3" {
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    /// botocore 1.44's signatures of the same requests, at 2026-01-02T03:04:05Z.
    #[test]
    fn signatures_are_those_of_another_library() {
        let now = UNIX_EPOCH + Duration::from_secs(1_767_323_045);
        for (case, signature) in
            include_str!("../tests/signatures.txt").lines().filter_map(|line| line.rsplit_once(' '))
        {
            let mut parts = case.split(' ');
            let mut part = || parts.next().expect("a part").to_owned();
            let (service, method, url, token, body) = (part(), part(), part(), part(), part());
            let scope =
                Scope { service: if service == "s3" { "s3" } else { "iam" }, region: "eu-west-1".to_owned() };
            let credentials = Credentials {
                access_key_id: "AKIDEXAMPLE".to_owned(),
                secret_access_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
                session_token: Some(token).filter(|token| token != "-"),
            };
            let request = Request::new(method, url).body("text/plain; charset=utf-8", body);
            let signed = signed(request, &scope, &credentials, now).expect("signed");
            let header = signed.get_header("authorization").expect("a signature").to_owned();
            assert!(header.ends_with(&format!("Signature={signature}")), "{case}: {header}");
        }
    }
}
