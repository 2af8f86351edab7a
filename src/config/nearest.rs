//! The name that a mistyped one most likely means.

/// Below this likeness (0 to 1) two names have nothing to do with each other.
const LIKE: f64 = 0.6;

/// The name of several that is nearest to a word.
pub fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let word = word.to_lowercase();
    let mut best: Option<(f64, &str)> = None;
    for name in names {
        let known = name.to_lowercase();
        let likeness = strsim::normalized_damerau_levenshtein(&word, &known)
            .max(strsim::jaro_winkler(&word, &known) - 0.2);
        if likeness >= LIKE && best.is_none_or(|(most, _)| likeness > most) {
            best = Some((likeness, name));
        }
    }
    best.map(|(_, name)| name)
}

/// `no WHAT 'word'`, and the nearest right one where there is one.
pub fn unknown<'n>(what: &str, word: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    match nearest(word, names) {
        Some(name) => format!("no {what} '{word}'; did you mean '{name}'?"),
        None => format!("no {what} '{word}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn names() {
        let names = ["chip", "hbm", "reserve", "max_total", "min_share", "min_bytes", "fail_on"];
        let cases = [
            ("chpi", Some("chip")),
            ("Chip", Some("chip")),
            ("maxtotal", Some("max_total")),
            ("min_shares", Some("min_share")),
            ("min_byte", Some("min_bytes")),
            ("fail", Some("fail_on")),
            ("colour", None),
            ("", None),
        ];
        for (word, expected) in cases {
            assert_eq!(nearest(word, names), expected, "{word}");
        }
        let rules = ["large-allocation", "large-constant", "replicated-tensor", "debug-print"];
        assert_eq!(nearest("replicated-tensors", rules), Some("replicated-tensor"));
        assert_eq!(nearest("large-alloc", rules), Some("large-allocation"));
    }
}
