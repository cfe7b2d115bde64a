//! How a session ended, in words. The client's own reasons are codes.

/// Its client is gone, and another session noticed.
pub const ABANDONED: &str = "abandoned";

/// `prompt_input_exit` → `left`. What is not known is shown without its underscores.
pub fn ending_in_words(reason: &str) -> String {
    match reason {
        "" => "not known",
        "prompt_input_exit" => "left",
        "clear" => "cleared",
        "resume" => "switched",
        "logout" => "logged out",
        "bypass_permissions_disabled" => "permissions off",
        "other" => "closed",
        ABANDONED => "client gone",
        unknown => return unknown.replace('_', " "),
    }
    .to_owned()
}

/// How a session ended, as a sentence of its story.
pub fn ending_in_a_sentence(reason: &str) -> String {
    match reason {
        "" => "It is not known how it ended.",
        "prompt_input_exit" => "The user left it.",
        "clear" => "The user cleared it (/clear).",
        "resume" => "The user switched to another session.",
        "logout" => "The user logged out.",
        "bypass_permissions_disabled" => "Bypassing permissions was not allowed any more.",
        "other" => "The client closed it.",
        "abandoned" => "Its client was gone without a word; the next session closed it.",
        unknown => return format!("It ended: {}.", unknown.replace('_', " ")),
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_code_of_the_client_is_shown() {
        assert_eq!(ending_in_words("prompt_input_exit"), "left");
        assert_eq!(ending_in_words("power_cut"), "power cut");
        assert_eq!(ending_in_a_sentence("power_cut"), "It ended: power cut.");
        for known in ["prompt_input_exit", "clear", "resume", "logout", "other", "abandoned"] {
            assert_ne!(ending_in_words(known), known);
            assert!(!ending_in_a_sentence(known).contains('_'));
        }
    }
}
