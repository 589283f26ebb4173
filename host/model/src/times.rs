//! How times and durations are written, in JSON and for people.

use std::time::Duration;

use serde::Serializer;

/// A time in milliseconds since 1970, in the format of RFC 3339 in UTC, to the second.
pub fn moment(millis: u64) -> String {
    time::OffsetDateTime::from_unix_timestamp_nanos(i128::from(millis) * 1_000_000)
        .ok()
        .and_then(|time| {
            let rfc = time::format_description::well_known::Rfc3339;
            time.replace_nanosecond(0).ok()?.format(&rfc).ok()
        })
        .unwrap_or_else(|| format!("{millis} ms after 1970"))
}

/// A duration for people, such as `1.2 s`.
pub fn duration(time: Duration) -> String {
    let millis = time.as_millis();
    match millis {
        0 => "under 1 ms".to_owned(),
        1..=999 => format!("{millis} ms"),
        1_000..=59_949 => format!("{:.1} s", time.as_secs_f64()),
        _ => {
            let seconds = time.as_secs_f64().round() as u64;
            match seconds / 60 {
                minutes @ 0..=59 => format!("{minutes} min {} s", seconds % 60),
                minutes => format!("{} h {} min", minutes / 60, minutes % 60),
            }
        }
    }
}

/// Writes a time as [`moment`] does, if there is one.
pub(crate) fn serialize_moment<S: Serializer>(millis: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
    match millis {
        Some(millis) => to.serialize_str(&moment(*millis)),
        None => to.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_well() {
        for (ms, text) in [
            (0, "under 1 ms"),
            (7, "7 ms"),
            (1_500, "1.5 s"),
            (59_940, "59.9 s"),
            (59_980, "1 min 0 s"),
            (61_000, "1 min 1 s"),
            (3_600_000, "1 h 0 min"),
        ] {
            assert_eq!(duration(Duration::from_millis(ms)), text);
        }
    }

    #[test]
    fn times_are_written_to_the_second() {
        assert_eq!(moment(1_790_000_000_987), "2026-09-21T14:13:20Z");
        assert_eq!(moment(u64::MAX), "18446744073709551615 ms after 1970");
    }
}
