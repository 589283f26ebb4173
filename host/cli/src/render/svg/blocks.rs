//! Divides each group of boxes into blocks: so many columns next to each other that the group has about
//! a given shape, and the rest below. Edges between blocks begin and end at ports, one per end and kind.

use std::collections::BTreeMap;

use super::super::clusters::layers;
use super::layout::{self, COLUMN_GAP, Layout, Link, ROW_GAP, Size};

/// A layer is split only if it has more rows.
const LEAST_ROWS: usize = 4;
/// A group with more columns may be divided into blocks.
const MOST_COLUMNS: usize = 8;

/// Boxes, edges between them, and how the boxes are grouped.
#[derive(Clone, Debug, Default)]
pub(super) struct Drawing {
    pub(super) sizes: Vec<Size>,
    pub(super) links: Vec<Link>,
    /// Each box after all whose edges lead to it.
    pub(super) order: Vec<usize>,
    pub(super) groups: Vec<Vec<usize>>,
    /// Whether the last group holds the resources that the other groups share.
    pub(super) has_shared: bool,
    /// The first box with a count in place of other boxes. Each is next to the box that it leads to.
    pub(super) first_count: usize,
}

/// Some boxes of a group, placed.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    pub(super) boxes: Vec<usize>,
    /// Its boxes, then its ports.
    pub(super) layout: Layout,
    /// The edge of each path, in the order of the paths; none for what several share.
    pub(super) edges: Vec<PathOwner>,
    /// The places where edges come in and leave, by end and kind.
    pub(super) entries: BTreeMap<(usize, usize), (f64, f64)>,
    pub(super) exits: BTreeMap<(usize, usize), (f64, f64)>,
}

/// The edge, or the bundle of edges, that a path of a block belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathOwner {
    /// An edge by number.
    Edge(usize),
    /// All edges of a kind from other blocks to a box.
    Entry { to: usize, kind: usize },
}

/// Where a box is: its block, and its column in it.
#[derive(Clone, Copy, Debug, Default)]
struct Seat {
    block: usize,
    column: usize,
}

/// The blocks of each group. A group is about `shape` times as wide as it is high.
pub(super) fn blocks(drawing: &Drawing, shape: f64) -> Vec<Vec<Block>> {
    let mut seats = vec![Seat::default(); drawing.sizes.len()];
    let mut group_of = vec![0; drawing.sizes.len()];
    for (number, group) in drawing.groups.iter().enumerate() {
        group.iter().for_each(|member| group_of[*member] = number);
    }
    let is_own = |link: &&Link| group_of[link.from] == group_of[link.to];
    let own = drawing.links.iter().filter(is_own).map(|link| (link.from, link.to));
    let mut layers = layers(drawing.sizes.len(), own, &drawing.order);
    for link in drawing.links.iter().filter(|link| link.from >= drawing.first_count) {
        layers[link.from] = layers[link.to].saturating_sub(1);
    }
    let mut groups: Vec<Vec<Block>> = Vec::new();
    let mut count = 0;
    for group in &drawing.groups {
        let columns = columns(drawing, group, &layers, shape);
        let wide = columns_per_block(drawing, group, &columns, shape);
        let mut own = Vec::new();
        for block in columns.chunks(wide) {
            for (column, members) in block.iter().enumerate() {
                members.iter().for_each(|member| seats[*member] = Seat { block: count, column });
            }
            own.push(Block { boxes: block.concat(), ..Block::default() });
            count += 1;
        }
        groups.push(own);
    }
    let mut links: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (number, link) in drawing.links.iter().enumerate() {
        let (from, to) = (seats[link.from].block, seats[link.to].block);
        links[from].push(number);
        if to != from {
            links[to].push(number);
        }
    }
    for (number, block) in groups.iter_mut().flatten().enumerate() {
        fill(block, number, &links[number], drawing, &seats);
    }
    groups
}

fn mean(drawing: &Drawing, group: &[usize], of: fn(&Size) -> f64) -> f64 {
    group.iter().map(|member| of(&drawing.sizes[*member])).sum::<f64>() / group.len().max(1) as f64
}

