//! Sets the status of pods as a kubelet does. The images decide the outcome: `broken` does not
//! exist, `slow` takes its time, `failing` fails; pods of a job succeed.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead as _, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::Door;

/// The pods that exist, and then each change of one. With any other version, the API server would read them
/// from etcd.
const PODS: &str = "/api/v1/pods?watch=true&resourceVersion=0";
/// The interval between two checks for pods that are due.
const TICK: Duration = Duration::from_millis(100);
/// How long a slow pod takes.
const SLOW: Duration = Duration::from_millis(1500);

/// It handles the pods of all namespaces until it is dropped.
#[derive(Debug)]
pub(super) struct Kubelet {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Kubelet {
    pub(super) fn start(door: Door) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let until = ended.clone();
        let thread = std::thread::spawn(move || {
            let mut pods = Pods { door, waiting: HashMap::new(), finished: HashSet::new() };
            while !until.load(Ordering::SeqCst) {
                pods.follow(&until);
                std::thread::sleep(TICK);
            }
        });
        Self { ended, thread: Some(thread) }
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Pods by uid.
struct Pods {
    door: Door,
    /// Those without a status, and the time of their first appearance.
    waiting: HashMap<String, (Instant, Value)>,
    /// Those whose status is set.
    finished: HashSet<String>,
}

impl Pods {
    /// Follows the changes of pods until the API server ends the request, or `until` is true.
    fn follow(&mut self, until: &AtomicBool) {
        let Ok(mut events) = self.door.watch(PODS, TICK) else { return };
        let mut line = Vec::new();
        while !until.load(Ordering::SeqCst) {
            match events.read_until(b'\n', &mut line) {
                Ok(_) if line.ends_with(b"\n") => {
                    // The head of the answer is no JSON.
                    if let Ok(event) = serde_json::from_slice(&line) {
                        self.note(&event);
                    }
                    line.clear();
                }
                Ok(_) => return,
                // Nothing has changed. What was read so far stays in `line`.
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => return,
            }
            self.set_those_due();
        }
    }

    fn note(&mut self, event: &Value) {
        let pod = &event["object"];
        let uid = pod["metadata"]["uid"].as_str().unwrap_or_default();
        if event["type"] == "DELETED" {
            self.waiting.remove(uid);
        } else if pod["kind"] == "Pod" && !self.finished.contains(uid) {
            let entry = self.waiting.entry(uid.to_owned());
            entry.or_insert_with(|| (Instant::now(), Value::Null)).1 = pod.clone();
        }
    }

    fn set_those_due(&mut self) {
        let (door, finished) = (self.door, &mut self.finished);
        self.waiting.retain(|uid, (since, pod)| {
            let image = pod["spec"]["containers"][0]["image"].as_str().unwrap_or_default();
            if image.contains("slow") && since.elapsed() < SLOW {
                return true;
            }
            let text = |name: &str| pod["metadata"][name].as_str().unwrap_or_default();
            let path = format!("/api/v1/namespaces/{}/pods/{}/status", text("namespace"), text("name"));
            // A pod that has gone meanwhile needs no status.
            let (status, _) = door.merge(&path, &json!({"status": status(pod, image)}));
            let is_set = matches!(status, 200 | 404);
            if is_set {
                finished.insert(uid.clone());
            }
            !is_set
        });
    }
}

fn status(pod: &Value, image: &str) -> Value {
    let of_job = pod["metadata"]["ownerReferences"][0]["kind"] == "Job";
    let (phase, state) = if image.contains("broken") {
        let message = format!("Back-off pulling image \"{image}\"");
        ("Pending", json!({"waiting": {"reason": "ImagePullBackOff", "message": message}}))
    } else if image.contains("failing") {
        ("Failed", json!({"terminated": {"exitCode": 1, "reason": "Error"}}))
    } else if of_job {
        ("Succeeded", json!({"terminated": {"exitCode": 0, "reason": "Completed"}}))
    } else {
        ("Running", json!({"running": {}}))
    };
    let runs = phase == "Running";
    let is = if runs { "True" } else { "False" };
    let container = &pod["spec"]["containers"][0];
    json!({
        "phase": phase,
        "conditions": [{"type": "Ready", "status": is}, {"type": "ContainersReady", "status": is}],
        "containerStatuses": [{
            "name": container["name"], "image": image, "imageID": "", "restartCount": 0,
            "ready": runs, "started": runs, "state": state,
        }],
    })
}
