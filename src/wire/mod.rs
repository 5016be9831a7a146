//! HTTP/1.1 as octets (RFC 9112): no socket, no clock, no route. Parsers take slices and say "used, result" or "need more".

pub mod head;
