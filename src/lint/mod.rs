//! A program and its analyses in; findings out. One rule a file in `rules/`.
