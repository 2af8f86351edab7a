//! `undonated-input`.

use crate::config::{bytes, total_bytes};
use crate::lint::ends::{Output, aliased_parameters, is_same_array, outputs};
use crate::lint::update::{Search, Update};
use crate::lint::{
    Argument, Confidence, Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule,
    names_parameters,
};
use crate::memory::{Edit, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;

/// See [`META`].
pub struct UndonatedInput;

/// The declaration.
pub static META: Meta = Meta {
    name: "undonated-input",
    summary: "an argument is updated but not donated, so that it stands in HBM twice",
    documentation: "\
What it does: finds results that are a new version of an argument of the same shape, type and
layout in the data flow (w - lr * g of w, a slice written into a cache, the state that a loop
carries), where the argument is not donated. A gradient or a map such as tanh(x) is none; a sum of
arguments is one only where the argument's name says that it is state.
Why it costs memory: the caller keeps the old array, so that the new one needs memory of its own.
Example: a training step returns new weights and momentum of 512 MiB and was not told to reuse the
old ones: 512 MiB more.
Remedy: donate_argnums or donate_argnames of jax.jit, where the caller does not use the old arrays
again. The bytes that argument and result share are sure; the compiler schedules a donated program
anew, so that what temporaries need can move either way (by tens of percent in large training
steps).
References: E1000, 3.A (donate inputs).",
    level: Level::Warn,
    kind: Kind::Waste,
    preview: false,
    thresholds: &[],
    reference: Reference { code: "E1000", section: "3.A, donate inputs" },
};

/// How many groups of arguments are listed.
const LINES: usize = 4;

impl Rule for UndonatedInput {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let mut found = pairs(context);
        found.sort_by_key(|pair| (Reverse(pair.size_bytes), pair.argument.number));
        if let Some(finding) = report(context, &found) {
            context.push(findings, &META, finding);
        }
    }
}

/// An argument and the result that is its new version.
struct Pair<'c> {
    argument: &'c Argument,
    parameter: ValueId,
    output: ValueId,
    size_bytes: u64,
}

/// Results that update an argument which nobody donated, each with its argument.
fn pairs<'c>(context: &'c Context<'_>) -> Vec<Pair<'c>> {
    let donated = donated(context);
    let arguments: FxHashMap<_, &Argument> =
        context.arguments.iter().map(|argument| (argument.instruction, argument)).collect();
    let mut search = Search::new(context);
    let aliases = &context.module.header.input_output_alias;
    let aliased: FxHashSet<&[_]> = aliases.iter().map(|alias| alias.output.as_slice()).collect();
    let candidates: Vec<(Output, Vec<&Argument>)> = outputs(context)
        .into_iter()
        .filter(|output| !aliased.contains(output.index.as_slice()) && is_large(context, output))
        .map(|output| {
            let updated = search.updated(&output.place);
            let fitting = updated
                .into_iter()
                .filter_map(|(id, update)| Some((*arguments.get(&id)?, update)))
                .filter(|(argument, update)| *update == Update::Sure || is_state(&argument.path))
                .map(|(argument, _)| argument)
                .filter(|argument| {
                    !donated.contains(&argument.number) && fits(context, argument, &output)
                })
                .collect();
            (output, fitting)
        })
        .collect();
    let mut taken: FxHashSet<i64> = FxHashSet::default();
    let mut served: FxHashSet<ValueId> = FxHashSet::default();
    let mut pairs = Vec::new();
    // A result takes the argument nearest to it; what is left goes to those that have a choice.
    for nearest_only in [true, false] {
        for (output, fitting) in &candidates {
            let Some(value) = output.value.filter(|value| !served.contains(value)) else {
                continue;
            };
            let choices = if nearest_only { 1 } else { fitting.len() };
            let free = fitting.iter().take(choices).find(|a| !taken.contains(&a.number));
            if let Some(argument) = free
                && let Some(parameter) = context.value_at(argument.instruction)
            {
                taken.insert(argument.number);
                served.insert(value);
                let size_bytes = context.profile.value(parameter).size_bytes;
                pairs.push(Pair { argument, parameter, output: value, size_bytes });
            }
        }
    }
    pairs
}

/// Parameters that the user donated, whether a result took them or not.
fn donated(context: &Context<'_>) -> FxHashSet<i64> {
    let header = &context.module.header;
    let mut donated = aliased_parameters(context);
    donated.extend(header.buffer_donor.iter().map(|donor| donor.parameter));
    donated
}

fn is_large(context: &Context<'_>, output: &Output) -> bool {
    output.value.is_some_and(|value| {
        let value = context.profile.value(value);
        value.memory_space == 0 && value.size_bytes >= context.min_bytes(&META)
    })
}

