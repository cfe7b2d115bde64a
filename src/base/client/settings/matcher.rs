//! The matcher of a group of hooks: for which tools an event comes.

/// Whether a group's matcher lets all through that an event is wanted for, and no more.
pub fn is_equivalent(wanted: Option<&str>, matcher: Option<&str>) -> bool {
    // Names in another order are the same.
    let names = |text: &str| {
        let mut names: Vec<String> = text.split('|').map(|name| name.trim().to_owned()).collect();
        names.sort();
        names
    };
    match (wanted, matcher) {
        (None, matcher) => matches_all(matcher),
        (Some(_), None) => false,
        (Some(wanted), Some(matcher)) => names(wanted) == names(matcher),
    }
}

/// Whether a matcher lets everything through.
pub fn matches_all(matcher: Option<&str>) -> bool {
    matches!(matcher, None | Some("" | "*" | ".*"))
}
