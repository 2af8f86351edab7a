//! XLA's files of a GPU program in; the same without the colour that a debug flag gives temporaries,
//! out. The text does not show the flag, and the memory is device memory all the same (facts:
//! gpu-cpu-memory section 4).

use crate::dump::side::buffer_assignment::{AllocationRecord, BufferAssignment};
use crate::dump::side::memory_usage_report::MemoryUsageReport;

/// What a reader of the comparison is told.
pub(super) const NOTE: &str = "xla_gpu_temp_buffer_use_separate_color is on: XLA counts temporaries \
                               as memory space 2 of their own; compared as the device memory they are";

/// Gives recoloured temporaries the colour of their values back; whether there were any.
pub(super) fn undo(
    assignment: Option<&mut BufferAssignment<'_>>,
    report: Option<&mut MemoryUsageReport<'_>>,
) -> bool {
    let Some(assignment) = assignment else { return false };
    let mut found = Vec::new();
    for record in assignment.allocations.iter_mut().filter(|record| is_recoloured(record)) {
        found.push(std::mem::replace(&mut record.memory_space, 0));
    }
    if let Some(MemoryUsageReport::BySpace(spaces)) = report {
        let moved: u64 = spaces
            .iter()
            .filter(|space| found.contains(&space.memory_space))
            .fold(0, |sum, space| sum.saturating_add(space.total_bytes));
        spaces.retain(|space| !found.contains(&space.memory_space));
        if let Some(device) = spaces.iter_mut().find(|space| space.memory_space == 0) {
            device.total_bytes = device.total_bytes.saturating_add(moved);
        }
    }
    !found.is_empty()
}

/// A block of temporaries of one colour all of whose values have none.
fn is_recoloured(record: &AllocationRecord<'_>) -> bool {
    record.is_preallocated_temp
        && record.memory_space == 2
        && !record.values.is_empty()
        && record.values.iter().all(|value| value.name.memory_space == 0)
}

#[cfg(test)]
mod tests {
    use super::undo;
    use crate::dump::side::{buffer_assignment, memory_usage_report};

    #[test]
    fn temporaries_become_device_memory_again() {
        let text = "BufferAssignment:\nallocation 0: size 8, color 2, preallocated-temp:\n value: \
                    <1 a @0> (size=8,offset=0): f32[2]{0}\nallocation 1: size 4, color 2, \
                    preallocated-temp:\n value: <2 b @2> (size=4,offset=0): f32[1]{0:S(2)}\n";
        let mut read = buffer_assignment::parse(text).unwrap();
        assert!(undo(Some(&mut read), None::<&mut memory_usage_report::MemoryUsageReport<'_>>));
        let spaces: Vec<i64> = read.allocations.iter().map(|record| record.memory_space).collect();
        assert_eq!(spaces, [0, 2]);
        assert!(!undo(Some(&mut read), None));
    }
}
