//! Values as Spring converts them: durations, sizes, flags, lists, and the check of a value against what its key takes.
//!
//! Pure: text in, value or a clear sentence out. The sentence never repeats a value, since it may be a secret.

use super::catalogue::{Kind, Unit};
use std::time::Duration;

/// The longest time that counts as one; what is longer, or without bound where a bound is needed, becomes this.
pub(crate) const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// A value as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// A key without a value.
    Null,
    /// One value.
    Text(String),
    /// A list, item by item.
    List(Vec<String>),
}

impl Value {
    /// The value as one text: null is empty, a list is joined by commas.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Text(text) => text.trim().to_string(),
            Self::List(items) => items.join(","),
        }
    }

    /// The value as a list: text is split at commas; empty items are dropped.
    pub(crate) fn items(&self) -> Vec<String> {
        let items: Vec<String> = match self {
            Self::Null => Vec::new(),
            Self::Text(text) => text.split(',').map(str::to_string).collect(),
            Self::List(items) => items.clone(),
        };
        items.iter().map(|item| item.trim().to_string()).filter(|item| !item.is_empty()).collect()
    }

    /// The value with each of its texts changed.
    pub(crate) fn map<E>(&self, change: impl Fn(&str) -> Result<String, E>) -> Result<Self, E> {
        Ok(match self {
            Self::Null => Self::Null,
            Self::Text(text) => Self::Text(change(text)?),
            Self::List(items) => Self::List(items.iter().map(|item| change(item)).collect::<Result<_, _>>()?),
        })
    }
}

/// Says what is wrong with a value for a key of this kind. An empty value is none, unless the kind takes text.
pub(crate) fn check(kind: Kind, value: &Value) -> Result<(), String> {
    if matches!((kind, value), (Kind::List | Kind::Any, _)) {
        return Ok(());
    }
    if matches!(value, Value::List(_)) {
        return Err("one value is expected, not a list".into());
    }
    let text = value.text();
    match kind {
        Kind::Text | Kind::List | Kind::Any => Ok(()),
        _ if text.is_empty() => Err("a value is expected".into()),
        Kind::Flag => flag(&text).map(drop),
        Kind::Count { min, max } => count(&text, min, max).map(drop),
        Kind::Duration { unit, min } => match nanoseconds(&text, unit)? {
            n if n >= i128::from(min) * in_nanoseconds(unit) => Ok(()),
            _ => Err(format!("must be at least {min}{}", abbreviation(unit))),
        },
        Kind::Size { min, max } => match octets(&text)? {
            n if n < min => Err(format!("must be at least {min} octets")),
            n if n > max => Err(format!("must be at most {max} octets")),
            _ => Ok(()),
        },
        Kind::Choice(words) => choice(&text, words).map(drop),
    }
}

/// `true`, `on`, `yes`, `1`, or `false`, `off`, `no`, `0`, in any case.
pub(crate) fn flag(text: &str) -> Result<bool, String> {
    match text.to_lowercase().as_str() {
        "true" | "on" | "yes" | "1" => Ok(true),
        "false" | "off" | "no" | "0" => Ok(false),
        _ => Err("must be true or false".into()),
    }
}

/// A whole number between the two, both allowed.
pub(crate) fn count(text: &str, min: i64, max: i64) -> Result<i64, String> {
    let number: i64 = text.parse().map_err(|_| "must be a whole number".to_string())?;
    match number {
        n if n < min => Err(format!("must be at least {min}")),
        n if n > max => Err(format!("must be at most {max}")),
        n => Ok(n),
    }
}

/// The place of the word among the choices.
pub(crate) fn choice(text: &str, words: &[&str]) -> Result<usize, String> {
    let place = words.iter().position(|word| word.eq_ignore_ascii_case(text));
    place.ok_or_else(|| format!("must be one of {}", words.join(", ")))
}

/// A time; nothing and less than nothing are `None`.
pub(crate) fn duration(text: &str, unit: Unit) -> Result<Option<Duration>, String> {
    let nanoseconds = nanoseconds(text, unit)?;
    let bounded = u64::try_from(nanoseconds).unwrap_or(if nanoseconds < 0 { 0 } else { u64::MAX });
    Ok(Some(Duration::from_nanos(bounded).min(LONGEST)).filter(|time| !time.is_zero()))
}

fn nanoseconds(text: &str, unit: Unit) -> Result<i128, String> {
    const EXPECTED: &str = "must be a time such as 10s, 500ms or 2m";
    if let Some(iso) = text.to_uppercase().strip_prefix("PT") {
        return iso_nanoseconds(iso).ok_or_else(|| EXPECTED.to_string());
    }
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '-' && c != '+').unwrap_or(text.len());
    let number: i64 = text[..split].parse().map_err(|_| EXPECTED.to_string())?;
    let factor = match text[split..].trim().to_lowercase().as_str() {
        "" => in_nanoseconds(unit),
        "ns" => 1,
        "us" => 1_000,
        "ms" => in_nanoseconds(Unit::Millis),
        "s" => in_nanoseconds(Unit::Seconds),
        "m" => in_nanoseconds(Unit::Minutes),
        "h" => 60 * in_nanoseconds(Unit::Minutes),
        "d" => 24 * 60 * in_nanoseconds(Unit::Minutes),
        _ => return Err(EXPECTED.into()),
    };
    Ok(i128::from(number) * factor)
}

