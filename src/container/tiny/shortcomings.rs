//! What `tiny_http` cannot give, with reasons: printed by `check` when it is chosen, and part of the README.

/// Each as a short name and the reason; the order is that of a request's way.
pub fn shortcomings() -> &'static [(&'static str, &'static str)] {
    SHORTCOMINGS
}

const SHORTCOMINGS: &[(&str, &str)] = &[
    (
        "threads are not bounded",
        "the crate keeps a thread and two descriptors for every open connection, and max-connections does not act",
    ),
    (
        "min-spare-threads, runnable and scheduling do not act",
        "the crate hands requests over through one queue, so all max-threads workers wait at it from the start",
    ),
    (
        "queue.order and queue.codel do not act",
        "workers take from a channel, which gives who waits longest; queue.timeout acts",
    ),
    (
        "accepting can end for good",
        "any error of accept, such as running out of descriptors or an aborted connect, ends the crate's accepting thread; a failed clone of a descriptor ends it without a word",
    ),
    (
        "a burst of connections can strand one",
        "the crate takes a thread that was just woken for a free one; such a connection is read when another one ends",
    ),
    (
        "no time limit for heads and idle connections",
        "a limit on the listener would end accepting; connection-timeout acts on bodies that come in pieces, and from then on for that connection",
    ),
    (
        "heads are read without a limit",
        "the crate collects lines of any length and number before we see them; 414 and 431 come afterwards",
    ),
    (
        "some broken heads leave no trace",
        "the crate trims lines and values of white space of any kind (a folded field line becomes a field), cuts what follows the version in the request line, and closes without an answer on octets above 127",
    ),
    ("HTTP/2.0 in a request line holds a thread for ever", "the crate waits for its own unfinished answer"),
    ("an aborted connect can end a thread", "the crate unwraps the address of a peer that is gone already"),
    (
        "a chunked body is read leniently",
        "the crate takes a size such as +5 and skips extensions unchecked; trailers are an error, answered with 400",
    ),
    (
        "a client that shuts down its sending side after a chunked upload counts as gone",
        "the crate reports a cut chunked body as a complete one, and only the end of the stream tells them apart",
    ),
    (
        "Content-Length above 1 GiB is refused by a reset",
        "the crate allocates what the client declared when a body is not read to its end; refusing such a request costs its thread and two descriptors until the end of the process",
    ),
    ("100 Continue carries fields", "the crate sends it itself, with Content-Length: 0"),
    ("other interim answers are dropped", "the crate lends no writer before the request is given up"),
    (
        "early answers wait for the upload",
        "the crate reads the rest of the body before it lends the writer: up to max-swallow-size within connection-timeout; beyond it the answer may be lost in a reset, and so may a refusal that octets follow",
    ),
    (
        "a client's hang-up is seen late",
        "there is no descriptor to wait on: it is noticed at the next write, so an upstream call, or the wait for a connection, goes on until then",
    ),
    ("min-rate does not act", "single reads and writes are bounded, not their pace"),
    (
        "a slow upload uses up the deadline",
        "reading a body blocks, so the time that it takes is not told from the upstream's own",
    ),
    ("pipelined requests hold a worker each", "answers are put in order by blocking those that are early"),
    (
        "queue_full has no answer",
        "the connection is reset, since no worker is free to write a 503, and an answer out of order would be taken for another's",
    ),
    ("max-keep-alive-requests does not act", "requests are not counted by connection"),
    (
        "HTTP/1.0 connections persist only by the crate's rule",
        "it looks at the first Connection field alone, and for substrings of it",
    ),
    (
        "forced ends need pidfd_getfd",
        "the crate lends no socket, so a copy is taken from the process's own descriptors (Linux 5.6, unless a seccomp profile forbids it), which costs a walk over them for every upload above 1 KB and every forced end; without it a cut answer leaves the connection open and silent, and chunked uploads fail",
    ),
    (
        "hystrix.stream is answered with 501",
        "no connection can be left to another thread; the listener of management.server.port has the stream",
    ),
    ("drain drops the backlog", "connections that were not accepted yet are reset when the listener is shut down"),
];
