//! Where an instruction comes from in the user's program.

/// `metadata={...}` of an instruction. Strings are as written, escapes included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata<'src> {
    /// `op_type`, empty where absent.
    pub op_type: &'src str,
    /// `op_name`: the path of the framework's operation, empty where absent.
    pub op_name: &'src str,
    /// `source_file`, empty where absent (newer dumps have `stack_frame_id` instead).
    pub source_file: &'src str,
    /// `source_line`, 0 where absent.
    pub source_line: i32,
    /// `stack_frame_id`: 1-based position in [`FrameTables::frames`], 0 where absent.
    pub stack_frame_id: i32,
    /// The whole value, braces included: the other fields are in it.
    pub text: &'src str,
}

/// A line of the user's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceLocation<'src> {
    /// The file as the dump names it, escapes included.
    pub file: &'src str,
    /// The function, empty where unknown.
    pub function: &'src str,
    /// The line, 0 where unknown.
    pub line: i32,
}

/// One entry of `FileLocations`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileLocation {
    /// 1-based position in the file names.
    pub file_name_id: i32,
    /// 1-based position in the function names.
    pub function_name_id: i32,
    /// The line.
    pub line: i32,
    /// The last line.
    pub end_line: i32,
    /// The column.
    pub column: i32,
    /// The last column.
    pub end_column: i32,
}

/// One entry of `StackFrames`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackFrame {
    /// 1-based position in the file locations.
    pub file_location_id: i32,
    /// As printed: 1 means no parent, n > 1 that frame n - 1 is the parent (facts, grammar 2.2).
    pub parent_frame_id: i32,
}

/// The four tables between the header and the first computation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameTables<'src> {
    /// Whether the text has the tables.
    pub present: bool,
    /// `FileNames`, escapes included.
    pub file_names: Vec<&'src str>,
    /// `FunctionNames`, escapes included.
    pub function_names: Vec<&'src str>,
    /// `FileLocations`.
    pub locations: Vec<FileLocation>,
    /// `StackFrames`.
    pub frames: Vec<StackFrame>,
}

fn one_based<T>(table: &[T], id: i32) -> Option<&T> {
    table.get(usize::try_from(id).ok()?.checked_sub(1)?)
}

impl<'src> FrameTables<'src> {
    /// The location of a frame (1-based, as `stack_frame_id` gives it); `None` for a bad id.
    pub fn location(&self, frame_id: i32) -> Option<SourceLocation<'src>> {
        let frame = one_based(&self.frames, frame_id)?;
        let location = one_based(&self.locations, frame.file_location_id)?;
        Some(SourceLocation {
            file: one_based(&self.file_names, location.file_name_id)?,
            function: one_based(&self.function_names, location.function_name_id).unwrap_or(&""),
            line: location.line,
        })
    }

    /// The parent of a frame; always a smaller number, so that following it ends.
    pub fn parent(&self, frame_id: i32) -> Option<i32> {
        let parent = one_based(&self.frames, frame_id)?.parent_frame_id.checked_sub(1)?;
        (parent >= 1 && parent < frame_id).then_some(parent)
    }

    /// The call stack of a frame, innermost first.
    pub fn stack(&self, frame_id: i32) -> impl Iterator<Item = SourceLocation<'src>> {
        std::iter::successors(Some(frame_id), |&id| self.parent(id))
            .map_while(|id| self.location(id))
    }
}
