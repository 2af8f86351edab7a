//! JUnit XML: a suite a module, a test a finding; a module without findings has one test that
//! passes. Valid by the schema of Ant and by that of Jenkins, of which neither is a standard.

use super::{place, words};
use crate::report::check::{CheckReport, Notice};
use crate::report::{Finding, Level, ModuleReport, Sources};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::io;

/// What the formats ask for and a report does not have: the time of the run and its host. A report is
/// the same for the same dump.
const TIMESTAMP: &str = "1970-01-01T00:00:00";
const HOST: &str = "localhost";

/// A test that did not pass.
struct Failed {
    /// `failure` or `error`.
    element: &'static str,
    kind: &'static str,
    message: String,
    text: String,
}

/// One test.
struct Test {
    name: String,
    failed: Option<Failed>,
}

/// The report as XML; findings from this level on are failures.
///
/// # Errors
/// None in practice: a string takes everything that is written.
pub fn check(
    report: &CheckReport,
    sources: &Sources,
    fail_from: Option<Level>,
) -> io::Result<String> {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let mut findings = report.findings_by_file();
    writer.create_element("testsuites").write_inner_content(|writer| {
        let mut id = 0;
        let notices: Vec<Test> =
            report.notices().into_iter().map(|notice| of_notice(notice, sources)).collect();
        if !notices.is_empty() {
            suite(writer, id, "inputs", sources, None, &notices)?;
            id += 1;
        }
        for module in &report.modules {
            let found = findings.remove(module.file.as_str()).unwrap_or_default();
            let mut tests: Vec<Test> =
                found.iter().map(|finding| of_finding(finding, sources, fail_from)).collect();
            if tests.is_empty() {
                tests.push(Test { name: "memory".to_owned(), failed: None });
            }
            suite(writer, id, &module.name, sources, Some((module, &found)), &tests)?;
            id += 1;
        }
        Ok(())
    })?;
    let mut bytes = writer.into_inner();
    bytes.push(b'\n');
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn of_finding(finding: &Finding, sources: &Sources, fail_from: Option<Level>) -> Test {
    let place = place::of(finding, sources);
    let place = place.map(|at| format!("{}:{}", at.path, at.line)).unwrap_or_default();
    let fails = fail_from.is_some_and(|from| finding.level >= from);
    Test {
        name: format!("{} {place}", finding.rule),
        failed: fails.then(|| Failed {
            element: "failure",
            kind: finding.level.as_str(),
            message: finding.message.clone(),
            text: format!("{place}: {}", words::whole(finding)),
        }),
    }
}

/// What could not be read failed for another reason than the one that is tested.
fn of_notice(notice: Notice, sources: &Sources) -> Test {
    let line = notice.line.map(|line| format!(":{line}")).unwrap_or_default();
    let place = format!("{}{line}", sources.path(&notice.file));
    Test {
        name: format!("{} {place}", notice.name),
        failed: (notice.level == Level::Error).then(|| Failed {
            element: "error",
            kind: notice.name,
            text: format!("{place}: {}\n{}", notice.message, notice.help),
            message: notice.message,
        }),
    }
}

fn suite(
    writer: &mut Writer<Vec<u8>>,
    id: usize,
    name: &str,
    sources: &Sources,
    about: Option<(&ModuleReport, &[&Finding])>,
    tests: &[Test],
) -> io::Result<()> {
    let name = cleaned(name);
    let name = if name.trim().is_empty() { "module" } else { name.trim() };
    let count = |element: &str| {
        let is = |test: &&Test| test.failed.as_ref().is_some_and(|f| f.element == element);
        tests.iter().filter(is).count().to_string()
    };
    writer
        .create_element("testsuite")
        .with_attribute(("id", id.to_string().as_str()))
        .with_attribute(("name", name))
        .with_attribute(("package", "hlolint"))
        .with_attribute(("hostname", HOST))
        .with_attribute(("timestamp", TIMESTAMP))
        .with_attribute(("time", "0"))
        .with_attribute(("tests", tests.len().to_string().as_str()))
        .with_attribute(("failures", count("failure").as_str()))
        .with_attribute(("errors", count("error").as_str()))
        .write_inner_content(|writer| {
            properties(writer, about.map(|(module, _)| module), sources)?;
            for test in tests {
                self::test(writer, name, test)?;
            }
            text(writer, "system-out", &about.map(|(_, all)| said(all)).unwrap_or_default())?;
            text(writer, "system-err", "")
        })?;
    Ok(())
}

/// The figures of the module, which a viewer shows beside its tests.
fn properties(
    writer: &mut Writer<Vec<u8>>,
    module: Option<&ModuleReport>,
    sources: &Sources,
) -> io::Result<()> {
    let mut all: Vec<(&str, String)> = Vec::new();
    if let Some(module) = module {
        all.push(("file", sources.path(&module.file).to_owned()));
        all.push(("required_bytes", module.hbm.required_bytes.to_string()));
        let available = module.hbm.available_bytes;
        all.extend(available.map(|bytes| ("available_bytes", bytes.to_string())));
    }
    writer.create_element("properties").write_inner_content(|writer| {
        for (name, value) in &all {
            let value = cleaned(value);
            let property = writer.create_element("property").with_attribute(("name", *name));
            property.with_attribute(("value", value.as_str())).write_empty()?;
        }
        Ok(())
    })?;
    Ok(())
}

fn test(writer: &mut Writer<Vec<u8>>, class: &str, test: &Test) -> io::Result<()> {
    let name = cleaned(&test.name);
    let case = writer
        .create_element("testcase")
        .with_attribute(("name", name.trim()))
        .with_attribute(("classname", class))
        .with_attribute(("time", "0"));
    let Some(failed) = &test.failed else {
        case.write_empty()?;
        return Ok(());
    };
    case.write_inner_content(|writer| {
        writer
            .create_element(failed.element)
            .with_attribute(("type", failed.kind))
            .with_attribute(("message", cleaned(&failed.message).as_str()))
            .write_text_content(BytesText::new(&cleaned(&failed.text)))?;
        Ok(())
    })?;
    Ok(())
}

/// All findings, those that do not fail included.
fn said(findings: &[&Finding]) -> String {
    let line = |finding: &&Finding| {
        format!("{}[{}] {}\n", finding.level.as_str(), finding.rule, finding.message)
    };
    findings.iter().map(line).collect()
}

fn text(writer: &mut Writer<Vec<u8>>, element: &str, text: &str) -> io::Result<()> {
    writer.create_element(element).write_text_content(BytesText::new(&cleaned(text)))?;
    Ok(())
}

/// A text without the characters that XML cannot hold, not even escaped.
fn cleaned(text: &str) -> String {
    let may_stand = |c: char| {
        matches!(c, '\t' | '\n' | '\r') || c >= ' ' && !matches!(c, '\u{FFFE}' | '\u{FFFF}')
    };
    text.chars().map(|c| if may_stand(c) { c } else { '\u{FFFD}' }).collect()
}
