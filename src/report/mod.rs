//! Results in; what a command says, as serialisable data, out.

pub mod verify;
