//! `.properties` files, as `java.util.Properties` reads them: `=`, `:` or blanks between key and value, `\` at the end of a line joins it
//! with the next, `\n`, `\t`, `\uXXXX` and the like in both, `#` and `!` begin a comment.
//!
//! Pure: text in, keys and values with their lines out. `sources` calls it.

/// One entry of the file; the line is that of its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Property {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) line: usize,
}

/// Every entry, in order, with duplicates.
///
/// # Errors
/// The line of a malformed `\u` escape.
pub(crate) fn parse(text: &str) -> Result<Vec<Property>, usize> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    logical_lines(text).into_iter().map(|(line, content)| property(line, &content).ok_or(line)).collect()
}

/// Lines without comments, blank ones and continuations.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut natural = (1..).zip(text.lines());
    while let Some((number, line)) = natural.next() {
        let line = line.trim_start_matches(BLANK);
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        let mut content = line.to_string();
        while continues(&content) {
            content.pop();
            match natural.next() {
                Some((_, next)) => content.push_str(next.trim_start_matches(BLANK)),
                None => break,
            }
        }
        lines.push((number, content));
    }
    lines
}

const BLANK: [char; 3] = [' ', '\t', '\x0c'];

/// Whether an odd number of backslashes ends the line.
fn continues(line: &str) -> bool {
    line.bytes().rev().take_while(|&b| b == b'\\').count() % 2 == 1
}

fn property(line: usize, content: &str) -> Option<Property> {
    let end = key_end(content);
    let rest = content[end..].trim_start_matches(BLANK);
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start_matches(BLANK);
    Some(Property { key: unescape(&content[..end])?, value: unescape(value)?, line })
}

/// The first `=`, `:` or blank that no backslash protects.
fn key_end(content: &str) -> usize {
    let mut protected = false;
    for (at, c) in content.char_indices() {
        match c {
            _ if protected => protected = false,
            '\\' => protected = true,
            '=' | ':' => return at,
            c if BLANK.contains(&c) => return at,
            _ => {}
        }
    }
    content.len()
}

/// Resolves escapes; a backslash before any other character is dropped. `None` for a malformed `\u`.
fn unescape(text: &str) -> Option<String> {
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let c = match c {
            '\\' => match chars.next() {
                Some('u') => {
                    let digits: String = chars.by_ref().take(4).collect();
                    let is_hex = digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_hexdigit());
                    units.push(u16::from_str_radix(&digits, 16).ok().filter(|_| is_hex)?);
                    continue;
                }
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('f') => '\x0c',
                Some(other) => other,
                None => continue,
            },
            other => other,
        };
        units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
    }
    String::from_utf16(&units).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str, usize)]) {
        let parsed = parse(text).unwrap_or_else(|line| panic!("line {line} of {text:?}"));
        let parsed: Vec<_> = parsed.iter().map(|p| (p.key.as_str(), p.value.as_str(), p.line)).collect();
        assert_eq!(parsed, expected, "{text:?}");
    }

    #[test]
    fn keys_and_values_are_split_as_java_does() {
        check("a=1\nb: 2\nc 3\nd\n", &[("a", "1", 1), ("b", "2", 2), ("c", "3", 3), ("d", "", 4)]);
        check("  a =  1 2 \n", &[("a", "1 2 ", 1)]);
        check("a==b\n", &[("a", "=b", 1)]);
        check("url=http://h:1/p?q=1\n", &[("url", "http://h:1/p?q=1", 1)]);
        check("a=\n", &[("a", "", 1)]);
        check("# x\n! y\n\n   # z\na=1", &[("a", "1", 5)]);
        check("a=1\r\nb=2\r\n", &[("a", "1", 1), ("b", "2", 2)]);
        check("a=1\na=2\n", &[("a", "1", 1), ("a", "2", 2)]);
    }

    #[test]
    fn escapes_and_continuations_are_resolved() {
        check("a\\ b\\=c=d\n", &[("a b=c", "d", 1)]);
        check("a=x,\\\n   y\nb=2\n", &[("a", "x,y", 1), ("b", "2", 3)]);
        check("a=x\\\\\nb=2\n", &[("a", "x\\", 1), ("b", "2", 2)]);
        check("a=\\u00e4\\t\\q\n", &[("a", "ä\tq", 1)]);
        check("a=\\ud83d\\ude00\n", &[("a", "😀", 1)]);
        check("a=end\\", &[("a", "end", 1)]);
    }

    #[test]
    fn malformed_escapes_name_their_line() {
        for text in ["a=1\nb=\\u12\n", "a=1\nb=\\uzzzz\n", "a=1\nb=\\u+123\n", "a=1\nb=\\ud83d\n"] {
            assert_eq!(parse(text), Err(2), "{text:?}");
        }
    }
}
