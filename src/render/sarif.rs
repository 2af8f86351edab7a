//! SARIF 2.1.0: findings as results on the user's line, the HLO text beside it; what could not be
//! read as notifications of the run.

use super::fingerprint::Unique;
use super::place::{self, Place};
use super::words;
use crate::report::check::{CheckReport, Notice};
use crate::report::rules::{RuleDoc, rules};
use crate::report::{Finding, Level, Sources};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde::Serialize;
use serde_json::{Value, json};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// OpenXLA's error catalogue.
const PAGES: &str = "https://openxla.org/xla/errors";

/// What relative paths start from.
const BASE: &str = "%SRCROOT%";

/// What a path of a URI may not hold as it is.
const PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    version: &'static str,
    semantic_version: &'static str,
    information_uri: &'static str,
    rules: Vec<Descriptor>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    id: &'static str,
    short_description: Text,
    full_description: Text,
    help: Help,
    help_uri: String,
    default_configuration: Configuration,
    properties: Value,
}

#[derive(Serialize)]
struct Text {
    text: String,
}

#[derive(Serialize)]
struct Help {
    text: String,
    markdown: String,
}

#[derive(Serialize)]
struct Configuration {
    level: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome<'a> {
    rule_id: &'a str,
    rule_index: usize,
    level: &'static str,
    message: Text,
    locations: Vec<Location>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Location>,
    partial_fingerprints: Value,
    properties: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    physical_location: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logical_locations: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Text>,
}

/// The report as a SARIF log of one run that ends with this exit code.
///
/// # Errors
/// Where it cannot be written as JSON.
pub fn check(
    report: &CheckReport,
    sources: &Sources,
    exit_code: u8,
) -> Result<String, serde_json::Error> {
    let mut rules = rules().rules;
    rules.retain(|rule| report.findings.iter().any(|finding| finding.rule == rule.name));
    let mut unique = Unique::default();
    let results: Vec<Outcome<'_>> = report
        .findings
        .iter()
        .filter_map(|finding| {
            let index = rules.iter().position(|rule| rule.name == finding.rule)?;
            Some(outcome(finding, index, sources, unique.count(&finding.fingerprint)))
        })
        .collect();
    let notifications: Vec<Value> =
        report.notices().iter().map(|notice| notification(notice, sources)).collect();
    let failed = report.diagnostics.iter().any(|diagnostic| diagnostic.failed);
    super::json::pretty(&json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": driver(&rules, report) },
            "invocations": [{
                "executionSuccessful": !failed,
                "exitCode": exit_code,
                "toolExecutionNotifications": notifications,
            }],
            "originalUriBaseIds": {
                BASE: { "description": { "text": "the working directory of the run" } }
            },
            "results": results,
            "properties": { "modules": modules(report) },
        }]
    }))
}

fn driver(rules: &[RuleDoc], report: &CheckReport) -> Driver {
    let version = env!("CARGO_PKG_VERSION");
    let code = |name: &str| {
        let finding = report.findings.iter().find(|finding| finding.rule == name);
        finding.map_or("", |finding| finding.reference.code)
    };
    Driver {
        name: "hlolint",
        version,
        semantic_version: version,
        information_uri: PAGES,
        rules: rules.iter().map(|rule| descriptor(rule, code(rule.name))).collect(),
    }
}

/// What is known of a rule, and the page of OpenXLA's error catalogue that speaks of it.
fn descriptor(rule: &RuleDoc, code: &str) -> Descriptor {
    let number = code.strip_prefix('E').filter(|number| !number.is_empty());
    Descriptor {
        id: rule.name,
        short_description: Text { text: rule.summary.to_owned() },
        full_description: Text { text: rule.what_it_does.replace('\n', " ") },
        help: Help {
            text: format!("{}\n\n{}", rule.why_it_costs_memory, rule.remedy),
            markdown: super::rules::one_in_markdown(rule).trim_start().to_owned(),
        },
        help_uri: number.map_or(PAGES.to_owned(), |number| format!("{PAGES}/error_{number}")),
        default_configuration: Configuration { level: level(rule.level) },
        properties: json!({
            "tags": ["memory"],
            "precision": if rule.preview { "medium" } else { "high" },
            "problem.severity": match rule.level {
                Level::Error => "error",
                Level::Warn => "warning",
                Level::Note => "recommendation",
            },
        }),
    }
}

