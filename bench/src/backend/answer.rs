//! The backend's answers, each made once.

use super::Counted;
use super::ask::Ask;
use std::collections::HashMap;
use std::sync::Arc;

/// The usual body: a list of products, as the first of the reproduced comparisons has it.
pub(crate) const PRODUCTS: &str = "[{\"id\":1,\"name\":\"anvil\"},{\"id\":2,\"name\":\"rope\"}]";

/// Answers by the length of their bodies.
pub(super) struct Answers {
    usual: Arc<[u8]>,
    by_length: HashMap<u32, Arc<[u8]>>,
}

impl Default for Answers {
    fn default() -> Self {
        Self { usual: answer("application/json", PRODUCTS), by_length: HashMap::new() }
    }
}

impl Answers {
    pub(super) fn to(&mut self, ask: &Ask, counted: Counted) -> Arc<[u8]> {
        if ask.counters {
            let Counted { requests, connections, octets } = counted;
            return answer("text/plain", &format!("requests {requests}\nconnections {connections}\noctets {octets}\n"));
        }
        if ask.upload {
            return answer("application/json", &format!("{{\"octets\":{}}}", ask.octets));
        }
        let Some(length) = ask.bytes else { return self.usual.clone() };
        let made = || answer("application/octet-stream", &"x".repeat(length as usize));
        self.by_length.entry(length).or_insert_with(made).clone()
    }
}

fn answer(media_type: &str, body: &str) -> Arc<[u8]> {
    let length = body.len();
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n\r\n{body}");
    answer.into_bytes().into()
}
