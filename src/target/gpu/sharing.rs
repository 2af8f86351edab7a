//! Whether a result may take the memory of an operand, as XLA:GPU answers for the operations it knows
//! (facts: gpu-cpu-memory section 7; XLA `gpu::AliasInfo`).

use super::fusion;
pub use super::hero::Heroes;
use crate::graph::Dataflow;
use crate::hlo::{InstructionId, Opcode};

/// The answer for the result of `user` at `output`; `None` where the backend has no opinion.
pub fn can_share(
    graph: &Dataflow<'_>,
    heroes: &mut Heroes,
    operand: InstructionId,
    user: InstructionId,
    output: &[u32],
) -> Option<bool> {
    let module = graph.module();
    let operands = module.operands(user);
    match module.opcode(user) {
        Opcode::AllReduce | Opcode::CollectiveBroadcast => {
            let same = |&at: &u32| operands.get(at as usize) == Some(&operand);
            let is_in_place = operands.len() == 1 || matches!(output, [at] if same(at));
            Some(is_in_place && !is_nvshmem(module.backend_config(user)))
        }
        Opcode::CustomCall => Some(is_bias(graph, operand, user, output)),
        Opcode::Fusion => Some(fusion::can_share(graph, heroes, operand, user, output)),
        _ => None,
    }
}

/// Collectives by NVSHMEM need two buffers.
fn is_nvshmem(backend_config: Option<&str>) -> bool {
    backend_config.is_some_and(|text| text.contains("NVSHMEM"))
}

/// The matrix that a product by cuBLASLt is added to: operand 2, with beta not 0.
fn is_bias(
    graph: &Dataflow<'_>,
    operand: InstructionId,
    user: InstructionId,
    output: &[u32],
) -> bool {
    let module = graph.module();
    let operands = module.operands(user);
    let is_product = module.custom_call_target(user) == Some("__cublas$lt$matmul");
    let uses = operands.iter().filter(|&&found| found == operand).count();
    is_product
        && output == [0]
        && operands.get(2) == Some(&operand)
        && uses == 1
        && module.backend_config(user).is_some_and(has_beta)
}

/// `"beta":1`, with or without blanks and escapes.
fn has_beta(backend_config: &str) -> bool {
    let number = backend_config.split_once("beta").and_then(|(_, rest)| {
        let rest = rest.trim_start_matches(['"', '\\', ':', ' ']);
        let end = rest.find(|c: char| !matches!(c, '0'..='9' | '.' | '-' | '+' | 'e' | 'E'));
        rest.get(..end.unwrap_or(rest.len()))?.parse::<f64>().ok()
    });
    number.is_some_and(|beta| beta != 0.0)
}

#[cfg(test)]
mod tests {
    use super::has_beta;

    #[test]
    fn beta() {
        for (text, expected) in [
            (r#"{"alpha_real":1,"beta":0,"x":1}"#, false),
            (r#"{"alpha_real":1,"beta":1,"x":1}"#, true),
            (r#"{\"beta\": 0.5}"#, true),
            (r#"{"x":1}"#, false),
        ] {
            assert_eq!(has_beta(text), expected, "{text}");
        }
    }
}
