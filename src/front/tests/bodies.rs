//! bodies
use super::*;
