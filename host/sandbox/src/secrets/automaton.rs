//! All needles at once: an automaton that reads a text once, however many needles there are (A. Aho,
//! M. Corasick: Efficient string matching, 1975).
//!
//! We implement it because it holds secrets: the structures of libraries cannot be overwritten
//! afterwards. States are numbered level by level, so that the children of a state are adjacent and
//! a state takes 13 bytes.

use std::ops::Range;

use zeroize::Zeroize as _;

/// The state before anything was read.
const ROOT: usize = 0;

/// An automaton for a set of needles.
#[derive(Debug)]
pub(super) struct Automaton {
    /// The byte that leads into each state.
    bytes: Vec<u8>,
    /// The first child of each state, and after the last state the number of states. The children
    /// of a state end where those of the next begin; they are sorted by their bytes.
    children: Vec<u32>,
    /// The state of the longest suffix of the read text that is the beginning of another needle.
    fallbacks: Vec<u32>,
    /// Bytes of the longest needle that ends in each state; zero if none does.
    longest: Vec<u32>,
    /// The children of the root by their bytes; zero if there is none.
    roots: Box<[u32; 256]>,
}

impl Drop for Automaton {
    fn drop(&mut self) {
        self.bytes.zeroize();
        self.roots.zeroize();
    }
}

impl Automaton {
    /// An automaton for needles that are sorted, unique and not empty.
    pub(super) fn new(needles: &[Box<[u8]>]) -> Self {
        let most = needles.iter().map(|needle| needle.len()).sum::<usize>() + 1;
        // Growing vectors would leave secrets behind.
        let mut automaton = Self {
            bytes: Vec::with_capacity(most),
            children: Vec::with_capacity(most + 1),
            fallbacks: Vec::with_capacity(most),
            longest: Vec::with_capacity(most),
            roots: Box::new([0; 256]),
        };
        automaton.add(0, 0, 0);
        // The needles that begin like each state of a level.
        let mut level: Vec<Range<usize>> = std::iter::once(0..needles.len()).collect();
        let (mut depth, mut state) = (0, ROOT);
        while !level.is_empty() {
            let mut below = Vec::new();
            for range in level {
                automaton.children.push(index(automaton.bytes.len()));
                for (byte, range) in branches(needles, range, depth) {
                    let fallback =
                        if state == ROOT { ROOT } else { automaton.next(automaton.fallback(state), byte) };
                    let ends = needles.get(range.start).is_some_and(|needle| needle.len() == depth + 1);
                    let longest = if ends { index(depth + 1) } else { automaton.ends(fallback) };
                    if state == ROOT
                        && let Some(root) = automaton.roots.get_mut(usize::from(byte))
                    {
                        *root = index(automaton.bytes.len());
                    }
                    automaton.add(byte, index(fallback), longest);
                    below.push(range);
                }
                state += 1;
            }
            (level, depth) = (below, depth + 1);
        }
        automaton.children.push(index(automaton.bytes.len()));
        automaton
    }

    fn add(&mut self, byte: u8, fallback: u32, longest: u32) {
        self.bytes.push(byte);
        self.fallbacks.push(fallback);
        self.longest.push(longest);
    }

    fn fallback(&self, state: usize) -> usize {
        self.fallbacks.get(state).map_or(ROOT, |state| *state as usize)
    }

    fn ends(&self, state: usize) -> u32 {
        self.longest.get(state).copied().unwrap_or_default()
    }

    fn child(&self, state: usize, byte: u8) -> Option<usize> {
        if state == ROOT {
            return self
                .roots
                .get(usize::from(byte))
                .map(|state| *state as usize)
                .filter(|state| *state != ROOT);
        }
        let first = *self.children.get(state)? as usize;
        let end = *self.children.get(state + 1)? as usize;
        let children = self.bytes.get(first..end)?;
        children.binary_search(&byte).ok().map(|at| first + at)
    }

