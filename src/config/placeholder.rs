//! `${name:default}` in values, as Spring resolves it: nested in name and default, and in what a name stands for.
//!
//! Pure: where names are looked up is the caller's affair. A name that leads back to itself is an error, never a loop.

/// Resolves every placeholder of a text.
///
/// # Errors
/// A sentence: a name without value and default, a name that leads back to itself, or one that only Java can answer.
pub(crate) fn resolve(text: &str, look_up: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    expand(text, look_up, &mut Vec::new())
}

type LookUp<'a> = &'a dyn Fn(&str) -> Option<String>;

fn expand(text: &str, look_up: LookUp<'_>, path: &mut Vec<String>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(end) = closing(&rest[start + 2..]) else { break };
        out.push_str(&rest[..start]);
        out.push_str(&value_of(&rest[start + 2..start + 2 + end], look_up, path)?);
        rest = &rest[start + 3 + end..];
    }
    out.push_str(rest);
    Ok(out)
}

/// The brace that closes a placeholder whose inside begins the text.
fn closing(inside: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, octet) in inside.bytes().enumerate() {
        match octet {
            b'{' => depth += 1,
            b'}' if depth == 0 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn value_of(inside: &str, look_up: LookUp<'_>, path: &mut Vec<String>) -> Result<String, String> {
    let (name, default) = match colon(inside) {
        Some(at) => (&inside[..at], Some(&inside[at + 1..])),
        None => (inside, None),
    };
    let name = expand(name, look_up, path)?;
    if path.contains(&name) {
        let circle: Vec<_> = path.iter().chain([&name]).map(|name| format!("${{{name}}}")).collect();
        return Err(format!("placeholders lead in a circle: {}", circle.join(" -> ")));
    }
    match (look_up(&name), default) {
        (Some(value), _) => {
            path.push(name);
            let value = expand(&value, look_up, path);
            path.pop();
            value
        }
        (None, Some(default)) => expand(default, look_up, path),
        (None, None) if name.starts_with("random.") => Err(format!("${{{name}}}: random values are not made here")),
        (None, None) => {
            Err(format!("${{{name}}} stands for nothing: neither a key nor an environment variable is called so"))
        }
    }
}

/// The first colon outside of inner placeholders.
fn colon(inside: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, octet) in inside.bytes().enumerate() {
        match octet {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b':' if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look_up(name: &str) -> Option<String> {
        let value = match name {
            "a" => "1",
            "b" => "${a}2",
            "x" => "${y}",
            "y" => "${x}",
            "me" => "${me}",
            "which" => "a",
            "empty" => "",
            _ => return None,
        };
        Some(value.into())
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(resolve(text, &look_up), Ok(expected.into()), "{text}");
    }

    #[track_caller]
    fn refuse(text: &str, message: &str) {
        let error = resolve(text, &look_up).expect_err(text);
        assert!(error.contains(message), "{error}");
    }

    #[test]
    fn placeholders_are_replaced_wherever_they_stand() {
        check("no placeholder", "no placeholder");
        check("http://${a}:${b}/", "http://1:12/");
        check("${none:8080}", "8080");
        check("${none:}", "");
        check("${empty:x}", "");
        check("${none:http://h:1/}", "http://h:1/");
        check("${none:${b}}", "12");
        check("${${which}}", "1");
        check("${none:${neither:${a}}}", "1");
        check("${none:{a}}", "{a}");
        check("${a", "${a");
        check("$a {b}", "$a {b}");
    }

    #[test]
    fn what_stands_for_nothing_is_named() {
        refuse("x${none}", "${none} stands for nothing");
        refuse("${random.int}", "random values");
        refuse("${x}", "${x} -> ${y} -> ${x}");
        refuse("${me}", "${me} -> ${me}");
        refuse("${none:${x}}", "in a circle");
    }
}
