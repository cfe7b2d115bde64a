//! Figures and ids as people read them, in the terminal, the live view and the report: one spelling of
//! each. Durations are in `time`.

/// Characters of an id that are shown where no other begins so.
const SHORT: usize = 8;
const LONGEST: usize = 160;

/// `950`, `12.3k`, `4.5M`, `1.2G`: tokens, and what else only its size matters of.
pub fn short_count(count: u64) -> String {
    let count_f = count as f64;
    match count {
        0..1000 => count.to_string(),
        1000..999_950 => format!("{:.1}k", count_f / 1e3),
        999_950..999_950_000 => format!("{:.1}M", count_f / 1e6),
        _ => format!("{:.1}G", count_f / 1e9),
    }
}

/// `1,234,567`: what is counted one by one.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut spelled = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            spelled.push(',');
        }
        spelled.push(digit);
    }
    spelled
}

/// `$4.50`; below ten cents `$0.0123`.
pub fn dollars(usd: f64) -> String {
    let digits = if usd != 0.0 && usd.abs() < 0.1 { 4 } else { 2 };
    format!("${usd:.digits$}")
}

/// Ids to be told apart, each once.
pub fn distinct(mut ids: Vec<String>) -> Vec<String> {
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The first eight characters of an id, or as many as tell it from the others.
pub fn short_id(id: &str, all: &[&str]) -> String {
    let begins = |most: usize| id.chars().take(most).collect::<String>();
    let unlike = |most: &usize| {
        let begin = begins(*most);
        all.iter().filter(|other| other.starts_with(&begin)).count() <= 1
    };
    let longest = id.chars().count().min(LONGEST);
    (SHORT..longest).find(unlike).map_or_else(|| begins(longest), begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_short_or_exact() {
        let counts = [999, 1000, 45_210, 999_949, 999_950, 12_345_678, 999_950_000];
        let spelled = counts.map(short_count);
        assert_eq!(spelled, ["999", "1.0k", "45.2k", "999.9k", "1.0M", "12.3M", "1.0G"]);
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn small_sums_are_not_nothing() {
        let spelled = [0.0, 0.0123, 0.0999, 0.1, 4.5, 1234.567].map(dollars);
        assert_eq!(spelled, ["$0.00", "$0.0123", "$0.0999", "$0.10", "$4.50", "$1234.57"]);
    }

    #[test]
    fn an_id_is_as_short_as_the_others_allow() {
        assert_eq!(short_id("9f99b61b-a627", &["9f99b61b-a627"]), "9f99b61b");
        assert_eq!(short_id("9f99b61b-a627", &["9f99b61b-a627", "9f99b61b-b"]), "9f99b61b-a");
        assert_eq!(short_id("a1", &["a1", "a12"]), "a1");
        assert_eq!(short_id("abcdefghi", &["abcdefghi", "abcdefghij"]), "abcdefghi");
    }
}
