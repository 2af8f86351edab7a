//! A rule's name or an error code in; what `hlolint explain` says of it, as data, out. The pages of
//! OpenXLA's error catalogue are decision trees here, each leaf with the rules that look for it.

use super::rules::RuleDoc;
use crate::config::unknown;
use crate::lint::all_rules;
use serde::Serialize;

/// What is explained.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topic {
    /// A rule.
    Rule(RuleDoc),
    /// A page of the error catalogue.
    Page(&'static Page),
}

/// A page of the error catalogue, in this project's words.
#[derive(Debug, Serialize)]
pub struct Page {
    /// The code.
    pub code: &'static str,
    /// What has failed.
    pub title: &'static str,
    /// What to know before the first question.
    pub preface: &'static str,
    /// The questions, in the order in which to ask them.
    pub branches: &'static [Branch],
}

/// A question, and what follows where the answer is yes.
#[derive(Debug, Serialize)]
pub struct Branch {
    /// The section of the page.
    pub section: &'static str,
    /// The question.
    pub question: &'static str,
    /// What to look at, in order.
    pub leaves: &'static [Leaf],
}

/// A cause and what to do.
#[derive(Debug, Serialize)]
pub struct Leaf {
    /// What it is and what to do.
    pub text: &'static str,
    /// The rules that look for it.
    pub rules: &'static [&'static str],
}

