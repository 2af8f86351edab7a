//! What is known of rules and error pages in; text for a terminal and Markdown out.

use super::style::{DIM, HEADING, of_level, paint};
use super::text::WIDTH;
use crate::report::explain::{Page, Topic};
use crate::report::rules::{RuleDoc, RulesReport};
use std::fmt::Write;
use textwrap::Options;

/// A line a rule: level, name, what it finds.
pub fn list(report: &RulesReport) -> String {
    let mut text = String::new();
    for rule in &report.rules {
        let level = paint(of_level(rule.level), &format!("{:5}", rule.level.as_str()));
        let preview = if rule.preview { paint(DIM, "  (preview)") } else { String::new() };
        _ = writeln!(text, "{level}  {:24}  {}{preview}", rule.name, rule.summary);
    }
    text
}

/// What is explained, for a terminal.
pub fn topic(topic: &Topic) -> String {
    match topic {
        Topic::Rule(rule) => one(rule),
        Topic::Page(page) => tree(page),
    }
}

/// The sections of a rule, with their titles.
fn sections(rule: &RuleDoc) -> [(&'static str, String); 6] {
    [
        ("What it does", rule.what_it_does.clone()),
        ("Why it costs memory", rule.why_it_costs_memory.clone()),
        ("Example", rule.example.clone()),
        ("Remedy", rule.remedy.clone()),
        ("Configuration", configuration(rule)),
        ("References", rule.references.clone()),
    ]
}

/// When it warns, and its numbers.
fn configuration(rule: &RuleDoc) -> String {
    let when = rule.when();
    let mut lines = vec![format!("{} by default; {when}.", rule.level.as_str())];
    for number in &rule.configuration {
        lines.push(format!("  {} = {}: {}", number.name, number.default, number.documentation));
    }
    lines.join("\n")
}

fn one(rule: &RuleDoc) -> String {
    let level = paint(of_level(rule.level), rule.level.as_str());
    let mut text = format!("{} ({level})  {}\n", paint(HEADING, rule.name), rule.summary);
    for (title, said) in sections(rule) {
        _ = write!(text, "\n{}\n", paint(HEADING, title));
        _ = writeln!(text, "{}", indented(&said));
    }
    text
}

/// Prose filled to the width; lines that start with a blank stand alone.
fn indented(said: &str) -> String {
    let options = || Options::new(WIDTH).initial_indent("  ").subsequent_indent("  ");
    let mut lines: Vec<String> = Vec::new();
    for line in said.lines() {
        match lines.last_mut() {
            Some(last) if !line.starts_with(' ') && !last.starts_with(' ') => {
                last.push(' ');
                last.push_str(line);
            }
            _ => lines.push(line.to_owned()),
        }
    }
    let filled = lines.iter().map(|line| match line.starts_with(' ') {
        true => textwrap::fill(line, options().subsequent_indent("      ")),
        false => textwrap::fill(line, options()),
    });
    filled.collect::<Vec<_>>().join("\n")
}

fn tree(page: &Page) -> String {
    let mut text = format!("{}: {}\n\n", paint(HEADING, page.code), page.title);
    _ = writeln!(text, "{}", textwrap::fill(page.preface, WIDTH));
    for branch in page.branches {
        let head = format!("{}: {}", branch.section, branch.question);
        _ = write!(text, "\n{}\n", paint(HEADING, &textwrap::fill(&head, WIDTH)));
        for leaf in branch.leaves {
            let indent = Options::new(WIDTH).initial_indent("  - ").subsequent_indent("    ");
            _ = writeln!(text, "{}", textwrap::fill(leaf.text, indent));
            if !leaf.rules.is_empty() {
                let rules = format!("rules: {}", leaf.rules.join(", "));
                let indent = Options::new(WIDTH).initial_indent("    ").subsequent_indent("    ");
                _ = writeln!(text, "{}", paint(DIM, &textwrap::fill(&rules, indent)));
            }
        }
    }
    text
}

/// All rules as a document.
pub fn markdown(report: &RulesReport) -> String {
    let mut text = String::from("| rule | level | kind | finds |\n| --- | --- | --- | --- |\n");
    for rule in &report.rules {
        let (name, level) = (rule.name, rule.level.as_str());
        let preview = if rule.preview { ", preview" } else { "" };
        _ = writeln!(
            text,
            "| [{name}](#{name}) | {level}{preview} | {} | {} |",
            rule.kind, rule.summary
        );
    }
    for rule in &report.rules {
        _ = write!(text, "\n## {}\n{}", rule.name, one_in_markdown(rule));
    }
    text
}

/// The sections of one rule.
pub(super) fn one_in_markdown(rule: &RuleDoc) -> String {
    let mut text = String::new();
    for (title, said) in sections(rule) {
        let said = said.replace("\n  ", "\n- ");
        _ = write!(text, "\n**{title}**: {said}\n");
    }
    text
}
