//! The JSON schemas of `docs/schema` are made from the types, and what the tool prints is as they
//! say. `UPDATE_DOCS=1 cargo test --test schema` writes them.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper of a test fails by panicking

mod support;

use hlolint::config::Settings;
use hlolint::render::json::pretty;
use hlolint::report::check::CheckReport;
use hlolint::report::diff::{DiffReport, Side, diff};
use hlolint::report::report::{Options, Report, report};
use hlolint::report::vmem::{VmemReport, vmem};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use std::fs;
use std::path::Path;
use support::{fixtures, folders, open, root};

/// The schema of a type, as it is printed.
fn schema_of<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.into_root_schema_for::<T>().to_value()
}

/// Every schema: the name of its file, and what it is made to.
fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("check-1.json", schema_of::<CheckReport>()),
        ("report-1.json", schema_of::<Report>()),
        ("diff-1.json", schema_of::<DiffReport>()),
        ("vmem-1.json", schema_of::<VmemReport>()),
    ]
}

#[test]
fn are_made_from_the_types() {
    for (file, schema) in schemas() {
        let path = root().join("docs/schema").join(file);
        let expected = pretty(&schema).unwrap();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &expected).unwrap();
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        assert!(text == expected, "docs/schema/{file} is not of these types; set UPDATE_DOCS=1");
        let document = fs::read_to_string(root().join("docs/json.md")).unwrap();
        assert!(document.contains(&format!("schema/{file}")), "docs/json.md does not name {file}");
    }
}

/// The schema of a file name; the files are held against these.
fn validator(file: &str) -> jsonschema::Validator {
    let (_, schema) = schemas().into_iter().find(|(name, _)| *name == file).unwrap();
    assert!(jsonschema::meta::is_valid(&schema), "{file} is no schema");
    jsonschema::validator_for(&schema).unwrap()
}

#[track_caller]
fn hold(validator: &jsonschema::Validator, what: &Path, value: &Value) {
    let errors: Vec<String> = validator
        .iter_errors(value)
        .take(3)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{}: {errors:#?}", what.display());
}

#[test]
fn hold_for_what_is_printed() {
    let (check, full) = (validator("check-1.json"), validator("report-1.json"));
    for fixture in fixtures() {
        hold(&check, &fixture.path, &serde_json::to_value(&fixture.report).unwrap());
        let options = Options { stacks: true };
        let report = report(&open(&fixture.path), &Settings::default(), options, &|| {});
        hold(&full, &fixture.path, &serde_json::to_value(&report).unwrap());
    }
    let kernels = validator("vmem-1.json");
    for name in ["kernel_fits", "kernel_over_vmem"] {
        let fixture = support::fixture(name);
        let report = vmem(&open(&fixture.path), &Settings::default(), &|| {});
        assert!(!report.kernels.is_empty(), "{name} has no kernel");
        hold(&kernels, &fixture.path, &serde_json::to_value(&report).unwrap());
    }
    let changes = validator("diff-1.json");
    for pair in folders(Path::new("testdata/pairs")) {
        let side = |name: &str| -> Side {
            let dump = open(&pair.join(name));
            report(&dump, &Settings::default(), Options::default(), &|| {}).into()
        };
        hold(&changes, &pair, &serde_json::to_value(diff(&side("bad"), &side("good"))).unwrap());
    }
}

/// A schema that takes everything would hold, too.
#[test]
fn refuse_what_is_not_printed() {
    let check = validator("check-1.json");
    let report = &support::fixture("debug_print").report;
    let good = serde_json::to_value(report).unwrap();
    assert!(check.is_valid(&good));
    for (pointer, wrong) in [
        ("/schema", Value::from("hlolint.check/2")),
        ("/modules/0/hbm/total_bytes", Value::from("12")),
        ("/modules/0/verdict", Value::from("perhaps")),
        ("/findings/0/level", Value::Null),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = wrong;
        assert!(!check.is_valid(&bad), "{pointer}");
    }
    let mut bad = good;
    bad["modules"][0].as_object_mut().unwrap().remove("name");
    assert!(!check.is_valid(&bad), "a module without a name");
}

/// A report that is read again is the same report.
#[test]
fn reports_are_read_as_they_were_written() {
    for fixture in fixtures() {
        let dump = open(&fixture.path);
        let side: Side = report(&dump, &Settings::default(), Options::default(), &|| {}).into();
        let live = report(&dump, &Settings::default(), Options::default(), &|| {});
        let read = hlolint::report::diff::read(pretty(&live).unwrap().as_bytes()).unwrap();
        assert_eq!(
            serde_json::to_value(&read.modules).unwrap(),
            serde_json::to_value(&side.modules).unwrap(),
            "{}",
            fixture.name
        );
        assert_eq!(read.findings, side.findings, "{}", fixture.name);
    }
}
