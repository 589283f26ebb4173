//! Kills the program at random times.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::choice::next;
use crate::scene::{AFTER, BEFORE, Scene};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Changes one project back and forth. Each run is killed at a random time and repeated until it
/// succeeds. At the end, everything is destroyed.
#[test]
fn kills_at_random_times_lose_and_repeat_nothing() {
    let kills = number("PURLIN_KILLS", 300);
    let mut seed = number("PURLIN_SEED", 1);
    println!("{kills} kills, seed {seed}");
    let scene = Scene::new(BEFORE);
    let begun = Instant::now();
    scene.run(&["up", "--yes"]);
    let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(1000).max(40);
    let ends = [BEFORE, AFTER].map(|shared| {
        let other = Scene::new(shared);
        other.run(&["up", "--yes"]);
        other.real()
    });
    let mut killed = 0;
    let mut turn = 0;
    while killed < kills {
        turn += 1;
        let which = turn % 2;
        scene.write([BEFORE, AFTER][which]);
        loop {
            let mut child = scene
                .command(&["up", "--yes"])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("started");
            std::thread::sleep(Duration::from_millis(next(&mut seed) % took));
            let _ = child.kill();
            let status = child.wait().expect("ended");
            if crate::scene::was_killed(status) {
                killed += 1;
                scene.run(&["state", "list"]);
            }
            if !crate::scene::was_killed(status) || next(&mut seed).is_multiple_of(3) {
                break;
            }
        }
        scene.finish(&["up", "--yes"]);
        assert_eq!(scene.real(), ends[which], "after {killed} kills");
        scene.agrees();
    }
    scene.run(&["destroy", "--yes"]);
    assert!(scene.real().is_empty());
    scene.agrees();
}
