//! The formats of `check`, and where each goes: `--format sarif=out.sarif`.

use super::exit::Exit;
use super::output;
use crate::render::{self, text};
use crate::report::check::CheckReport;
use crate::report::{Level, Sources};
use clap::ValueEnum;
use std::io::Write;
use std::path::{Path, PathBuf};

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a person.
    Text,
    /// One line a finding.
    Concise,
    /// For a machine: `hlolint.check/1`.
    Json,
    /// The same, one object a line.
    JsonLines,
    /// SARIF 2.1.0.
    Sarif,
    /// Annotations of GitHub Actions.
    Github,
    /// GitLab's code quality report.
    Gitlab,
    /// JUnit XML.
    Junit,
    /// For a comment or a summary.
    Markdown,
}

impl Format {
    /// Whether it names source files as they lie here, and not as the dump does.
    pub fn names_sources(self) -> bool {
        !matches!(self, Format::Text | Format::Json | Format::JsonLines)
    }

    /// Whether it has a place for counts by rule.
    pub fn has_statistics(self) -> bool {
        !matches!(self, Format::Sarif | Format::Github | Format::Gitlab | Format::Junit)
    }
}

/// A format and the file it goes to; to the output stream where none is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The format.
    pub format: Format,
    /// The file.
    pub file: Option<PathBuf>,
}

/// The value of `--format`: `FORMAT` or `FORMAT=FILE`.
///
/// # Errors
/// What is wrong with it.
pub fn target(value: &str) -> Result<Target, String> {
    let (name, file) = match value.split_once('=') {
        Some((_, "")) => return Err("no file behind the =".to_owned()),
        Some((name, file)) => (name, Some(PathBuf::from(file))),
        None => (value, None),
    };
    let format = Format::from_str(name, false).map_err(|_| {
        let names: Vec<String> = Format::value_variants()
            .iter()
            .filter_map(|format| Some(format.to_possible_value()?.get_name().to_owned()))
            .collect();
        format!("no such format; one of {}", names.join(", "))
    })?;
    Ok(Target { format, file })
}

/// What is written, where.
///
/// # Errors
/// Two formats for one place.
pub fn targets(given: &[Target], output_file: Option<&Path>) -> Result<Vec<Target>, String> {
    let mut targets = given.to_vec();
    if targets.is_empty() {
        targets.push(Target { format: Format::Text, file: None });
    }
    if let Some(file) = output_file {
        match targets.iter_mut().find(|target| target.file.is_none()) {
            Some(target) => target.file = Some(file.to_owned()),
            None => return Err("--output-file: every --format has a file of its own".to_owned()),
        }
    }
    for (at, target) in targets.iter().enumerate() {
        if targets[..at].iter().any(|before| before.file == target.file) {
            return Err(match &target.file {
                Some(file) => format!("--format: two formats for {}", file.display()),
                None => "--format: two formats for the output; name a file for one, as in \
                         --format sarif=hlolint.sarif"
                    .to_owned(),
            });
        }
    }
    Ok(targets)
}

/// What the renderers need to know beside the report.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// What was found.
    pub report: &'a CheckReport,
    /// Where the user's files lie.
    pub sources: &'a Sources,
    /// `--verbose`.
    pub verbose: bool,
    /// `--fail-on`.
    pub fail_from: Option<Level>,
    /// How the run ends.
    pub exit: Exit,
}

impl Run<'_> {
    /// Writes a format to its place.
    ///
    /// # Errors
    /// A file that cannot be written, and why.
    pub fn write(self, target: &Target) -> Result<(), String> {
        let rendered = self.rendered(target).map_err(|error| error.to_string())?;
        match &target.file {
            Some(file) => {
                let plain = anstream::adapter::strip_str(&rendered).to_string();
                output::write_file(file, &plain)?;
            }
            None => output::print(&rendered),
        }
        if target.format == Format::Github {
            self.summarise()?;
        }
        Ok(())
    }

    fn rendered(self, target: &Target) -> Result<String, Box<dyn std::error::Error>> {
        let Run { report, sources, .. } = self;
        Ok(match target.format {
            Format::Text => {
                let links = (target.file.is_none() && output::takes_links()).then_some(sources);
                let options =
                    text::Options { verbose: self.verbose, links, ..text::Options::default() };
                let said = match target.file {
                    // The error stream has them else.
                    Some(_) => text::diagnostics(&report.diagnostics),
                    None => String::new(),
                };
                said + &text::check(report, options)
            }
            Format::Concise => render::concise::check(report, sources),
            Format::Json => render::json::pretty(report)?,
            Format::JsonLines => render::json_lines::check(report)?,
            Format::Sarif => render::sarif::check(report, sources, self.exit as u8)?,
            Format::Github => render::github::check(report, sources),
            Format::Gitlab => render::gitlab::check(report, sources)?,
            Format::Junit => render::junit::check(report, sources, self.fail_from)?,
            Format::Markdown => render::markdown::check(report, sources),
        })
    }

    /// Adds to the summary of the job, where there is one.
    fn summarise(self) -> Result<(), String> {
        let Some(file) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|file| !file.is_empty())
        else {
            return Ok(());
        };
        let summary = render::markdown::check(self.report, self.sources);
        let opened = std::fs::OpenOptions::new().create(true).append(true).open(&file);
        opened
            .and_then(|mut file| file.write_all(summary.as_bytes()))
            .map_err(|error| format!("{}: {error}", Path::new(&file).display()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Format, Target, target, targets};
    use std::path::{Path, PathBuf};

    #[test]
    fn values() {
        let cases = [
            ("text", Some((Format::Text, None))),
            ("json-lines=a=b", Some((Format::JsonLines, Some("a=b")))),
            ("sarif=out/x.sarif", Some((Format::Sarif, Some("out/x.sarif")))),
            ("sarif=", None),
            ("=x", None),
            ("xml", None),
        ];
        for (value, expected) in cases {
            let expected =
                expected.map(|(format, file)| Target { format, file: file.map(PathBuf::from) });
            assert_eq!(target(value).ok(), expected, "{value}");
        }
    }

    #[test]
    fn places() {
        let of = |values: &[&str], file: Option<&str>| {
            let given: Vec<Target> = values.iter().map(|value| target(value).unwrap()).collect();
            targets(&given, file.map(Path::new)).map(|targets| targets.len())
        };
        assert_eq!(of(&[], None), Ok(1));
        assert_eq!(of(&["text", "sarif=a", "junit=b"], None), Ok(3));
        assert_eq!(of(&["sarif=a", "text"], Some("b")), Ok(2));
        assert!(of(&["text", "json"], None).is_err());
        assert!(of(&["text=a", "json=a"], None).is_err());
        assert!(of(&["text", "json=a"], Some("a")).is_err());
        assert!(of(&["text=a"], Some("b")).is_err());
    }
}
