//! A prompt that plainly asks a loop to stop.

/// What such a prompt begins with, by itself or before a comma or a full stop.
const ASKS: [&str; 11] = [
    "stop",
    "cancel",
    "abort",
    "halt",
    "pause",
    "end",
    "quit",
    "leave",
    "exit",
    "stop looping",
    "that's enough",
];
/// What it may be said of.
const OF: [&str; 8] = ["", "it", "this", "now", "the loop", "this loop", "loop", "here"];
/// Words that mean a loop only if they say so.
const NEEDS_OBJECT: [&str; 4] = ["end", "leave", "exit", "quit"];

/// Whether a person asks to stop. A question, a negation or a sentence about something else does not.
pub fn is_asked(prompt: &str) -> bool {
    let line = prompt.trim().lines().next().unwrap_or_default().to_lowercase();
    let clause = line.split(['.', ',', '!', ';', ':', '?', '–', '—']).next().unwrap_or_default();
    if line.trim_start_matches(clause).starts_with('?') {
        return false;
    }
    let words: Vec<&str> = clause
        .split_whitespace()
        .filter(|word| !matches!(*word, "please" | "ok" | "okay"))
        .collect();
    let said = words.join(" ");
    ASKS.iter().any(|ask| {
        let of = said.strip_prefix(ask).map(str::trim_start);
        of.is_some_and(|of| {
            OF.contains(&of) && (of.contains("loop") || !NEEDS_OBJECT.contains(ask))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::is_asked;

    #[test]
    fn only_a_plain_wish_counts() {
        for prompt in [
            "stop",
            "Stop.",
            "STOP!",
            "stop the loop",
            "Please stop the loop",
            "cancel",
            "Cancel the loop, please.",
            "stop it",
            "ok stop, I want to look at it first",
            "pause",
            "end the loop",
            "quit this loop",
            "stop now\n\nThe tests are wrong.",
        ] {
            assert!(is_asked(prompt), "{prompt}");
        }
        for prompt in [
            "",
            "stop the server before you test",
            "cancel buttons need a label",
            "don't stop the loop",
            "never stop",
            "stop?",
            "should we stop the loop?",
            "stop the loop?",
            "when will you stop",
            "Add a stop button",
            "go on until I say stop",
            "end",
            "exit 1 is what it returns",
            "stop words are filtered out",
        ] {
            assert!(!is_asked(prompt), "{prompt}");
        }
    }
}
