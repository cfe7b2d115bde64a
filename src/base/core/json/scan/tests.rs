//! Tests of the scan: it takes what serde_json takes, and says where it stands.

use serde::de::IgnoredAny;

use crate::core::json::scan::*;

const TEXTS: [&str; 4] = [
    "{\n    \"a\": [1, -0.5e+3, 20E1, true, false, null, \"\", {}, [ ]],\r\t\"b\\u00e9\\n\": \"some\\\\ \\\"text\\\" that is longer, ü\"\n}\n",
    "[{\"id\":\"a long enough name\",\"n\":0},{\"id\":\"b\",\"deep\":{\"x\":[[[]]]}}]",
    "  \"\\ud83d\"  ",
    "-12.0",
];

#[test]
fn it_takes_what_serde_json_takes() {
    for text in TEXTS {
        assert!(is_value(text.as_bytes()), "{text}");
        let bytes = text.as_bytes();
        let cuts = (0..bytes.len()).map(|at| bytes[..at].to_vec());
        let flips = (0..bytes.len() * 256).map(|n| {
            let mut bytes = bytes.to_vec();
            bytes[n / 256] = (n % 256) as u8;
            bytes
        });
        for damaged in cuts.chain(flips) {
            let expected = serde_json::from_slice::<IgnoredAny>(&damaged).is_ok();
            let text = String::from_utf8_lossy(&damaged);
            assert_eq!(is_value(&damaged), expected, "{text:?}");
        }
    }
}

#[test]
fn depth_is_no_danger() {
    assert!(is_value(format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)).as_bytes()));
    assert!(!is_value(&[b'['; 1_000_000]));
}

#[test]
fn parts_are_found_where_they_stand() {
    let text = r#"{ "a" : [1, "x\ty"], "b\u0021": {"c": 2} }"#;
    let mut scanner = Scanner::new(text.as_bytes());
    let mut found = Vec::new();
    let walked = scanner.object(|scanner, key| {
        let value = scanner.value()?;
        found.push((unescape(key.slice(text))?, value.slice(text)));
        Some(())
    });
    assert!(walked.and_then(|()| scanner.finish()).is_some());
    assert_eq!(found, [("a".into(), r#"[1, "x\ty"]"#), ("b!".into(), r#"{"c": 2}"#)]);
}

#[test]
fn a_value_framed_like_another_is_taken_as_it_would_be_alone() {
    let framed = r#"{"a": "x", "b":{"c":[1, "y\n",null] , "d":{}},"e":-2.5,"f":[]}"#;
    let other_scalars = r#"{"a": false, "b":{"c":["", 30e1,"\"}"] , "d":{}},"e":"-","f":[]}"#;
    let one_more = r#"{"a": "x", "b":{"c":[1, "y\n",null, 2] , "d":{}},"e":-2.5,"f":[]}"#;
    let mut frame = Frame::default();
    frame.note(framed.as_bytes());
    let is_like = |text: &str| frame.walk(text.as_bytes()).is_some();
    assert!(is_like(framed) && is_like(other_scalars) && !is_like(one_more));
    for second in [framed, other_scalars, one_more] {
        let bytes = second.as_bytes();
        for at in 0..bytes.len() {
            let mut damages = vec![bytes[..at].to_vec()];
            for byte in [b'"', b'\\', b'{', b'}', b'[', b']', b',', b':', b' ', b'\n', b'0', b'x'] {
                damages.push([&bytes[..at], &[byte], &bytes[at + 1..]].concat());
                damages.push([&bytes[..at], &[byte], &bytes[at..]].concat());
            }
            for damaged in damages {
                let alone = Scanner::new(&damaged).value().map(|span| span.end - span.start);
                let both = [framed.as_bytes(), &damaged].concat();
                let mut scanner = Scanner::new(&both);
                let mut frame = Frame::default();
                assert_eq!(scanner.value_like(&mut frame).unwrap().end, framed.len());
                let beside = scanner.value_like(&mut frame).map(|span| span.end - span.start);
                assert_eq!(beside, alone, "{:?}", String::from_utf8_lossy(&damaged));
            }
        }
    }
}
