//! Texts that try to exhaust the reader: depth on a small stack, size, odd bytes.

#![allow(clippy::expect_used, reason = "tests")]

use hlolint::text::{ParseError, Strictness, parse_bytes, parse_with, print};

/// Reads a text on a stack as small as that of a spawned thread.
fn read_on_small_stack(text: String, strictness: Strictness) -> Result<(), ParseError> {
    std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(move || parse_with(&text, strictness).map(|_| ()))
        .expect("a thread")
        .join()
        .expect("no panic")
}

fn nested(open: &str, close: &str, inside: &str, depth: usize) -> String {
    format!("{}{inside}{}", open.repeat(depth), close.repeat(depth))
}

/// One text for each construct that nests.
fn deep_texts(depth: usize) -> Vec<(&'static str, String)> {
    let entry = |body: String| format!("HloModule m\n\nENTRY e {{\n{body}\n}}\n");
    let p = "p = f32[2] parameter(0)";
    let shape = nested("(", ")", "f32[]", depth);
    let braces = nested("{", "}", "", depth);
    let body_open = "ROOT c = f32[2] call(), to_apply={ ";
    vec![
        ("tuple shape", entry(format!("ROOT p = {shape} parameter(0)"))),
        ("operand", entry(format!("{p} ROOT r = f32[2] {}", nested("abs(", ")", "p", depth)))),
        ("inline body", entry(nested(body_open, " }", "ROOT c = f32[2] iota()", depth))),
        ("literal", entry(format!("ROOT c = f32[2] constant({braces})"))),
        (
            "tuple literal",
            entry(format!("ROOT c = {shape} constant({})", nested("(", ")", "1", depth))),
        ),
        ("sharding", entry(format!("ROOT {p}, sharding={braces}"))),
        ("origin", entry(format!("ROOT {p}, origin={{{}}}", nested("(", ")", "{}", depth)))),
        ("metadata", entry(format!("ROOT {p}, metadata={braces}"))),
        ("dictionary", entry(format!("ROOT {p}, backend_config={braces}"))),
        ("frontend attributes", entry(format!("ROOT {p}, frontend_attributes={{a={braces}}}"))),
        ("unknown attribute", entry(format!("ROOT {p}, unknown_thing={braces}"))),
        (
            "replica groups",
            entry(format!("{p} ROOT a = f32[2] all-to-all(p), replica_groups={braces}")),
        ),
        (
            "literal with shapes",
            entry(format!(
                "ROOT c = f32[2] custom-call(), custom_call_target=\"t\", literal={}",
                nested("(", ")", "f32[] 1", depth)
            )),
        ),
        (
            "layout",
            entry(format!("ROOT p = f32[2]{{0:T{}}} parameter(0)", nested("(", ")", "8", depth))),
        ),
        ("header", format!("HloModule m, unknown_thing={braces}\nENTRY e {{ {p} }}")),
        ("single instruction", format!("f32[2] {}", nested("abs(", ")", "f32[2] x", depth))),
        ("comment", format!("{}HloModule m", "/*".repeat(depth))),
    ]
}

#[test]
fn deep_nesting_is_an_answer_and_no_crash() {
    for depth in [450, 100_000] {
        for (what, text) in deep_texts(depth) {
            for strictness in [Strictness::Strict, Strictness::Lenient] {
                let outcome = read_on_small_stack(text.clone(), strictness);
                let flat = matches!(what, "dictionary" | "frontend attributes");
                let bounded = matches!(what, "tuple shape" | "operand" | "single instruction");
                if depth > 500 && bounded {
                    let error = outcome.expect_err(what);
                    assert!(error.message.contains("levels deep"), "{what}: {error}");
                } else if flat || (bounded && depth < 500) {
                    outcome.expect(what);
                }
            }
        }
    }
}

#[test]
fn what_was_read_can_be_printed_on_a_small_stack() {
    for (what, text) in deep_texts(450) {
        let print_it = move || {
            if let Ok(parsed) = parse_with(&text, Strictness::Lenient) {
                assert!(!print(&parsed.module).to_string().is_empty());
            }
        };
        let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(print_it);
        thread.expect("a thread").join().expect(what);
    }
}

#[test]
fn many_of_everything_takes_linear_time() {
    let mut text = String::from("HloModule m\n\nENTRY e {\n");
    // Parameters in descending order, a wide tuple, many inline bodies in one computation.
    for number in (0..50_000).rev() {
        text.push_str(&format!("p{number} = f32[2] parameter({number})\n"));
    }
    for number in 0..5_000 {
        text.push_str(&format!(
            "call.{number} = f32[2] call(p{number}), to_apply={{ ROOT a = f32[2] parameter(0) }}\n"
        ));
    }
    text.push_str("ROOT t = (");
    text.push_str(&vec!["f32[2]"; 50_000].join(", "));
    text.push_str(") tuple(");
    let names: Vec<String> = (0..50_000).map(|number| format!("p{number}")).collect();
    text.push_str(&names.join(", "));
    text.push_str(")\n}\n");
    let started = std::time::Instant::now();
    let module = parse_with(&text, Strictness::Strict).expect("a module").module;
    assert_eq!(module.instructions.len(), 60_001);
    assert_eq!(module.computations.len(), 5_001);
    // Quadratic work would take minutes.
    assert!(started.elapsed().as_secs() < 20);
}

#[test]
fn odd_bytes() {
    for (bytes, accepted) in [
        (&b""[..], false),
        (b" \n\t", false),
        (b"HloModule", false),
        (b"HloModule m", false),
        (b"HloModule m\rENTRY e { ROOT p = f32[] parameter(0) }", true),
        (b"HloModule m // note\rENTRY e { ROOT p = f32[] parameter(0) }", true),
        (b"HloModule m\x0bENTRY e { ROOT p = f32[] parameter(0) }", false),
        (b"HloModule m ENTRY e { ROOT p = f32[] parameter(0) }\0", false),
        (b"HloModule m ENTRY e { ROOT p = f32[] parameter(0) } }", false),
        (b"HloModule m ENTRY e { ROOT p = f32[] parameter(0) } /* open", false),
        (b"HloModule m ENTRY e { ROOT p = f32[] parameter(0) /* \xc3\xa9 */ }", true),
        (b"\xff\xfe", false),
    ] {
        let outcome = parse_bytes(bytes);
        assert_eq!(outcome.is_ok(), accepted, "{}", String::from_utf8_lossy(bytes));
    }
}
