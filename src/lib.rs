//! hlolint reads the directories that XLA writes with `--xla_dump_to` and explains what a program
//! needs in memory.
//!
//! Data flows in one direction, through one module a room:
//! [`dump`] finds files, [`text`] reads them into [`hlo::Module`]s, [`graph`] makes the dataflow
//! graph, [`memory`] sizes and places every buffer by the rules of a [`target`], [`lint`] finds what
//! costs memory, [`report`] puts results into plain data and [`render`] writes it for people and
//! machines. [`cli`] is the command line. `tests/layering.rs` holds the direction.

#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod cli;
pub mod config;
pub mod dump;
pub mod graph;
pub mod hlo;
pub mod lint;
pub mod log;
pub mod memory;
pub mod render;
pub mod report;
pub mod target;
pub mod text;
