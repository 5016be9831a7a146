//! The field lines of a head: `httparse` reads them, and what it refuses is looked at again to say which line and why.
//!
//! Bare LF, the one leniency of `httparse` that matters, was refused before by the scan.

use crate::wire::error::{FieldFault, HeadError};
use crate::wire::octet;

/// Enough for nearly every request, and cheap to set up.
const USUAL: usize = 24;

/// More field lines than this are never taken, whatever the limits say.
pub(super) const MOST: usize = 128;

/// Where name and value of a field line are, from the start of the head.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldSpan {
    pub(super) name: (u32, u32),
    pub(super) value: (u32, u32),
}

/// Reads `count` field lines, the empty line after them included, that begin at `start` of `head`.
pub(super) fn parse(head: &[u8], start: usize, count: usize) -> Result<Vec<FieldSpan>, HeadError> {
    let spans = if count <= USUAL { parse_up_to::<USUAL>(head, start) } else { parse_up_to::<MOST>(head, start) };
    match spans {
        Some(spans) if spans.len() == count => Ok(spans),
        _ => Err(diagnose(&head[start..])),
    }
}

fn parse_up_to<const N: usize>(head: &[u8], start: usize) -> Option<Vec<FieldSpan>> {
    let mut slots = [httparse::EMPTY_HEADER; N];
    let Ok(httparse::Status::Complete((_, found))) = httparse::parse_headers(&head[start..], &mut slots) else {
        return None;
    };
    let base = head.as_ptr() as usize;
    let span = |part: &[u8]| {
        let at = part.as_ptr() as usize - base;
        (at as u32, (at + part.len()) as u32)
    };
    Some(found.iter().map(|f| FieldSpan { name: span(f.name.as_bytes()), value: span(f.value) }).collect())
}

fn diagnose(lines: &[u8]) -> HeadError {
    let faults = lines.split(|&o| o == b'\n').map(|line| fault(line.strip_suffix(b"\r").unwrap_or(line)));
    match faults.zip(1..).find_map(|(fault, line)| Some((fault?, line))) {
        Some((fault, line)) => HeadError::Field { line, fault },
        // Both judge by the same grammar, so there is always a fault; if they ever differed, the head would be refused all the same.
        None => HeadError::Field { line: 1, fault: FieldFault::Name },
    }
}

fn fault(line: &[u8]) -> Option<FieldFault> {
    if line.is_empty() {
        return None;
    }
    if matches!(line[0], b' ' | b'\t') {
        return Some(FieldFault::Folded);
    }
    let Some(colon) = line.iter().position(|&o| o == b':') else {
        return Some(FieldFault::NoColon);
    };
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    match name {
        [.., b' ' | b'\t'] => Some(FieldFault::SpaceBeforeColon),
        _ if name.is_empty() || !name.iter().all(|&o| octet::is_token(o)) => Some(FieldFault::Name),
        _ => value.iter().find(|&&o| !octet::is_value(o)).map(|&o| FieldFault::Value(o)),
    }
}
