//! The client of several attempts: what one of them has taken of the request's body, the next one is given again.
//!
//! Octets are kept up to a bound; beyond it nothing is, and there is no other attempt. Where the body was not read to its end, the next
//! attempt goes on with the client itself. An attempt of a route without retries never comes through here.

use crate::client::{BodyLength, ClientError, Downstream, Woken};
use crate::deadline::{Deadline, Stopwatch};
use http::{HeaderMap, StatusCode};
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// A client for all attempts of one request.
pub(super) struct Replay<'a> {
    client: &'a mut dyn Downstream,
    kept: Vec<u8>,
    most: usize,
    /// How much of what is kept the present attempt has read.
    read: usize,
    /// Everything that was taken from the client is kept.
    is_whole: bool,
    /// The client's body is at its end.
    ended: bool,
    /// The client was told something of an attempt.
    told: bool,
    still: Duration,
}

impl<'a> Replay<'a> {
    /// Keeps so many octets at most, and none of a body that is known to be longer.
    pub(super) fn new(client: &'a mut dyn Downstream, most: usize) -> Self {
        let most = match client.length() {
            BodyLength::Exactly(length) if length > most as u64 => 0,
            _ => most,
        };
        let kept = Vec::new();
        Self { client, kept, most, read: 0, is_whole: true, ended: false, told: false, still: Duration::ZERO }
    }

    /// Begins again, if everything that was taken of the body is here and no interim head of an attempt has reached the client: what one
    /// server announced must not stand before the answer of another.
    pub(super) fn rewind(&mut self) -> bool {
        self.read = 0;
        self.is_whole && !self.told
    }

    /// How long the client was waited for in all attempts: the deadline stood still meanwhile.
    pub(super) fn still(&self) -> Duration {
        self.still
    }

    fn keep(&mut self, octets: &[u8]) {
        self.is_whole &= self.kept.len() + octets.len() <= self.most;
        if self.is_whole {
            self.kept.extend_from_slice(octets);
        } else {
            self.kept = Vec::new();
        }
        self.read = self.kept.len();
    }
}

impl Downstream for Replay<'_> {
    fn length(&self) -> BodyLength {
        self.client.length()
    }

    fn read_now(&mut self, into: &mut [u8]) -> Result<Option<usize>, ClientError> {
        let again = &self.kept[self.read..];
        if !again.is_empty() {
            let count = again.len().min(into.len());
            into[..count].copy_from_slice(&again[..count]);
            self.read += count;
            return Ok(Some(count));
        }
        if self.ended {
            return Ok(Some(0));
        }
        let read = self.client.read_now(into)?;
        match read {
            Some(0) => self.ended = true,
            Some(count) => self.keep(&into[..count]),
            None => {}
        }
        Ok(read)
    }

    fn wait(&mut self, other: Option<BorrowedFd<'_>>, by: Deadline) -> Result<Woken, ClientError> {
        let watch = Stopwatch::start();
        let woken = self.client.wait(other, by);
        self.still += watch.elapsed();
        woken
    }

    fn interim(&mut self, status: StatusCode, fields: &HeaderMap) -> Result<(), ClientError> {
        self.told = true;
        self.client.interim(status, fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::fake::FakeClient;

    fn client(pieces: &[&str]) -> FakeClient {
        let mut client = FakeClient::new();
        client.body = pieces.iter().map(|piece| Ok(Some(piece.as_bytes().to_vec()))).collect();
        client
    }

    /// Reads in pieces of `size` until the end, or `most` reads.
    fn read(replay: &mut Replay<'_>, size: usize, most: usize) -> String {
        let mut all = Vec::new();
        let mut into = vec![0; size];
        for _ in 0..most {
            match replay.read_now(&mut into).unwrap() {
                Some(0) | None => break,
                Some(count) => all.extend_from_slice(&into[..count]),
            }
        }
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn a_body_within_the_bound_is_read_as_often_as_wanted() {
        let mut client = client(&["abc", "def", "g"]);
        let mut replay = Replay::new(&mut client, 7);
        for size in [16, 2, 1, 16] {
            assert_eq!(read(&mut replay, size.max(3), 99), "abcdefg");
            assert!(replay.rewind());
            assert_eq!(read(&mut replay, size, 99), "abcdefg");
            assert!(replay.rewind());
        }
    }

    #[test]
    fn what_was_not_read_comes_from_the_client() {
        let mut client = client(&["abc", "def", "g"]);
        let mut replay = Replay::new(&mut client, 7);
        assert_eq!(read(&mut replay, 16, 1), "abc");
        assert!(replay.rewind());
        assert_eq!(read(&mut replay, 16, 99), "abcdefg");
    }

    #[test]
    fn a_body_beyond_the_bound_goes_through_once() {
        let mut client = client(&["abc", "def", "g"]);
        let mut replay = Replay::new(&mut client, 6);
        assert_eq!(read(&mut replay, 16, 99), "abcdefg");
        assert!(!replay.rewind());
        assert!(replay.kept.is_empty());
    }

    #[test]
    fn nothing_taken_can_be_sent_again_with_nothing_kept() {
        let mut client = client(&["abc"]);
        let mut replay = Replay::new(&mut client, 0);
        assert!(replay.rewind());
        assert_eq!(read(&mut replay, 16, 99), "abc");
        assert!(!replay.rewind());
    }

    #[test]
    fn an_interim_head_makes_an_attempt_the_last_one() {
        let mut client = FakeClient::new();
        let mut replay = Replay::new(&mut client, 9);
        replay.interim(StatusCode::EARLY_HINTS, &HeaderMap::new()).unwrap();
        assert!(!replay.rewind());
    }
}
