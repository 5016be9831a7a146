//! `/product/bytes`: a body of any length, sent from one block.

use crate::client::{Client, ClientError, Ending};
use crate::wire::head::RequestHead;
use crate::wire::response::{Framing, HeadWriter, Persistence, Tail, has_body};
use http::{HeaderValue, StatusCode};
use std::io::IoSlice;
use std::time::SystemTime;

/// Lines of 64 octets.
static BLOCK: [u8; 64 * 1024] = {
    let mut block = [0; 64 * 1024];
    let mut at = 0;
    while at < block.len() {
        block[at] = if at % 64 == 63 { b'\n' } else { b'!' + (at % 64) as u8 };
        at += 1;
    }
    block
};

/// Sends `count` octets as the answer to `head`.
pub(super) fn send(head: &RequestHead, client: &mut dyn Client, count: u64) -> Ending {
    let framing = Framing::Length(count);
    let persistence = Persistence::of(head, framing, client.may_persist());
    let mut octets = Vec::with_capacity(256);
    let mut writer = HeadWriter::start(&mut octets, StatusCode::OK);
    writer.field("Content-Type", &HeaderValue::from_static("application/octet-stream"));
    writer.finish(Tail { framing, persistence, now: SystemTime::now() });
    let count = if has_body(head.method(), StatusCode::OK) { count } else { 0 };
    match write(client, &octets, count) {
        Ok(()) if persistence == Persistence::Close => Ending::Close,
        Ok(()) => Ending::Done,
        Err(_) => Ending::Abort,
    }
}

fn write(client: &mut dyn Client, head: &[u8], mut count: u64) -> Result<(), ClientError> {
    let mut first = head;
    loop {
        let block = &BLOCK[..usize::try_from(count).unwrap_or(usize::MAX).min(BLOCK.len())];
        client.write(&mut [IoSlice::new(first), IoSlice::new(block)])?;
        first = &[];
        count -= block.len() as u64;
        if count == 0 {
            return Ok(());
        }
    }
}
