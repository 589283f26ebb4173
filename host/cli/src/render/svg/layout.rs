//! Where boxes and curves of one block go: columns from left to right, few crossings, neighbours level
//! with each other. It knows sizes and numbers, not resources.

use std::collections::{HashMap, HashSet};

/// A width and a height in pixels.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Size {
    /// A place at the side of a block through which edges pass.
    pub(super) const PORT: Self = Self { width: 0.0, height: LANE };

    fn is_port(self) -> bool {
        self.width <= 0.0
    }
}

/// An edge. Those of one kind to the same end share their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) kind: usize,
}

/// The way of an edge.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Path {
    pub(super) points: Vec<(f64, f64)>,
    /// Whether it leads to the end; otherwise to another edge, which it joins.
    pub(super) ends: bool,
}

/// The position of everything.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    /// The upper left corner of each node.
    pub(super) nodes: Vec<(f64, f64)>,
    /// The way of each edge, in the order of the edges.
    pub(super) paths: Vec<Path>,
    pub(super) width: f64,
    pub(super) height: f64,
}

pub(super) const COLUMN_GAP: f64 = 56.0;
pub(super) const ROW_GAP: f64 = 12.0;
/// Between ports and boxes.
const PORT_GAP: f64 = 26.0;
/// Room that an edge takes on its way past a column.
const LANE: f64 = 6.0;
/// The maximum number of bends. With more, the layout would take too long, so long edges are
/// straight.
const MOST_BENDS: usize = 20_000;
const SWEEPS: usize = 12;

/// Something with a place in a column: a node, or a bend of a long edge.
struct Item {
    height: f64,
    left: Vec<usize>,
    right: Vec<usize>,
}

/// Places nodes in their columns. Each edge leads to a column further right.
pub(super) fn layout(sizes: &[Size], links: &[Link], column_of: &[usize]) -> Layout {
    if sizes.is_empty() {
        return Layout::default();
    }
    let mut items: Vec<Item> =
        sizes.iter().map(|size| Item { height: size.height, left: vec![], right: vec![] }).collect();
    let mut columns: Vec<Vec<usize>> = vec![Vec::new(); column_of.iter().max().map_or(0, |last| last + 1)];
    for (node, column) in column_of.iter().enumerate() {
        columns[*column].push(node);
    }
    let chains = chains(links, column_of, &mut items, &mut columns);
    let mut joined: Vec<(usize, usize)> =
        chains.iter().flat_map(|chain| chain.windows(2)).map(|pair| (pair[0], pair[1])).collect();
    joined.sort_unstable();
    joined.dedup();
    for (from, to) in joined {
        items[from].right.push(to);
        items[to].left.push(from);
    }
    uncross(&mut columns, &items);
    let middle = heights(&columns, &items);
    place(sizes, &columns, &chains, &middle)
}

/// The items that each edge passes: its ends, and a bend in each column between them.
fn chains(
    links: &[Link],
    column_of: &[usize],
    items: &mut Vec<Item>,
    columns: &mut [Vec<usize>],
) -> Vec<Vec<usize>> {
    let span = |link: &Link| column_of[link.to].saturating_sub(column_of[link.from] + 1);
    let bend = links.iter().map(span).sum::<usize>() <= MOST_BENDS;
    let mut bends: HashMap<(usize, usize, usize), usize> = HashMap::new();
    let mut chain = |link: &Link| {
        let mut chain = vec![link.from];
        let between = if bend { column_of[link.from] + 1..column_of[link.to] } else { 0..0 };
        for column in between {
            let item = *bends.entry((link.to, link.kind, column)).or_insert_with(|| {
                columns[column].push(items.len());
                items.push(Item { height: LANE, left: vec![], right: vec![] });
                items.len() - 1
            });
            chain.push(item);
        }
        chain.push(link.to);
        chain
    };
    links.iter().map(&mut chain).collect()
}

