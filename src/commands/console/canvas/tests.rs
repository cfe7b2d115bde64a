use super::*;

const PLAIN: Style = Style::PLAIN;
const WARN: Style = Style { colour: Colour::Yellow, bold: true, ..PLAIN };

/// One row with some texts on it.
fn row(width: u16, texts: &[(u16, &str)]) -> Canvas {
    let mut canvas = Canvas::new(width, 1);
    for (x, text) in texts {
        canvas.put(*x, 0, text, 100, PLAIN);
    }
    canvas
}

fn text(canvas: &Canvas) -> String {
    let lines: Vec<String> =
        canvas.rows.iter().map(|row| row.iter().map(Cell::text).collect()).collect();
    lines.join("\n")
}

/// What the terminal is told, `^` for the character that begins a sequence.
fn told(canvas: &Canvas, before: Option<&Canvas>) -> String {
    canvas.changes(before).replace('\u{1b}', "^")
}

fn cells(text: &str) -> Vec<(String, usize)> {
    let canvas = row(40, &[(0, text)]);
    let used = canvas.rows[0].iter().filter(|cell| !cell.text.is_empty());
    used.map(|cell| (cell.text.clone(), cell.width)).collect()
}

#[test]
fn a_text_is_cut_to_its_width_and_to_the_row() {
    assert_eq!(text(&row(5, &[(3, "abc")])), "   ab");
    assert_eq!(text(&row(5, &[(5, "abc"), (9, "x"), (u16::MAX, "x")])), "     ");
    let mut canvas = Canvas::new(6, 2);
    canvas.put(1, 1, "abcdef", 3, PLAIN);
    canvas.put(0, 0, "漢漢", 3, PLAIN);
    assert_eq!(text(&canvas), "漢    \n abc  ");
    assert_eq!(text(&row(3, &[(0, "漢漢")])), "漢 ");
    assert_eq!(text(&row(3, &[(0, "a\u{1b}\u{9b}\tb\n")])), "ab ");
    assert_eq!(text(&row(0, &[(0, "a")])), "");
}

#[test]
fn a_wide_character_that_loses_a_half_is_a_blank_in_the_other() {
    assert_eq!(text(&row(6, &[(0, "漢字漢")])), "漢字漢");
    assert_eq!(text(&row(6, &[(0, "漢字漢"), (2, "x")])), "漢x 漢");
    assert_eq!(text(&row(6, &[(0, "漢字漢"), (3, "x")])), "漢 x漢");
    assert_eq!(text(&row(6, &[(0, "漢字漢"), (1, "口")])), " 口 漢");
    assert_eq!(text(&row(6, &[(0, "漢字漢"), (2, "口")])), "漢口漢");
    assert_eq!(text(&row(6, &[(0, "漢字漢"), (5, "x")])), "漢字 x");
}

#[test]
fn what_has_no_width_joins_what_is_before_it() {
    let one = |text: &str, width| vec![(text.to_owned(), width)];
    for (sign, width) in [
        ("e\u{301}", 1),
        ("❤\u{fe0f}", 2),
        ("👍🏽", 2),
        ("👩\u{200d}💻", 2),
        ("👨\u{200d}👩\u{200d}👧", 2),
        ("1\u{fe0f}\u{20e3}", 2),
        ("\u{1112}\u{1161}\u{11ab}", 2),
    ] {
        assert_eq!(cells(sign), one(sign, width), "{sign}");
        let three = cells(&format!("a{sign}b"));
        assert_eq!(three.len(), 3, "{three:?}");
        assert_eq!(three[1], (sign.to_owned(), width));
    }
    // Nothing is before it.
    assert_eq!(cells("\u{301}a"), one("a", 1));
    // A letter stays one, whatever it makes with the one before it.
    for two in ["漢字", "لا", "a\u{200d}b", "a🏽"] {
        assert_eq!(cells(two).len(), 2, "{two}");
    }
}

#[test]
fn a_row_is_printed_in_runs_of_one_style() {
    let mut canvas = row(12, &[(1, "ab")]);
    canvas.put(3, 0, "c", 1, WARN);
    assert_eq!(told(&canvas, None), "^[2J^[1;1H ab^[1;38;5;3mc^[0m^[K");
    let line = Rect { x: 0, y: 0, width: 4, height: 1 };
    canvas.reverse(line);
    assert_eq!(told(&canvas, None), "^[2J^[1;1H^[7m ab^[0m^[1;7;38;5;3mc^[0m^[K");
    // Behind what is not one column wide everywhere, the place is said again.
    let odd = row(6, &[(0, "漢e\u{301}bcd")]);
    assert_eq!(told(&odd, None), "^[2J^[1;1H^[K漢^[1;3He\u{301}^[1;4Hbcd");
}

#[test]
fn only_rows_that_changed_are_printed() {
    let picture = |texts: [&str; 3]| {
        let mut canvas = Canvas::new(3, 3);
        for (y, text) in (0..).zip(texts) {
            canvas.put(0, y, text, 3, PLAIN);
        }
        canvas
    };
    let before = picture(["abc", "", "x"]);
    assert_eq!(told(&before, None), "^[2J^[1;1Habc^[3;1Hx^[K");
    assert_eq!(told(&picture(["abc", "", "x"]), Some(&before)), "");
    assert_eq!(told(&picture(["abc", "", "y"]), Some(&before)), "^[3;1Hy^[K");
    assert_eq!(told(&picture(["abc", " ", ""]), Some(&before)), "^[3;1H^[K");
    let larger = Canvas::new(4, 3);
    assert_eq!(told(&larger, Some(&before)), "^[2J");
}

#[test]
fn a_look_is_the_numbers_of_what_is_on() {
    assert!(PLAIN.look().is_empty());
    assert_eq!(Style { dim: true, reversed: true, ..WARN }.look(), [1, 2, 7, 38, 5, 3]);
    for (colour, number) in [(Colour::Red, 1), (Colour::Green, 2), (Colour::Cyan, 6)] {
        assert_eq!(Style { colour, ..PLAIN }.look(), [38, 5, number]);
    }
}
