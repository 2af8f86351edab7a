//! Rules of the memory analysis, one small module each.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use hlolint::graph::{Dataflow, TripCountSource};
use hlolint::hlo::Module;
use hlolint::memory::{
    AllocationKind, Analysis, Edit, Exactness, MemoryProfile, Value, analyse, origin,
};
use hlolint::target::Policy;
use hlolint::target::tpu::{Chip, RuleSet};
use hlolint::text;

fn module(text: &str) -> Module<'_> {
    text::parse(text).map_err(|error| error.to_string()).unwrap().module
}

fn profile(module: &Module<'_>, rules: RuleSet) -> MemoryProfile {
    analyse(&Dataflow::new(module), &Policy::tpu(Chip::V5e, rules)).unwrap()
}

/// The value that an instruction defines at an index.
fn value<'p>(
    module: &Module<'_>,
    profile: &'p MemoryProfile,
    name: &str,
    index: &[u32],
) -> Option<&'p Value> {
    profile
        .values
        .iter()
        .find(|value| module.instruction(value.instruction).name == name && *value.index == *index)
}

/// Start and end of the value that an instruction defines at an index.
fn live(module: &Module<'_>, profile: &MemoryProfile, name: &str, index: &[u32]) -> (u32, u32) {
    let live = value(module, profile, name, index).unwrap().live.unwrap();
    (live.start, live.end)
}

const CHAIN: &str = "HloModule chain, is_scheduled=true

ENTRY %main (p: f32[1024,1024]) -> f32[1024,1024] {
  %p = f32[1024,1024]{1,0:T(8,128)} parameter(0)
  %a = f32[1024,1024]{1,0:T(8,128)} negate(%p)
  %b = f32[1024,1024]{1,0:T(8,128)} transpose(%a), dimensions={1,0}
  %c = f32[1024,1024]{1,0:T(8,128)} add(%b, %p)
  ROOT %d = f32[1024,1024]{1,0:T(8,128)} transpose(%c), dimensions={1,0}
}
";

#[test]
fn a_chain_reuses_what_is_dead() {
    let module = module(CHAIN);
    let found = profile(&module, RuleSet::P51);
    assert_eq!(found.exactness, Exactness::Exact);
    assert_eq!(live(&module, &found, "p", &[]), (0, 5));
    assert_eq!(live(&module, &found, "a", &[]), (1, 2));
    assert_eq!(live(&module, &found, "b", &[]), (2, 3));
    assert_eq!(live(&module, &found, "d", &[]), (4, 5));
    let hbm = found.hbm().unwrap();
    let array = 4 << 20;
    assert_eq!((hbm.parameters_bytes, hbm.outputs_bytes), (array, array));
    // a beside b; c takes b's place (addition is element by element).
    assert_eq!(hbm.temporaries_live_bytes, 2 * array);
    assert_eq!((hbm.total_bytes, hbm.fragmentation_bytes), (4 * array, 0));
    assert_eq!(hbm.peak_point, Some(2));
}

/// In the old order temporaries go into memory of results that is not in use yet.
#[test]
fn temporaries_join_results_in_the_old_order_only() {
    let module = module(CHAIN);
    let array = 4 << 20;
    assert_eq!(profile(&module, RuleSet::P42).hbm().unwrap().total_bytes, 3 * array);
    assert_eq!(profile(&module, RuleSet::P51).hbm().unwrap().total_bytes, 4 * array);
}

/// What the compiler compares with the capacity includes results from 0.0.42 on.
#[test]
fn results_are_required_from_form_b_on() {
    let module = module(CHAIN);
    for (rules, left_out) in [(RuleSet::P0, 4 << 20), (RuleSet::P41, 4 << 20), (RuleSet::P42, 0)] {
        let hbm = profile(&module, rules).hbm().unwrap().clone();
        assert_eq!(hbm.total_bytes - hbm.required_bytes, left_out, "{rules:?}");
    }
}

const LOOP: &str = "HloModule loop, is_scheduled=true

