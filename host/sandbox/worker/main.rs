//! A program that is a worker and nothing else, as a service that embeds the host may bring one along.
//! The tests of this crate have their components read and compiled by it.

use std::io;

fn main() -> io::Result<()> {
    purlin_sandbox::serve_worker(io::stdin().lock(), io::stdout().lock())
}
