//! The `HloModule` line and the frame tables as text.

use super::print::{DictionaryOrQuoted, Index, Quoted};
use super::print_shape::ShapeText;
use crate::hlo::{AliasKind, Module, ShapeId};
use std::fmt::{self, Display, Formatter};

/// Everything before the first computation.
pub(super) struct HeaderText<'m> {
    pub(super) module: &'m Module<'m>,
}

impl Display for HeaderText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "HloModule {}", Name(self.module.name))?;
        self.schedule_and_aliases(f)?;
        self.layout(f)?;
        self.propagation(f)?;
        self.rest(f)?;
        writeln!(f)?;
        self.frame_tables(f)
    }
}

/// A name that may be a keyword: those need their sigil.
struct Name<'m>(&'m str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let bare = super::lexeme::name(self.0).is_ok_and(|(rest, _)| rest.is_empty());
        write!(f, "{}{}", if bare { "" } else { "%" }, self.0)
    }
}

impl HeaderText<'_> {
    fn schedule_and_aliases(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let header = &self.module.header;
        if header.is_scheduled {
            f.write_str(", is_scheduled=true")?;
        }
        if !header.input_output_alias.is_empty() {
            f.write_str(", input_output_alias={ ")?;
            for (at, alias) in header.input_output_alias.iter().enumerate() {
                let comma = if at > 0 { ", " } else { "" };
                let kind = match alias.kind {
                    AliasKind::May => "may-alias",
                    AliasKind::Must => "must-alias",
                };
                let (output, from) = (Index(&alias.output), &alias.parameter);
                let index = Index(&from.index);
                write!(f, "{comma}{output}: ({}, {index}, {kind})", from.parameter)?;
            }
            f.write_str(" }")?;
        }
        if !header.buffer_donor.is_empty() {
            f.write_str(", buffer_donor={ ")?;
            for (at, donor) in header.buffer_donor.iter().enumerate() {
                let comma = if at > 0 { ", " } else { "" };
                write!(f, "{comma}({}, {})", donor.parameter, Index(&donor.index))?;
            }
            f.write_str(" }")?;
        }
        if header.alias_passthrough_params {
            f.write_str(", alias_passthrough_params=true")?;
        }
        Ok(())
    }

    fn layout(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some((parameters, result)) = &self.module.header.entry_computation_layout else {
            return Ok(());
        };
        let shape = |id: ShapeId| ShapeText { shapes: &self.module.shapes, id, layouts: true };
        f.write_str(", entry_computation_layout={(")?;
        for (at, &parameter) in parameters.iter().enumerate() {
            match at {
                0 => {}
                _ if at % 5 == 0 => write!(f, ", /*index={at}*/")?,
                _ => f.write_str(", ")?,
            }
            write!(f, "{}", shape(parameter))?;
        }
        write!(f, ")->{}}}", shape(*result))
    }

    fn propagation(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let header = &self.module.header;
        for (name, values) in [
            ("parameters", &header.allow_spmd_sharding_propagation_to_parameters),
            ("output", &header.allow_spmd_sharding_propagation_to_output),
        ] {
            if values.is_empty() {
                continue;
            }
            write!(f, ", allow_spmd_sharding_propagation_to_{name}={{")?;
            for (at, value) in values.iter().enumerate() {
                let comma = if at > 0 { "," } else { "" };
                write!(f, "{comma}{value}")?;
            }
            f.write_str("}")?;
        }
        Ok(())
    }

    fn rest(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let header = &self.module.header;
        if header.replica_count != 1 {
            write!(f, ", replica_count={}", header.replica_count)?;
        }
        if header.num_partitions != 1 {
            write!(f, ", num_partitions={}", header.num_partitions)?;
        }
        if !header.frontend_attributes.is_empty() {
            f.write_str(", frontend_attributes={")?;
            for (at, (key, value)) in header.frontend_attributes.iter().enumerate() {
                let comma = if at > 0 { "," } else { "" };
                write!(f, "{comma}{key}={}", DictionaryOrQuoted(value))?;
            }
            f.write_str("}")?;
        }
        header.other.iter().try_for_each(|(name, value)| write!(f, ", {name}={value}"))
    }

    fn frame_tables(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let frames = &self.module.frames;
        if !frames.present {
            return Ok(());
        }
        for (title, strings) in
            [("FileNames", &frames.file_names), ("FunctionNames", &frames.function_names)]
        {
            writeln!(f, "\n{title}")?;
            for (at, string) in strings.iter().enumerate() {
                writeln!(f, "{} {}", at + 1, Quoted(string))?;
            }
        }
        writeln!(f, "\nFileLocations")?;
        for (at, of) in frames.locations.iter().enumerate() {
            writeln!(
                f,
                "{} {{file_name_id={} function_name_id={} line={} end_line={} column={} end_column={}}}",
                at + 1,
                of.file_name_id,
                of.function_name_id,
                of.line,
                of.end_line,
                of.column,
                of.end_column
            )?;
        }
        writeln!(f, "\nStackFrames")?;
        for (at, frame) in frames.frames.iter().enumerate() {
            let (location, parent) = (frame.file_location_id, frame.parent_frame_id);
            let number = at + 1;
            writeln!(f, "{number} {{file_location_id={location} parent_frame_id={parent}}}")?;
        }
        Ok(())
    }
}