/// Whether a result could have an argument's memory.
fn fits(context: &Context<'_>, argument: &Argument, output: &Output) -> bool {
    let module = context.module;
    let argument = module.shape(argument.instruction).array();
    match (argument, module.shapes.get(output.shape).array()) {
        (Some(argument), Some(output)) => {
            argument.memory_space() == 0 && is_same_array(argument, output)
        }
        _ => false,
    }
}

/// Whether an argument's name says that it is something to be updated.
fn is_state(path: &str) -> bool {
    const WORDS: &[&str] = &[
        "state",
        "opt",
        "mu",
        "nu",
        "momentum",
        "moment",
        "velocity",
        "cache",
        "ema",
        "average",
        "avg",
        "accumulator",
        "acc",
        "buffer",
        "carry",
        "memory",
    ];
    let lower = path.to_ascii_lowercase();
    names_parameters(&lower)
        || lower
            .split(|c: char| !c.is_ascii_alphanumeric())
            .flat_map(|key| key.split('_'))
            .any(|word| WORDS.contains(&word) || names_parameters(word))
}

fn report(context: &Context<'_>, pairs: &[Pair<'_>]) -> Option<Finding> {
    let largest = pairs.first()?;
    let output = context.profile.value(largest.output);
    let (origin, source) = context.origin(output);
    let total = total_bytes(pairs.iter().map(|pair| pair.size_bytes));
    let mut finding = context.finding(&META, Some(origin));
    finding.instruction = Some(context.module.instruction(output.instruction).name.to_owned());
    finding.source = source;
    finding.shape = Some(context.shape_text(output.shape));
    finding.message = match pairs {
        [one] => format!("{} of {} is updated but not donated", one.argument.path, bytes(total)),
        _ => format!("{} arguments, {}, updated but not donated", pairs.len(), bytes(total)),
    };
    finding.bytes = total;
    finding.confidence = Confidence::Estimate;
    // The results are what a donation saves; the arguments stay.
    finding.buffers = pairs.iter().map(|pair| context.profile.value(pair.output).buffer).collect();
    if pairs.len() > 1 {
        finding.details = groups(pairs);
    }
    let edits = pairs
        .iter()
        .map(|pair| Edit::Donate { parameter: pair.parameter, output: pair.output })
        .collect();
    let action = action(pairs);
    match context.priced(action.clone(), edits, false) {
        Some(remedy) => {
            finding.details.push(format!(
                "{} are sure; the rest is scheduled anew. The caller loses the old arrays",
                bytes(total)
            ));
            finding.remedies = vec![remedy];
        }
        None => {
            // As the program is scheduled the old arrays are still read behind the update.
            finding.level = Level::Note;
            finding.remedies = vec![Remedy::new(action)];
        }
    }
    Some(finding)
}

/// One line for each first key of the argument tree, the largest first.
fn groups(pairs: &[Pair<'_>]) -> Vec<String> {
    let mut groups: Vec<(&str, usize, u64)> = Vec::new();
    let mut places: FxHashMap<&str, usize> = FxHashMap::default();
    for pair in pairs {
        let name = pair.argument.group();
        let place = *places.entry(name).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, count, size)) => {
                *count += 1;
                *size = size.saturating_add(pair.size_bytes);
            }
            None => groups.push((name, 1, pair.size_bytes)),
        }
    }
    groups.sort_by_key(|(name, _, size)| (Reverse(*size), *name));
    let more = groups.len().saturating_sub(LINES);
    let mut lines: Vec<String> = groups
        .iter()
        .take(LINES)
        .map(|(name, count, size)| match count {
            1 => format!("{name}  {}", bytes(*size)),
            _ => format!("{name}  {count} arrays  {}", bytes(*size)),
        })
        .collect();
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
}

/// What to write, by the names of the function's arguments.
fn action(pairs: &[Pair<'_>]) -> String {
    const MOST: usize = 3;
    let mut names: Vec<&str> = Vec::new();
    for pair in pairs {
        let path = pair.argument.path.as_str();
        let name = path.split(['[', '.']).next().unwrap_or(path);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let is_name = |name: &&str| {
        name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    };
    let what = if names.len() <= MOST && names.iter().all(is_name) {
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        format!("jax.jit(..., donate_argnames=[{}])", quoted.join(", "))
    } else {
        "jax.jit(..., donate_argnums=...)".to_owned()
    };
    format!("donate: {what}")
}

#[cfg(test)]
mod tests {
    use super::is_state;

    #[test]
    fn names_of_state() {
        for (path, expected) in [
            ("state['m']", true),
            ("opt_state[0].mu['w']", true),
            ("params['w1']", true),
            ("kv_cache", true),
            ("x", false),
            ("batch[0]", false),
            ("optional", false),
            ("grads['w']", false),
        ] {
            assert_eq!(is_state(path), expected, "{path}");
        }
    }
}
