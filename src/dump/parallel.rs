//! The same work on many items, on several threads; results in the order of the items.

/// Applies a function to every item.
#[cfg(feature = "parallel")]
pub(crate) fn map<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync + Send) -> Vec<R> {
    use rayon::prelude::*;
    items.into_par_iter().map(work).collect()
}

/// Applies a function to every item.
#[cfg(not(feature = "parallel"))]
pub(crate) fn map<T, R>(items: Vec<T>, work: impl Fn(T) -> R) -> Vec<R> {
    items.into_iter().map(work).collect()
}
