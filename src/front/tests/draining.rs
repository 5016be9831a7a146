//! draining
use super::*;