%body (t: (s32[], f32[256,256], f32[256,256])) -> (s32[], f32[256,256], f32[256,256]) {
  %t = (s32[]{:T(128)}, f32[256,256]{1,0:T(8,128)}, f32[256,256]{1,0:T(8,128)}) parameter(0)
  %i = s32[]{:T(128)} get-tuple-element(%t), index=0
  %x = f32[256,256]{1,0:T(8,128)} get-tuple-element(%t), index=1
  %w = f32[256,256]{1,0:T(8,128)} get-tuple-element(%t), index=2
  %one = s32[]{:T(128)} constant(1)
  %next = s32[]{:T(128)} add(%i, %one)
  %y = f32[256,256]{1,0:T(8,128)} dot(%x, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT %r = (s32[]{:T(128)}, f32[256,256]{1,0:T(8,128)}, f32[256,256]{1,0:T(8,128)}) tuple(%next, %y, %w)
}

%cond (u: (s32[], f32[256,256], f32[256,256])) -> pred[] {
  %u = (s32[]{:T(128)}, f32[256,256]{1,0:T(8,128)}, f32[256,256]{1,0:T(8,128)}) parameter(0)
  %j = s32[]{:T(128)} get-tuple-element(%u), index=0
  %n = s32[]{:T(128)} constant(12)
  ROOT %lt = pred[]{:T(512)} compare(%j, %n), direction=LT
}

ENTRY %main (a: f32[256,256], b: f32[256,256]) -> f32[256,256] {
  %a = f32[256,256]{1,0:T(8,128)} parameter(0)
  %b = f32[256,256]{1,0:T(8,128)} parameter(1)
  %zero = s32[]{:T(128)} constant(0)
  %k = s32[]{:T(128)} copy(%zero)
  %c = f32[256,256]{1,0:T(8,128)} copy(%a)
  %init = (s32[]{:T(128)}, f32[256,256]{1,0:T(8,128)}, f32[256,256]{1,0:T(8,128)}) tuple(%k, %c, %b)
  %while = (s32[]{:T(128)}, f32[256,256]{1,0:T(8,128)}, f32[256,256]{1,0:T(8,128)}) while(%init), condition=%cond, body=%body
  ROOT %out = f32[256,256]{1,0:T(8,128)} get-tuple-element(%while), index=1
}
";

#[test]
fn loops_have_phis_where_values_differ() {
    let module = module(LOOP);
    let graph = Dataflow::new(&module);
    let [found] = graph.loops() else { panic!("one loop") };
    assert_eq!(found.trip_count, Some((12, TripCountSource::Counter)));
    let found = profile(&module, RuleSet::P51);
    for at in ["t", "u", "while"] {
        assert!(value(&module, &found, at, &[1]).unwrap().is_phi, "{at}");
        // The weight does not change: the argument itself is there.
        assert!(value(&module, &found, at, &[2]).is_none(), "{at}");
    }
    let buffers: Vec<_> = [("c", &[][..]), ("t", &[1]), ("u", &[1]), ("y", &[]), ("while", &[1])]
        .into_iter()
        .map(|(name, index)| value(&module, &found, name, index).unwrap().buffer)
        .collect();
    assert!(buffers.iter().all(|buffer| *buffer == buffers[0]), "{buffers:?}");
    // Condition before body in the schedule.
    let names: Vec<&str> = found.schedule.iter().map(|&id| module.instruction(id).name).collect();
    assert_eq!(names[6..10], ["u", "j", "n", "lt"]);
    assert_eq!(names.last(), Some(&"out"));
}

#[test]
fn a_value_that_goes_around_comes_from_the_body() {
    let module = module(LOOP);
    let found = profile(&module, RuleSet::P51);
    let graph = Dataflow::new(&module);
    let name = |value: &Value| {
        let origin = origin(&graph, value);
        (module.instruction(origin.instruction).name, origin.inferred)
    };
    assert_eq!(name(value(&module, &found, "while", &[1]).unwrap()), ("y", true));
    assert_eq!(name(value(&module, &found, "c", &[]).unwrap()), ("a", true));
    assert_eq!(name(value(&module, &found, "y", &[]).unwrap()), ("y", false));
}

#[test]
fn donation_is_a_must_alias_and_frees_the_parameter() {
    let donated = CHAIN.replace(
        "is_scheduled=true",
        "is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }",
    );
    let (plain, donated) = (module(CHAIN), module(&donated));
    let expected = profile(&donated, RuleSet::P51);
    let hbm = expected.hbm().unwrap();
    assert_eq!((hbm.aliased_bytes, hbm.outputs_bytes), (4 << 20, 0));
    // Asked of the program without it, the edit says the same.
    let graph = Dataflow::new(&plain);
    let analysis = Analysis::new(&graph, &Policy::tpu(Chip::V5e, RuleSet::P51)).unwrap();
    let now = analysis.profile(&[]).unwrap();
    let id = |name| {
        let is_it = |value: &Value| plain.instruction(value.instruction).name == name;
        hlolint::memory::ValueId(now.values.iter().position(is_it).unwrap() as u32)
    };
    let edits = [Edit::Donate { parameter: id("p"), output: id("d") }];
    let after = analysis.profile(&edits).unwrap();
    assert_eq!(after.hbm(), expected.hbm());
    assert!(after.hbm().unwrap().total_bytes < now.hbm().unwrap().total_bytes);
}

#[test]
fn edits_that_name_nothing_change_nothing() {
    let module = module(LOOP);
    let graph = Dataflow::new(&module);
    let analysis = Analysis::new(&graph, &Policy::tpu(Chip::V5e, RuleSet::P51)).unwrap();
    let now = analysis.profile(&[]).unwrap();
    let (value, buffer) = (hlolint::memory::ValueId(9999), hlolint::memory::BufferId(9999));
    let edits = [
        Edit::Remove(buffer),
        Edit::Shrink { buffer, bytes: 0 },
        Edit::Donate { parameter: value, output: value },
        Edit::EndAt { value, point: 0 },
    ];
    let after = analysis.profile(&edits).unwrap();
    assert_eq!(after.spaces, now.spaces);
}

#[test]
fn in_place_operations_share_through_fusions() {
    let text = "HloModule dus, is_scheduled=true

%fused (q: f32[64,128], u: f32[1,128], i: s32[]) -> f32[64,128] {
  %q = f32[64,128]{1,0:T(8,128)} parameter(0)
  %u = f32[1,128]{1,0:T(1,128)} parameter(1)
  %i = s32[]{:T(128)} parameter(2)
  %z = s32[]{:T(128)} constant(0)
  ROOT %s = f32[64,128]{1,0:T(8,128)} dynamic-update-slice(%q, %u, %i, %z)
}

ENTRY %main (a: f32[64,128], u: f32[1,128], i: s32[]) -> f32[64,128] {
  %a = f32[64,128]{1,0:T(8,128)} parameter(0)
  %u.1 = f32[1,128]{1,0:T(1,128)} parameter(1)
  %i.1 = s32[]{:T(128)} parameter(2)
  %c = f32[64,128]{1,0:T(8,128)} copy(%a)
  ROOT %f = f32[64,128]{1,0:T(8,128)} fusion(%c, %u.1, %i.1), kind=kLoop, calls=%fused
}
";
    let module = module(text);
    let found = profile(&module, RuleSet::P51);
    let buffer = |name| value(&module, &found, name, &[]).unwrap().buffer;
    assert_eq!(buffer("c"), buffer("f"));
    assert_ne!(buffer("a"), buffer("f"));
    // What is in the fusion has no memory of its own.
    assert!(value(&module, &found, "s", &[]).is_none());
}

#[test]
fn an_unscheduled_program_has_a_lower_bound() {
    let text = "HloModule plain, num_partitions=4

ENTRY %main (a: f32[1000,1000], b: f32[8]) -> f32[1000,1000] {
  %a = f32[1000,1000]{1,0} parameter(0), sharding={devices=[4,1]<=[4]}
  %b = f32[8]{0} parameter(1), sharding={replicated}
  ROOT %n = f32[1000,1000]{1,0} negate(%a)
}
";
    let module = module(text);
    let found = profile(&module, RuleSet::P51);
    assert_eq!(found.exactness, Exactness::LowerBound);
    assert!(found.schedule.is_empty() && found.values.iter().all(|value| value.live.is_none()));
    let hbm = found.hbm().unwrap();
    // 250 rows of 1000 are 256 of 1000 in tiles of 8 x 128, or 1000 of 256 the other way round.
    assert_eq!(hbm.parameters_bytes, 256 * 1000 * 4 + 512);
    assert_eq!(hbm.outputs_bytes, 1000 * 1024 * 4 / 4);
    assert_eq!(hbm.peak_point, None);
}

/// Natural sizes where there are no tiles.
#[test]
fn other_backends_have_no_padding() {
    let text = CHAIN.replace(":T(8,128)", "").replace("1024,1024", "1000,1000");
    let module = module(&text);
    let found = analyse(&Dataflow::new(&module), &Policy::cpu()).unwrap();
    assert_eq!(found.hbm().unwrap().parameters_bytes, 4_000_000);
}

/// Graphs that no compiler writes are analysed or refused, never a panic.
#[test]
fn odd_modules() {
    let cases = [
        // An index that is not there.
        "HloModule m, is_scheduled=true\n\nENTRY %e (p: (f32[2])) -> f32[2] {\n  %p = (f32[2]{0}) parameter(0)\n  ROOT %g = f32[2]{0} get-tuple-element(%p), index=7\n}\n",
        // Shapes that differ.
        "HloModule m, is_scheduled=true\n\nENTRY %e (p: f32[2]) -> f32[2] {\n  %p = f32[2]{0} parameter(0)\n  %t = (f32[2]{0}) bitcast(%p)\n  ROOT %c = f32[3]{0} copy-done(%t)\n}\n",
        // A size beyond 64 bits.
        "HloModule m, is_scheduled=true\n\nENTRY %e (p: f32[4294967296,4294967296,64]) -> f32[] {\n  %p = f32[4294967296,4294967296,64]{2,1,0} parameter(0)\n  ROOT %c = f32[] constant(0)\n}\n",
        // Aliases that name nothing.
        "HloModule m, is_scheduled=true, input_output_alias={ {3}: (9, {1}, may-alias) }\n\nENTRY %e (p: f32[2]) -> f32[2] {\n  ROOT %p = f32[2]{0} parameter(0)\n}\n",
        // An empty tuple.
        "HloModule m, is_scheduled=true\n\nENTRY %e () -> () {\n  ROOT %t = () tuple()\n}\n",
    ];
    for case in cases {
        let Ok(parsed) = text::parse(case) else { continue };
        let graph = Dataflow::new(&parsed.module);
        for rules in RuleSet::ALL {
            for chip in Chip::ALL {
                let _ = analyse(&graph, &Policy::tpu(chip, rules));
            }
        }
    }
}

#[test]
fn the_split_sums_to_the_total() {
    for text in [CHAIN, LOOP] {
        let module = module(text);
        for rules in RuleSet::ALL {
            let found = profile(&module, rules);
            for space in &found.spaces {
                let sum = space.parameters_bytes
                    + space.outputs_bytes
                    + space.constants_bytes
                    + space.thread_local_bytes
                    + space.temporaries_live_bytes
                    + space.fragmentation_bytes;
                assert_eq!(sum, space.total_bytes, "{rules:?} {space:?}");
            }
            let parameters = found
                .allocations
                .iter()
                .filter(|allocation| matches!(allocation.kind, AllocationKind::Parameter { .. }));
            assert_eq!(parameters.count(), module.parameters(module.entry).len());
        }
    }
}
