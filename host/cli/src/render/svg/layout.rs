//! Computes the positions of boxes and curves: layers from left to right, few crossings, neighbours
//! at similar heights. It knows sizes and numbers, but no resources.

/// A width and a height in pixels.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    pub(super) width: f64,
    pub(super) height: f64,
}

/// The position of everything.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    /// The upper left corner of each node.
    pub(super) nodes: Vec<(f64, f64)>,
    /// The points that each edge passes through, in the order of the edges.
    pub(super) edges: Vec<Vec<(f64, f64)>>,
    pub(super) width: f64,
    pub(super) height: f64,
}

const COLUMN_GAP: f64 = 72.0;
const ROW_GAP: f64 = 16.0;
/// The height that an edge takes where it passes a layer.
const LANE: f64 = 6.0;
/// The maximum number of bends. With more, the layout would take too long, so long edges are
/// straight.
const MOST_BENDS: usize = 20_000;
const SWEEPS: usize = 12;

/// Something with a position in a layer: a node, or a bend of a long edge.
struct Item {
    height: f64,
    left: Vec<usize>,
    right: Vec<usize>,
}

/// Places nodes and edges `(from, to)`, which go from left to right. `order` contains each node
/// after all nodes with edges to it.
pub(super) fn layout(sizes: &[Size], edges: &[(usize, usize)], order: &[usize]) -> Layout {
    if sizes.is_empty() {
        return Layout::default();
    }
    let layer = layers(sizes.len(), edges, order);
    let mut items: Vec<Item> =
        sizes.iter().map(|size| Item { height: size.height, left: vec![], right: vec![] }).collect();
    let mut columns: Vec<Vec<usize>> = vec![Vec::new(); layer.iter().max().map_or(0, |last| last + 1)];
    for node in order {
        columns[layer[*node]].push(*node);
    }
    let span = |&(from, to): &(usize, usize)| layer[to].saturating_sub(layer[from] + 1);
    let bend = edges.iter().map(span).sum::<usize>() <= MOST_BENDS;
    let mut chains: Vec<Vec<usize>> = Vec::with_capacity(edges.len());
    for &(from, to) in edges {
        let mut chain = vec![from];
        if bend {
            for column in columns.iter_mut().take(layer[to]).skip(layer[from] + 1) {
                column.push(items.len());
                chain.push(items.len());
                items.push(Item { height: LANE, left: vec![], right: vec![] });
            }
        }
        chain.push(to);
        for pair in chain.windows(2) {
            items[pair[0]].right.push(pair[1]);
            items[pair[1]].left.push(pair[0]);
        }
        chains.push(chain);
    }
    uncross(&mut columns, &items);
    let middle = heights(&columns, &items);
    place(sizes, &layer, &columns, &chains, &middle)
}

