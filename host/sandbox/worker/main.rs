//! A program that is only a worker, as a service that embeds the host may include one. The tests of
//! this crate use it to read and compile their components.

use std::io;

fn main() -> io::Result<()> {
    purlin_sandbox::serve_worker(io::stdin().lock(), io::stdout().lock())
}
