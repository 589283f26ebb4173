//! Floods of objects that the host keeps.

use super::{Attack, state};
use purlin_sdk::bindings::purlin::driver::types::{Call, Failure, State};
use serde_json::json;
use wasip2::cli::stdout::get_stdout;
use wasip2::clocks::monotonic_clock::subscribe_duration;
use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, OpenFlags, PathFlags};
use wasip2::http::types::{Fields, Method, OutgoingRequest};
use wasip2::sockets::instance_network::instance_network;
use wasip2::sockets::network::IpAddressFamily;
use wasip2::sockets::tcp_create_socket::create_tcp_socket;
use wasip2::sockets::udp_create_socket::create_udp_socket;

/// Creates objects without end, or until no more are created.
fn hold<T>(count: usize, mut make: impl FnMut(usize) -> Option<T>) -> State {
    let mut held = Vec::new();
    for n in 0..count {
        match make(n) {
            Some(thing) => held.push(thing),
            None => break,
        }
    }
    state(&json!({"held": held.len()}))
}

pub(super) fn perform(attack: &Attack, name: &str, _: &Call) -> Option<Result<State, Failure>> {
    let count = attack.number("count", 100_000);
    Some(Ok(match name {
        "hold-pollables" => hold(count, |_| Some(subscribe_duration(1))),
        "hold-streams" => hold(count, |_| Some(get_stdout())),
        "hold-networks" => hold(count, |_| Some(instance_network())),
        "hold-fields" => hold(count, |_| Some(Fields::new())),
        "hold-requests" => hold(count, |_| Some(OutgoingRequest::new(Fields::new()))),
        "hold-long-requests" => {
            let long = "a".repeat(attack.number("bytes", 4 << 20));
            let mut taken = 0;
            let held = hold(900, |_| {
                let request = OutgoingRequest::new(Fields::new());
                taken += usize::from(request.set_method(&Method::Other(long.clone())).is_ok());
                taken += usize::from(request.set_authority(Some(&long)).is_ok());
                Some(request)
            });
            if taken > 0 { state(&json!({"taken": taken})) } else { held }
        }
        "hold-tcp" => hold(count, |_| create_tcp_socket(IpAddressFamily::Ipv4).ok()),
        "hold-udp" => hold(count, |_| create_udp_socket(IpAddressFamily::Ipv6).ok()),
        "hold-files" => {
            let folder = folder();
            hold(count, |_| open(&folder, "file"))
        }
        "hold-folders" => {
            let folder = folder();
            hold(count, |_| {
                folder.open_at(PathFlags::empty(), ".", OpenFlags::DIRECTORY, DescriptorFlags::READ).ok()
            })
        }
        "hold-listings" => {
            let folder = folder();
            hold(count, |_| folder.read_directory().ok())
        }
        // A stream keeps its file open after the file's own handle is gone.
        "hold-streams-of-files" => {
            let folder = folder();
            hold(count, |_| open(&folder, "file")?.read_via_stream(0).ok())
        }
        "hold-file-streams" => {
            let file = open(&folder(), "file").unwrap();
            hold(count, |_| file.read_via_stream(0).ok())
        }
        "hold-file-writers" => {
            let file = folder()
                .open_at(PathFlags::empty(), "file", OpenFlags::CREATE, DescriptorFlags::WRITE)
                .unwrap();
            hold(count, |_| {
                let stream = file.write_via_stream(0).ok()?;
                let most = stream.check_write().ok()?;
                stream.write(&vec![b'x'; most as usize]).ok()?;
                Some(stream)
            })
        }
        "list-folder" => {
            let entries = folder().read_directory().unwrap();
            let mut count = 0;
            while let Ok(Some(_)) = entries.read_directory_entry() {
                count += 1;
            }
            state(
                &json!({"entries": count, "more": entries.read_directory_entry().is_ok_and(|e| e.is_some())}),
            )
        }
        // One large object instead of many.
        "large-fields" => {
            let fields = Fields::new();
            let value = vec![b'x'; 60_000];
            let mut bytes = 0;
            while bytes < 1 << 30 && fields.append("x", &value).is_ok() {
                bytes += value.len();
            }
            state(&json!({"bytes": bytes}))
        }
        "many-fields" => hold(count, |_| {
            let fields = Fields::new();
            fields.append("x", &[b'x'; 60_000]).ok()?;
            Some(fields)
        }),
        _ => return None,
    }))
}

fn folder() -> Descriptor {
    get_directories().remove(0).0
}

fn open(folder: &Descriptor, path: &str) -> Option<Descriptor> {
    folder.open_at(PathFlags::empty(), path, OpenFlags::empty(), DescriptorFlags::READ).ok()
}
