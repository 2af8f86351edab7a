//! What the tests of all pages need: the data in a page, and what must not be in it.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::read::GzDecoder;
use serde_json::Value;
use std::io::Read;

/// What a page's data block holds.
pub fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    let packed = BASE64_STANDARD.decode(rest.split_once("</script>").unwrap().0).unwrap();
    let mut json = String::new();
    GzDecoder::new(packed.as_slice()).read_to_string(&mut json).unwrap();
    serde_json::from_str(&json).unwrap()
}

/// The text of a module that writes markup wherever it names something, with arrays of this shape.
pub fn evil_text(shape: &str) -> String {
    let evil = "</script><script>document.title='hurt'</script><img src=x onerror=alert(1)>";
    let array = format!("f32[{shape}]{{1,0}}");
    format!(
        "HloModule jit_evil, is_scheduled=true\n\nENTRY %main (x: f32[{shape}]) -> f32[{shape}] {{\n  \
         %x = {array} parameter(0), metadata={{op_name=\"{evil}\"}}\n  \
         %y = {array} add(%x, %x), metadata={{op_name=\"{evil}\" source_file=\"{evil}\" source_line=3}}\n  \
         ROOT %z = {array} negate(%y), metadata={{op_name=\"{evil}\"}}\n}}\n"
    )
}

/// Nothing of [`evil_text`] is markup.
pub fn holds_no_markup_of(page: &str) {
    assert_eq!(page.matches("<script").count(), 2, "one block of data, one script");
    assert!(!page.contains("hurt") && !page.contains("onerror"));
    assert!(data(page).to_string().contains("hurt"), "the name is there, packed");
}

/// Nothing is fetched; the policy of the page would not let it.
pub fn needs_nothing_else(page: &str) {
    for reference in ["http:", "https:", "url(", "@import", "src=", "<link", "import(", "fetch("] {
        assert!(!page.contains(reference), "{reference}");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(!page.contains("innerHTML"));
}