    fn next(&self, mut state: usize, byte: u8) -> usize {
        loop {
            match self.child(state, byte) {
                Some(next) => return next,
                None if state == ROOT => return ROOT,
                None => state = self.fallback(state),
            }
        }
    }

    /// For each position in the text where needles end, the position and the length of the longest
    /// of them.
    pub(super) fn matches<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = (usize, usize)> + 'a {
        let mut state = ROOT;
        text.iter().enumerate().filter_map(move |(at, byte)| {
            state = self.next(state, *byte);
            let longest = self.ends(state) as usize;
            (longest > 0).then_some((at + 1, longest))
        })
    }
}

/// The needles of a range, which share this many bytes, divided by the next byte.
fn branches(
    needles: &[Box<[u8]>],
    mut range: Range<usize>,
    depth: usize,
) -> impl Iterator<Item = (u8, Range<usize>)> {
    let byte = move |at: usize| needles.get(at).and_then(|needle| needle.get(depth)).copied();
    // The one that ends here is the first.
    if range.start < range.end && byte(range.start).is_none() {
        range.start += 1;
    }
    std::iter::from_fn(move || {
        let begun = range.start;
        let first = byte(begun).filter(|_| begun < range.end)?;
        while range.start < range.end && byte(range.start) == Some(first) {
            range.start += 1;
        }
        Some((first, begun..range.start))
    })
}

/// State numbers fit: the caller limits the bytes of all needles.
fn index(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn automaton(needles: &[&str]) -> Automaton {
        let mut sorted: Vec<Box<[u8]>> = needles.iter().map(|needle| needle.as_bytes().into()).collect();
        sorted.sort_unstable();
        sorted.dedup();
        Automaton::new(&sorted)
    }

    fn found(needles: &[&str], text: &str) -> Vec<(usize, usize)> {
        automaton(needles).matches(text.as_bytes()).collect()
    }

    #[test]
    fn the_longest_needle_wins() {
        assert_eq!(found(&["he", "she", "his", "hers"], "ushers"), [(4, 3), (6, 4)]);
        assert_eq!(
            found(&["a", "ab", "bc", "abcd"], "xabcabcd"),
            [(2, 1), (3, 2), (4, 2), (5, 1), (6, 2), (7, 2), (8, 4)]
        );
        assert_eq!(found(&[], "anything"), []);
        assert_eq!(found(&["a"], ""), []);
        assert_eq!(found(&["é", "\u{ff}"], "né\u{ff}"), [(3, 2), (5, 2)]);
    }

    #[test]
    fn one_search_finds_the_same_as_separate_searches() {
        // Few letters, so that much overlaps.
        let mut seed = 7u64;
        let mut draw = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for _ in 0..500 {
            let mut word = |longest: u64| -> String {
                (0..=draw(longest))
                    .map(|_| char::from(b'a' + u8::try_from(draw(3)).expect("small")))
                    .collect()
            };
            let needles: Vec<String> = (0..8).map(|_| word(6)).collect();
            let text = word(60);
            let borrowed: Vec<&str> = needles.iter().map(String::as_str).collect();
            let slow: Vec<(usize, usize)> = (1..=text.len())
                .filter_map(|end| {
                    let ending = needles.iter().filter(|needle| text[..end].ends_with(needle.as_str()));
                    ending.map(String::len).max().map(|longest| (end, longest))
                })
                .collect();
            assert_eq!(found(&borrowed, &text), slow, "{needles:?} in {text}");
        }
    }

    #[test]
    fn no_choice_of_needles_makes_it_slow() {
        // A byte-by-byte search would compare each of these with the text at every position.
        let needles: Vec<String> = (1..400).map(|n| "a".repeat(n) + "b").collect();
        let borrowed: Vec<&str> = needles.iter().map(String::as_str).collect();
        let automaton = automaton(&borrowed);
        assert_eq!(automaton.matches("a".repeat(1 << 20).as_bytes()).count(), 0);
        assert!(automaton.bytes.len() < 400 * 2 + 2, "beginnings are shared");
    }
}
