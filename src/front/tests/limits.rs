//! limits
use super::*;
