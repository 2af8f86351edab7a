//! Blocks that say what a program uses: `Total hbm usage`, `Output size`, `Program hbm requirement`,
//! rematerialisation. Compiles that work print them, too.

use super::line::{between, number_after, size_after, without_prefix};
use super::{Output, Remat, Requirement, Size, Usage};

/// Lines that a block has at most.
const MAX_LINES: usize = 16;

/// `Total hbm usage >= A:` and the parts below.
pub fn usage(text: &str) -> Usage {
    let mut usage = Usage { total: size_after(text, "usage >= "), ..Usage::default() };
    for line in text.lines().skip(1).take(MAX_LINES) {
        let line = without_prefix(line).trim();
        let Some((name, rest)) = line.split_once(' ') else { break };
        let size = Size::at_start(rest.trim_start()).map(|(size, _)| size);
        match name {
            "reserved" => usage.reserved = size,
            "program" => usage.program = size,
            "arguments" => usage.arguments = size,
            _ => break,
        }
    }
    usage
}

/// `Output size A; shares B with arguments.`
pub fn output(text: &str) -> Option<Output> {
    let line = text.lines().next()?;
    Some(Output { size: size_after(line, "Output size ")?, shared: size_after(line, "shares ")? })
}

/// `Program hbm requirement A:` and the parts below.
pub fn requirement(text: &str) -> Requirement {
    let mut found =
        Requirement { total: size_after(text, "requirement "), ..Requirement::default() };
    for line in text.lines().skip(1).take(MAX_LINES) {
        let line = without_prefix(line).trim();
        let Some(name) =
            ["reserved", "global", "scoped", "HLO temp", "overlays", "arguments", "sc_program"]
                .into_iter()
                .find(|name| line.starts_with(name))
        else {
            break;
        };
        if let Some((size, _)) = Size::at_start(line[name.len()..].trim_start()) {
            found.parts.push((name.to_owned(), size));
        }
        if name == "HLO temp" {
            found.unpadded = between(line, "Unpadded (", ")").and_then(Size::parse);
            found.padded = between(line, "Padded (", ")").and_then(Size::parse);
            found.fragmentation = between(line, "fragmentation (", ")").and_then(Size::parse);
        }
    }
    found
}

/// `BufferAssignment stats:` and the sizes below, in the order of the message.
pub fn assignment(text: &str) -> Requirement {
    const NAMES: [(&str, &str); 4] = [
        ("parameter allocation:", "parameters"),
        ("constant allocation:", "constants"),
        ("maybe_live_out allocation:", "results"),
        ("preallocated temp allocation:", "temporaries"),
    ];
    let mut found = Requirement::default();
    for line in text.lines().skip(1).take(MAX_LINES) {
        let line = without_prefix(line).trim();
        let size = |mark: &str| size_after(line, mark);
        if let Some((mark, name)) = NAMES.iter().find(|(mark, _)| line.starts_with(mark)) {
            found.parts.extend(size(mark).map(|size| ((*name).to_owned(), size)));
        } else if line.starts_with("total allocation:") {
            found.total = size("total allocation:");
        } else if line.starts_with("total fragmentation:") {
            found.fragmentation = size("total fragmentation:");
        } else if !line.starts_with("preallocated temp fragmentation:") {
            break;
        }
    }
    found
}

/// `Can't reduce memory use below A (n bytes) by rematerialization; only reduced to B (n bytes), down
/// from C (n bytes) originally`.
pub fn remat(text: &str) -> Option<Remat> {
    let line = text.lines().next()?;
    let (limit, rest) = line.split_once(" by rematerialization")?;
    let (reached, before) = rest.split_once("down from ")?;
    Some(Remat {
        limit: size_after(limit, "use below ")?,
        reached: size_after(reached, "reduced to ")?,
        reached_bytes: number_after(reached, " ("),
        before: Size::at_start(before).map(|(size, _)| size)?,
    })
}
