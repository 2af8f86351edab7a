//! Holds `grammar/hlo.ebnf` against the parser functions, and reads its examples.

use super::cursor::Outcome;
use super::reader::Reader;
use super::{Strictness, parse_with};
use std::collections::BTreeSet;
use std::path::Path;

/// Functions that return what parser functions do, but read no production of their own.
const HELPERS: [&str; 9] =
    ["problem", "expected", "symbol", "list", "nested", "keep", "open_list", "drop_value", "hide"];

fn grammar() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("grammar/hlo.ebnf");
    std::fs::read_to_string(path).expect("the grammar")
}

/// The names at the start of a line that ` =` follows, with the text of each production.
fn productions(grammar: &str) -> Vec<(String, String)> {
    let mut productions: Vec<(String, String)> = Vec::new();
    for line in grammar.lines() {
        let name = line.split_whitespace().next().unwrap_or("");
        let starts = line.starts_with(|first: char| first.is_ascii_lowercase())
            && line[name.len()..].trim_start().starts_with('=');
        match productions.last_mut() {
            _ if starts => productions.push((name.to_owned(), line.to_owned())),
            Some((_, text)) => {
                text.push('\n');
                text.push_str(line);
            }
            None => {}
        }
    }
    productions
}

/// The functions in this folder that return an `Outcome`, outside of tests.
fn parser_functions() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/text");
    let mut functions = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.ends_with("grammar_test.rs") {
            continue;
        }
        let source = std::fs::read_to_string(&path).expect("a source file");
        let source = source.split("#[cfg(test)]\nmod tests").next().unwrap_or("");
        for part in source.split("fn ").skip(1) {
            let signature = part.split('{').next().unwrap_or("");
            let name: String = part
                .chars()
                .take_while(|character| character.is_ascii_alphanumeric() || *character == '_')
                .collect();
            let result = signature.rsplit("->").next().unwrap_or("");
            if signature.contains('(') && result.trim_start().starts_with("Outcome<") {
                functions.insert(name);
            }
        }
    }
    functions
}

#[test]
fn every_production_is_a_parser_function_and_every_parser_function_a_production() {
    let in_grammar: BTreeSet<String> =
        productions(&grammar()).into_iter().map(|(name, _)| name).collect();
    let mut in_source = parser_functions();
    for helper in HELPERS {
        assert!(in_source.remove(helper), "{helper} is no parser function any more");
    }
    let only_grammar: Vec<_> = in_grammar.difference(&in_source).collect();
    let only_source: Vec<_> = in_source.difference(&in_grammar).collect();
    assert!(only_grammar.is_empty(), "only in the grammar: {only_grammar:?}");
    assert!(only_source.is_empty(), "only in the source: {only_source:?}");
}

/// Reads an example with the parser function of its production, if it can be called on its own.
fn read(production: &str, example: &str) -> bool {
    let mut reader = Reader::new(example, Strictness::Strict);
    let reader = &mut reader;
    fn whole<O>(outcome: Outcome<'_, O>) -> bool {
        outcome.is_ok_and(|(rest, _)| super::cursor::space(rest).is_empty())
    }
    match production {
        "module" => parse_with(example, Strictness::Strict).is_ok(),
        "headerless" => {
            let (bad, good) = example.split_once(" is none; ").expect("two examples");
            let good = good.strip_suffix(" is one").expect("two examples");
            parse_with(bad, Strictness::Strict).is_err()
                && parse_with(good, Strictness::Strict).is_ok()
        }
        "single_instruction" => parse_with(example, Strictness::Strict).is_ok(),
        "sizes" => whole(super::number::sizes(example)),
        "padding" => whole(super::number::padding(example)),
        "header" => whole(super::header::header(example, reader)),
        "input_output_alias" => whole(super::header::input_output_alias(example, &mut Vec::new())),
        "buffer_donor" => whole(super::header::buffer_donor(example, &mut Vec::new())),
        "computation_layout" => whole(super::header::computation_layout(example, reader)),
        "boolean_list" => whole(super::header::boolean_list(example)),
        "frontend_attributes" => whole(super::header::frontend_attributes(example, |_, _| ())),
        "frame_tables" => whole(super::tables::frame_tables(example, reader)),
        "computation" => whole(super::computation::computation(example, reader)),
        "signature" => whole(super::computation::signature(example, reader)),
        "instruction" => whole(super::instruction::instruction(example, reader)),
        "shape" => whole(super::shape::shape(example, reader)),
        "layout" => whole(super::layout::layout(example, 2)),
        "shaped_literal" => whole(super::literal::shaped_literal(example, reader)),
        "precisions" => whole(super::words::precisions(example)),
        "integer_list" => whole(super::value::integer_list(example)),
        "integer_lists" => whole(super::value::integer_lists(example)),
        "shape_index" => whole(super::value::shape_index(example)),
        "window" => whole(super::window::window(example)),
        "dimension_labels" => whole(super::window::dimension_labels(example)),
        "slice" => whole(super::window::slice(example)),
        "sparsity_config" => whole(super::window::sparsity_config(example)),
        "result_accuracy" => whole(super::accuracy::result_accuracy(example)),
        "statistics" => whole(super::accuracy::statistics(example)),
        "domain" => whole(super::domain::domain(example, reader)),
        "replica_groups" => whole(super::collective::replica_groups(example)),
        "pairs" => whole(super::collective::pairs(example)),
        "metadata" => whole(super::metadata::metadata(example)),
        "origin" => whole(super::origin::origin(example, reader)),
        "origin_recovery_table" => whole(super::origin::origin_recovery_table(example, reader)),
        "sharding" => whole(super::sharding::sharding(example, reader)),
        "tile_assignment" => whole(super::sharding::tile_assignment(example)),
        "mesh" => whole(super::mesh::mesh(example)),
        "named_sharding" => whole(super::mesh::named_sharding(example)),
        "maximal_mesh" => whole(super::mesh::maximal_mesh(example)),
        _ => panic!("{production} has an example that this test cannot read"),
    }
}

#[test]
fn the_examples_of_the_grammar_are_read() {
    let mut count = 0;
    for (production, text) in productions(&grammar()) {
        for part in text.split("(* example: ").skip(1) {
            let example = part.split(" *)").next().unwrap_or("");
            assert!(read(&production, example), "{production}: {example}");
            count += 1;
        }
    }
    assert!(count >= 35, "{count} examples");
}
