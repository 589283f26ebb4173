//! Parses the output of strace: system calls with all of their data, in the order in which they
//! ended.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

/// The calls to trace: those that change files, and those that determine which bytes a change
/// concerns.
pub(crate) const CALLS: &str = "open,openat,openat2,creat,close,read,readv,lseek,dup,dup2,dup3,fcntl,\
write,writev,pwrite64,pwritev,pwritev2,copy_file_range,sendfile,splice,truncate,ftruncate,fallocate,\
rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,mknod,mknodat,link,linkat,symlink,symlinkat,\
chmod,fchmod,fchmodat,fsync,fdatasync,sync,syncfs,mmap,execve,chdir,fchdir,io_uring_enter";

/// A call that succeeded.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) result: i64,
    /// The file of the resulting descriptor.
    pub(crate) opened: Option<PathBuf>,
}

/// Parses a complete trace.
pub(crate) fn read(text: &str) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut begun: HashMap<&str, String> = HashMap::new();
    for line in text.lines() {
        let (process, rest) = line.split_once(' ').expect("a process");
        let rest = rest.trim_start();
        if rest.starts_with("+++") || rest.starts_with("---") {
            continue;
        }
        let whole = if let Some(rest) = rest.strip_prefix("<... ") {
            let (_, rest) = rest.split_once("resumed>").expect("the rest of a call");
            match begun.remove(process) {
                Some(first) => first + rest,
                None => continue,
            }
        } else if let Some(first) = rest.strip_suffix("<unfinished ...>") {
            // The next call that opens a file may get the same number while this call is still
            // closing it.
            if first.starts_with("close(") {
                calls.extend(parse(&format!("{}) = 0", first.trim_end().trim_end_matches(')'))));
            } else {
                begun.insert(process, first.to_owned());
            }
            continue;
        } else {
            rest.to_owned()
        };
        calls.extend(parse(&whole));
    }
    calls
}

/// Parses one call; `None` if it failed or did not return.
fn parse(line: &str) -> Option<Call> {
    let (name, rest) = line.split_once('(')?;
    let (arguments, rest) = split(rest);
    let result = rest.trim_start().strip_prefix("= ")?;
    let number: String = result.chars().take_while(|c| c.is_ascii_digit() || *c == '-').collect();
    let result_number = match result.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex.split(' ').next().unwrap_or(hex), 16).unwrap_or(0),
        None => number.parse().ok()?,
    };
    (result_number >= 0).then(|| Call {
        name: name.to_owned(),
        arguments,
        result: result_number,
        opened: path_of(result),
    })
}

/// The arguments of a call, and the rest of the line. Strings are written as `\x41`, so they
/// contain no characters with a meaning for strace.
fn split(text: &str) -> (Vec<String>, &str) {
    let (mut arguments, mut depth, mut from) = (Vec::new(), 0, 0);
    for (at, sign) in text.char_indices() {
        match sign {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' => depth -= 1,
            ')' if depth > 0 => depth -= 1,
            ',' | ')' if depth == 0 => {
                arguments.push(text[from..at].trim().to_owned());
                from = at + 1;
                if sign == ')' {
                    return (arguments, &text[from..]);
                }
            }
            _ => {}
        }
    }
    (arguments, "")
}

/// The bytes of a quoted string.
pub(crate) fn bytes(argument: &str) -> Vec<u8> {
    assert!(!argument.ends_with("..."), "strace cut a string short");
    let text = argument.trim_matches('"');
    text.split("\\x").skip(1).map(|hex| u8::from_str_radix(hex, 16).expect("a byte")).collect()
}

/// The bytes of all parts of a vector.
pub(crate) fn vector(argument: &str) -> Vec<u8> {
    assert!(!argument.contains("..."), "strace cut a vector short");
    let parts = argument.split("iov_base=\"").skip(1);
    parts.flat_map(|part| bytes(part.split('"').next().unwrap_or_default())).collect()
}

/// A quoted path.
pub(crate) fn path(argument: &str) -> PathBuf {
    OsString::from_vec(bytes(argument)).into()
}

/// The path of a descriptor, such as `3<\x2f>`; `None` if its file no longer has a name.
pub(crate) fn path_of(argument: &str) -> Option<PathBuf> {
    let (_, rest) = argument.split_once('<')?;
    let (hex, rest) = rest.split_once('>')?;
    (!rest.starts_with("(deleted)")).then(|| path(hex))
}

/// The number of a descriptor, or another number.
pub(crate) fn number(argument: &str) -> i64 {
    let digits = argument.split('<').next().unwrap_or(argument);
    match digits.strip_prefix('0') {
        Some(octal) if !octal.is_empty() && !octal.starts_with('x') => {
            i64::from_str_radix(octal, 8).expect("a mode")
        }
        _ => digits.parse().unwrap_or_else(|_| panic!("{argument} is no number")),
    }
}
