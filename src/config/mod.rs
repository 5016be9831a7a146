//! What the gateway was told: a resolved [`Config`], in which nothing that has a default is optional.
//!
//! [`model`] says what there is; the other modules turn files, environment and arguments into it, and every fault into a line that names
//! file, line and key. Afterwards nobody asks again whether something was set.

pub mod fault;
pub mod model;
mod name;
mod properties;
mod yaml;

pub use model::Config;
