//! Progress of long work, on a terminal only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Below this many items a run is over before a bar could be read.
const WORTH_A_BAR: usize = 32;

/// A bar over so many items; hidden where they are few or the error stream is no terminal.
pub fn bar(items: usize, of: &'static str) -> ProgressBar {
    if items < WORTH_A_BAR {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(items as u64), ProgressDrawTarget::stderr());
    match ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}, {eta} left") {
        Ok(style) => bar.with_style(style).with_message(of),
        Err(_) => bar,
    }
}
