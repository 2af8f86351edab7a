//! A size in MB in; the training step of testdata, called so often that it gives that much text, on the
//! output stream: `cargo run --example tile -- 64 >tiled.txt`. For looking at how large modules do.

use std::io::Write;

#[path = "../benches/support/tile.rs"]
#[allow(dead_code, reason = "the benchmarks need more of it")]
mod tile;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let megabytes: usize = std::env::args().nth(1).ok_or("a size in MB")?.parse()?;
    let step = tile::training_step().ok_or("testdata/large is absent")?;
    std::io::stdout().write_all(tile::called(&step, megabytes << 20).as_bytes())?;
    Ok(())
}
