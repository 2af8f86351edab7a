//! Heroes of a fusion: the reduction or transpose that its kernel is built around (facts:
//! gpu-cpu-memory section 7; XLA `gpu/ir_emission_utils`, `gpu/reduction_utils`,
//! `gpu/hlo_fusion_analysis`).

use crate::graph::Dataflow;
use crate::hlo::{ArrayShape, AttributeName, InstructionId, Module, Opcode};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// The reduction heroes of fusions, found when first asked for.
#[derive(Debug, Default)]
pub struct Heroes {
    found: FxHashMap<InstructionId, Option<InstructionId>>,
}

impl Heroes {
    /// Whether an instruction inside a fusion is the reduction its kernel starts with.
    pub(super) fn is_reduction_hero(
        &mut self,
        graph: &Dataflow<'_>,
        fusion: InstructionId,
        id: InstructionId,
    ) -> bool {
        graph.module().opcode(id) == Opcode::Reduce
            && *self.found.entry(fusion).or_insert_with(|| reduction_hero(graph, fusion))
                == Some(id)
    }
}

/// The roots of a fusion: the elements of its tuple, or the one root.
pub(super) fn roots(module: &Module<'_>, root: InstructionId) -> Vec<InstructionId> {
    match module.opcode(root) {
        Opcode::Tuple => module.operands(root).to_vec(),
        _ => vec![root],
    }
}

/// The first reduction of a fusion that the reduction emitter serves; `None` where another one does.
fn reduction_hero(graph: &Dataflow<'_>, fusion: InstructionId) -> Option<InstructionId> {
    let module = graph.module();
    let has_own_emitter =
        module.backend_config(fusion).is_some_and(|text| text.contains("fusion_backend_config"))
            && module.attribute(fusion, AttributeName::Kind) == Some("kCustom");
    if has_own_emitter {
        return None;
    }
    let (_, callee) = module.calls(fusion).next()?;
    let roots = roots(module, module.computation(callee).root);
    let heroes: Vec<InstructionId> = roots.iter().map(|&root| hero(graph, root)).collect();
    let is_real = |at: usize| {
        Reduction::of(module, heroes[at]).is_some_and(|reduction| {
            reduction.suits_emitter() && (roots[at] == heroes[at] || reduction.is_race_free())
        })
    };
    let first = heroes[(0..roots.len()).find(|&at| is_real(at))?];
    let all_fit = (0..roots.len()).all(|at| match is_real(at) {
        true => is_like(module, heroes[at], first),
        false => elements(module, roots[at]) == operand_elements(module, first),
    });
    all_fit.then_some(first)
}

fn elements(module: &Module<'_>, id: InstructionId) -> Option<u64> {
    module.shape(id).array().and_then(ArrayShape::elements)
}

fn operand_elements(module: &Module<'_>, id: InstructionId) -> Option<u64> {
    elements(module, *module.operands(id).first()?)
}

/// Whether two reductions have the same dimensions.
fn is_like(module: &Module<'_>, left: InstructionId, right: InstructionId) -> bool {
    let sizes = |id: InstructionId| {
        let operand = *module.operands(id).first()?;
        Some(module.shape(operand).array()?.dimensions.clone())
    };
    sizes(left) == sizes(right)
        && module.attribute(left, AttributeName::Dimensions)
            == module.attribute(right, AttributeName::Dimensions)
}

/// The hero of a root: up through elementwise operations; a transpose or concatenate that is alone
/// on the way, else a reduction, else the root itself.
fn hero(graph: &Dataflow<'_>, root: InstructionId) -> InstructionId {
    let module = graph.module();
    let mut at = root;
    while is_intermediate(module, at, 1) {
        at = module.operands(at)[0];
    }
    let special = [is_tiled_transpose, is_concatenate]
        .into_iter()
        .find_map(|wanted| only_one_above(graph, at, wanted));
    special.unwrap_or(if module.opcode(at) == Opcode::Reduce { at } else { root })
}

/// Whether the hero of a root is a transpose or a copy into another layout.
pub(super) fn has_transposing_hero(graph: &Dataflow<'_>, root: InstructionId) -> bool {
    let module = graph.module();
    matches!(module.opcode(hero(graph, root)), Opcode::Transpose | Opcode::Copy)
}

