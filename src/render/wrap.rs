//! Long lines broken at spaces.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// A space at which no line breaks.
pub(super) const TIE: char = '\u{a0}';

/// A text in lines of so many columns; lines behind the first start with `indent`. A word that is
/// longer than a line stays whole: paths and names are copied.
pub(super) fn lines(text: &str, indent: &str, width: usize) -> Vec<String> {
    let (blank, text) = text.split_at(text.len() - text.trim_start_matches(' ').len());
    let options = Options::new(width)
        .initial_indent(blank)
        .subsequent_indent(indent)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(text, options).into_iter().map(|line| line.replace(TIE, " ")).collect()
}

/// Writes a text in such lines.
pub(super) fn write(out: &mut String, text: &str, indent: &str, width: usize) {
    for line in lines(text, indent, width) {
        out.push_str(&line);
        out.push('\n');
    }
}

/// The first of these that has at most so many columns, else the last.
pub(super) fn first_that_fits(
    candidates: impl IntoIterator<Item = String>,
    width: usize,
) -> String {
    let mut last = String::new();
    for candidate in candidates {
        last = candidate;
        if last.chars().count() <= width {
            break;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::{first_that_fits, lines};

    #[test]
    fn long_lines() {
        assert_eq!(lines("one two three", "  ", 8), ["one two", "  three"]);
        assert_eq!(lines("   averylongword x", "  ", 8), ["   averylongword", "  x"]);
        assert_eq!(lines("one\u{a0}two three", "", 8), ["one two", "three"]);
        assert_eq!(lines("", "  ", 8), [""]);
    }

    #[test]
    fn candidates() {
        let of = |width| first_that_fits(["abc", "ab", "a"].map(str::to_owned), width);
        assert_eq!((of(9), of(2), of(0)), ("abc".to_owned(), "ab".to_owned(), "a".to_owned()));
    }
}
