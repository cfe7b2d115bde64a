use super::Input::*;
use super::*;

fn keys(bytes: &str) -> Vec<Input> {
    fed(&[bytes.as_bytes()])
}

fn fed(reads: &[&[u8]]) -> Vec<Input> {
    let (mut keys, mut found) = (Keys::default(), Vec::new());
    for read in reads {
        keys.feed(read);
        while let Some(input) = keys.take() {
            found.push(input);
        }
    }
    found.extend(keys.settle());
    assert_eq!(keys.settle(), None);
    found
}

#[test]
fn every_spelling_of_a_key_is_known() {
    for (bytes, input) in [
        ("\x1b[A", Up),
        ("\x1bOA", Up),
        ("\x1b[1;2A", Up),
        ("\x1b[1;3A", Up),
        ("\x1b[1;1:2A", Up),
        ("\x1b[B", Down),
        ("\x1bOB", Down),
        ("\x1b[5~", PageUp),
        ("\x1b[6~", PageDown),
        ("\x1b[6;2~", PageDown),
        ("\x1b[H", Home),
        ("\x1bOH", Home),
        ("\x1b[1~", Home),
        ("\x1b[7~", Home),
        ("\x1b[1;2H", Home),
        ("\x1b[Z", BackTab),
        ("\x1b[1;2Z", BackTab),
        ("\x1b[9;2u", BackTab),
        ("\x1b", Escape),
        ("\x1b[27u", Escape),
        ("\r", Enter),
        ("\x1b[13u", Enter),
        ("\t", Tab),
        ("\x1b[9u", Tab),
        ("\x7f", Backspace),
        ("\x1b\x7f", Backspace),
        ("\x1b[127u", Backspace),
        ("\x03", Interrupt),
        ("\x04", Interrupt),
        ("\x1b[99;5u", Interrupt),
        ("\x0c", Redraw),
        ("\x1b[108;5u", Redraw),
        ("\x1a", Stop),
        ("\x1b[122;5u", Stop),
        ("q", Char('q')),
        ("\x1bq", Char('q')),
        ("\x1b[113u", Char('q')),
        ("ä", Char('ä')),
        ("\x1bä", Char('ä')),
        ("漢", Char('漢')),
        ("👍", Char('👍')),
    ] {
        assert_eq!(keys(bytes), [input], "{bytes:?}");
    }
}

#[test]
fn what_is_no_key_of_ours_is_passed_over_whole() {
    for bytes in [
        "\x1b[C",
        "\x1bOP",
        "\x1b[F",
        "\x1b[3~",
        "\x1b[15~",
        "\x1b[1;5A",
        "\x1b[1;5H",
        "\x1b[5;5~",
        "\x1b[1;1:3A",
        "\x1b[113;1:3u",
        "\x1b[113;5u",
        "\x1b[57358u",
        "\x1b[99999999999u",
        "\x1b[?1;2c",
        "\x1b[>0;276;0c",
        "\x1b[?1A",
        "\x1b[12;40R",
        "\x1b[I",
        "\x1b[O",
        "\x1b[200~",
        "\x1b[[A",
        "\x1b[M !!",
        "\x1b[<0;3;4M",
        "\x1b[<0;3;4m",
        "\x1b[1 A",
        "\0",
        "\n",
        "\x08",
        "\x1b\x01",
        "\u{85}",
    ] {
        assert_eq!(keys(&format!("{bytes}q")), [Char('q')], "{bytes:?}");
    }
}

#[test]
fn esc_is_a_key_only_by_itself() {
    assert_eq!(keys("\x1b\x1b"), [Escape, Escape]);
    assert_eq!(keys("\x1b\x1b[A"), [Escape, Up]);
    // What broke a sequence off counts.
    assert_eq!(keys("\x1b[5\x1b[A"), [Up]);
    assert_eq!(keys("\x1b[5\x03q"), [Interrupt, Char('q')]);
    // With Alt it comes with the other key at once.
    assert_eq!(fed(&[b"\x1bq"]), [Char('q')]);
    assert_eq!(fed(&[b"\x1b", b"q"]), [Escape, Char('q')]);
    assert_eq!(fed(&[b"\x1b", b"\t\x1b"]), [Escape, Tab, Escape]);
    assert_eq!(fed(&[b"\x1b", b"\x1b[A"]), [Escape, Up]);
    assert_eq!(fed(&[b"\x1b", b"[A"]), [Up]);
    let mut keys = Keys::default();
    keys.feed(b"\x1b");
    assert_eq!((keys.take(), keys.is_unsure()), (None, true));
    keys.feed(b"[");
    assert_eq!((keys.take(), keys.is_unsure(), keys.settle()), (None, false, None));
    keys.feed(b"B");
    assert_eq!(keys.take(), Some(Down));
}

#[test]
fn what_is_pasted_is_typed() {
    let typed = [Char('p'), Char('ä'), Enter, Tab, Char('漢'), Char(' ')];
    assert_eq!(keys("pä\r\t漢 "), typed);
    assert_eq!(keys("\x1b[200~pä\r\t漢 \x1b[201~"), typed);
    assert_eq!(fed(&[b"a\xff\xc3(\xe6\xbcb"]), [Char('a'), Char('('), Char('b')]);
}

#[test]
fn it_does_not_matter_where_a_read_ends() {
    let all = "a\x1b[A漢\x1bOBé\x1b[5;2~👍\x1b[M !!\x1b[[Bq\x1b[200~z\x1b[1;1:3Ax\x7f\x1b[Z";
    let bytes = all.as_bytes();
    let whole = keys(all);
    assert_eq!(whole.len(), 12, "{whole:?}");
    for first in 0..=bytes.len() {
        for second in first..=bytes.len() {
            let reads = [&bytes[..first], &bytes[first..second], &bytes[second..]];
            assert_eq!(fed(&reads), whole, "{first} {second}");
        }
    }
}

#[test]
fn any_bytes_come_to_an_end() {
    for number in 0..0x1_0000_u32 {
        let [_, _, a, b] = number.to_be_bytes();
        let found = fed(&[&[27, a, b], b"\rqqqq"]);
        assert_eq!(found.last(), Some(&Char('q')), "{a} {b}");
    }
}
