//! One mistake, one warning: what other rules see of it is "also seen".

#![allow(clippy::unwrap_used)] // a helper of a test fails by panicking

mod support;

use hlolint::config::Settings;
use hlolint::lint::Level;
use hlolint::target::{Chip, tpu};
use std::fs;

/// What speaks of a text, each with what it speaks for behind it; limits apart.
fn said(name: &str, text: &str) -> Vec<String> {
    let folder = std::env::temp_dir().join(format!("hlolint-one-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("one.hlo"), text).unwrap();
    let settings = Settings { chip: Some(Chip::Tpu(tpu::Chip::V5e)), ..Settings::default() };
    let report = support::report(&folder, &settings);
    fs::remove_dir_all(&folder).unwrap();
    let warnings = report.findings.iter().filter(|finding| finding.level == Level::Warn);
    let line = |finding: &hlolint::lint::Finding| {
        let seen = finding.also_seen.iter().filter_map(|seen| seen.split(':').next());
        [finding.rule].into_iter().chain(seen).collect::<Vec<_>>().join(" ")
    };
    warnings.map(line).collect()
}

/// Two donated arrays of 512 MiB, whole on eight devices, whose old values are read behind the update.
const COPIED: &str = "\
HloModule copied, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }, num_partitions=8

ENTRY main {
  a = f32[16384,8192]{1,0:T(8,128)} parameter(0), sharding={replicated}, metadata={op_name=\"state['a']\"}
  x = f32[8,8192]{1,0:T(8,128)} parameter(1), sharding={devices=[8,1]<=[8]}
  zero = s32[] constant(0)
  copy = f32[16384,8192]{1,0:T(8,128)} copy(a)
  new = f32[16384,8192]{1,0:T(8,128)} dynamic-update-slice(a, x, zero, zero)
  row = f32[8,8192]{1,0:T(8,128)} slice(copy), slice={[0:8], [0:8192]}
  ROOT out = (f32[16384,8192]{1,0:T(8,128)}, f32[8,8192]{1,0:T(8,128)}) tuple(new, row)
}
";

/// A padded copy, and two padded arrays that are computed from it.
const PADDED: &str = "\
HloModule padded, is_scheduled=true

ENTRY main {
  x = f32[18000000,3]{0,1:T(4,128)} parameter(0)
  one = f32[18000000,3]{1,0:T(8,128)} copy(x)
  sum = f32[18000000,3]{1,0:T(8,128)} cosine(one)
  back = f32[18000000,3]{0,1:T(4,128)} copy(sum)
  more = f32[18000000,3]{1,0:T(8,128)} sine(one)
  last = f32[18000000,3]{0,1:T(4,128)} copy(more)
  ROOT all = (f32[18000000,3]{0,1:T(4,128)}, f32[18000000,3]{0,1:T(4,128)}) tuple(back, last)
}
";

#[test]
fn one_warning() {
    assert_eq!(said("copied", COPIED), ["replicated-tensor copied-donated-input"]);
    assert_eq!(said("padded", PADDED), ["tile-padding layout-copy-pads large-allocation"]);
}

/// Nothing is split over the only axis: the gather that does not fit, the whole arguments and the
/// unused axis are one omission.
#[test]
fn nothing_is_split() {
    let bad = support::fixture("gather-over-capacity-bad");
    let warnings: Vec<&str> = bad
        .report
        .findings
        .iter()
        .filter(|finding| finding.level == Level::Warn)
        .map(|finding| finding.rule)
        .collect();
    assert_eq!(warnings, ["gather-over-capacity"]);
}
