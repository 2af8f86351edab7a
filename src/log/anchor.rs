//! The fixed words by which messages are found, and who reads each.

use super::incident::{Log, Remat};
use super::line::{ahead, behind, code_before};
use super::{
    Category, Incident, Resharding, kernel, memory_space, other, program, resharding, table,
};
use memchr::memmem;

/// What fixed words announce.
#[derive(Clone, Copy)]
enum Kind {
    Failure(fn(&[u8], usize) -> Option<Incident>),
    Usage,
    Output,
    Requirement,
    Table,
    Remat,
    Resharding,
    Assignment,
    PeakBuffers,
}

const ANCHORS: [(&str, Kind); 29] = [
    ("Ran out of memory in memory space ", Kind::Failure(memory_space::used)),
    (
        "the total memory required for HLO temporaries (",
        Kind::Failure(memory_space::total_required),
    ),
    ("Scoped allocation with size ", Kind::Failure(kernel::scoped)),
    ("would exceed memory (size=", Kind::Failure(kernel::single_allocation)),
    ("Too many buffers are colored", Kind::Failure(|log, at| Some(kernel::coloured(log, at)))),
    ("TensorCore Hbm usage", Kind::Failure(memory_space::split)),
    ("TC Hbm usage", Kind::Failure(memory_space::split)),
    ("Aborting compilation early because", Kind::Failure(memory_space::early_abort)),
    ("Attempting to allocate ", Kind::Failure(memory_space::device_allocation)),
    ("Attempting to reserve ", Kind::Failure(memory_space::program_reservation)),
    ("Out of memory while trying to allocate ", Kind::Failure(memory_space::gpu_allocation)),
    ("not be possible to run out of vmem", Kind::Failure(|log, at| Some(old_vmem(log, at)))),
    ("Mosaic failed to compile TPU kernel", Kind::Failure(|log, at| Some(mosaic(log, at)))),
    ("No viable logical replica count", Kind::Failure(|log, at| Some(sparsecore(log, at)))),
    ("Can't fit a single row. TileSpmem", Kind::Failure(|log, at| Some(sparsecore(log, at)))),
    ("SparseCore only supports ", Kind::Failure(|log, at| Some(sparsecore(log, at)))),
    ("Check failed: ", Kind::Failure(|log, at| Some(other::crash(log, at)))),
    ("Total hbm usage >= ", Kind::Usage),
    ("Output size ", Kind::Output),
    ("Program hbm requirement ", Kind::Requirement),
    ("Program vmem requirement ", Kind::Requirement),
    ("Largest program allocations in ", Kind::Table),
    ("Can't reduce memory use below ", Kind::Remat),
    ("Program smem requirement ", Kind::Requirement),
    (" vmem capacity", Kind::Failure(memory_space::preflight)),
    ("Failed to allocate request for ", Kind::Failure(memory_space::gpu_request)),
    ("Involuntary full rematerialization", Kind::Resharding),
    ("BufferAssignment stats:", Kind::Assignment),
    ("Peak buffers:", Kind::PeakBuffers),
];

fn mosaic(log: &[u8], offset: usize) -> Incident {
    kernel::told(log, offset, Category::Kernel)
}

fn sparsecore(log: &[u8], offset: usize) -> Incident {
    kernel::told(log, offset, Category::Sparsecore)
}

/// The message of about 2020, whose table has no sizes.
fn old_vmem(log: &[u8], offset: usize) -> Incident {
    kernel::told(log, offset, Category::VmemCapacity)
}

/// A block that belongs to a failure near it.
enum Block {
    Usage(super::Usage),
    Output(super::Output),
    Requirement(String, super::Requirement),
    Table(String, Vec<super::Row>),
    Remat(Remat),
    Assignment(super::Requirement),
    PeakBuffers(Vec<super::Row>),
}

/// Messages and blocks of each kind that are looked at; more of them say the same again.
const MAX_MATCHES: usize = 256;

/// How far tables and blocks reach.
const TABLE_REACH: usize = 256 << 10;
const BLOCK_REACH: usize = 4 << 10;

/// Tables that are read; compiles for many cores print theirs again and again.
const MAX_TABLES: usize = 64;

/// Reads an error text or a log.
pub fn read(bytes: &[u8]) -> Log {
    let mut log = Log::default();
    let mut failures: Vec<Incident> = Vec::new();
    let mut blocks: Vec<(usize, Block)> = Vec::new();
    let mut reshardings: Vec<Resharding> = Vec::new();
    for (words, kind) in ANCHORS {
        let most = if matches!(kind, Kind::Table) { MAX_TABLES } else { MAX_MATCHES };
        for at in memmem::find_iter(bytes, words.as_bytes()).take(most) {
            match kind {
                Kind::Failure(read) => failures.extend(read(bytes, at).map(|incident| {
                    let code = code_before(&behind(bytes, at, 256));
                    Incident { code: incident.code.or(code), ..incident }
                })),
                Kind::Resharding => reshardings.extend(resharding::read(bytes, at)),
                _ => blocks.extend(block(bytes, at, kind).map(|block| (at, block))),
            }
        }
    }
    failures.sort_by_key(|incident| incident.offset);
    log.messages = failures.len();
    let said: Vec<(usize, usize)> = merge(&mut log.incidents, failures);
    blocks.sort_by_key(|(at, _)| *at);
    for (at, block) in blocks {
        attach(&mut log, &said, at, block);
    }
    if log.incidents.iter().any(|incident| incident.category.is_memory()) {
        // What crashes behind a failure of memory is its consequence.
        log.incidents.retain(|incident| incident.category != Category::Crash);
    }
    log.reshardings = each_once(reshardings);
    if log.incidents.is_empty() && log.reshardings.is_empty() {
        log.other_error = other::error(bytes);
    }
    log.is_recognised = !log.incidents.is_empty()
        || !log.reshardings.is_empty()
        || (log.other_error.is_none() && other::is_compiler_log(bytes));
    log
}