/// Orders each column by the mean position of its neighbours, in sweeps in both directions, and
/// keeps the best result.
fn uncross(columns: &mut Vec<Vec<usize>>, items: &[Item]) {
    let mut rank = vec![0usize; items.len()];
    let number = |columns: &[Vec<usize>], rank: &mut [usize]| {
        for column in columns {
            for (position, item) in column.iter().enumerate() {
                rank[*item] = position;
            }
        }
    };
    number(columns, &mut rank);
    let mut best = (crossings(columns, items, &rank), columns.clone());
    for sweep in 0..SWEEPS {
        if best.0 == 0 {
            break;
        }
        let rightwards = sweep % 2 == 0;
        let many = columns.len();
        for step in 0..many {
            let column = &mut columns[if rightwards { step } else { many - 1 - step }];
            let mut keyed: Vec<(f64, usize)> = column
                .iter()
                .map(|item| {
                    let near = if rightwards { &items[*item].left } else { &items[*item].right };
                    let mean = near.iter().map(|n| rank[*n] as f64).sum::<f64>() / near.len() as f64;
                    (if near.is_empty() { rank[*item] as f64 } else { mean }, *item)
                })
                .collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            *column = keyed.into_iter().map(|(_, item)| item).collect();
            for (position, item) in column.iter().enumerate() {
                rank[*item] = position;
            }
        }
        let now = crossings(columns, items, &rank);
        if now < best.0 {
            best = (now, columns.clone());
        }
    }
    *columns = best.1;
}

/// The number of crossing pairs of edges, found by counting inversions.
fn crossings(columns: &[Vec<usize>], items: &[Item], rank: &[usize]) -> usize {
    let mut total = 0;
    for column in columns {
        let mut ends: Vec<usize> = Vec::new();
        for item in column {
            let mut right: Vec<usize> = items[*item].right.iter().map(|to| rank[*to]).collect();
            right.sort_unstable();
            ends.extend(right);
        }
        total += inversions(&mut ends);
    }
    total
}

fn inversions(list: &mut Vec<usize>) -> usize {
    if list.len() < 2 {
        return 0;
    }
    let mut right = list.split_off(list.len() / 2);
    let mut total = inversions(list) + inversions(&mut right);
    let left = std::mem::take(list);
    let (mut l, mut r) = (0, 0);
    while l < left.len() || r < right.len() {
        if r == right.len() || (l < left.len() && left[l] <= right[r]) {
            list.push(left[l]);
            l += 1;
        } else {
            total += left.len() - l;
            list.push(right[r]);
            r += 1;
        }
    }
    total
}

/// The vertical middle of each item: as close to the mean of its neighbours as the order of its
/// column and the gaps allow.
fn heights(columns: &[Vec<usize>], items: &[Item]) -> Vec<f64> {
    let gap = |a: usize, b: usize| {
        let gap = if items[a].height <= LANE && items[b].height <= LANE { LANE } else { ROW_GAP };
        f64::midpoint(items[a].height, items[b].height) + gap
    };
    let mut middle = vec![0.0; items.len()];
    for column in columns {
        let mut y = 0.0;
        for (position, item) in column.iter().enumerate() {
            if let Some(before) = position.checked_sub(1) {
                y += gap(column[before], *item);
            }
            middle[*item] = y;
        }
        // Initially, all columns are centred on one another.
        column.iter().for_each(|item| middle[*item] -= y / 2.0);
    }
    for sweep in 0..SWEEPS {
        let many = columns.len();
        for step in 0..many {
            let column = &columns[if sweep % 2 == 0 { step } else { many - 1 - step }];
            let wanted: Vec<f64> = column
                .iter()
                .map(|item| {
                    let (left, right) = (&items[*item].left, &items[*item].right);
                    let near = left.len() + right.len();
                    let sum: f64 = left.iter().chain(right).map(|n| middle[*n]).sum();
                    if near == 0 { middle[*item] } else { sum / near as f64 }
                })
                .collect();
            spread(column, &wanted, &mut middle, gap);
        }
    }
    middle
}

