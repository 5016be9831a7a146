//! `/product/upload`: how many octets the body had, and their hash; no more than a buffer of it is ever in memory.

use super::{json_reply, problem};
use crate::client::{Client, ClientError, Ending};
use crate::deadline::Deadline;
use crate::reply::Reply;
use crate::wire::head::RequestHead;
use http::StatusCode;
use serde_json::json;
use sha2::{Digest, Sha256};

const BUFFER: usize = 64 * 1024;

/// Reads the body and answers.
pub(super) fn answer(head: &RequestHead, buffer: &mut Vec<u8>, client: &mut dyn Client) -> Ending {
    buffer.resize(BUFFER, 0);
    match read(buffer, client) {
        Ok((octets, hash)) => {
            json_reply(StatusCode::OK, &json!({ "octets": octets, "sha256": hash })).send(head, client)
        }
        Err(error) => failure(error).map_or(Ending::Abort, |reply| reply.send(head, client)),
    }
}

fn read(buffer: &mut [u8], client: &mut dyn Client) -> Result<(u64, String), ClientError> {
    let (mut octets, mut hash) = (0, Sha256::new());
    loop {
        match client.read_now(buffer)? {
            Some(0) => return Ok((octets, format!("{:x}", hash.finalize()))),
            Some(count) => {
                octets += count as u64;
                hash.update(&buffer[..count]);
            }
            None => _ = client.wait(None, Deadline::NEVER)?,
        }
    }
}

/// `None` when there is nobody to answer.
fn failure(error: ClientError) -> Option<Reply> {
    let (status, message) = match error {
        ClientError::BodyTimeout => (StatusCode::REQUEST_TIMEOUT, "the body came too slowly"),
        ClientError::BadBody => (StatusCode::BAD_REQUEST, "the body's chunks are broken"),
        ClientError::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "the body is too large"),
        ClientError::Gone | ClientError::WriteTimeout => return None,
    };
    Some(problem(status, message))
}