/// The same value of the same program is spoken of by every device: each once, the largest first.
fn each_once(all: Vec<Resharding>) -> Vec<Resharding> {
    let mut once: Vec<Resharding> = Vec::new();
    for found in all {
        let same = |known: &&mut Resharding| Resharding { count: 1, ..(**known).clone() } == found;
        match once.iter_mut().find(same) {
            Some(known) => known.count += 1,
            None => once.push(found),
        }
    }
    once.sort_by_key(|found| std::cmp::Reverse(found.whole_bytes));
    once
}

/// Puts repetitions together; says where each message was and which incident it belongs to.
fn merge(incidents: &mut Vec<Incident>, failures: Vec<Incident>) -> Vec<(usize, usize)> {
    const MAX_INCIDENTS: usize = 64;
    let mut said = Vec::new();
    for failure in failures {
        let at = failure.offset;
        let position = incidents.iter().position(|known| known.is_same(&failure));
        if let Some(position) = position {
            incidents[position].complete(failure);
            said.push((at, position));
        } else if incidents.len() < MAX_INCIDENTS {
            said.push((at, incidents.len()));
            incidents.push(failure);
        }
    }
    said
}

fn block(bytes: &[u8], at: usize, kind: Kind) -> Option<Block> {
    let text = |reach| ahead(bytes, at, reach);
    Some(match kind {
        Kind::Usage => Block::Usage(program::usage(&text(BLOCK_REACH))),
        Kind::Output => Block::Output(program::output(&text(BLOCK_REACH))?),
        Kind::Requirement => {
            let text = text(BLOCK_REACH);
            let space = text.split(' ').nth(1)?.to_owned();
            Block::Requirement(space, program::requirement(&text))
        }
        Kind::Table => {
            let text = text(TABLE_REACH);
            let rest = text.strip_prefix("Largest program allocations in ")?;
            let space = rest.split([':', '\n', ' ']).next()?.to_owned();
            Block::Table(space, table::rows(&text))
        }
        Kind::Remat => Block::Remat(program::remat(&text(BLOCK_REACH))?),
        Kind::Assignment => Block::Assignment(program::assignment(&text(BLOCK_REACH))),
        Kind::PeakBuffers => Block::PeakBuffers(table::peak_buffers(&text(TABLE_REACH))),
        Kind::Failure(_) | Kind::Resharding => return None,
    })
}

/// Gives a block to the failure it belongs to: the last one said before it, else the first one
/// behind it. Warnings of rematerialisation stand in front of the failure.
fn attach(log: &mut Log, said: &[(usize, usize)], at: usize, block: Block) {
    let space = match &block {
        Block::Requirement(space, _) | Block::Table(space, _) => space.as_str(),
        _ => "hbm",
    };
    let incidents = &log.incidents;
    let is_candidate = |&&(_, position): &&(usize, usize)| {
        let incident = &incidents[position];
        if matches!(block, Block::Assignment(_) | Block::PeakBuffers(_)) {
            return incident.category == Category::RuntimeOom;
        }
        incident.category.is_memory()
            && incident.category != Category::RuntimeOom
            && incident.space.as_deref().unwrap_or("vmem") == space
    };
    let before = || said.iter().rev().filter(|(place, _)| *place <= at).find(is_candidate);
    let behind = || said.iter().filter(|(place, _)| *place > at).find(is_candidate);
    let position = match &block {
        Block::Remat(_) => behind().or_else(before),
        _ => before().or_else(behind),
    };
    let incident = position.map(|&(_, position)| position);
    let incident = incident.and_then(|position| log.incidents.get_mut(position));
    match (block, incident) {
        (Block::Usage(usage), Some(incident)) => {
            incident.usage.get_or_insert(usage);
        }
        (Block::Usage(usage), None) => {
            log.usage.get_or_insert(usage);
        }
        (Block::Output(output), Some(incident)) => {
            incident.output.get_or_insert(output);
        }
        (Block::Output(output), None) => {
            log.output.get_or_insert(output);
        }
        (Block::Remat(remat), Some(incident)) => {
            incident.remat.get_or_insert(remat);
        }
        (Block::Remat(remat), None) => {
            log.remat.get_or_insert(remat);
        }
        (Block::Requirement(_, requirement), Some(incident)) => {
            incident.requirement.get_or_insert(requirement);
        }
        (Block::Table(_, rows), Some(incident)) if incident.rows.is_empty() => {
            incident.rows = rows;
        }
        (Block::Assignment(requirement), Some(incident)) => {
            incident.requirement.get_or_insert(requirement);
        }
        (Block::PeakBuffers(rows), Some(incident)) if incident.rows.is_empty() => {
            incident.rows = rows;
        }
        (Block::Requirement(..) | Block::Table(..), _)
        | (Block::Assignment(_) | Block::PeakBuffers(_), _) => {}
    }
}