/// Gives the items of a column the heights with the least squared difference from the wanted ones
/// that keep the gaps, by pooling neighbours that are too close.
fn spread(column: &[usize], wanted: &[f64], middle: &mut [f64], gap: impl Fn(usize, usize) -> f64) {
    let mut offset = 0.0;
    let mut offsets = Vec::with_capacity(column.len());
    // Each pool is the sum of its wanted heights minus offsets, and the number of its members.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for (position, item) in column.iter().enumerate() {
        if let Some(before) = position.checked_sub(1) {
            offset += gap(column[before], *item);
        }
        offsets.push(offset);
        let mut pool = (wanted[position] - offset, 1);
        while let Some(last) = pools.last() {
            if last.0 / last.1 as f64 <= pool.0 / pool.1 as f64 {
                break;
            }
            pool = (pool.0 + last.0, pool.1 + last.1);
            pools.pop();
        }
        pools.push(pool);
    }
    let places = pools.iter().flat_map(|(sum, members)| std::iter::repeat_n(sum / *members as f64, *members));
    for ((item, offset), place) in column.iter().zip(offsets).zip(places) {
        middle[*item] = place + offset;
    }
}

fn place(sizes: &[Size], columns: &[Vec<usize>], chains: &[Vec<usize>], middle: &[f64]) -> Layout {
    let mut lefts: Vec<(f64, f64)> = Vec::with_capacity(columns.len());
    let (mut x, mut width) = (0.0, 0.0);
    for column in columns {
        let widest =
            column.iter().filter_map(|item| sizes.get(*item)).map(|size| size.width).fold(0.0, f64::max);
        // Ports stand close to the boxes.
        if let Some((left, before)) = lefts.last().filter(|_| x > 0.0 || widest > 0.0) {
            let gap = if *before > 0.0 && widest > 0.0 { COLUMN_GAP } else { PORT_GAP };
            x = left + before + gap;
        }
        lefts.push((x, widest));
        width = x + widest;
    }
    let reach = |item: usize| sizes.get(item).map_or(LANE, |size| size.height) / 2.0;
    let top = (0..middle.len()).map(|item| middle[item] - reach(item)).fold(f64::INFINITY, f64::min);
    let bottom = (0..middle.len()).map(|item| middle[item] + reach(item)).fold(f64::NEG_INFINITY, f64::max);
    let mut column_of = vec![0; middle.len()];
    for (at, column) in columns.iter().enumerate() {
        column.iter().for_each(|item| column_of[*item] = at);
    }
    let corner =
        |(node, size): (usize, &Size)| (lefts[column_of[node]].0, middle[node] - size.height / 2.0 - top);
    let nodes: Vec<(f64, f64)> = sizes.iter().enumerate().map(corner).collect();
    let starts = ports(chains.iter().map(|chain| (chain[0], chain[1])), sizes, middle);
    let ends =
        ports(chains.iter().map(|chain| (chain[chain.len() - 1], chain[chain.len() - 2])), sizes, middle);
    let mut drawn: HashSet<(usize, usize)> = HashSet::new();
    let path = |chain: &Vec<usize>| {
        let mut path = Path::default();
        for pair in chain.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            if !drawn.insert((from, to)) {
                return path;
            }
            let ((left, widest), y) = (lefts[column_of[from]], middle[from] - top);
            let y = y + starts.get(&(from, to)).copied().unwrap_or_default();
            let right = left + sizes.get(from).map_or(widest, |size| size.width);
            path.points.push((right, y));
            // Out of its column an edge keeps its height, so as not to cross a wider box.
            if right + 1.0 < left + widest {
                path.points.push((left + widest, y));
            }
            let y = middle[to] - top + ends.get(&(to, from)).copied().unwrap_or_default();
            path.points.push((lefts[column_of[to]].0, y));
        }
        path.ends = true;
        path
    };
    let paths = chains.iter().map(path).collect();
    Layout { nodes, paths, width, height: bottom - top }
}

