//! Whether a prompt is a person's plain word, and nothing else.

const APPROVALS: [&str; 3] = ["approve", "approved", "lgtm"];
const SHIP: [&str; 1] = ["ship"];
/// Words that take back, bind or put off what the first line says; of other languages, their noes.
const RESERVES: [&str; 45] = [
    "no", "not", "don't", "dont", "never", "none", "cannot", "can't", "won't", "isn't", "doesn't",
    "but", "except", "unless", "until", "only", "if", "when", "once", "after", "before", "wait",
    "however", "instead", "wrong", "without", "reject", "nein", "nicht", "kein", "keine", "aber",
    "non", "pas", "ne", "jamais", "mais", "nunca", "pero", "nao", "niet", "geen", "inte", "ikke",
    "nie",
];

/// The acceptance tests are approved: the word is the whole prompt, or its first line.
pub fn approves(prompt: &str) -> bool {
    says(prompt, &APPROVALS)
}

/// The loop may go on with findings open.
pub fn says_ship(prompt: &str) -> bool {
    says(prompt, &SHIP)
}

/// Whether a prompt begins as if it were one of these words, and is not: the person may have meant it.
pub fn nearly_approves(prompt: &str) -> bool {
    let word: String = prompt.trim_start().chars().take_while(|c| c.is_alphanumeric()).collect();
    APPROVALS.contains(&word.to_lowercase().as_str()) && !approves(prompt)
}

fn says(prompt: &str, words: &[&str]) -> bool {
    let (first, rest) = prompt.trim().split_once('\n').unwrap_or((prompt.trim(), ""));
    let word = first.trim().trim_end_matches(['.', '!']);
    words.iter().any(|known| word.eq_ignore_ascii_case(known)) && !has_reserve(rest)
}

/// A question, or a word that takes something back. Other scripts than Latin we do not judge: what
/// stands in them may be either.
fn has_reserve(text: &str) -> bool {
    let text = text.to_lowercase().replace('’', "'");
    let mut words = text.split(|c: char| !(c.is_alphanumeric() || c == '\''));
    text.contains(['?', '？', '؟', '¿'])
        || text.chars().any(|c| c.is_alphabetic() && !c.is_ascii())
        || words.any(|word| RESERVES.contains(&word))
}
