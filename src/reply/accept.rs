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
    use crate::wire::testing::request;

    #[track_caller]
    fn check(fields: &str, expected: Form) {
        let head = request(&format!("GET / HTTP/1.1\r\nHost: a{fields}"));
        assert_eq!(preferred(&head), expected, "{fields}");
    }

    #[test]
    fn the_preferred_form_is_told() {
        check("", Form::Json);
        check("\r\nAccept: */*", Form::Json);
        check("\r\nAccept: application/json", Form::Json);
        check("\r\nAccept: application/vnd.test+json", Form::Json);
        check("\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", Form::Html);
        check("\r\naccept: */*, Text/HTML", Form::Html);
        check("\r\nAccept: application/json\r\nAccept: text/html", Form::Json);
        check("\r\nAccept: text/html;q=0.5, application/json;q=0.500", Form::Html);
        check("\r\nAccept: text/html;level=1; Q=0.4, application/json;q=0.5", Form::Json);
        check("\r\nAccept: text/html;q=0, */*;q=0.1", Form::Json);
    }

    #[test]
    fn who_wants_neither_gets_no_body() {
        check("\r\nAccept: application/xml", Form::Empty);
        check("\r\nAccept: image/png, application/xml", Form::Empty);
        check("\r\nAccept: text/html;q=0", Form::Empty);
        check("\r\nAccept: */*;q=2", Form::Empty);
        check("\r\nAccept: */*;q=x", Form::Empty);
        check("\r\nAccept:", Form::Empty);
        check("\r\nAccept: \u{e9}/\u{e9}", Form::Empty);
    }
}
