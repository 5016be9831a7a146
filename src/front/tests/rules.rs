//! rules
use super::*;
