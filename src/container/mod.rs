//! Other containers than our own front, behind the same [`Handler`](crate::client::Handler): as Spring users swap Tomcat for Undertow.

pub mod tiny;