/// How far from the middle of a box's side each edge `(box, other end)` touches it: in the order of the
/// other ends, so that edges do not cross right at the box.
fn ports(
    ends: impl Iterator<Item = (usize, usize)>,
    sizes: &[Size],
    middle: &[f64],
) -> HashMap<(usize, usize), f64> {
    let mut at: Vec<Vec<usize>> = vec![Vec::new(); sizes.len()];
    for (node, other) in ends {
        at[node].push(other);
    }
    let mut offsets = HashMap::new();
    for (node, mut others) in at.into_iter().enumerate() {
        others.sort_by(|a, b| middle[*a].total_cmp(&middle[*b]).then(a.cmp(b)));
        others.dedup();
        let room = if sizes[node].is_port() { 0.0 } else { (sizes[node].height - 20.0).max(0.0) };
        let step = (room / others.len() as f64).min(9.0);
        let first = -(others.len().saturating_sub(1) as f64) / 2.0;
        for (position, other) in others.into_iter().enumerate() {
            offsets.insert((node, other), (first + position as f64) * step);
        }
    }
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn boxes_never_overlap_and_edges_go_right(
            pairs in proptest::collection::vec((0usize..30, 0usize..30, 0usize..2), 0..80),
            widths in proptest::collection::vec(40.0f64..300.0, 30),
        ) {
            let sizes: Vec<Size> = widths.iter().map(|width| Size { width: *width, height: 50.0 }).collect();
            let columns: Vec<usize> = (0..30).map(|node| node / 4).collect();
            let is_right = |(a, b, _): &(usize, usize, usize)| columns[*a] < columns[*b];
            let links = pairs.into_iter().filter(is_right).map(|(from, to, kind)| Link { from, to, kind });
            let links: Vec<Link> = links.collect();
            let layout = layout(&sizes, &links, &columns);
            for a in 0..30 {
                for b in 0..a {
                    let ((ax, ay), (bx, by)) = (layout.nodes[a], layout.nodes[b]);
                    let apart = ax + sizes[a].width <= bx || bx + sizes[b].width <= ax
                        || ay + 50.0 <= by + 1e-6 || by + 50.0 <= ay + 1e-6;
                    prop_assert!(apart, "{a} and {b} overlap");
                }
                prop_assert!(layout.nodes[a].1 >= -1e-6 && layout.nodes[a].1 + 50.0 <= layout.height + 1e-6);
                prop_assert!(layout.nodes[a].0 + sizes[a].width <= layout.width + 1e-6);
            }
            for path in &layout.paths {
                prop_assert!(path.points.windows(2).all(|pair| pair[0].0 < pair[1].0 + 1e-6));
            }
        }

        #[test]
        fn inversions_are_counted(mut list in proptest::collection::vec(0usize..20, 0..40)) {
            let slow = (0..list.len()).flat_map(|b| (0..b).map(move |a| (a, b))).filter(|(a, b)| list[*a] > list[*b]).count();
            prop_assert_eq!(inversions(&mut list), slow);
        }
    }

    #[test]
    fn edges_of_one_kind_share_their_way() {
        let sizes = vec![Size { width: 50.0, height: 50.0 }; 4];
        let link = |from, kind| Link { from, to: 3, kind };
        let layout = layout(&sizes, &[link(0, 0), link(1, 0), link(2, 1)], &[0, 0, 0, 2]);
        let ends: Vec<bool> = layout.paths.iter().map(|path| path.ends).collect();
        assert_eq!(ends, [true, false, true]);
    }

    #[test]
    fn a_large_graph_is_placed_in_time() {
        let sizes = vec![Size { width: 100.0, height: 50.0 }; 20_000];
        let columns: Vec<usize> = (0..20_000).map(|node| node / 2_000).collect();
        let below = |n: usize| [(n - 2_000, n), (n - 1_999, n)];
        let links: Vec<Link> = (2_000..20_000)
            .flat_map(below)
            .filter(|(a, b)| columns[*a] < columns[*b])
            .map(|(from, to)| Link { from, to, kind: 0 })
            .collect();
        let begin = std::time::Instant::now();
        let placed = layout(&sizes, &links, &columns);
        assert_eq!(placed.paths.len(), links.len());
        // Exponential time is far longer, and a busy machine is not that slow.
        assert!(begin.elapsed().as_secs() < 300);
    }
}