/// The columns of a group: its layers, those that are too high split into several.
fn columns(drawing: &Drawing, group: &[usize], layers: &[usize], shape: f64) -> Vec<Vec<usize>> {
    let mut by_layer: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for member in group {
        by_layer.entry(layers[*member]).or_default().push(*member);
    }
    let width = mean(drawing, group, |size| size.width) + COLUMN_GAP;
    let height = mean(drawing, group, |size| size.height) + ROW_GAP;
    let highest = by_layer.values().map(Vec::len).max().unwrap_or(1);
    // The columns of a layer are even.
    let even = |layer: &Vec<usize>, rows: usize| layer.len().div_ceil(layer.len().div_ceil(rows));
    let fits = |rows: &usize| {
        let columns: usize = by_layer.values().map(|layer| layer.len().div_ceil(*rows)).sum();
        let rows = by_layer.values().map(|layer| even(layer, *rows)).max().unwrap_or(1);
        columns as f64 * width <= shape * rows as f64 * height
    };
    let rows = (LEAST_ROWS.min(highest)..highest).find(fits).unwrap_or(highest);
    let split =
        |layer: &Vec<usize>| layer.chunks(even(layer, rows)).map(<[usize]>::to_vec).collect::<Vec<_>>();
    by_layer.values().flat_map(split).collect()
}

/// How many columns a block has: all of them, unless they are many and make a strip.
fn columns_per_block(drawing: &Drawing, group: &[usize], columns: &[Vec<usize>], shape: f64) -> usize {
    if columns.len() <= MOST_COLUMNS {
        return columns.len().max(1);
    }
    let width = columns.len() as f64 * (mean(drawing, group, |size| size.width) + COLUMN_GAP);
    let rows = columns.iter().map(Vec::len).max().unwrap_or(1);
    let height = rows as f64 * (mean(drawing, group, |size| size.height) + ROW_GAP) + 3.0 * ROW_GAP;
    let blocks = (width / (shape * height)).sqrt().floor().max(1.0);
    columns.len().div_ceil(blocks as usize).max(1)
}

/// Places the boxes of a block. `links` are the numbers of the edges that begin or end in it.
fn fill(block: &mut Block, number: usize, links: &[usize], drawing: &Drawing, seats: &[Seat]) {
    let mut sizes: Vec<Size> = block.boxes.iter().map(|member| drawing.sizes[*member]).collect();
    // Column 0 is for entries.
    let mut column: Vec<usize> = block.boxes.iter().map(|member| seats[*member].column + 1).collect();
    let last = column.iter().max().map_or(1, |last| last + 1);
    let at: BTreeMap<usize, usize> =
        block.boxes.iter().enumerate().map(|(at, member)| (*member, at)).collect();
    let (mut entries, mut exits) = (BTreeMap::new(), BTreeMap::new());
    let mut own: Vec<Link> = Vec::new();
    let mut port = |ports: &mut BTreeMap<(usize, usize), usize>, link: &Link, at: usize| {
        let mut is_new = false;
        let port = *ports.entry((link.to, link.kind)).or_insert_with(|| {
            is_new = true;
            sizes.push(Size::PORT);
            column.push(at);
            sizes.len() - 1
        });
        (port, is_new)
    };
    for edge in links {
        let link = &drawing.links[*edge];
        match (seats[link.from].block == number, seats[link.to].block == number) {
            (true, true) => {
                own.push(Link { from: at[&link.from], to: at[&link.to], kind: link.kind });
                block.edges.push(PathOwner::Edge(*edge));
            }
            (true, false) => {
                let (port, _) = port(&mut exits, link, last);
                own.push(Link { from: at[&link.from], to: port, kind: link.kind });
                block.edges.push(PathOwner::Edge(*edge));
            }
            _ => {
                let (port, is_new) = port(&mut entries, link, 0);
                if is_new {
                    own.push(Link { from: port, to: at[&link.to], kind: link.kind });
                    block.edges.push(PathOwner::Entry { to: link.to, kind: link.kind });
                }
            }
        }
    }
    block.layout = layout::layout(&sizes, &own, &column);
    let place = |(key, port): (&(usize, usize), &usize)| {
        let (x, y) = block.layout.nodes[*port];
        (*key, (x, y + Size::PORT.height / 2.0))
    };
    block.entries = entries.iter().map(place).collect();
    block.exits = exits.iter().map(place).collect();
}
