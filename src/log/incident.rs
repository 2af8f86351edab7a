//! What a log says, as data.

use super::table::Row;
use super::{Category, Form, Resharding, Size};
use schemars::JsonSchema;
use serde::Serialize;

/// Everything found in a log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Log {
    /// The failures, each once, in the order in which they were first said.
    pub incidents: Vec<Incident>,
    /// How often failures were said, repetitions included.
    pub messages: usize,
    /// The first `Total hbm usage` block that belongs to no failure: compiles that work print one.
    pub usage: Option<Usage>,
    /// The output line of that block.
    pub output: Option<Output>,
    /// The first rematerialisation warning that belongs to no failure.
    pub remat: Option<Remat>,
    /// Values that the partitioner holds whole for a while, the largest first.
    pub reshardings: Vec<Resharding>,
    /// An error that is not about memory: the line that says it.
    pub other_error: Option<String>,
    /// Whether anything in the text is known: a failure, or a line of the compiler's log.
    pub is_recognised: bool,
}

/// One failure.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Incident {
    /// What failed.
    pub category: Category,
    /// In which words.
    pub form: Form,
    /// The code, where the message has one: `E1000`.
    pub code: Option<String>,
    /// The memory space, as the message names it.
    pub space: Option<String>,
    /// What is needed.
    pub needed: Option<Size>,
    /// What there is.
    pub available: Option<Size>,
    /// What is missing, where the message says so.
    pub exceeded: Option<Size>,
    /// The SparseCores' part of what is needed, where the message tells it apart.
    pub sparsecore: Option<Size>,
    /// The HLO module, where the message names it.
    pub module: Option<String>,
    /// What the memory was for.
    pub subject: Option<Subject>,
    /// Why, in the message's words, where there are no figures.
    pub reason: Option<String>,
    /// `Total hbm usage`.
    pub usage: Option<Usage>,
    /// The program's results.
    pub output: Option<Output>,
    /// What the program itself needs, part by part.
    pub requirement: Option<Requirement>,
    /// What rematerialisation tried before.
    pub remat: Option<Remat>,
    /// The largest allocations, in the order of the message.
    pub rows: Vec<Row>,
    /// Where in the text it is first said, 0-based byte.
    pub offset: usize,
}

impl Incident {
    pub(super) fn new(category: Category, form: Form, offset: usize) -> Incident {
        Incident {
            category,
            form,
            code: None,
            space: None,
            needed: None,
            available: None,
            exceeded: None,
            sparsecore: None,
            module: None,
            subject: None,
            reason: None,
            usage: None,
            output: None,
            requirement: None,
            remat: None,
            rows: Vec::new(),
            offset,
        }
    }

    /// Whether another message says the same failure again, maybe in other words.
    pub(super) fn is_same(&self, other: &Incident) -> bool {
        fn agree<T: PartialEq>(a: Option<&T>, b: Option<&T>) -> bool {
            a.is_none() || b.is_none() || a == b
        }
        let text = |size: &Option<Size>| size.as_ref().map(|size| size.text.clone());
        self.category == other.category
            && agree(text(&self.needed).as_ref(), text(&other.needed).as_ref())
            && agree(text(&self.available).as_ref(), text(&other.available).as_ref())
            && agree(self.module.as_ref(), other.module.as_ref())
            && agree(self.subject.as_ref(), other.subject.as_ref())
            && agree(self.reason.as_ref(), other.reason.as_ref())
    }

    /// Takes from a repetition what it says more.
    pub(super) fn complete(&mut self, other: Incident) {
        fn fill<T>(to: &mut Option<T>, from: Option<T>) {
            if to.is_none() {
                *to = from;
            }
        }
        fill(&mut self.code, other.code);
        fill(&mut self.space, other.space);
        fill(&mut self.needed, other.needed);
        fill(&mut self.available, other.available);
        fill(&mut self.exceeded, other.exceeded);
        fill(&mut self.module, other.module);
        fill(&mut self.subject, other.subject);
    }
}

/// What the memory was for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Subject {
    /// The instruction or kernel.
    pub name: Option<String>,
    /// Its shape, with the layout.
    pub shape: Option<String>,
    /// The opcode.
    pub opcode: Option<String>,
    /// The operation in the user's program.
    pub op_name: Option<String>,
    /// The user's file and line, `models.py:97`.
    pub source: Option<String>,
    /// What part of it: a window, a scratch operand, an output.
    pub tag: Option<String>,
    /// Whether it is a custom kernel (Pallas) and not one that the compiler made.
    pub is_kernel: bool,
}

/// `Total hbm usage >= A:` with its parts; a part of unknown size is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Usage {
    /// The sum.
    pub total: Option<Size>,
    /// What the runtime keeps for itself.
    pub reserved: Option<Size>,
    /// Temporaries and code.
    pub program: Option<Size>,
    /// Arguments; 0 where the program alone does not fit.
    pub arguments: Option<Size>,
}

/// `Output size A; shares B with arguments.`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Output {
    /// All results.
    pub size: Size,
    /// The part that is donated arguments.
    pub shared: Size,
}

/// `Program hbm requirement A:` with its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Requirement {
    /// The sum.
    pub total: Option<Size>,
    /// The parts by name: `HLO temp`, `global`, `scoped`, `overlays`.
    pub parts: Vec<(String, Size)>,
    /// What the temporaries would need without padding.
    pub unpadded: Option<Size>,
    /// What they need with it.
    pub padded: Option<Size>,
    /// What packing wastes.
    pub fragmentation: Option<Size>,
}

/// A rematerialisation warning. It says bytes exactly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Remat {
    /// What was to be reached.
    pub limit: Size,
    /// What was reached.
    pub reached: Size,
    /// What it was before.
    pub before: Size,
    /// [`Remat::reached`] in bytes, as printed in full.
    pub reached_bytes: Option<u64>,
}
