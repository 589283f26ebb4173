//! Killed at every numbered place of each command.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::scene::{AFTER, BEFORE, Scene};

/// Runs a command on copies of a scene, killed at place after place until it comes to its end by
/// itself; after each kill runs `again`, and compares the end with that of a run without a kill.
fn at_every_place(scene: &Scene, arguments: &[&str], again: &[&str]) {
    let without = scene.copy();
    without.run(arguments);
    let (real, made) = (without.real(), without.effects("create"));
    without.agrees();
    let next = AtomicU64::new(1);
    let last = AtomicU64::new(u64::MAX);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::SeqCst);
                    if place > last.load(Ordering::SeqCst) {
                        return;
                    }
                    let scene = scene.copy();
                    if !scene.killed_at(arguments, place) {
                        last.fetch_min(place, Ordering::SeqCst);
                        return;
                    }
                    let at = scene.place();
                    println!("{arguments:?} killed at {at}");
                    // Whatever happened, the state opens, and says what it knows.
                    scene.run(&["state", "list"]);
                    scene.finish(again);
                    assert_eq!(scene.real(), real, "killed at {at}");
                    scene.agrees();
                    // A kill may come between an effect and the note of it.
                    assert!(
                        scene.effects("create") <= made,
                        "made more often than without a kill; killed at {at}"
                    );
                    // And then there is nothing left to do.
                    let deeds = (scene.effects("update"), scene.effects("delete"));
                    scene.run(again);
                    assert_eq!((scene.effects("update"), scene.effects("delete")), deeds, "killed at {at}");
                }
            });
        }
    });
    let places = last.load(Ordering::SeqCst);
    println!("{arguments:?}: {} places", places - 1);
    assert!(places > 10, "there are places to be killed at: the program is built for development");
}

#[test]
fn the_first_deployment() {
    at_every_place(&Scene::new(BEFORE), &["up", "--yes"], &["up", "--yes"]);
}

#[test]
fn a_change_of_everything() {
    let scene = Scene::new(BEFORE);
    scene.run(&["up", "--yes"]);
    scene.write(AFTER);
    at_every_place(&scene, &["up", "--yes"], &["up", "--yes"]);
}

#[test]
fn the_end_of_everything() {
    let scene = Scene::new(BEFORE);
    scene.run(&["up", "--yes"]);
    at_every_place(&scene, &["destroy", "--yes"], &["destroy", "--yes"]);
}

#[test]
fn a_look_at_everything() {
    let scene = Scene::new(BEFORE);
    scene.run(&["up", "--yes"]);
    at_every_place(&scene, &["refresh"], &["up", "--yes"]);
}

#[test]
fn a_new_key() {
    let scene = Scene::new(BEFORE);
    scene.run(&["up", "--yes"]);
    at_every_place(&scene, &["state", "key", "rotate"], &["up", "--yes"]);
}
