//! Random values.

use super::{Answer, Call, Table};
use crate::value::string;

pub(super) const TABLE: Table = &[
    ("randAlphaNum", |c| drawn(c, &[LETTERS, DIGITS].concat())),
    ("randAlpha", |c| drawn(c, LETTERS)),
    ("randNumeric", |c| drawn(c, DIGITS)),
    ("randAscii", |c| drawn(c, &(b' '..=b'~').collect::<Vec<_>>())),
    ("randBytes", |c| {
        let mut bytes = vec![0; bounded_count(c)?];
        c.host.fill(&mut bytes)?;
        Ok(string(data_encoding::BASE64.encode(&bytes)))
    }),
    ("randInt", |c| {
        let (low, high) = (c.int(0)?, c.int(1)?);
        let span = high.checked_sub(low).and_then(|span| u32::try_from(span).ok()).filter(|span| *span > 0);
        let span = span.ok_or("needs a lower and a higher number, at most 2^32 apart")?;
        Ok(gotmpl::Value::Int(low + i64::from(below(c, span)?)))
    }),
    ("shuffle", |c| {
        let mut letters: Vec<char> = c.text(0)?.chars().collect();
        for index in (1..letters.len()).rev() {
            let other = below(c, u32::try_from(index + 1).map_err(|_| "too long")?)?;
            letters.swap(index, other as usize);
        }
        Ok(string(letters.into_iter().collect::<String>()))
    }),
    ("uuidv4", |c| {
        let mut bytes = [0; 16];
        c.host.fill(&mut bytes)?;
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let hex = data_encoding::HEXLOWER.encode(&bytes);
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| hex.get(part).unwrap_or_default());
        Ok(string(parts.join("-")))
    }),
];

const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &[u8] = b"0123456789";

fn bounded_count(call: &Call<'_>) -> Result<usize, String> {
    let count = call.count(0)?;
    if count > 65_536 { Err("draws 65536 at most".to_owned()) } else { Ok(count) }
}

/// A number below a bound, each equally likely: it draws again if the number falls in the uneven
/// rest.
fn below(call: &Call<'_>, bound: u32) -> Result<u32, String> {
    let limit = u32::MAX - u32::MAX % bound;
    loop {
        let mut bytes = [0; 4];
        call.host.fill(&mut bytes)?;
        let drawn = u32::from_le_bytes(bytes);
        if drawn < limit {
            return Ok(drawn % bound);
        }
    }
}

fn drawn(call: &Call<'_>, letters: &[u8]) -> Answer {
    let bound = u32::try_from(letters.len()).map_err(|_| "too many letters")?;
    let mut text = String::new();
    for _ in 0..bounded_count(call)? {
        let index = below(call, bound)? as usize;
        text.extend(letters.get(index).map(|letter| char::from(*letter)));
    }
    Ok(string(text))
}
