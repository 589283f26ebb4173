//! The only source of randomness: a seed always gives the same numbers.

/// splitmix64.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A different source, derived from a seed and a purpose.
    pub(crate) fn mixed(seed: u64, with: u64) -> Self {
        let mut rng = Self(seed ^ with.wrapping_mul(0xd6e8_feb8_6659_fd93));
        rng.next();
        rng
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `bound` - 1; `bound` must not be 0.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        (self.next() >> 32) as u32 % bound.max(1)
    }

    /// True with this probability in percent.
    pub(crate) fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len() as u32) as usize]
    }
}
