//! What a session is about, by the prompts that it was given: the first one with substance, until
//! somebody clearly turns to something new.

use crate::core::words::words;

/// A prompt as the person typed it: what IDE extensions put before it is taken off.
pub fn typed(prompt: &str) -> &str {
    let mut rest = prompt.trim();
    while let Some(inside) = rest.strip_prefix("<ide_") {
        let name = inside.split(['>', ' ', '\n']).next().unwrap_or_default();
        let Some((_, behind)) = rest.split_once(&format!("</ide_{name}>")) else { return "" };
        rest = behind.trim();
    }
    rest
}

/// Whether the client speaks, not a person. Newer clients say who does; else a tag around the
/// prompt tells.
pub fn is_machine_made(prompt: &str, source: Option<&str>) -> bool {
    match source {
        Some("user" | "sdk") => false,
        Some("system" | "loop_wakeup" | "schedule_wakeup" | "poll_event") => true,
        _ => {
            let tags =
                ["task-notification", "system-reminder", "local-command-", "command-name", "bash-"];
            let rest = prompt.trim_start().strip_prefix('<');
            rest.is_some_and(|rest| tags.iter().any(|tag| rest.starts_with(tag)))
        }
    }
}

/// Whether a prompt may decide for a person: approve, ship, stop a loop. Only what a person typed
/// may, or a program that speaks for one; never an agent, and no source that nobody knows.
pub fn may_decide(prompt: &str, source: Option<&str>, agent_id: Option<&str>) -> bool {
    let is_known = matches!(source, None | Some("user" | "sdk"));
    is_known && agent_id.is_none() && !is_machine_made(prompt, source)
}

/// The name in `/name arguments`. A path is no command.
pub fn slash_command(prompt: &str) -> Option<&str> {
    let name = prompt.strip_prefix('/')?.split_whitespace().next()?;
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
    (name.len() <= 64 && name.chars().all(plain)).then_some(name)
}

/// Whether a prompt says what a session is about, now that it is about `task`.
pub fn is_task(prompt: &str, task: Option<&str>) -> bool {
    has_substance(prompt) && (task.is_none() || turns_to_something_new(prompt))
}

/// Whether a prompt says something by itself: not "yes", "go on", a choice, or a command that only
/// steers the client.
pub fn has_substance(prompt: &str) -> bool {
    if prompt.starts_with("[Request interrupted") {
        return false;
    }
    if let Some(command) = slash_command(prompt) {
        let has_arguments = prompt.split_whitespace().nth(1).is_some();
        return has_arguments && !CLIENTS_OWN.split_whitespace().any(|own| own == command);
    }
    let lower = prompt.to_lowercase();
    let words: Vec<&str> = words(&lower).take(MOST_EMPTY + 1).collect();
    let is_empty = |word: &&str| {
        let is_choice = word.chars().count() == 1 && word.is_ascii();
        is_choice
            || word.bytes().all(|b| b.is_ascii_digit())
            || EMPTY.split_whitespace().any(|empty| empty == *word)
    };
    words.len() > MOST_EMPTY || !words.iter().all(is_empty)
}

/// An answer of more words than this says something.
const MOST_EMPTY: usize = 6;

/// Commands that steer the client itself.
const CLIENTS_OWN: &str = "\
    add-dir clear compact config effort export fast memory model output-style permissions plugin \
    rename resume rewind theme \
";

/// Words that say nothing without what went before, in English, German, French, Spanish, Portuguese,
/// Italian, Russian, Polish, Dutch, Japanese, Chinese, Korean.
const EMPTY: &str = "\
    a again ahead all alright and answer approve approved awesome b commit continue cool correct \
    do done exactly fine for go good great hello hey hi how i it keep lgtm looks me more morning \
    next nice no nope now of ok okay on once one option perfect please proceed push re ready \
    rest resume retry right same so start step stop sure test thank thanks that the them there \
    these this to try undo wait what why with yeah yep yes you yup going claude image where left \
    off works \
    ja nein weiter mach gut danke bitte genau hallo moin los passt super und jetzt alles klar \
    noch einmal das so warum stopp fertig \
    oui non vas y merci continuer continuez bonjour salut accord d c est bon encore pourquoi \
    suite la \
    sí si adelante gracias hola vale continúa continua sigue bien perfecto por favor qué sim não \
    nao pode continuar obrigado obrigada olá ola isso certo segue sì procedi pure grazie ciao \
    avanti va bene perché vai \
    да нет продолжай спасибо привет хорошо давай дальше ок tak nie dalej dzięki dobrze doorgaan \
    verder bedankt goed prima \
    はい いいえ 続けて 続けてください ありがとう お願いします 了解 好的 好 是 是的 继续 可以 谢谢 你好 네 예 아니요 계속 계속해 고마워 안녕 \
";

