//! Where the frames of groups go on a page that is neither a strip nor a tower, and the ways of edges
//! between blocks: through the gaps between frames, never across a box.

use std::collections::HashMap;

use super::blocks::{Block, Drawing, PathOwner, blocks};
use super::layout::Path;

/// The page is about this many times as wide as it is high.
const SHAPE: f64 = 1.5;
/// The largest and the smallest ratio of width to height, if there is a choice.
const WIDEST: f64 = 1.85;
const NARROWEST: f64 = 0.65;
/// The shapes of groups to try.
const SHAPES: [f64; 4] = [0.6, 1.0, 1.5, 2.2];
/// A drawing with more boxes is placed in one shape only.
const MOST_TRIED: usize = 2_000;
/// The maximum number of columns to try.
const MOST_COLUMNS: usize = 16;
/// Between a frame and its boxes.
const PADDING: f64 = 16.0;
/// Room for the name of a frame.
const NAME: f64 = 24.0;
const FRAME_GAP: f64 = 40.0;
const BLOCK_GAP: f64 = 30.0;
const PAGE_COLUMN_GAP: f64 = 64.0;
/// How far edges in one gap are apart.
const TRACK: f64 = 6.0;

/// A rectangle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Area {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A point on the way of an edge between blocks, and whether the edge goes right there, or left.
pub(super) type Bend = (f64, f64, f64);

/// The way of edges of one kind from a block to a box in another one.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub(super) to: usize,
    pub(super) kind: usize,
    pub(super) bends: Vec<Bend>,
}

/// Where everything is.
#[derive(Clone, Debug, Default)]
pub(super) struct Page {
    /// Upper left corner of each box.
    pub(super) boxes: Vec<(f64, f64)>,
    /// One per group.
    pub(super) frames: Vec<Area>,
    /// The ways of edges inside blocks.
    pub(super) paths: Vec<(PathOwner, Path)>,
    pub(super) routes: Vec<Route>,
    pub(super) area: Area,
}

/// A group, placed.
struct Frame {
    blocks: Vec<Block>,
    width: f64,
    height: f64,
}

/// A gap between two frames or blocks of a column, and the edges that pass it.
struct Gap {
    top: f64,
    bottom: f64,
    is_inner: bool,
    tracks: HashMap<(usize, usize), f64>,
}

impl Gap {
    fn track(&mut self, to: usize, kind: usize) -> f64 {
        let room = ((self.bottom - self.top) / TRACK).floor().max(1.0);
        let next = self.tracks.len() as f64 % room;
        *self.tracks.entry((to, kind)).or_insert(self.top + (next + 0.5) * TRACK)
    }
}

/// Frames below each other.
#[derive(Default)]
struct Column {
    left: f64,
    right: f64,
    gaps: Vec<Gap>,
}

/// Places a drawing.
pub(super) fn place(drawing: &Drawing) -> Page {
    let shapes = if drawing.sizes.len() > MOST_TRIED { &SHAPES[1..2] } else { &SHAPES[..] };
    let tried = shapes.iter().map(|shape| {
        let frames: Vec<Frame> = blocks(drawing, *shape).into_iter().map(frame).collect();
        let columns = divide(&frames, drawing.has_shared);
        let (width, height) = extent(&frames, &columns);
        let ratio = width / height;
        let misfit = (ratio / WIDEST).max(NARROWEST / ratio).max(1.0);
        (misfit, width * height, frames, columns)
    });
    // The smallest of those that are neither too wide nor too high.
    let best = tried.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    match best {
        Some((_, _, frames, columns)) => arrange(drawing, &frames, &columns),
        None => Page::default(),
    }
}

fn frame(blocks: Vec<Block>) -> Frame {
    let width = blocks.iter().map(|block| block.layout.width).fold(0.0, f64::max);
    let height = blocks.iter().map(|block| block.layout.height + BLOCK_GAP).sum::<f64>() - BLOCK_GAP;
    Frame { blocks, width: width + 2.0 * PADDING, height: height + 2.0 * PADDING + NAME }
}

