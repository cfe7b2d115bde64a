//! What a terminal obeys where a whole screen is drawn. Where the cursor goes and how a text looks are
//! numbers; nothing else gets in between.

use super::Printed;

impl Printed {
    /// The whole terminal, empty and without a cursor; what was on it comes back at the end.
    pub fn whole_screen() -> Self {
        Self("\x1b[?1049h\x1b[?25l".into())
    }

    /// What undoes [`Printed::whole_screen`], and every look.
    pub fn screen_given_back() -> Self {
        Self("\x1b[0m\x1b[?1049l\x1b[?25h".into())
    }

    pub fn empty_screen() -> Self {
        Self("\x1b[2J".into())
    }

    /// To a place on the screen, from 0.
    pub fn go_to(x: u16, y: u16) -> Self {
        Self(format!("\x1b[{};{}H", u32::from(y) + 1, u32::from(x) + 1))
    }

    /// Nothing from here to the end of the row.
    pub fn empty_rest() -> Self {
        Self("\x1b[K".into())
    }

    /// A text with a look: the numbers of its escape sequence; none is the terminal's own.
    pub fn run(look: &[u8], text: &str) -> Self {
        if look.is_empty() || text.is_empty() {
            return text.into();
        }
        let numbers: Vec<String> = look.iter().map(u8::to_string).collect();
        Self(format!("\x1b[{}m{}\x1b[0m", numbers.join(";"), Self::from(text)))
    }
}
