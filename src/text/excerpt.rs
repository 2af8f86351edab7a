//! A place in a text as it is shown to a person: one line, cut to a stretch around the place.

/// A stretch of one line around a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// The stretch.
    pub text: String,
    /// The byte of the place in it.
    pub at: usize,
    /// How many bytes the word at the place has.
    pub length: usize,
}

/// How many bytes of a line are shown before and behind a place. Lines of dumps reach 160 KB.
const SHOWN_BYTES: usize = 60;

/// The line of a place, cut to a stretch around it.
pub fn excerpt(bytes: &[u8], offset: usize) -> Excerpt {
    let offset = offset.min(bytes.len());
    let (before, behind) = bytes.split_at(offset);
    let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let end = memchr::memchr(b'\n', behind).map_or(bytes.len(), |newline| offset + newline);
    let from = start.max(offset.saturating_sub(SHOWN_BYTES));
    let to = end.min(offset + SHOWN_BYTES);
    let shown = |stretch: &[u8]| {
        // Control characters would move the caret.
        let text = String::from_utf8_lossy(stretch);
        text.replace(|character: char| character.is_control(), " ")
    };
    let cut = |cut: bool| if cut { "..." } else { "" };
    let head = format!("{}{}", cut(from > start), shown(&bytes[from..offset]));
    let tail = format!("{}{}", shown(&bytes[offset..to]), cut(to < end));
    let first = tail.chars().next().map_or(0, char::len_utf8);
    let word = tail.bytes().skip(first).take_while(|byte| byte.is_ascii_alphanumeric());
    let length = first + if first == 1 { word.count() } else { 0 };
    Excerpt { at: head.len(), length, text: head + &tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let mut line = "x".repeat(1000);
        line.insert_str(500, "@@@");
        let shown = excerpt(line.as_bytes(), 500);
        assert_eq!(&shown.text[shown.at..shown.at + 3], "@@@");
        assert!(shown.text.len() < 140);
        assert!(shown.text.starts_with("...") && shown.text.ends_with("..."));
    }

    #[test]
    fn the_end_of_the_text_has_an_excerpt() {
        let shown = excerpt(b"abc\n", 4);
        assert_eq!(shown, Excerpt { text: String::new(), at: 0, length: 0 });
    }
}