/// The frames of each column, by number: the division whose shape is best. A last frame with what
/// others share stands to the right of them.
fn divide(frames: &[Frame], has_shared: bool) -> Vec<Vec<usize>> {
    let (own, shared) = frames.split_at(frames.len().saturating_sub(usize::from(has_shared)));
    let total: f64 = own.iter().map(|frame| frame.height + FRAME_GAP).sum();
    let highest = own.iter().map(|frame| frame.height).fold(0.0, f64::max);
    let fill = |limit: f64| {
        let mut columns: Vec<Vec<usize>> = Vec::new();
        let mut height = f64::INFINITY;
        for (number, frame) in own.iter().enumerate() {
            match columns.last_mut().filter(|_| height + frame.height <= limit) {
                Some(column) => column.push(number),
                None => {
                    columns.push(vec![number]);
                    height = 0.0;
                }
            }
            height += frame.height + FRAME_GAP;
        }
        columns
    };
    // At most `count` columns, as even as possible without reordering the frames.
    let divided = |count: usize| {
        let least = (total / count as f64).max(highest);
        let limits = (0..40).map(|step| least * (1.0 + f64::from(step) * 0.05));
        let mut columns = limits.map(fill).find(|columns| columns.len() <= count).unwrap_or_default();
        columns.extend(shared.iter().map(|_| vec![own.len()]));
        columns
    };
    let misfit = |columns: &Vec<Vec<usize>>| {
        let (width, height) = extent(frames, columns);
        (width / height / SHAPE).ln().abs()
    };
    let tried = (1..=MOST_COLUMNS.min(own.len().max(1))).map(divided);
    tried.min_by(|a, b| misfit(a).total_cmp(&misfit(b))).unwrap_or_default()
}

fn extent(frames: &[Frame], columns: &[Vec<usize>]) -> (f64, f64) {
    let wide = |column: &Vec<usize>| column.iter().map(|frame| frames[*frame].width).fold(0.0, f64::max);
    let high =
        |column: &Vec<usize>| column.iter().map(|frame| frames[*frame].height + FRAME_GAP).sum::<f64>();
    let width = columns.iter().map(|column| wide(column) + PAGE_COLUMN_GAP).sum::<f64>();
    (width.max(1.0), columns.iter().map(high).fold(1.0, f64::max))
}

/// Where a block is.
#[derive(Clone, Copy)]
struct Spot {
    x: f64,
    y: f64,
    column: usize,
    /// The gap above it.
    gap: usize,
}

