//! Settings: configuration and command line as plain data.
