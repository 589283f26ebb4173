//! Chooses which unsynced changes survive a power failure.

/// A sequence of choices, determined by a seed.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    names: Kept,
    contents: Kept,
    seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    All,
    None,
    Some,
}

impl Choice {
    /// The first choices keep nothing, only names, or only contents; all others keep some of each.
    pub(crate) fn number(number: u64, seed: u64) -> Self {
        let (names, contents) = match number {
            0 => (Kept::None, Kept::None),
            1 => (Kept::All, Kept::None),
            2 => (Kept::None, Kept::All),
            _ => (Kept::Some, Kept::Some),
        };
        Self { names, contents, seed: seed.wrapping_mul(0x1_0001).wrapping_add(number) }
    }

    /// Whether the next change of a name in a folder is kept.
    pub(crate) fn keeps_name(&mut self) -> bool {
        match self.names {
            Kept::All => true,
            Kept::None => false,
            Kept::Some => !next(&mut self.seed).is_multiple_of(3),
        }
    }

    /// The choices for the next file.
    pub(crate) fn of_file(&mut self) -> Self {
        let seed = next(&mut self.seed);
        let contents = match self.contents {
            Kept::Some => [Kept::All, Kept::None, Kept::Some][(seed % 3) as usize],
            kept => kept,
        };
        Self { contents, seed, ..*self }
    }

    /// Whether the next change of a file is kept.
    pub(crate) fn keeps(&mut self) -> bool {
        match self.contents {
            Kept::All => true,
            Kept::None => false,
            Kept::Some => next(&mut self.seed).is_multiple_of(2),
        }
    }

    /// The remains of the next write: all of it, nothing, zeros, or all of it except for a part
    /// whose sectors were not written.
    pub(crate) fn part(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        if self.contents != Kept::Some {
            return self.keeps().then(|| bytes.to_vec());
        }
        let sector = 512;
        let cut = (next(&mut self.seed) % (bytes.len() as u64 + 1)) as usize / sector * sector;
        match next(&mut self.seed) % 5 {
            0 | 1 => Some(bytes.to_vec()),
            2 => None,
            3 => Some(bytes[..cut].to_vec()),
            _ => {
                let mut torn = bytes.to_vec();
                torn[cut..].fill(0);
                Some(torn)
            }
        }
    }
}

/// The next number of a pseudorandom sequence.
pub(crate) fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *seed;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