fn outcome<'a>(
    finding: &'a Finding,
    rule_index: usize,
    sources: &Sources,
    count: usize,
) -> Outcome<'a> {
    let source = place::of_source(finding, sources);
    let text = place::of_text(finding, sources);
    let logical: Vec<Value> = finding
        .instruction
        .iter()
        .map(|name| {
            json!({ "name": name, "fullyQualifiedName": format!("{}/{name}", finding.module) })
        })
        .collect();
    let main = source.or(text).map(physical);
    let related = text.filter(|_| source.is_some()).map(|text| Location {
        id: Some(1),
        physical_location: Some(physical(text)),
        logical_locations: Vec::new(),
        message: Some(Text { text: format!("the instruction in module {}", finding.module) }),
    });
    Outcome {
        rule_id: finding.rule,
        rule_index,
        level: level(finding.level),
        message: Text { text: words::whole(finding) },
        locations: vec![Location {
            id: None,
            physical_location: main,
            logical_locations: logical,
            message: None,
        }],
        related_locations: related.into_iter().collect(),
        // The second is the only name that GitHub looks at.
        partial_fingerprints: json!({
            "hlolint/v1": finding.fingerprint,
            "primaryLocationLineHash": format!("{}:{count}", finding.fingerprint),
        }),
        properties: json!({
            "module": finding.module,
            "opName": finding.op_name,
            "shape": finding.shape,
            "bytes": finding.bytes,
            "requiredBytes": finding.required_bytes,
            "savingBytes": finding.saving_bytes,
            "confidence": finding.confidence,
        }),
    }
}

fn notification(notice: &Notice, sources: &Sources) -> Value {
    let text = match notice.help.as_str() {
        "" => notice.message.clone(),
        help => format!("{}\nhelp: {help}", notice.message),
    };
    let path = sources.path(&notice.file);
    let location = match notice.line {
        Some(line) => physical(Place { path, line: line.max(1) }),
        None => json!({ "artifactLocation": artifact(path) }),
    };
    json!({
        "descriptor": { "id": notice.name },
        "level": level(notice.level),
        "message": { "text": text },
        "locations": [{ "physicalLocation": location }],
    })
}

/// What a reader of the run wants to know beside its findings.
fn modules(report: &CheckReport) -> Vec<Value> {
    let of = |module: &crate::report::ModuleReport| {
        json!({
            "name": module.name,
            "verdict": module.verdict,
            "requiredBytes": module.hbm.required_bytes,
            "availableBytes": module.hbm.available_bytes,
        })
    };
    report.modules.iter().map(of).collect()
}

fn physical(place: Place<'_>) -> Value {
    json!({ "artifactLocation": artifact(place.path), "region": { "startLine": place.line } })
}

fn artifact(path: &str) -> Value {
    let encoded = utf8_percent_encode(path, PATH).to_string();
    if path.starts_with('/') {
        return json!({ "uri": format!("file://{encoded}") });
    }
    if path.get(1..3) == Some(":/") {
        return json!({ "uri": format!("file:///{encoded}") });
    }
    // A colon in the first part would read as a scheme.
    let first = encoded.find('/').unwrap_or(encoded.len());
    let encoded = format!("{}{}", encoded[..first].replace(':', "%3A"), &encoded[first..]);
    json!({ "uri": encoded, "uriBaseId": BASE })
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warn => "warning",
        Level::Note => "note",
    }
}

#[cfg(test)]
mod tests {
    use super::artifact;

    #[test]
    fn paths_are_uris() {
        let cases = [
            ("a/b c.py", "a/b%20c.py", true),
            ("<stdin>", "%3Cstdin%3E", true),
            ("a:b/c#d.py", "a%3Ab/c%23d.py", true),
            ("/x/y.py", "file:///x/y.py", false),
            ("C:/x/y.py", "file:///C:/x/y.py", false),
        ];
        for (path, uri, is_relative) in cases {
            let artifact = artifact(path);
            assert_eq!(artifact["uri"], uri, "{path}");
            assert_eq!(artifact.get("uriBaseId").is_some(), is_relative, "{path}");
        }
    }
}
