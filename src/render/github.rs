//! Workflow commands of GitHub Actions: an annotation on the user's line for each finding. GitHub
//! shows ten of each level a step, so that the worst come first.

use super::{place, words};
use crate::report::check::CheckReport;
use crate::report::{Level, Sources};
use std::fmt::Write;

/// All annotations, a line each.
pub fn check(report: &CheckReport, sources: &Sources) -> String {
    let mut out = String::new();
    for notice in report.notices() {
        let message = match notice.help.as_str() {
            "" => notice.message.clone(),
            help => format!("{}\nhelp: {help}", notice.message),
        };
        let place = Some((sources.path(&notice.file), notice.line));
        command(&mut out, notice.level, place, notice.name, &message);
    }
    for finding in &report.findings {
        let place = place::of_source(finding, sources);
        let title = format!("{} ({})", finding.rule, finding.module);
        let mut message = words::whole(finding);
        if place.is_none()
            && let Some(text) = place::of_text(finding, sources)
        {
            // The text is no file of the change: an annotation on it would be shown nowhere.
            _ = write!(message, "\nat {}:{}", text.path, text.line);
        }
        let place = place.map(|place| (place.path, Some(place.line)));
        command(&mut out, finding.level, place, &title, &message);
    }
    out
}

/// `::warning file=models.py,line=12,title=rule::message`.
fn command(
    out: &mut String,
    level: Level,
    place: Option<(&str, Option<u32>)>,
    title: &str,
    message: &str,
) {
    let name = match level {
        Level::Error => "error",
        Level::Warn => "warning",
        Level::Note => "notice",
    };
    let mut properties = Vec::new();
    if let Some((path, line)) = place {
        properties.push(format!("file={}", property(path)));
        properties.extend(line.map(|line| format!("line={line}")));
    }
    properties.push(format!("title={}", property(title)));
    _ = writeln!(out, "::{name} {}::{}", properties.join(","), data(message));
}

/// A text behind the second `::`.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::{command, data, property};
    use crate::report::Level;

    #[test]
    fn escapes() {
        assert_eq!(data("50% of\r\n16 GiB: a, b"), "50%25 of%0D%0A16 GiB: a, b");
        assert_eq!(property("C:\\a,b%\n"), "C%3A\\a%2Cb%25%0A");
    }

    /// The forms of the documentation of workflow commands.
    #[test]
    fn commands() {
        let mut out = String::new();
        command(&mut out, Level::Error, Some(("app.js", Some(1))), "Title", "Missing semicolon");
        command(&mut out, Level::Warn, Some(("a.py", None)), "t", "two\nlines");
        command(&mut out, Level::Note, None, "t", "m");
        assert_eq!(
            out,
            "::error file=app.js,line=1,title=Title::Missing semicolon\n\
             ::warning file=a.py,title=t::two%0Alines\n\
             ::notice title=t::m\n"
        );
    }
}
