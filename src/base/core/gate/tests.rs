use super::*;

const HOSTILE: &str =
    "a\u{1b}[2Jb\u{9b}31m\r\nHookKeeper: c\u{202e}d\u{200b}\u{2066}\u{61c}e\u{2028}f\u{7}";

#[test]
fn a_text_becomes_one_line_that_nothing_obeys() {
    assert_eq!(one_line(HOSTILE), "a [2Jb 31m HookKeeper: cde f");
    assert_eq!(one_line("  - é: as it  is "), "  - é: as it  is ");
    assert!(matches!(one_line("plain"), Cow::Borrowed("plain")));
    assert_eq!(one_line("\n\n"), "");
    assert_eq!(one_line("a \n b"), "a  b");
}

#[test]
fn a_line_is_clipped() {
    for text in ["x".repeat(LONGEST + 1), "é".repeat(LONGEST * 2), "x\n".repeat(LONGEST)] {
        let line = one_line(&text);
        assert!(line.ends_with('…') && line.chars().count() <= LONGEST + 1, "{}", line.len());
    }
    let fits = "é".repeat(LONGEST);
    assert_eq!(one_line(&fits), fits);
}

#[test]
fn lines_are_as_many_as_there_are_texts() {
    let words = Words::lines(["one\ntwo", "three"]);
    assert_eq!(&*words, "one two\nthree");
    assert_eq!(&*words.clipped(5), "one t…");
}

#[test]
fn no_code_point_gets_through_that_moves_or_hides() {
    for c in (0..0x2_0000).chain(0xe_0000..0xe_1000).filter_map(char::from_u32) {
        let text = format!("a{c}b");
        let seen = |out: &str| out.contains(c) && (c.is_control() || is_invisible(c));
        assert!(!seen(&one_line(&text)), "{c:?}");
        let printed = Printed::from(text.as_str());
        assert!(matches!(c, '\n' | '\t') || !seen(&printed), "{c:?}");
        let json = Printed::json(&text).unwrap();
        assert!(!seen(&json), "{c:?}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }
}

#[test]
fn only_our_colours_are_colours() {
    let mut all = Printed::painted("1", "a\x1b[31m");
    all.push("\x1b[32mb\n\tc");
    assert_eq!(&*all, "\x1b[1ma\u{fffd}[31m\x1b[0m\u{fffd}[32mb\n\tc");
}

#[test]
fn a_screen_obeys_numbers_alone() {
    assert_eq!(&*Printed::run(&[1, 38, 5, 3], "a\x1b[2J"), "\x1b[1;38;5;3ma\u{fffd}[2J\x1b[0m");
    assert_eq!(&*Printed::run(&[], "漢\x1b"), "漢\u{fffd}");
    assert_eq!(&*Printed::go_to(0, 0), "\x1b[1;1H");
    assert_eq!(&*Printed::go_to(u16::MAX, 7), "\x1b[8;65536H");
}

#[test]
fn a_word_in_a_command_is_one_word() {
    for (text, word) in [
        ("~/shop/tasks", "~/shop/tasks"),
        ("", "''"),
        ("$(touch x)", "'$(touch x)'"),
        ("it's `x`\n;", r"'it'\''s `x` ;'"),
        ("--all", "-- --all"),
        ("-x y", "-- '-x y'"),
    ] {
        assert_eq!(shell_word(text), word);
    }
}