/// Whether an instruction with at most so many operands is elementwise or a bitcast.
fn is_intermediate(module: &Module<'_>, id: InstructionId, most_operands: usize) -> bool {
    let operands = module.operands(id);
    let opcode = module.opcode(id);
    match operands {
        [] => false,
        _ if operands.len() > most_operands => false,
        &[operand, ..] if opcode == Opcode::Copy => {
            module.instruction(operand).shape == module.instruction(id).shape
        }
        _ => opcode.is_elementwise() || opcode == Opcode::Bitcast,
    }
}

/// The one instruction of a kind above another, with nothing but elementwise operations below it.
fn only_one_above(
    graph: &Dataflow<'_>,
    from: InstructionId,
    is_wanted: fn(&Module<'_>, InstructionId) -> bool,
) -> Option<InstructionId> {
    const MOST_OPERANDS: usize = 3;
    let module = graph.module();
    let mut found = None;
    let mut seen = FxHashSet::from_iter([from]);
    let mut work = vec![from];
    while let Some(id) = work.pop() {
        if is_wanted(module, id) {
            if found.replace(id).is_some() {
                return None;
            }
        } else if is_intermediate(module, id, MOST_OPERANDS) {
            work.extend(module.operands(id).iter().copied().filter(|&id| seen.insert(id)));
        }
    }
    let found = found?;
    let mut work: Vec<InstructionId> = graph.users(found).map(|(user, _)| user).collect();
    let mut seen = FxHashSet::default();
    while let Some(id) = work.pop() {
        if module.opcode(id) != Opcode::Tuple && !is_intermediate(module, id, MOST_OPERANDS) {
            return None;
        }
        work.extend(graph.users(id).map(|(user, _)| user).filter(|&user| seen.insert(user)));
    }
    Some(found)
}

fn is_concatenate(module: &Module<'_>, id: InstructionId) -> bool {
    module.opcode(id) == Opcode::Concatenate
}

/// Whether the transpose emitter takes a transpose: it goes through tiles of shared memory.
fn is_tiled_transpose(module: &Module<'_>, id: InstructionId) -> bool {
    if module.opcode(id) != Opcode::Transpose {
        return false;
    }
    let sizes = |id: InstructionId| -> Option<Vec<u64>> {
        Some(module.shape(id).array()?.dimensions.iter().map(|found| found.size).collect())
    };
    let (Some(result), Some(operand)) =
        (sizes(id), module.operands(id).first().and_then(|&id| sizes(id)))
    else {
        return false;
    };
    let permutation = dimensions(module, id);
    let (&[.., before_last, last], Some(&to)) = (&result[..], permutation.last()) else {
        return false;
    };
    let bits = module.shape(id).array().map_or(0, |array| array.element_type.bits());
    if to + 1 == result.len() {
        let bytes = (bits / 8).saturating_mul(last);
        let other = operand.get(operand.len().wrapping_sub(2)).copied().unwrap_or(0);
        return bytes <= 8 && bytes.saturating_mul(other.min(before_last)) >= 16;
    }
    let minor = operand.last().copied().unwrap_or(0);
    (minor >= 16 && last >= 16)
        || (minor >= 8 && last >= 8 && minor.saturating_mul(last) >= 64 * 128)
}

/// `dimensions={0,2}`.
fn dimensions(module: &Module<'_>, id: InstructionId) -> SmallVec<[usize; 4]> {
    let text = module.attribute(id, AttributeName::Dimensions).unwrap_or("");
    text.trim_matches(['{', '}']).split(',').filter_map(|part| part.trim().parse().ok()).collect()
}

/// A reduction seen as one over a row or a column of at most three dimensions, the most major first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reduction {
    is_row: bool,
    sizes: [u64; 3],
}

/// Threads that run in step.
const WARP: u64 = 32;

