//! What redaction finds, what it leaves alone, and what it costs: a corpus made from the public
//! names of rules of secret scanners.

use hookkeeper::inside::core::redaction::{Redactor, scan};

use crate::support::dice::Dice;
use crate::support::secrets;

const SEED: u64 = 0x5eed_0f5e;
/// Of 208 and 174.
const FOUND_AT_LEAST: usize = 350;
const LINES: usize = 2000;
/// One in a hundred.
const FALSE_AT_MOST: usize = LINES / 100;

#[test]
fn precision_and_recall() {
    let mut dice = Dice(SEED);
    let mut found = 0;
    let mut missed = Vec::new();
    for (table, count) in [(secrets::PROVIDERS, 208), (secrets::FORMS, 174)] {
        let shapes = secrets::shapes(table, &mut dice);
        assert_eq!(shapes.len(), count, "raise the count here, and what is said of 382 shapes");
        for shape in shapes {
            assert!(!shape.secrets.is_empty(), "{}", shape.name);
            let clean = Redactor::default().text(&shape.text);
            match shape.secrets.iter().any(|secret| clean.contains(secret)) {
                true => missed.push(format!("{}: {clean}", shape.name)),
                false => found += 1,
            }
        }
    }
    let lines = secrets::ordinary(LINES, &mut dice);
    let count = lines.len();
    let clean = |line: &String| Redactor::default().text(line);
    let hit: Vec<String> = lines.into_iter().filter(|line| clean(line) != *line).collect();
    let precision = 100.0 * found as f64 / (found + hit.len()) as f64;
    println!("recall: {found} of 382 shapes; missed:\n  {}", missed.join("\n  "));
    println!(
        "precision: {} of {count} ordinary lines were changed, {precision:.1} % of what was redacted \
         was secret:",
        hit.len()
    );
    for line in &hit {
        println!("  {line}\n  -> {}", clean(line));
    }
    assert!(count >= LINES, "{count} lines");
    assert!(found >= FOUND_AT_LEAST, "{found} shapes were found");
    assert!(hit.len() <= FALSE_AT_MOST, "{} ordinary lines were changed", hit.len());
}

/// A password in angle brackets, and nothing else that goes.
const IN_COMMANDS: [&str; 28] = [
    "export SSHPASS=<{a}>",
    "SSHPASS='<{a}>' sshpass -e ssh h",
    "token = \"\"\"<{a}>\"\"\"",
    "password = '''<{a}>''' # x",
    "CREATE USER 'bob'@'%' IDENTIFIED BY '<{w}>';",
    "alter user bob identified with mysql_native_password by \"<{w}>\"",
    "GRANT ALL ON *.* TO x IDENTIFIED BY PASSWORD '<{a}>'",
    "token=\u{1b}[0m<{a}>",
    "\u{1b}[32mDB_PASSWORD\u{1b}[0m=\u{1b}[33m<{a}>\u{1b}[0m",
    "DB_PASSWORD: \u{1b}[1;33m<{a}>\u{1b}[0m",
    "db:\n  password:\n    <{a}>\n  host: db",
    "echo \"<{w}>\" | sudo -S apt update",
    "echo <{w}> | sudo -kS id",
    "printf '%s\\n' '<{w}>' | sudo --stdin id",
    "echo -n '<{w}>' | docker login -u x --password-stdin",
    "echo \"root:<{w}>\" | chpasswd",
    "echo root:<{w}> | sudo chpasswd",
    "echo <{w}> | passwd --stdin bob",
    "htpasswd -b f u <{w}>",
    "htpasswd -cbB /etc/x u '<{w}>'",
    "htpasswd -nb u <{w}>",
    "htpasswd -bnBC 10 \"\" <{w}>",
    "htpasswd -bB -C 10 file user1 <{w}>",
    "echo <{w}> | /usr/bin/sudo -S ls",
    "echo root:<{w}> | /usr/sbin/chpasswd",
    "smbclient --user=user%<{w}> //h/s",
    "smbclient -U user%<{w}> //h/s",
    "smbclient //h/s -U 'DOM\\user%<{w}>' -c ls",
];

/// Nothing of these is secret.
const NOT_IN_COMMANDS: [&str; 9] = [
    "echo \"hello world\" | sudo tee /etc/motd",
    "echo \"$PASS\" | sudo -S id",
    "echo done | grep -S done",
    "htpasswd -c file user",
    "users are identified by names of theirs",
    "token:\n  type: string",
    "password:\n  required: true",
    "password:\n  The words of a sentence",
    "smbclient -U guest //h/s",
];

