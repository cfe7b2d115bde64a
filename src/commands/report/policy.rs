//! The Content-Security-Policy of a report: its own style and its own script, by their digests, and
//! nothing else from anywhere.

use sha2::{Digest, Sha256};

pub const STYLE: &str = include_str!("report.css");
pub const SCRIPT: &str = include_str!("report.js");

pub fn content_security_policy() -> String {
    let hash = |text: &str| base64(&Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = DIGITS.get((bits >> (18 - 6 * at) & 63) as usize).copied();
            let is_padding = at > three.len();
            text.push(if is_padding { '=' } else { char::from(digit.unwrap_or(b'=')) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_has_its_padding() {
        assert_eq!(
            ["", "f", "fo", "foo", "foob", "\u{ff}\u{fe}"].map(|text| base64(text.as_bytes())),
            ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "w7/Dvg=="]
        );
    }

    #[test]
    fn style_and_script_end_nothing() {
        for text in [STYLE, SCRIPT] {
            assert!(!text.contains("</") && !text.contains("<!--"));
        }
    }
}
