//! What the parts of a text are made of.

#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(u8)]
pub enum Class {
    Digit,
    Hex,
    Upper,
    Alnum,
    Word,
    Dash,
    Base64,
    Base64Url,
    Key,
    /// What stands in a value that has no quotes.
    Value,
    /// The text of an XML element.
    Element,
    NoDigit,
    NoLetter,
    NoUpper,
    NoLower,
    /// What stands on a header's line, or in the quotes around it.
    Header,
    /// The user and host of a URL.
    Authority,
    /// The second part of a JSON web token. A class of its own: it is looked at from afar.
    Claims,
}

pub const CLASSES: usize = 18;

const fn is_in(class: Class, b: u8) -> bool {
    let alnum = b.is_ascii_alphanumeric();
    match class {
        Class::Digit => b.is_ascii_digit(),
        Class::Hex => b.is_ascii_hexdigit(),
        Class::Upper => b.is_ascii_uppercase() || b.is_ascii_digit(),
        Class::Alnum => alnum,
        Class::Word => alnum || b == b'_',
        Class::Dash | Class::Base64Url | Class::Claims => alnum || b == b'_' || b == b'-',
        Class::Base64 => alnum || matches!(b, b'+' | b'/' | b'='),
        Class::Key => alnum || matches!(b, b'_' | b'-' | b'.' | b'=' | b'/' | b'+' | b'~' | b'%'),
        Class::Value => {
            !(b.is_ascii_whitespace()
                || b < 32
                || matches!(b, b'"' | b'\'' | b'`' | b'&' | b'|' | b';' | b',' | b'<' | b'>')
                || matches!(b, b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'\\'))
        }
        Class::Element => !matches!(b, b'<' | b'\n' | b'\r'),
        Class::NoDigit => !b.is_ascii_digit(),
        Class::NoLetter => !b.is_ascii_alphabetic(),
        Class::NoUpper => !b.is_ascii_uppercase(),
        Class::NoLower => !b.is_ascii_lowercase(),
        Class::Header => !matches!(b, b'"' | b'\'' | b'\n' | b'\r' | b'\\'),
        Class::Authority => {
            !matches!(b, b'/' | b' ' | b'"' | b'\'' | b'\n' | b'?' | b'#' | b'`' | b'<' | b'>')
        }
    }
}

const ALL: [Class; CLASSES] = [
    Class::Digit,
    Class::Hex,
    Class::Upper,
    Class::Alnum,
    Class::Word,
    Class::Dash,
    Class::Base64,
    Class::Base64Url,
    Class::Key,
    Class::Value,
    Class::Element,
    Class::NoDigit,
    Class::NoLetter,
    Class::NoUpper,
    Class::NoLower,
    Class::Header,
    Class::Authority,
    Class::Claims,
];

/// By byte, a bit for each class that it is in.
static OF: [u32; 256] = table();

#[expect(clippy::indexing_slicing, reason = "made by the compiler")]
const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut class = 0;
        while class < CLASSES {
            if is_in(ALL[class], byte as u8) {
                table[byte] |= 1 << ALL[class] as u32;
            }
            class += 1;
        }
        byte += 1;
    }
    table
}

impl Class {
    pub fn has(self, byte: u8) -> bool {
        OF.get(usize::from(byte)).is_some_and(|bits| bits >> self as u32 & 1 == 1)
    }
}
