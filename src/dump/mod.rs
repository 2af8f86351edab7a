//! Paths in; the programs found there, with their texts and side files, out.