fn arrange(drawing: &Drawing, frames: &[Frame], divided: &[Vec<usize>]) -> Page {
    let mut page = Page {
        boxes: vec![(0.0, 0.0); drawing.sizes.len()],
        frames: vec![Area::default(); frames.len()],
        ..Page::default()
    };
    let mut columns: Vec<Column> = Vec::new();
    let mut spots: Vec<(Spot, &Block)> = Vec::new();
    let mut block_of = vec![0; drawing.sizes.len()];
    let mut x = 0.0;
    for members in divided {
        let mut column = Column { left: x, right: x, gaps: Vec::new() };
        let mut y = 0.0;
        let gap = |top: f64, bottom: f64, is_inner| Gap { top, bottom, is_inner, tracks: HashMap::new() };
        for number in members {
            let frame = &frames[*number];
            column.gaps.push(gap(y - FRAME_GAP + 4.0, y - 4.0, false));
            page.frames[*number] = Area { x, y, width: frame.width, height: frame.height };
            let mut below = y + PADDING + NAME;
            for (at, block) in frame.blocks.iter().enumerate() {
                if at > 0 {
                    column.gaps.push(gap(below - BLOCK_GAP + 3.0, below - 3.0, true));
                }
                let spot =
                    Spot { x: x + PADDING, y: below, column: columns.len(), gap: column.gaps.len() - 1 };
                for (member, (left, top)) in block.boxes.iter().zip(&block.layout.nodes) {
                    page.boxes[*member] = (spot.x + left, spot.y + top);
                    block_of[*member] = spots.len();
                }
                spots.push((spot, block));
                below += block.layout.height + BLOCK_GAP;
            }
            y += frame.height + FRAME_GAP;
            column.right = column.right.max(x + frame.width);
        }
        column.gaps.push(gap(y - FRAME_GAP + 4.0, y - 4.0, false));
        x = column.right + PAGE_COLUMN_GAP;
        columns.push(column);
    }
    for (spot, block) in &spots {
        for (part, path) in block.edges.iter().zip(&block.layout.paths) {
            let points = path.points.iter().map(|(x, y)| (spot.x + x, spot.y + y)).collect();
            page.paths.push((*part, Path { points, ends: path.ends }));
        }
    }
    for (spot, block) in &spots {
        for (key, (exit_x, exit_y)) in &block.exits {
            let (other, end) = spots[block_of[key.0]];
            let Some((entry_x, entry_y)) = end.entries.get(key) else { continue };
            let bends = route(
                &mut columns,
                *key,
                ((spot.x + exit_x, spot.y + exit_y), spot.column),
                ((other.x + entry_x, other.y + entry_y), other),
            );
            page.routes.push(Route { to: key.0, kind: key.1, bends });
        }
    }
    page.area = area(&page);
    page
}

/// From an exit through gaps to an entry.
fn route(
    columns: &mut [Column],
    (to, kind): (usize, usize),
    (exit, from): ((f64, f64), usize),
    (entry, end): ((f64, f64), Spot),
) -> Vec<Bend> {
    let mut bends = vec![(exit.0, exit.1, 1.0), (columns[from].right, exit.1, 1.0)];
    let mut y = exit.1;
    if from < end.column {
        for column in &mut columns[from + 1..end.column] {
            y = nearest(column, y).map_or(y, |gap| gap.track(to, kind));
            bends.extend([(column.left, y, 1.0), (column.right, y, 1.0)]);
        }
    } else {
        for (number, column) in columns.iter_mut().enumerate().take(from + 1).skip(end.column).rev() {
            let gap = if number == end.column { column.gaps.get_mut(end.gap) } else { nearest(column, y) };
            y = gap.map_or(y, |gap| gap.track(to, kind));
            bends.extend([(column.right, y, -1.0), (column.left, y, -1.0)]);
        }
    }
    bends.extend([(columns[end.column].left, entry.1, 1.0), (entry.0, entry.1, 1.0)]);
    bends
}

fn nearest(column: &mut Column, y: f64) -> Option<&mut Gap> {
    let far = |gap: &Gap| (f64::midpoint(gap.top, gap.bottom) - y).abs();
    column.gaps.iter_mut().filter(|gap| !gap.is_inner).min_by(|a, b| far(a).total_cmp(&far(b)))
}

/// The area that the picture must cover.
fn area(page: &Page) -> Area {
    let corners = page
        .frames
        .iter()
        .flat_map(|frame| [(frame.x, frame.y), (frame.x + frame.width, frame.y + frame.height)]);
    // A curve that reverses its direction extends beyond its points.
    let bends = page
        .routes
        .iter()
        .flat_map(|route| &route.bends)
        .flat_map(|(x, y, _)| [(x - 30.0, *y), (x + 30.0, *y)]);
    let points: Vec<(f64, f64)> = corners.chain(bends).collect();
    let least = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).fold(f64::INFINITY, f64::min);
    let most = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    if points.is_empty() {
        return Area::default();
    }
    let (x, y) = (least(|point| point.0), least(|point| point.1));
    Area { x, y, width: most(|point| point.0) - x, height: most(|point| point.1) - y }
}

#[cfg(test)]
mod tests;