/// The layer of each node: one to the right of the rightmost node with an edge to it.
fn layers(nodes: usize, edges: &[(usize, usize)], order: &[usize]) -> Vec<usize> {
    let mut below = vec![Vec::new(); nodes];
    for (from, to) in edges {
        below[*from].push(*to);
    }
    let mut layer = vec![0; nodes];
    for node in order {
        for to in &below[*node] {
            layer[*to] = layer[*to].max(layer[*node] + 1);
        }
    }
    layer
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

fn place(
    sizes: &[Size],
    layer: &[usize],
    columns: &[Vec<usize>],
    chains: &[Vec<usize>],
    middle: &[f64],
) -> Layout {
    let mut lefts = Vec::with_capacity(columns.len());
    let mut x = 0.0;
    for column in columns {
        let widest =
            column.iter().filter_map(|item| sizes.get(*item)).map(|size| size.width).fold(0.0, f64::max);
        lefts.push((x, widest));
        x += widest + COLUMN_GAP;
    }
    let reach = |item: usize| sizes.get(item).map_or(LANE, |size| size.height) / 2.0;
    let top = (0..middle.len()).map(|item| middle[item] - reach(item)).fold(f64::INFINITY, f64::min);
    let bottom = (0..middle.len()).map(|item| middle[item] + reach(item)).fold(f64::NEG_INFINITY, f64::max);
    let column_of: Vec<usize> = {
        let mut of = vec![0; middle.len()];
        columns.iter().enumerate().for_each(|(at, column)| column.iter().for_each(|item| of[*item] = at));
        of
    };
    let nodes: Vec<(f64, f64)> = sizes
        .iter()
        .enumerate()
        .map(|(node, size)| (lefts[layer[node]].0, middle[node] - size.height / 2.0 - top))
        .collect();
    let starts = ports(chains, sizes, middle, |chain| (chain.first().copied(), chain.get(1).copied()));
    let ends =
        ports(chains, sizes, middle, |chain| (chain.last().copied(), chain.iter().rev().nth(1).copied()));
    let edges = chains
        .iter()
        .enumerate()
        .map(|(number, chain)| {
            let mut points = Vec::with_capacity(chain.len() * 2);
            for (position, item) in chain.iter().enumerate() {
                let (left, widest) = lefts[column_of[*item]];
                let y = middle[*item] - top;
                if position == 0 {
                    let right = left + sizes.get(*item).map_or(widest, |size| size.width);
                    points.push((right, y + starts[number]));
                    // An edge stays at its height until it has left the column, so that it does not
                    // cross a wider box.
                    if right + 1.0 < left + widest {
                        points.push((left + widest, y + starts[number]));
                    }
                } else if position + 1 == chain.len() {
                    points.push((left, y + ends[number]));
                } else {
                    points.extend([(left, y), (left + widest, y)]);
                }
            }
            points
        })
        .collect();
    Layout { nodes, edges, width: (x - COLUMN_GAP).max(0.0), height: bottom - top }
}

/// Where on the side of its box each edge ends, relative to the middle: in the order of the other
/// ends, so that edges do not cross at the box.
fn ports(
    chains: &[Vec<usize>],
    sizes: &[Size],
    middle: &[f64],
    ends: impl Fn(&[usize]) -> (Option<usize>, Option<usize>),
) -> Vec<f64> {
    let mut at: Vec<Vec<(f64, usize)>> = vec![Vec::new(); sizes.len()];
    for (number, chain) in chains.iter().enumerate() {
        if let (Some(node), Some(other)) = ends(chain) {
            at[node].push((middle[other], number));
        }
    }
    let mut offset = vec![0.0; chains.len()];
    for (node, mut list) in at.into_iter().enumerate() {
        list.sort_by(|a, b| a.0.total_cmp(&b.0));
        let step = ((sizes[node].height - 20.0) / list.len() as f64).min(9.0);
        let first = -(list.len().saturating_sub(1) as f64) / 2.0;
        for (position, (_, number)) in list.into_iter().enumerate() {
            offset[number] = (first + position as f64) * step;
        }
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn boxes_never_overlap_and_edges_go_right(
            pairs in proptest::collection::vec((0usize..30, 0usize..30), 0..80),
            widths in proptest::collection::vec(40.0f64..300.0, 30),
        ) {
            let sizes: Vec<Size> = widths.iter().map(|width| Size { width: *width, height: 50.0 }).collect();
            let edges: Vec<_> = pairs.into_iter().filter(|(a, b)| a < b).collect();
            let order: Vec<usize> = (0..30).collect();
            let layout = layout(&sizes, &edges, &order);
            for a in 0..30 {
                for b in 0..a {
                    let ((ax, ay), (bx, by)) = (layout.nodes[a], layout.nodes[b]);
                    let apart = ax + sizes[a].width <= bx || bx + sizes[b].width <= ax
                        || ay + 50.0 <= by + 1e-6 || by + 50.0 <= ay + 1e-6;
                    prop_assert!(apart, "{a} and {b} overlap");
                }
                prop_assert!(layout.nodes[a].1 >= -1e-6 && layout.nodes[a].1 + 50.0 <= layout.height + 1e-6);
            }
            for points in &layout.edges {
                prop_assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0 + 1e-6));
            }
        }

        #[test]
        fn inversions_are_counted(mut list in proptest::collection::vec(0usize..20, 0..40)) {
            let slow = (0..list.len()).flat_map(|b| (0..b).map(move |a| (a, b))).filter(|(a, b)| list[*a] > list[*b]).count();
            prop_assert_eq!(inversions(&mut list), slow);
        }
    }

    #[test]
    fn a_large_graph_is_placed_in_time() {
        let sizes = vec![Size { width: 100.0, height: 50.0 }; 20_000];
        let edges: Vec<_> =
            (2000..20_000).flat_map(|n| [(n - 2000, n), (n - 1999, n)]).filter(|(a, b)| a < b).collect();
        let order: Vec<usize> = (0..20_000).collect();
        let begin = std::time::Instant::now();
        let placed = layout(&sizes, &edges, &order);
        assert_eq!(placed.edges.len(), edges.len());
        assert!(begin.elapsed().as_secs() < 20);
    }
}
