//! Dates, in UTC. A moment is a number of seconds since 1970.

use std::fmt::Write;

use gotmpl::Value;

use super::types::to_int;
use super::{Answer, Call, Table};
use crate::value::string;

pub(super) const TABLE: Table = &[
    ("now", |c| Ok(Value::Int(c.host.now()?))),
    ("date", |c| Ok(string(format(&c.text(0)?, moment(c, 1)?)))),
    ("dateInZone", in_zone),
    ("date_in_zone", in_zone),
    ("htmlDate", |c| Ok(string(format("2006-01-02", moment(c, 0)?)))),
    ("htmlDateInZone", |c| Ok(string(format("2006-01-02", moment(c, 0)?)))),
    ("unixEpoch", |c| Ok(string(moment(c, 0)?.to_string()))),
    ("dateModify", modify),
    ("date_modify", modify),
    ("duration", |c| Ok(string(duration(c.int(0)?)))),
];

/// A moment among the arguments, now if there is none.
fn moment(call: &Call<'_>, index: usize) -> Result<i64, String> {
    match call.args.get(index) {
        None => call.host.now(),
        Some(value) => Ok(to_int(value)),
    }
}

fn in_zone(call: &Call<'_>) -> Answer {
    let zone = call.text(2)?;
    if !["UTC", "GMT", "Z", "", "Etc/UTC"].contains(&zone.as_str()) {
        return Err(format!("supports only the zone UTC, not `{zone}`"));
    }
    Ok(string(format(&call.text(0)?, moment(call, 1)?)))
}

/// `dateModify "-1h30m" MOMENT`.
fn modify(call: &Call<'_>) -> Answer {
    let written = call.text(0)?;
    let (sign, rest) = match written.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, written.trim_start_matches('+')),
    };
    let mut seconds: i64 = 0;
    let mut number = String::new();
    for letter in rest.chars() {
        if letter.is_ascii_digit() {
            number.push(letter);
            continue;
        }
        let unit = match letter {
            'h' => 3600,
            'm' => 60,
            's' => 1,
            _ => return Err(format!("`{written}` is not a duration such as `1h30m`")),
        };
        let count: i64 =
            number.parse().map_err(|_| format!("`{written}` is not a duration such as `1h30m`"))?;
        seconds = seconds.saturating_add(count.saturating_mul(unit));
        number.clear();
    }
    Ok(Value::Int(moment(call, 1)?.saturating_add(sign * seconds)))
}

fn duration(seconds: i64) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, _) => format!("{minutes}m{rest}s"),
        _ => format!("{hours}h{minutes}m{rest}s"),
    }
}

/// Year, month and day of a day since 1970, by the calendar's 400-year cycle.
fn civil(day: i64) -> (i64, usize, i64) {
    let shifted = day + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, usize::try_from(month).unwrap_or(1), day)
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

/// A moment in one of Go's layouts, which use the second of January 2006.
fn format(layout: &str, seconds: i64) -> String {
    let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, date) = civil(day);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let twelve = if hour % 12 == 0 { 12 } else { hour % 12 };
    let month_name = MONTHS.get(month.wrapping_sub(1)).copied().unwrap_or_default();
    let weekday =
        usize::try_from(day.rem_euclid(7)).ok().and_then(|day| DAYS.get(day)).copied().unwrap_or_default();
    let marks: [(&str, String); 26] = [
        ("2006", format!("{year:04}")),
        ("January", month_name.to_owned()),
        ("Jan", month_name.get(..3).unwrap_or_default().to_owned()),
        ("Monday", weekday.to_owned()),
        ("Mon", weekday.get(..3).unwrap_or_default().to_owned()),
        ("MST", "UTC".to_owned()),
        ("Z07:00", "Z".to_owned()),
        ("Z0700", "Z".to_owned()),
        ("-07:00", "+00:00".to_owned()),
        ("-0700", "+0000".to_owned()),
        ("-07", "+00".to_owned()),
        ("01", format!("{month:02}")),
        ("02", format!("{date:02}")),
        ("03", format!("{twelve:02}")),
        ("04", format!("{minute:02}")),
        ("05", format!("{second:02}")),
        ("06", format!("{:02}", year.rem_euclid(100))),
        ("_2", format!("{date:2}")),
        ("15", format!("{hour:02}")),
        ("PM", if hour < 12 { "AM" } else { "PM" }.to_owned()),
        ("pm", if hour < 12 { "am" } else { "pm" }.to_owned()),
        ("1", month.to_string()),
        ("2", date.to_string()),
        ("3", twelve.to_string()),
        ("4", minute.to_string()),
        ("5", second.to_string()),
    ];
    let mut out = String::new();
    let mut rest = layout;
    while let Some(letter) = rest.chars().next() {
        match marks.iter().find(|(mark, _)| rest.starts_with(mark)) {
            Some((mark, value)) => {
                let _ = out.write_str(value);
                rest = rest.get(mark.len()..).unwrap_or_default();
            }
            None => {
                out.push(letter);
                rest = rest.get(letter.len_utf8()..).unwrap_or_default();
            }
        }
    }
    out
}
