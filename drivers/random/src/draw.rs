//! Draws values, each outcome as likely as any other of its shape.

use data_encoding::{BASE64, HEXLOWER};
use purlin_sdk::{Failure, Json};

use crate::inputs::{ValueKind, Values};
use crate::words::{ADJECTIVES, ADVERBS, ANIMALS};

/// A source of random bytes.
pub(crate) trait Entropy {
    /// Fills a buffer.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), Failure>;

    /// A number below a bound other than 0. Draws again if the number falls in the uneven rest.
    fn below(&mut self, bound: u64) -> Result<u64, Failure> {
        let limit = u64::MAX - u64::MAX % bound.max(1);
        loop {
            let mut bytes = [0; 8];
            self.fill(&mut bytes)?;
            let drawn = u64::from_le_bytes(bytes);
            if drawn < limit {
                return Ok(drawn % bound.max(1));
            }
        }
    }

    /// One of several.
    fn choose<'a, T>(&mut self, all: &'a [T]) -> Result<&'a T, Failure> {
        let index = self.below(all.len() as u64)?;
        let chosen = usize::try_from(index).ok().and_then(|index| all.get(index));
        chosen.ok_or_else(|| Failure::failed("there are no characters to choose from"))
    }
}

/// The host's random bytes.
pub(crate) struct System;

impl Entropy for System {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), Failure> {
        getrandom::fill(buffer).map_err(|error| Failure::failed(format!("no random numbers: {error}")))
    }
}

/// Draws a value of a shape that was validated.
pub(crate) fn draw(values: &Values, entropy: &mut impl Entropy) -> Result<Json, Failure> {
    Ok(match values.kind {
        ValueKind::Password => password(values, entropy)?.into(),
        ValueKind::Id => {
            let letters: Vec<char> = ('a'..='z').collect();
            let both: Vec<char> = ('a'..='z').chain('0'..='9').collect();
            let mut id = values.prefix.clone();
            for index in 0..values.length() {
                id.push(*entropy.choose(if index == 0 { &letters } else { &both })?);
            }
            id.into()
        }
        ValueKind::Pet => pet(values, entropy)?.into(),
        ValueKind::Integer => {
            let span = values.max.abs_diff(values.min);
            let above = match span.checked_add(1) {
                Some(bound) => entropy.below(bound)?,
                None => {
                    let mut bytes = [0; 8];
                    entropy.fill(&mut bytes)?;
                    u64::from_le_bytes(bytes)
                }
            };
            values.min.wrapping_add_unsigned(above).into()
        }
        ValueKind::Uuid => {
            let mut bytes = [0; 16];
            entropy.fill(&mut bytes)?;
            bytes[6] = bytes[6] & 0x0f | 0x40;
            bytes[8] = bytes[8] & 0x3f | 0x80;
            let hex = HEXLOWER.encode(&bytes);
            let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| hex.get(part).unwrap_or_default());
            parts.join("-").into()
        }
        ValueKind::Bytes => {
            let mut bytes = vec![0; values.length()];
            entropy.fill(&mut bytes)?;
            BASE64.encode(&bytes).into()
        }
    })
}

/// Draws the minimum of each class, then any characters, and shuffles them.
fn password(values: &Values, entropy: &mut impl Entropy) -> Result<String, Failure> {
    let classes = values.classes();
    let all: Vec<char> = classes.iter().flat_map(|class| class.letters.iter().copied()).collect();
    let mut password: Vec<char> = Vec::with_capacity(values.length());
    for class in &classes {
        for _ in 0..class.at_least {
            password.push(*entropy.choose(&class.letters)?);
        }
    }
    while password.len() < values.length() {
        password.push(*entropy.choose(&all)?);
    }
    for index in (1..password.len()).rev() {
        let other = usize::try_from(entropy.below(index as u64 + 1)?).unwrap_or(0);
        password.swap(index, other);
    }
    Ok(password.into_iter().collect())
}

fn pet(values: &Values, entropy: &mut impl Entropy) -> Result<String, Failure> {
    let mut words = Vec::new();
    if !values.prefix.is_empty() {
        words.push(values.prefix.as_str());
    }
    for left in (0..values.length()).rev() {
        words.push(match left {
            0 => entropy.choose(ANIMALS)?,
            1 => entropy.choose(ADJECTIVES)?,
            _ => entropy.choose(ADVERBS)?,
        });
    }
    Ok(words.join(&values.separator))
}