impl Reduction {
    /// `None` where an instruction is no reduction of neighbouring dimensions.
    fn of(module: &Module<'_>, id: InstructionId) -> Option<Reduction> {
        if module.opcode(id) != Opcode::Reduce {
            return None;
        }
        let array = module.shape(*module.operands(id).first()?).array()?;
        let reduced = dimensions(module, id);
        // The most major first.
        let physical: SmallVec<[usize; 4]> = match array.layout.as_deref() {
            Some(layout) if layout.minor_to_major.len() == array.dimensions.len() => layout
                .minor_to_major
                .iter()
                .rev()
                .map(|&at| usize::try_from(at).ok())
                .collect::<Option<_>>()?,
            _ => (0..array.dimensions.len()).collect(),
        };
        let sizes: SmallVec<[(u64, bool); 4]> = physical
            .iter()
            .map(|&at| Some((array.dimensions.get(at)?.size, reduced.contains(&at))))
            .collect::<Option<_>>()?;
        if sizes.iter().all(|&(_, is_reduced)| is_reduced) {
            return Some(Reduction { is_row: true, sizes: [1, 1, array.elements()?] });
        }
        if let Some([major, kept, minor]) = around(&sizes, false) {
            return Some(match (major, minor) {
                _ if kept == 1 => {
                    Reduction { is_row: true, sizes: [1, 1, major.checked_mul(minor)?] }
                }
                (_, 1) => Reduction { is_row: false, sizes: [1, major, kept] },
                _ => Reduction { is_row: true, sizes: [major, kept, minor] },
            });
        }
        let [major, reduced, minor] = around(&sizes, true)?;
        Some(match minor {
            1 => Reduction { is_row: true, sizes: [1, major, reduced] },
            _ => Reduction { is_row: false, sizes: [major, reduced, minor] },
        })
    }

    /// Whether the reduction emitter is faster than computing each element by itself.
    fn suits_emitter(self) -> bool {
        let [_, middle, minor] = self.sizes;
        if self.is_row {
            return minor >= WARP || WARP.is_multiple_of(minor);
        }
        !(middle < WARP
            || (middle < 2 * WARP && minor < WARP)
            || (middle < 4 * WARP && minor < 8)
            || (middle < 8 * WARP && minor < 3))
    }

    /// Whether one block of threads computes an element alone.
    fn is_race_free(self) -> bool {
        let [major, middle, minor] = self.sizes;
        match self.is_row {
            true => minor <= 16_384 && major <= 8,
            false => middle <= 4_096,
        }
    }
}

/// Sizes before, inside and behind the dimensions that are reduced (or kept), where these are
/// neighbours.
fn around(sizes: &[(u64, bool)], is_reduced: bool) -> Option<[u64; 3]> {
    let is_inside = |&(_, found): &(u64, bool)| found == is_reduced;
    let from = sizes.iter().position(is_inside)?;
    let to = sizes.iter().rposition(is_inside)? + 1;
    let inside = sizes.get(from..to)?;
    let product = |sizes: &[(u64, bool)]| {
        sizes.iter().try_fold(1_u64, |product, &(size, _)| product.checked_mul(size))
    };
    let all = inside.iter().all(is_inside);
    all.then(|| Some([product(&sizes[..from])?, product(inside)?, product(&sizes[to..])?]))?
}

#[cfg(test)]
mod tests {
    use super::{Reduction, around};

    #[test]
    fn neighbours() {
        let sizes = [(2, false), (3, true), (5, true), (7, false)];
        assert_eq!(around(&sizes, true), Some([2, 15, 7]));
        assert_eq!(around(&sizes, false), None);
        assert_eq!(around(&sizes[..3], false), Some([1, 2, 15]));
    }

    #[test]
    fn who_reduces() {
        let row = |minor| Reduction { is_row: true, sizes: [1, 8, minor] };
        assert!(row(32).suits_emitter() && row(16).suits_emitter() && !row(24).suits_emitter());
        assert!(row(16_384).is_race_free() && !row(16_385).is_race_free());
        let column = |middle, minor| Reduction { is_row: false, sizes: [1, middle, minor] };
        assert!(column(32, 32).suits_emitter() && !column(31, 64).suits_emitter());
        assert!(!column(63, 31).suits_emitter() && !column(127, 7).suits_emitter());
        assert!(!column(4_097, 64).is_race_free());
    }
}