const fn leaf(text: &'static str, rules: &'static [&'static str]) -> Leaf {
    Leaf { text, rules }
}

/// The pages. Source: OpenXLA's error catalogue, pages E1000 and E1001; what is said of what helps is
/// measured on recompiled programs.
pub static PAGES: [Page; 2] = [E1000, E1001];

const E1000: Page = Page {
    code: "E1000",
    title: "the program needs more HBM than a device has, at compile time",
    preface: "The figure in the message is everything that must fit: arguments, results and \
              temporaries, whatever its words say. `hlolint check DIR` on the dump of the failed \
              compile finds the same figure and what it is made of. Ask in this order; the first \
              yes is where to start.",
    branches: &[
        Branch {
            section: "scenario 1",
            question: "Are there embedding tables on SparseCores, or does the message give a \
                       TensorCore and a SparseCore figure?",
            leaves: &[
                leaf(
                    "The SparseCores' part is the larger: fewer unique ids a partition, the \
                     largest tables serialised (no help between tables of equal size), fewer steps \
                     in flight.",
                    &["sparsecore-dominates"],
                ),
                leaf(
                    "Rows narrower than 8 floats are padded to 8, in the optimizer's slots too: \
                     join tables.",
                    &["narrow-table"],
                ),
                leaf(
                    "A table is not split over all SparseCores, or not split at all: shard its \
                     rows over all devices.",
                    &["unsharded-table"],
                ),
                leaf(
                    "A table is copied in each step because its layout is not the SparseCores': \
                     pin the layout of the argument and of the result.",
                    &["table-layout-copy"],
                ),
                leaf("The TensorCore's part is the larger: go on with scenario 2.", &[]),
            ],
        },
        Branch {
            section: "scenario 2",
            question: "Does one allocation take more than half of HBM?",
            leaves: &[
                leaf(
                    "Find the line that computes it, and shard it, split it or fuse it away.",
                    &["large-allocation"],
                ),
                leaf(
                    "It is sent to the host: a print or a callback writes out what would have \
                     stayed inside a fusion, on one device the whole array. Print a reduction.",
                    &["debug-print", "host-callback", "callback-in-loop"],
                ),
                leaf(
                    "It has its global shape on each device: a sharding is missing, or an axis of \
                     the mesh is in none.",
                    &["replicated-tensor", "unused-mesh-axis"],
                ),
                leaf(
                    "It is gathered from all devices: keep it sharded where it is used, gather a \
                     layer at a time.",
                    &["gather-over-capacity", "gather-then-slice"],
                ),
                leaf(
                    "It is quadratic in the sequence, or a matrix of one-hot rows: a kernel that \
                     never holds it, chunks, or a gather.",
                    &["dense-attention-scores", "materialized-one-hot"],
                ),
                leaf(
                    "It is a literal or a closed-over array, whole on each device: make it an \
                     argument.",
                    &["large-constant"],
                ),
                leaf(
                    "It exists in the text before fusion only, and must be fused to fit.",
                    &["huge-elementwise"],
                ),
            ],
        },
        Branch {
            section: "scenario 3",
            question: "Is it the sum of many allocations?",
            leaves: &[leaf(
                "The table of what is alive at the peak says which group to look at first; what \
                 depends on neither batch nor sequence is the floor that smaller batches cannot \
                 get under.",
                &["hbm-over-capacity", "hbm-near-capacity", "budget"],
            )],
        },
        Branch {
            section: "3.A",
            question: "Can the configuration be changed?",
            leaves: &[
                leaf(
                    "A smaller batch, or the same batch in several steps. Gradient accumulation \
                     helps where the buffers at the peak have a batch dimension.",
                    &[],
                ),
                leaf(
                    "Arguments that a result replaces are not donated, or the donation is lost.",
                    &["undonated-input", "donation-size-mismatch", "copied-donated-input"],
                ),
                leaf(
                    "Values are f32 where bf16 would do: kept activations, logits, weights \
                     converted all at once, collectives.",
                    &["f32-upcast", "logits-f32", "weight-convert", "f32-collective"],
                ),
            ],
        },
        Branch {
            section: "3.B",
            question: "Can it be split over more devices, or otherwise?",
            leaves: &[
                leaf(
                    "Parameters, optimizer state and activations whole on each device, an axis of \
                     the mesh unused.",
                    &["replicated-tensor", "unused-mesh-axis"],
                ),
                leaf(
                    "Gathered weights that stay alive longer than the layer that uses them.",
                    &["long-lived-all-gather"],
                ),
                leaf("Optimizer state or activations on the host: slow, but exact.", &[]),
            ],
        },
        Branch {
            section: "3.C",
            question: "Is much of it padding?",
            leaves: &[
                leaf(
                    "A minor dimension that is no multiple of 128, a second minor that is none of \
                     8. XLA mostly finds a layout that pads little, unless it is pinned or forced.",
                    &["tile-padding"],
                ),
                leaf(
                    "A copy or transpose into a layout that pads more.",
                    &["layout-copy-pads", "gather-index-padding"],
                ),
            ],
        },
        Branch {
            section: "3.D",
            question: "Is all of this done? Compiler flags are the last resort.",
            leaves: &[leaf(
                "Flags that move memory between uses change other programs, too: measure.",
                &[],
            )],
        },
        Branch {
            section: "3.E",
            question: "Are values kept for the backward pass?",
            leaves: &[
                leaf(
                    "What a scan stacks, or what N unrolled layers keep: jax.checkpoint around the \
                     layer. It saves nothing where the large values are born in the backward pass, \
                     or where XLA recomputes them already.",
                    &["stacked-residuals", "unrolled-layers"],
                ),
                leaf(
                    "A loop copies what it carries; random bits are kept instead of the key.",
                    &["loop-copy", "rng-bits"],
                ),
                leaf(
                    "XLA has recomputed what it could and it still does not fit: less must be \
                     needed, not recomputed.",
                    &["remat-exhausted"],
                ),
            ],
        },
        Branch {
            section: "3.F",
            question: "Is it still not clear?",
            leaves: &[
                leaf("`hlolint report DIR` shows every buffer and memory over the program.", &[]),
                leaf(
                    "Many programs are compiled from one function: each has its own memory, and \
                     its own time to compile.",
                    &["retraced-function"],
                ),
            ],
        },
    ],
};

const E1001: Page = Page {
    code: "E1001",
    title: "a kernel needs more scoped VMEM than its limit, at compile time",
    preface: "Scratch, windows and scoped allocations are laid out in turn, and the message counts \
              up to the first that does not fit: the whole need may be larger. `hlolint vmem DIR` \
              reads the need from the kernel itself.",
    branches: &[
        Branch {
            section: "retune the kernel",
            question: "Is the instruction a tpu_custom_call (a Pallas kernel)?",
            leaves: &[
                leaf(
                    "Smaller blocks: windows of inputs and outputs are held twice, so that the \
                     next is fetched while one is used.",
                    &["scoped-vmem", "scoped-vmem-near-limit"],
                ),
                leaf(
                    "Block dimensions that are no multiples of the tile are padded inside the \
                     window.",
                    &["vmem-block-misaligned"],
                ),
                leaf(
                    "A higher limit for this kernel, vmem_limit_bytes, up to what the chip's VMEM \
                     leaves beside operands placed there.",
                    &["vmem-limit-over-capacity"],
                ),
                leaf(
                    "A higher limit for all kernels, --xla_tpu_scoped_vmem_limit_kib: it takes \
                     VMEM from everything else.",
                    &[],
                ),
            ],
        },
        Branch {
            section: "a compiler bug",
            question: "Is it any other instruction?",
            leaves: &[leaf(
                "The compiler should have kept within the limit: leave out the flag of the limit \
                 if it is set, else report it with the dump.",
                &[],
            )],
        },
    ],
};

/// Explains a rule or a page; its code may be written in lower case.
///
/// # Errors
/// A sentence that names the nearest that there is.
pub fn explain(name: &str) -> Result<Topic, String> {
    if let Some(page) = PAGES.iter().find(|page| page.code.eq_ignore_ascii_case(name)) {
        return Ok(Topic::Page(page));
    }
    if let Some(rule) = all_rules().iter().find(|rule| rule.meta().name == name) {
        return Ok(Topic::Rule(RuleDoc::of(rule.meta())));
    }
    let known = all_rules().iter().map(|rule| rule.meta().name);
    let known = known.chain(PAGES.iter().map(|page| page.code));
    Err(format!("{}; `hlolint rules` lists all", unknown("rule or error page", name, known)))
}

#[cfg(test)]
mod tests {
    use super::{PAGES, explain};
    use crate::lint::all_rules;

    #[test]
    fn every_rule_stands_on_a_page() {
        let leaves = || PAGES.iter().flat_map(|page| page.branches).flat_map(|b| b.leaves);
        for rule in all_rules() {
            let name = rule.meta().name;
            assert!(leaves().any(|leaf| leaf.rules.contains(&name)), "{name} is on no page");
        }
        for name in leaves().flat_map(|leaf| leaf.rules) {
            assert!(all_rules().iter().any(|rule| rule.meta().name == *name), "no rule {name}");
        }
    }

    #[test]
    fn a_wrong_name_gets_the_nearest() {
        assert!(explain("e1000").is_ok());
        let error = explain("replicated-tenser").unwrap_err();
        assert!(error.contains("did you mean 'replicated-tensor'"), "{error}");
        assert!(!explain("x").unwrap_err().contains("did you mean"));
    }
}