/// What follows `PT` in ISO 8601, in hours, minutes and seconds.
fn iso_nanoseconds(text: &str) -> Option<i128> {
    let (mut sum, mut rest) = (0_i128, text);
    while !rest.is_empty() {
        let end = rest.find(['H', 'M', 'S'])?;
        let seconds = match rest.as_bytes()[end] {
            b'H' => 3600.0,
            b'M' => 60.0,
            _ => 1.0,
        };
        let number: f64 = rest[..end].parse().ok().filter(|n: &f64| n.is_finite() && n.abs() < 1e9)?;
        sum += (number * seconds * 1e9) as i128;
        rest = &rest[end + 1..];
    }
    (!text.is_empty()).then_some(sum)
}

fn in_nanoseconds(unit: Unit) -> i128 {
    match unit {
        Unit::Millis => 1_000_000,
        Unit::Seconds => 1_000_000_000,
        Unit::Minutes => 60_000_000_000,
    }
}

fn abbreviation(unit: Unit) -> &'static str {
    match unit {
        Unit::Millis => "ms",
        Unit::Seconds => "s",
        Unit::Minutes => "m",
    }
}

/// Octets in `16KB`, `2MB`, `100B` or a bare number.
pub(crate) fn octets(text: &str) -> Result<i64, String> {
    const EXPECTED: &str = "must be a size such as 16KB or 2MB";
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let number: i64 = text[..split].trim().parse().map_err(|_| EXPECTED.to_string())?;
    let factor = match text[split..].to_uppercase().as_str() {
        "" | "B" => 1,
        "KB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        "TB" => 1 << 40,
        _ => return Err(EXPECTED.into()),
    };
    number.checked_mul(factor).ok_or_else(|| "is too large".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        #[track_caller]
        fn check(text: &str, millis: Option<u64>) {
            assert_eq!(duration(text, Unit::Millis), Ok(millis.map(Duration::from_millis)), "{text}");
        }
        check("10s", Some(10_000));
        check("500ms", Some(500));
        check("250", Some(250));
        check("2m", Some(120_000));
        check("1h", Some(3_600_000));
        check("PT1.5S", Some(1500));
        check("pt1m30s", Some(90_000));
        check("0", None);
        check("-1", None);
        check("99999d", Some(24 * 60 * 60 * 1000));
        assert_eq!(duration("2", Unit::Minutes), Ok(Some(Duration::from_secs(120))));
        for wrong in ["", "s", "10 parsecs", "1.5s", "ten", "PT", "PTS", "1m30s", "--1", "99999999999999999999"] {
            assert!(duration(wrong, Unit::Millis).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_have_units() {
        for (text, octets_) in
            [("16KB", 16384), ("2MB", 2 << 20), ("100B", 100), ("8192", 8192), ("-1", -1), ("1gb", 1 << 30)]
        {
            assert_eq!(octets(text), Ok(octets_), "{text}");
        }
        for wrong in ["", "KB", "16K", "1.5MB", "9999999999GB"] {
            assert!(octets(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn flags_are_springs() {
        for text in ["true", "TRUE", "on", "yes", "1"] {
            assert_eq!(flag(text), Ok(true));
        }
        for text in ["false", "off", "No", "0"] {
            assert_eq!(flag(text), Ok(false));
        }
        assert!(flag("maybe").is_err());
    }

    #[test]
    fn values_are_checked_against_their_kind() {
        let text = |text: &str| Value::Text(text.into());
        let wait = Kind::Duration { unit: Unit::Millis, min: -1 };
        assert_eq!(check(Kind::Count { min: 1, max: 5 }, &text("0")), Err("must be at least 1".into()));
        assert_eq!(check(Kind::Count { min: 1, max: 5 }, &text("6")), Err("must be at most 5".into()));
        let size = Kind::Size { min: 1, max: 1024 };
        assert_eq!(check(size, &text("0")), Err("must be at least 1 octets".into()));
        assert_eq!(check(size, &text("1KB")), Ok(()));
        assert_eq!(check(size, &text("2KB")), Err("must be at most 1024 octets".into()));
        assert_eq!(check(wait, &text("-1")), Ok(()));
        assert_eq!(check(wait, &text("-2")), Err("must be at least -1ms".into()));
        assert_eq!(check(wait, &Value::Null), Err("a value is expected".into()));
        assert_eq!(check(wait, &Value::List(vec!["1".into()])), Err("one value is expected, not a list".into()));
        assert_eq!(check(Kind::Text, &Value::Null), Ok(()));
        assert_eq!(check(Kind::Choice(&["a", "b"]), &text("A")), Ok(()));
        assert_eq!(check(Kind::Choice(&["a", "b"]), &text("c")), Err("must be one of a, b".into()));
    }

    #[test]
    fn lists_come_in_two_ways() {
        assert_eq!(Value::Text(" a, b ,,c".into()).items(), ["a", "b", "c"]);
        assert_eq!(Value::List(vec!["a".into(), " b".into()]).items(), ["a", "b"]);
        assert!(Value::Null.items().is_empty() && Value::Text(String::new()).items().is_empty());
    }
}