/// Whether a clause at the beginning of a prompt turns to something, and says to what.
fn turns_to_something_new(prompt: &str) -> bool {
    let text: String = prompt.chars().take(READ).flat_map(char::to_lowercase).collect();
    let text = text.replace('’', "'");
    let is_end = |c: char| ".,;:!?()\n—–。，、：！？；".contains(c);
    let ends = text.char_indices().take(HEAD).filter(|(_, c)| is_end(*c));
    let starts = std::iter::once(0).chain(ends.map(|(at, c)| at + c.len_utf8()));
    { starts }.any(|at| turns(text.get(at..).unwrap_or_default()))
}

/// Whether a clause begins with a turn, and something is left without it.
fn turns(clause: &str) -> bool {
    let mut rest = clause.trim_start();
    loop {
        let behind = TURNS.iter().find_map(|turn| without_phrase(rest, turn));
        if let Some(behind) = behind {
            return has_substance(behind.trim());
        }
        let lead_in = LEAD_INS.iter().find_map(|words| without_phrase(rest, words));
        let Some(behind) = lead_in else { return false };
        rest = behind.trim_start();
    }
}

/// What stands behind a phrase at the beginning of a text.
fn without_phrase<'t>(text: &'t str, phrase: &str) -> Option<&'t str> {
    let rest = text.strip_prefix(phrase)?;
    // Chinese and Japanese have no blanks between their words.
    let has_blanks = phrase.ends_with(|c: char| c < '\u{3000}');
    let goes_on = has_blanks && phrase.ends_with(char::is_alphanumeric);
    (!(goes_on && rest.starts_with(char::is_alphanumeric))).then_some(rest)
}

/// A turn is said at the beginning.
const HEAD: usize = 80;
/// Characters that are looked at for what is left.
const READ: usize = 400;

/// What a turn may begin with.
const LEAD_INS: &[&str] = &[
    "ok",
    "okay",
    "alright",
    "great",
    "now",
    "and",
    "so",
    "but",
    "then",
    "well",
    "actually",
    "for",
    "a",
    "here's",
    "here is",
    "i have",
    "let's do",
    "let's start",
    "on to",
    "jetzt",
    "und",
    "nun",
    "dann",
    "eine",
    "et",
    "maintenant",
    "une",
    "y",
    "ahora",
    "una",
    "e",
    "agora",
    "uma",
    "ora",
    "un",
    "а",
    "теперь",
    "teraz",
    "en",
    "nu",
    "een",
];

const TURNS: &[&str] = &[
    "new task",
    "next task",
    "another task",
    "different task",
    "something else",
    "something different",
    "something new",
    "different topic",
    "another topic",
    "new topic",
    "change of topic",
    "change of plan",
    "change topic",
    "unrelated:",
    "unrelated question",
    "forget that,",
    "forget that.",
    "forget it,",
    "forget it.",
    "let's switch to",
    "lets switch to",
    "let's move on to",
    "moving on to",
    "neue aufgabe",
    "nächste aufgabe",
    "andere aufgabe",
    "anderes thema",
    "etwas anderes",
    "was anderes",
    "nouvelle tâche",
    "autre chose",
    "autre sujet",
    "changeons de sujet",
    "nueva tarea",
    "otra cosa",
    "otro tema",
    "cambiemos de tema",
    "nova tarefa",
    "outra coisa",
    "outro assunto",
    "nuovo compito",
    "altra cosa",
    "cambiamo argomento",
    "новая задача",
    "другая задача",
    "другая тема",
    "nowe zadanie",
    "nieuwe taak",
    "新しいタスク",
    "別の",
    "次のタスク",
    "新任务",
    "换个话题",
    "另一个",
    "새 작업",
    "다른 주제",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_ide_puts_before_a_prompt_goes() {
        assert_eq!(typed("<ide_opened_file>x</ide_opened_file>\n /compact "), "/compact");
        assert_eq!(typed("<ide_a k=\"v\">x</ide_a><ide_b>y\n</ide_b>do it"), "do it");
        assert_eq!(typed("<ide_a>never closed"), "");
        assert_eq!(typed(" <b>bold</b> "), "<b>bold</b>");
    }

    #[test]
    fn the_client_says_who_speaks() {
        let tagged = "<task-notification>x</task-notification>";
        assert!(is_machine_made(tagged, None) && !is_machine_made("x", None));
        assert!(
            is_machine_made("x", Some("loop_wakeup")) && !is_machine_made(tagged, Some("user"))
        );
        assert!(is_machine_made(tagged, Some("new")) && !is_machine_made("x", Some("new")));
    }

    #[test]
    fn only_a_person_decides() {
        for source in [None, Some("user"), Some("sdk")] {
            assert!(may_decide("approve", source, None), "{source:?}");
            assert!(!may_decide("approve", source, Some("a1")), "{source:?}");
        }
        for source in ["channel", "agent", "new", "", "system", "User"] {
            assert!(!may_decide("approve", Some(source), None), "{source}");
        }
        assert!(!may_decide("<task-notification>x</task-notification>", None, None));
    }
}
