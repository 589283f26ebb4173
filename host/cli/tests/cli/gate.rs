//! A gate at which calls of the test driver wait until the test opens it. What happens during a
//! call then does not depend on the speed of the machine.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};

use purlin_systems::project::{PATIENCE, Project};

use crate::adversary::adversarial;

/// A closed gate. Dropping it opens it.
pub(crate) struct Gate {
    address: SocketAddr,
    arrivals: Receiver<TcpStream>,
    waiting: Vec<TcpStream>,
}

impl Gate {
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (sender, arrivals) = mpsc::channel();
        std::thread::spawn(move || {
            for call in listener.incoming().map_while(Result::ok) {
                // Once the gate is open, this closes the connection, and the call continues.
                let _ = sender.send(call);
            }
        });
        Self { address, arrivals, waiting: Vec::new() }
    }

    /// A project of [`adversarial`] whose things wait at this gate while they are created.
    pub(crate) fn project(&self) -> Project {
        let project = adversarial(&format!("{{{}}}", self.inputs()), "{time: 20m}");
        self.grant(&project);
        project
    }

    /// The inputs with which a call of the test driver waits at this gate.
    pub(crate) fn inputs(&self) -> String {
        format!("do: connect, to: '{}'", self.address)
    }

    /// Lets the test driver of a project connect to this gate.
    pub(crate) fn grant(&self, project: &Project) {
        let granted = format!("      grants: {{tcp: ['{}']}}\n      limits:", self.address);
        project.edit("purlin.yaml", "      limits:", &granted);
    }

    /// Waits until one more call is at the gate.
    pub(crate) fn wait(&mut self) {
        self.waiting.push(self.arrivals.recv_timeout(PATIENCE).expect("a call at the gate"));
    }

    /// Lets these calls continue. Later ones wait.
    pub(crate) fn release(&mut self) {
        self.waiting.clear();
    }

    /// Lets these calls and all later ones continue.
    pub(crate) fn open(self) {
        drop(self);
    }
}