#[test]
fn what_is_secret_by_its_place_in_a_command() {
    for (n, template) in IN_COMMANDS.iter().enumerate() {
        let (word, random) = (format!("hunter{n}"), format!("Xk9{n}vQ2mZ7pL4tR8w"));
        let text = template.replace("{w}", &word).replace("{a}", &random);
        let (before, rest) = text.split_once('<').unwrap();
        let (secret, after) = rest.split_once('>').unwrap();
        let clean = Redactor::default().text(&format!("{before}{secret}{after}"));
        assert_eq!(clean, format!("{before}[redacted]{after}"), "{template}");
    }
    for text in NOT_IN_COMMANDS {
        assert_eq!(Redactor::default().text(text), text);
    }
}

/// Texts that say the same again and again: each made for one rule.
const REPEATED: [&str; 52] = [
    ".",
    "-",
    "sk-",
    "token:",
    "mysql ",
    " ",
    "\n",
    "\\",
    "\"",
    "'",
    "=",
    "_",
    "0",
    "a",
    "A",
    "%3D",
    "eyJ",
    "eyJaaaaaaaa.",
    "ghp_",
    "glpat-",
    "password=\"",
    "password='\"",
    "token=\\\"",
    "://a:",
    "https://a:b",
    "Authorization: bearer ",
    "bearer ",
    "-u ",
    "-u a:",
    "-----BEGIN ",
    "-----BEGIN RSA ",
    "8Q~",
    "123456789:AA",
    "docker login -p ",
    "sshpass -p",
    "<password>",
    "key=key:",
    "Cookie:",
    "token: str = ",
    "'token', ",
    "echo ",
    "echo -n ",
    "echo \"a\" | ",
    "echo 'a' | sudo -S ",
    "htpasswd -b ",
    "htpasswd -nb ",
    "identified by ",
    "IDENTIFIED BY '",
    "token=\"\"\"",
    "token='''x",
    "password:\n  ",
    "token=\u{1b}[0m",
];
const SIZE: usize = 1 << 16;
/// How much more may be looked at than in ordinary text.
const STEPS: u64 = 3;

/// What is looked at is counted, so that this says the same on every machine.
#[test]
fn what_repeats_itself_costs_no_more() {
    let mut dice = Dice(SEED);
    let lines = secrets::ordinary(LINES, &mut dice).join("\n");
    let ordinary: String = lines.chars().cycle().take(SIZE).collect();
    let (_, usual) = scan::redact(&ordinary, false);
    println!("ordinary: {:.2} steps a byte", usual as f64 / SIZE as f64);
    for part in REPEATED {
        let text = part.repeat(SIZE / part.len());
        for cut in [false, true] {
            let (_, steps) = scan::redact(&text, cut);
            println!("{part:?}: {:.2} of ordinary", steps as f64 / usual as f64);
            assert!(steps <= STEPS * usual, "{part:?}: {steps} steps, {usual} for ordinary text");
        }
    }
}

/// So much is kept of a text in this test.
const KEPT: usize = 200;

/// A secret that begins in what is kept goes, even if it ends behind all that is looked at.
#[test]
fn no_secret_is_left_because_its_end_is_far_away() {
    let mut dice = Dice(SEED);
    for start in [
        "ghp_",
        "sk-",
        "glpat-",
        "eyJ",
        "password=",
        "password: \"",
        "token='",
        "Bearer ",
        "Authorization: Basic ",
        "Cookie: ",
        "https://bob:",
        "postgres://x:",
        "<password>",
        "curl -u bob:",
        "mysql -p",
        "-----BEGIN RSA PRIVATE KEY-----\\n",
        "AIza",
        "SG.",
    ] {
        let table = format!("far\t{} {start}{{a30000}}", "x ".repeat(20));
        for shape in secrets::shapes(&table, &mut dice) {
            let secret = &shape.secrets[0];
            for clean in [
                Redactor::default().line(&shape.text, KEPT),
                Redactor::default().block(&shape.text, KEPT),
            ] {
                assert!(!clean.contains(&secret[..8]), "{start}: {clean}");
                assert!(clean.starts_with("x x") && clean.ends_with('…'), "{start}: {clean}");
            }
        }
    }
}

/// What is kept is the same as if all of the text had been looked at.
#[test]
fn a_text_is_clipped_as_if_all_of_it_had_been_read() {
    let mut dice = Dice(SEED);
    for shape in secrets::shapes(secrets::FORMS, &mut dice) {
        let text = format!("see {} and {}", shape.text, "some more words ".repeat(1000));
        let whole = Redactor::default().text(&text);
        let start: String = whole.chars().take(KEPT).collect();
        let clipped = Redactor::default().block(&text, KEPT);
        assert_eq!(clipped, format!("{start}…"), "{}", shape.name);
    }
}
