//! In which form an error is told: what `Accept` prefers of the two that there are (RFC 9110 12.5.1), as Spring's error controller decides.

use crate::wire::head::RequestHead;
use std::cmp::Reverse;

/// How an error answer looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// `application/json`: without `Accept`, or for anything.
    Json,
    /// `text/html`, when it is named.
    Html,
    /// Status and fields alone, when neither is wanted.
    Empty,
}

/// The form that `head` prefers.
pub(super) fn preferred(head: &RequestHead) -> Form {
    let mut values = head.values("accept").peekable();
    if values.peek().is_none() {
        return Form::Json;
    }
    let ranges = values.flat_map(|value| value.split(|&o| o == b','));
    let ranked = ranges.enumerate().filter_map(|(at, range)| {
        let (form, precision, weight) = rank(std::str::from_utf8(range).ok()?)?;
        Some((weight, precision, Reverse(at), form))
    });
    ranked.max().map_or(Form::Empty, |(.., form)| form)
}

/// Form, precision and weight in thousandths of one media range, if it stands for a form at all.
fn rank(range: &str) -> Option<(Form, u8, u16)> {
    let mut parts = range.split(';').map(str::trim);
    let name = parts.next()?.to_ascii_lowercase();
    let (form, precision) = match name.as_str() {
        "text/html" => (Form::Html, 2),
        "text/*" => (Form::Html, 1),
        "application/*" => (Form::Json, 1),
        "*/*" => (Form::Json, 0),
        json if json == "application/json" || json.ends_with("+json") => (Form::Json, 2),
        _ => return None,
    };
    let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    let weight = weight.map_or(Some(1000), thousandths)?;
    (weight > 0).then_some((form, precision, weight))
}

fn thousandths(weight: &str) -> Option<u16> {
    let weight: f32 = weight.parse().ok()?;
    (0.0..=1.0).contains(&weight).then(|| (weight * 1000.0).round() as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::model::Relaxed;
    use crate::wire::head::HeadLimits;

    #[track_caller]
    fn check(fields: &str, expected: Form) {
        let octets = format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        let head = RequestHead::parse(octets.as_bytes(), &HeadLimits::of_size(8192), &Relaxed::default());
        assert_eq!(preferred(&head.unwrap().unwrap().0), expected, "{fields}");
    }

    #[test]
    fn the_preferred_form_is_told() {
        check("", Form::Json);
        check("Accept: */*\r\n", Form::Json);
        check("Accept: application/json\r\n", Form::Json);
        check("Accept: application/vnd.test+json\r\n", Form::Json);
        check("Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n", Form::Html);
        check("accept: */*, Text/HTML\r\n", Form::Html);
        check("Accept: application/json\r\nAccept: text/html\r\n", Form::Json);
        check("Accept: text/html;q=0.5, application/json;q=0.500\r\n", Form::Html);
        check("Accept: text/html;level=1; Q=0.4, application/json;q=0.5\r\n", Form::Json);
        check("Accept: text/html;q=0, */*;q=0.1\r\n", Form::Json);
    }

    #[test]
    fn who_wants_neither_gets_no_body() {
        check("Accept: application/xml\r\n", Form::Empty);
        check("Accept: image/png, application/xml\r\n", Form::Empty);
        check("Accept: text/html;q=0\r\n", Form::Empty);
        check("Accept: */*;q=2\r\n", Form::Empty);
        check("Accept: */*;q=x\r\n", Form::Empty);
        check("Accept:\r\n", Form::Empty);
        check("Accept: \u{e9}/\u{e9}\r\n", Form::Empty);
    }
}
