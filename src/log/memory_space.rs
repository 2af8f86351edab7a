//! Messages about a memory space as a whole, at compile time and at run time.

use super::line::{ahead, between, size_after};
use super::{Category, Form, Incident, Size};

/// How far these messages reach.
const REACH: usize = 1024;

/// `Ran out of memory in memory space hbm. Used A of B hbm. Exceeded hbm capacity by C.`
pub fn used(log: &[u8], offset: usize) -> Option<Incident> {
    let text = ahead(log, offset, REACH);
    let space = between(&text, "memory space ", ". Used ")?;
    if space.len() > 16 {
        return None;
    }
    let mut incident = Incident::new(Category::of_space(space), Form::Used, offset);
    let used = text.split(". Used ").nth(1)?;
    let (needed, length) = Size::at_start(used)?;
    incident.needed = Some(needed);
    incident.available = size_after(used.get(length..)?, " of ");
    incident.exceeded = size_after(used, "capacity by ");
    incident.module = module(used.lines().next()?);
    incident.space = Some(space.to_owned());
    Some(incident)
}

/// `the total memory required for HLO temporaries (A) exceeds available HBM (B). HLO module: name.`
pub fn total_required(log: &[u8], offset: usize) -> Option<Incident> {
    let text = ahead(log, offset, REACH);
    let mut incident = Incident::new(Category::HbmOom, Form::TotalRequired, offset);
    incident.needed = Some(size_after(&text, "temporaries (")?);
    incident.available = size_after(&text, "available HBM (");
    incident.module = module(text.lines().next()?);
    incident.space = Some("hbm".to_owned());
    Some(incident)
}

/// ` HLO module: jit_f.` The name may have full stops inside.
fn module(line: &str) -> Option<String> {
    let rest = line.split("HLO module: ").nth(1)?;
    let end = rest.find([' ', '\'', '"', '\\']).unwrap_or(rest.len());
    let name = rest[..end].trim_end_matches('.');
    (!name.is_empty()).then(|| name.to_owned())
}

/// `TPU TensorCore Hbm usage: A, SparseCore Hbm usage B, exceeding available bytes: C`, and the short
/// words `TC` and `SC`.
pub fn split(log: &[u8], offset: usize) -> Option<Incident> {
    let text = ahead(log, offset, REACH);
    let line = text.lines().next()?;
    let tensorcore = size_after(line, "Hbm usage: ").or_else(|| size_after(line, "Hbm usage "))?;
    let rest = line.split_once(", ").map_or("", |(_, rest)| rest);
    let sparsecore = size_after(rest, "Hbm usage: ").or_else(|| size_after(rest, "Hbm usage "))?;
    let mut incident = Incident::new(Category::HbmOom, Form::Split, offset);
    incident.needed = Some(tensorcore);
    incident.sparsecore = Some(sparsecore);
    incident.available = size_after(line, "available bytes: ");
    incident.space = Some("hbm".to_owned());
    Some(incident)
}

/// `Aborting compilation early because it's unlikely to have enough device memory. Requires A, has B
/// available.`
pub fn early_abort(log: &[u8], offset: usize) -> Option<Incident> {
    let text = ahead(log, offset, REACH);
    let mut incident = Incident::new(Category::HbmOom, Form::EarlyAbort, offset);
    incident.needed = Some(size_after(&text, "Requires ")?);
    incident.available = size_after(&text, ", has ");
    incident.space = Some("hbm".to_owned());
    Some(incident)
}

/// `Error allocating device buffer: Attempting to allocate A. That was not possible. There are B
/// free.`
pub fn device_allocation(log: &[u8], offset: usize) -> Option<Incident> {
    let text = ahead(log, offset, REACH);
    let mut incident = Incident::new(Category::RuntimeOom, Form::DeviceAllocation, offset);
    incident.needed = Some(size_after(&text, "to allocate ")?);
    incident.available = size_after(&text, "There are ");
    incident.space = Some("hbm".to_owned());
    Some(incident)
}

/// `Attempting to reserve A at the bottom of memory ... There are B free, ...`
pub fn program_reservation(log: &[u8], offset: usize) -> Option<Incident> {
    let text = ahead(log, offset, REACH);
    let mut incident = Incident::new(Category::RuntimeOom, Form::ProgramReservation, offset);
    incident.needed = Some(size_after(&text, "to reserve ")?);
    incident.available = size_after(&text, "There are ");
    incident.space = Some("hbm".to_owned());
    Some(incident)
}

/// `Estimated A exceeds B vmem capacity`: a framework that looks before it compiles. Its units are
/// powers of 1000.
pub fn preflight(log: &[u8], offset: usize) -> Option<Incident> {
    const NEAR: usize = 256;
    let before = super::line::behind(log, offset, NEAR);
    let (head, available) = before.trim_end().rsplit_once(" exceeds ")?;
    let needed = head.rsplit_once("Estimated ").map_or(head, |(_, needed)| needed);
    let needed = needed.split_whitespace().last()?;
    let mut incident = Incident::new(Category::VmemCapacity, Form::Preflight, offset);
    incident.needed = Some(Size::decimal(needed)?);
    incident.available = Some(Size::decimal(available)?);
    incident.space = Some("vmem".to_owned());
    Some(incident)
}

/// `Failed to allocate request for 154.06GiB (165425291480B) on device ordinal 0`: GPU.
pub fn gpu_request(log: &[u8], offset: usize) -> Option<Incident> {
    let text = ahead(log, offset, REACH);
    let mut incident = Incident::new(Category::RuntimeOom, Form::DeviceAllocation, offset);
    incident.needed = Some(size_after(&text, "request for ")?);
    Some(incident)
}

/// `Out of memory while trying to allocate 123 bytes.`: GPU.
pub fn gpu_allocation(log: &[u8], offset: usize) -> Option<Incident> {
    let text = ahead(log, offset, REACH);
    let rest = text.split("trying to allocate ").nth(1)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let needed = match rest.get(end..).is_some_and(|rest| rest.starts_with(" bytes")) {
        true => Size::exact(rest[..end].parse().ok()?),
        false => Size::at_start(rest)?.0,
    };
    let mut incident = Incident::new(Category::RuntimeOom, Form::DeviceAllocation, offset);
    incident.needed = Some(needed);
    Some(incident)
}
