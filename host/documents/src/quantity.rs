//! Sizes and durations as people write them: `64MiB`, `30s`.

use std::time::Duration;

const SIZES: [(&str, u64); 7] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
];
const TIMES: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Bytes. `None` if it is not a size, is zero, or is too large.
pub(crate) fn size(text: &str) -> Option<u64> {
    scaled(text, &SIZES).filter(|bytes| *bytes > 0)
}

/// A time such as `30s`, in `ms`, `s`, `m`, `h` or `d`. `None` if it is not a duration, is zero, or is
/// too large.
pub fn duration(text: &str) -> Option<Duration> {
    duration_or_zero(text).filter(|time| !time.is_zero())
}

/// The same, but zero is a duration too.
pub(crate) fn duration_or_zero(text: &str) -> Option<Duration> {
    scaled(text, &TIMES).map(Duration::from_millis)
}

fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_understood() {
        assert_eq!(size("64MiB"), Some(64 << 20));
        assert_eq!(size("10 kB"), Some(10_000));
        assert_eq!(size("7B"), Some(7));
        assert_eq!(duration("30s"), Some(Duration::from_secs(30)));
        assert_eq!(duration("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(duration("7d"), Some(Duration::from_hours(168)));
        assert_eq!(duration("2m"), Some(Duration::from_secs(120)));
        assert_eq!((duration("0s"), duration_or_zero("0s")), (None, Some(Duration::ZERO)));
        for bad in
            ["", "64", "MiB", "0MiB", "64mib", "1.5GiB", "-1s", "99999999999999999999B", "99999999999GiB"]
        {
            assert_eq!(size(bad), None, "{bad}");
            assert_eq!(duration(bad), None, "{bad}");
        }
    }
}
