//! Report data in; bytes for a terminal or a machine out. The only room with colours and widths.

mod excerpt;
pub mod json;
pub mod parse;
pub mod report;
pub mod rules;
mod style;
pub mod text;
pub mod triage;
pub mod verify;
pub mod vmem;
