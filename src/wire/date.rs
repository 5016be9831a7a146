//! Dates: the `Date` field, made once a second on each thread, and a calendar for time stamps.
//!
//! The moment is always given; nothing here reads a clock.

use std::cell::Cell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Octets of an IMF-fixdate.
const LENGTH: usize = 29;

thread_local! {
    static LATEST: Cell<(u64, [u8; LENGTH])> = const { Cell::new((u64::MAX, [0; LENGTH])) };
}

/// `now` as fields carry it (RFC 9110 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
pub fn http_date(now: SystemTime) -> [u8; LENGTH] {
    let second = since_epoch(now).as_secs();
    LATEST.with(|latest| {
        let (of, text) = latest.get();
        if of == second {
            return text;
        }
        let mut text = [0; LENGTH];
        text.copy_from_slice(httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(second)).as_bytes());
        latest.set((second, text));
        text
    })
}

/// `now` as Spring writes it: `2026-11-30T09:57:59.126+00:00`.
pub fn iso_8601(now: SystemTime) -> String {
    let Civil { year, month, day, hour, minute, second, millisecond } = Civil::of(now);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}+00:00")
}

/// A moment in UTC; before 1970 counts as 1970, after 9999 as the end of 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// 1970 to 9999.
    pub year: u64,
    /// 1 to 12.
    pub month: u64,
    /// 1 to 31.
    pub day: u64,
    /// 0 to 23.
    pub hour: u64,
    /// 0 to 59.
    pub minute: u64,
    /// 0 to 59.
    pub second: u64,
    /// 0 to 999.
    pub millisecond: u32,
}

impl Civil {
    /// English names of the months, January first.
    pub const MONTHS: [&'static str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

    /// The calendar's view of `now`.
    pub fn of(now: SystemTime) -> Self {
        let since = since_epoch(now);
        let (days, rest) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
        let (year, month, day) = date_of(days);
        Self {
            year,
            month,
            day,
            hour: rest / 3600,
            minute: rest / 60 % 60,
            second: rest % 60,
            millisecond: since.subsec_millis(),
        }
    }
}

fn since_epoch(now: SystemTime) -> Duration {
    const LAST: Duration = Duration::new(253_402_300_799, 0);
    now.duration_since(UNIX_EPOCH).unwrap_or_default().min(LAST)
}

/// Year, month and day of the day that is so many days after 1970-01-01, counted in eras of 400 years that begin with a March.
fn date_of(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn dates_are_those_of_another_calendar() {
        let mut second = 0;
        while second < 253_402_300_799 {
            let Civil { year, month, day, hour, minute, second: of_minute, .. } = Civil::of(at(second));
            let month = Civil::MONTHS[month as usize - 1];
            let text = format!("{day:02} {month} {year:04} {hour:02}:{minute:02}:{of_minute:02} GMT");
            assert_eq!(httpdate::fmt_http_date(at(second))[5..], text, "{second}");
            // Five days and an odd number of seconds: every kind of day within the 8000 years is met.
            second += 86_400 * 5 + 12_345;
        }
    }

    #[test]
    fn a_date_lasts_a_second() {
        let first = http_date(at(784_111_777));
        assert_eq!(&first, b"Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(http_date(at(784_111_777) + Duration::from_millis(999)), first);
        assert_eq!(&http_date(at(784_111_778)), b"Sun, 06 Nov 1994 08:49:38 GMT");
        assert_eq!(http_date(at(784_111_777)), first, "a clock that was set back");
    }

    #[test]
    fn timestamps_are_as_spring_writes_them() {
        let now = at(1_796_032_679) + Duration::from_millis(126);
        assert_eq!(iso_8601(now), "2026-11-30T09:57:59.126+00:00");
        assert_eq!(iso_8601(at(951_782_400)), "2000-02-29T00:00:00.000+00:00");
    }

    #[test]
    fn moments_outside_the_calendar_are_its_ends() {
        assert_eq!(&http_date(UNIX_EPOCH - Duration::from_secs(1)), b"Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(&http_date(at(u64::MAX / 4)), b"Fri, 31 Dec 9999 23:59:59 GMT");
    }
}
