//! A picture is neither a strip nor a tower, and nothing in it overlaps.

use super::super::layout::{Link, Size};
use super::*;

const MANY: usize = 422;

fn drawing(links: &[(usize, usize)], groups: Vec<Vec<usize>>, has_shared: bool) -> Drawing {
    let count = groups.iter().map(Vec::len).sum();
    let size = |n: usize| Size { width: 90.0 + (n * 37 % 120) as f64, height: 57.0 };
    Drawing {
        sizes: (0..count).map(size).collect(),
        links: links.iter().map(|(from, to)| Link { from: *from, to: *to, kind: 1 }).collect(),
        order: (0..count).collect(),
        groups,
        has_shared,
        first_count: count,
    }
}

fn overlap(a: Area, b: Area) -> bool {
    let apart = |a: f64, length: f64, b: f64| a + length <= b + 0.01;
    !(apart(a.x, a.width, b.x)
        || apart(b.x, b.width, a.x)
        || apart(a.y, a.height, b.y)
        || apart(b.y, b.height, a.y))
}

#[track_caller]
fn is_readable(name: &str, drawing: &Drawing) {
    let page = place(drawing);
    let ratio = page.area.width / page.area.height;
    assert!((0.5..=2.0).contains(&ratio), "{name}: {} x {}", page.area.width, page.area.height);
    let area = |n: usize| {
        let ((x, y), Size { width, height }) = (page.boxes[n], drawing.sizes[n]);
        Area { x, y, width, height }
    };
    for a in 0..drawing.sizes.len() {
        assert!((0..a).all(|b| !overlap(area(a), area(b))), "{name}: box {a}");
    }
    for (number, (frame, group)) in page.frames.iter().zip(&drawing.groups).enumerate() {
        assert!(page.frames[..number].iter().all(|other| !overlap(*frame, *other)), "{name}: frame {number}");
        for own in group.iter().map(|member| area(*member)) {
            assert!(frame.x < own.x && own.x + own.width < frame.x + frame.width, "{name}: frame {number}");
            assert!(frame.y < own.y && own.y + own.height < frame.y + frame.height, "{name}: frame {number}");
        }
    }
}

#[test]
fn many_boxes_make_a_picture() {
    let one = || vec![(0..MANY).collect::<Vec<_>>()];
    let chain: Vec<_> = (1..MANY).map(|n| (n - 1, n)).collect();
    let layers = (42..MANY).flat_map(|n| [(n - 42, n), (n - 41, n)]);
    let layers: Vec<_> = layers.filter(|(a, b)| a / 42 < b / 42).collect();
    let star: Vec<_> = (1..MANY).map(|n| (0, n)).collect();
    is_readable("independent", &drawing(&[], one(), true));
    is_readable("chain", &drawing(&chain, one(), true));
    is_readable("layers", &drawing(&layers, one(), true));
    is_readable("star", &drawing(&star, one(), false));
}

#[test]
fn many_frames_make_a_picture() {
    // Forty workloads of eight resources, which use some of a hundred others.
    let mut groups: Vec<Vec<usize>> = (0..40).map(|w| (w * 8..w * 8 + 8).collect()).collect();
    groups.push((320..MANY).collect());
    let own = (0..320).filter(|n| n % 8 > 0).map(|n| (n / 8 * 8, n));
    let shared = (0..320).step_by(3).map(|n| (n, 320 + n % 102));
    let links: Vec<_> = own.chain(shared).collect();
    is_readable("workloads", &drawing(&links, groups, true));
    let chain: Vec<_> = (1..MANY).map(|n| (n - 1, n)).collect();
    is_readable("alone", &drawing(&chain, (0..MANY).map(|n| vec![n]).collect(), false));
}

#[test]
fn an_edge_back_goes_through_gaps() {
    let page = place(&drawing(&[(0, 1), (1, 0)], vec![vec![0], vec![1]], false));
    assert_eq!(page.routes.len(), 2);
    for (x, y, direction) in page.routes.iter().flat_map(|route| &route.bends) {
        let point = Area { x: *x, y: *y, width: 0.0, height: 0.0 };
        assert!(*direction > 0.0 || page.frames.iter().all(|frame| !overlap(*frame, point)));
    }
}
