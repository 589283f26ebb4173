//! Error messages for users: the system's errors in plain words, and messages with their causes.

use std::error::Error;
use std::io;

/// Why a file or a folder cannot be used, in plain words without the number of the system's error.
pub fn reason(error: &io::Error) -> String {
    // Errors of our own say more than their kind.
    if let Some(inner) = error.get_ref() {
        return inner.to_string();
    }
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or folder".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::AlreadyExists => "it already exists".to_owned(),
        io::ErrorKind::NotADirectory => "a part of the path is not a folder".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        io::ErrorKind::StorageFull => "no space is left on the device".to_owned(),
        io::ErrorKind::QuotaExceeded => "the disk quota is used up".to_owned(),
        io::ErrorKind::FileTooLarge => "it is too large".to_owned(),
        io::ErrorKind::InvalidData => "it is not UTF-8".to_owned(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or(&text).to_lowercase()
        }
    }
}

/// The message of an error with those of its causes, in one line and without repetition.
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut message = words(error);
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = words(error);
        if !message.contains(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        cause = error.source();
    }
    message
}

fn words(error: &(dyn Error + 'static)) -> String {
    error.downcast_ref::<io::Error>().map_or_else(|| error.to_string(), reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read `a`")]
    struct Unreadable(#[source] io::Error);

    #[test]
    fn errors_of_the_system_have_plain_words() {
        let missing = io::Error::from_raw_os_error(rustix::io::Errno::NOENT.raw_os_error());
        assert_eq!(reason(&missing), "no such file or folder");
        assert_eq!(with_causes(&Unreadable(missing)), "cannot read `a`: no such file or folder");
        let looped = io::Error::from_raw_os_error(rustix::io::Errno::LOOP.raw_os_error());
        assert_eq!(reason(&looped), "too many levels of symbolic links");
        assert_eq!(reason(&io::ErrorKind::FileTooLarge.into()), "it is too large");
    }

    #[test]
    fn errors_of_our_own_keep_their_words() {
        let error = io::Error::new(io::ErrorKind::PermissionDenied, "others may write to it");
        assert_eq!(reason(&error), "others may write to it");
        assert_eq!(with_causes(&Unreadable(error)), "cannot read `a`: others may write to it");
    }

    #[test]
    fn a_cause_that_the_message_contains_is_not_repeated() {
        #[derive(Debug, thiserror::Error)]
        #[error("{0}")]
        struct Wrapped(#[source] Unreadable);
        let error = Wrapped(Unreadable(io::ErrorKind::IsADirectory.into()));
        assert_eq!(with_causes(&error), "cannot read `a`: it is a folder");
    }
}
