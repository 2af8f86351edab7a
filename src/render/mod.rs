//! Report data in; bytes for a terminal or a machine out. The only room with colours and widths.

pub mod concise;
pub mod diff;
mod excerpt;
mod fingerprint;
pub mod github;
pub mod gitlab;
pub mod html;
pub mod json;
pub mod json_lines;
pub mod junit;
pub mod markdown;
pub mod parse;
mod place;
pub mod report;
pub mod rules;
pub mod sarif;
pub mod snapshot;
mod style;
pub mod text;
pub mod triage;
pub mod verify;
pub mod vmem;
mod words;
mod wrap;
