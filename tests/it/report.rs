//! `hookkeeper report`: what stands in the file, what is escaped in it, and what it does not replace.
//! In a browser it is looked at by `tests/report/run.py`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{
    self, Scratch, event, finish, good, misused, program, recorded_payloads, refused,
};

const MARKER: &str = "<meta name=\"generator\" content=\"HookKeeper report\">";
const SESSION: &str = "9f99b61b-a627-4cde-9856-7e07b84da7b2";
const FILE: &str = "hookkeeper-report-9f99b61b.html";

/// A recorded session with two agents, findings and errors.
fn shop() -> Scratch {
    let mut scratch = Scratch::new();
    scratch.env.insert("TZ".into(), "XYZ-2".into());
    for (_, payload) in recorded_payloads("implement-login") {
        scratch.hook(&payload);
    }
    scratch
}

fn page(scratch: &Scratch, name: &str) -> String {
    fs::read_to_string(scratch.root().join(name)).unwrap()
}

fn journal(scratch: &Scratch, session: &str) -> Vec<Value> {
    let text =
        fs::read_to_string(scratch.state().join(format!("journal/{session}.jsonl"))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The values of an attribute, in order.
fn attributes<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let begin = format!(" {name}=\"");
    page.split(&begin).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

#[test]
fn lanes_and_counts_are_the_journals() {
    let scratch = shop();
    let said = good(scratch.run(&["report"], b""));
    assert!(said.starts_with(&format!("{FILE}: 1 session, ")), "{said}");
    let page = page(&scratch, FILE);
    let told = journal(&scratch, SESSION);
    let told = told.iter().filter(|line| line["kind"] != "run" && line["kind"] != "spooled");
    let mut wanted: BTreeMap<String, usize> = BTreeMap::new();
    for line in told {
        *wanted.entry(line["agent"].as_str().unwrap_or("main").to_owned()).or_default() += 1;
    }
    assert_eq!(wanted.len(), 3, "{wanted:?}");
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for lane in page.split("<g class=\"lane\"").skip(1) {
        let name = attributes(lane, "data-lane")[0];
        let marks = lane.split("</g>").next().unwrap();
        let count = attributes(marks, "data-n").iter().map(|n| n.parse::<usize>().unwrap()).sum();
        seen.insert(name.to_owned(), count);
    }
    assert_eq!(seen, wanted);
    for words in [
        "implement login for users",
        "Audit authentication implementation",
        "<h2 id=\"h-findings\">Findings</h2>",
        "<span class=\"severity S1\"><b>S1</b> 1</span>",
    ] {
        assert!(page.contains(words), "{words}");
    }
    for line in journal(&scratch, SESSION).iter().filter(|line| line["kind"] == "error") {
        let class = line["what"].as_str().unwrap().replace('_', " ");
        assert!(page.contains(&format!("<td>{class}</td>")), "{class}");
    }
    // People's time, and the one for programs.
    let first = &journal(&scratch, SESSION)[0]["time"];
    assert!(page.contains(&format!("datetime=\"{}\"", first.as_str().unwrap())), "{first}");
    let hour: u32 = first.as_str().unwrap()[11..13].parse().unwrap();
    assert!(page.contains(&format!(", {:02}:", (hour + 2) % 24)));
}

#[test]
fn the_policy_names_the_digests_of_its_own_style_and_script() {
    let scratch = shop();
    good(scratch.run(&["report"], b""));
    let page = page(&scratch, FILE);
    let digest = |tag: &str| {
        let inner = page.split(&format!("<{tag}>")).nth(1).unwrap();
        let inner = inner.split(&format!("</{tag}>")).next().unwrap();
        let script = "import base64, hashlib, sys; print(base64.b64encode(hashlib.sha256(sys.stdin.buffer.read()).digest()).decode())";
        let mut python = Command::new("python3");
        python.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let run = finish(python.stderr(Stdio::piped()).spawn().unwrap(), inner.as_bytes());
        run.stdout.trim().to_owned()
    };
    let policy = format!(
        "content=\"default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'\"",
        digest("style"),
        digest("script")
    );
    assert!(page.contains(&policy), "{policy}");
    assert_eq!(page.matches("<script").count(), 1);
    for outside in
        ["http:", "https:", " src=", " style=", "url(", "@import", "fetch(", "javascript:"]
    {
        let own = page.replace("http-equiv", "");
        assert!(!own.contains(outside), "{outside}");
    }
}

const POISON: &str = "</title></script></style><script>alert(1)</script><img src=x onerror=alert(2)>\" onload=\"alert(3)' &amp; \u{202e}evil\u{1b}[2J\n#s1";

/// Puts the poison into every text.
fn poison(value: &mut Value, keep: &[&str]) {
    match value {
        Value::String(text) => *text = POISON.into(),
        Value::Array(all) => all.iter_mut().for_each(|value| poison(value, keep)),
        Value::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                let is_name = keep.contains(&key.as_str()) && value.is_string();
                if !is_name {
                    poison(value, keep);
                }
            }
        }
        _ => {}
    }
}

fn is_harmless(page: &str) {
    assert_eq!(page.matches("<script").count(), 1, "a script of somebody else's");
    assert_eq!(page.matches("</script").count(), 1);
    assert_eq!(page.matches("<style").count(), 1);
    assert!(!page.contains("<img") && !page.contains("onload=\""));
    assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}'));
    assert!(page.contains("&lt;img src=x onerror=alert(2)&gt;&quot; onload=&quot;alert(3)"));
    assert!(page.trim_end().ends_with("</html>"));
}

#[test]
fn hostile_text_in_every_field_stays_text() {
    let scratch = shop();
    let path = scratch.state().join(format!("journal/{SESSION}.jsonl"));
    let lines = journal(&scratch, SESSION);
    let kinds: Vec<String> = "start end prompt command call tool agent_start agent_end error recovered compact compacted stop loop gate handoff model notification rejected spooled run dream"
        .split(' ').map(str::to_owned).collect();
    let record =
        |kind: &str| lines.iter().find(|line| line["kind"] == kind).unwrap()["record"].clone();
    let mut text = String::new();
    for (at, kind) in kinds.iter().enumerate() {
        for agent in [None, Some(POISON)] {
            let mut line = json!({"v": 1, "time": format!("2026-01-29T10:30:{at:02}.000Z"), "kind": kind, "session": SESSION,
                "event": "E", "what": "w", "target": "t", "text": "x", "outcome": "o", "prompt_id": "p", "call": "c",
                "wrote": ["a"], "ms": 5, "us": 7, "agent": agent});
            if let "agent_end" | "error" | "end" = kind.as_str() {
                line["record"] = record(kind);
            }
            poison(&mut line, &["time", "kind"]);
            text += &format!("{line}\n");
        }
    }
    fs::write(&path, text).unwrap();
    let metrics = scratch.state().join("session/metrics.json");
    let mut document: Value = serde_json::from_slice(&fs::read(&metrics).unwrap()).unwrap();
    poison(&mut document, &["date"]);
    fs::write(&metrics, document.to_string()).unwrap();
    good(scratch.run(&["report", "9f99", "-o", "one.html"], b""));
    let one = page(&scratch, "one.html");
    is_harmless(&one);
    // All kinds but those that tell nothing, and one that nobody knows, in both lanes.
    let marks: usize = attributes(&one, "data-n").iter().map(|n| n.parse::<usize>().unwrap()).sum();
    assert_eq!(marks, (kinds.len() - 3) * 2);
    good(scratch.run(&["report", "--since", "2026-01-01", "-o", "all.html"], b""));
    is_harmless(&page(&scratch, "all.html"));
}

#[test]
fn hostile_payloads_and_transcripts_stay_text() {
    let scratch = Scratch::new();
    let slug: String = scratch
        .root()
        .to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let folder = scratch.home().join(".claude/projects").join(slug);
    fs::create_dir_all(&folder).unwrap();
    let run = json!({"type": "attachment", "timestamp": POISON, "attachment": {"type": "hook_success", "hookName": POISON,
        "hookEvent": POISON, "command": format!("hostile {POISON}"), "durationMs": 7, "exitCode": 0}});
    fs::write(folder.join("s1.jsonl"), format!("{run}\n")).unwrap();
    for (_, mut payload) in recorded_payloads("implement-login") {
        poison(
            &mut payload,
            &["hook_event_name", "tool_name", "cwd", "transcript_path", "agent_id"],
        );
        payload["session_id"] = "s1".into();
        scratch.run(&["hook"], format!("{}\n", scratch.here(&payload.to_string())).as_bytes());
    }
    good(scratch.run(&["report"], b""));
    let page = page(&scratch, "hookkeeper-report-s1.html");
    is_harmless(&page);
    assert!(page.contains("<code>hostile &lt;/title&gt;"), "the client's hook runs are shown");
}

/// The recorded transcript of a client, with two agents.
fn transcript(scratch: &Scratch) -> PathBuf {
    let name = "9f99b61b-a627-4cde-9856-7e07b84da7b2";
    let from = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts/implement-login");
    let to = scratch.home().join("transcripts");
    let copied = Command::new("cp").arg("-r").arg(from).arg(&to).status().unwrap();
    assert!(copied.success());
    to.join(format!("{name}.jsonl"))
}

#[test]
fn endings_have_words_and_each_agent_its_tokens_and_cost() {
    let mut scratch = Scratch::new();
    scratch.env.insert("TZ".into(), "XYZ-2".into());
    let transcript = transcript(&scratch);
    for (_, mut payload) in recorded_payloads("implement-login") {
        payload["transcript_path"] = transcript.to_str().unwrap().into();
        if payload["hook_event_name"] != "SessionEnd" {
            scratch.hook(&payload);
        }
    }
    let check = |ending: &str| {
        good(scratch.run(&["report"], b""));
        let page = page(&scratch, FILE);
        assert!(
            page.contains(ending),
            "{ending}: {}",
            &page[page.find("<header").unwrap()..][..800]
        );
        let cost = good(scratch.run(&["cost", "--by", "agent", "--json"], b""));
        let cost: Value = serde_json::from_str(&cost).unwrap();
        let lines = cost["lines"].as_array().unwrap();
        assert_eq!(lines.len(), 3, "{cost}");
        for line in lines {
            let lane = line["agent"].as_str().unwrap().replace("main thread", "main");
            let row = page.split(&format!("<tr data-lane=\"{lane}\">")).nth(1).unwrap();
            let row = row.split("</tr>").next().unwrap();
            let sum: u64 = ["input", "output", "cache_creation", "cache_read"]
                .map(|key| line[key].as_u64().unwrap())
                .iter()
                .sum();
            let tokens = format!("data-count=\"tokens\">{:.1}k<", sum as f64 / 1e3);
            assert!(row.contains(&tokens), "{tokens} {row}");
            let usd = line["cost_usd"].as_f64().unwrap();
            let digits = if usd < 0.1 { 4 } else { 2 };
            assert!(row.contains(&format!("${usd:.digits$}<")), "{usd} {row}");
        }
        assert!(page.contains("<caption>Cost by agent</caption>"));
    };
    check(" · live");
    let end = json!({"reason": "prompt_input_exit", "transcript_path": transcript});
    scratch.hook(&event(SESSION, "SessionEnd", end));
    check(" · ended: left");
    // Without the metrics, the journal's own copy says the same.
    fs::remove_file(scratch.state().join("session/metrics.json")).unwrap();
    good(scratch.run(&["report"], b""));
    assert!(page(&scratch, FILE).contains(" · ended: left"));
}

#[test]
fn a_directory_that_nobody_may_write_to_is_said() {
    let scratch = shop();
    let (file, dir) = (scratch.root().join("file"), scratch.root().join("closed"));
    fs::write(&file, "x").unwrap();
    refused(&scratch.run(&["report", "-o", "file/r.html"], b""), "the report cannot be written");
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o555)).unwrap();
    // Who may do everything may write here too; the kernel's own folders nobody.
    let run = scratch.run(&["report", "-o", "closed/r.html"], b"");
    if !dir.join("r.html").exists() {
        refused(&run, "the report cannot be written");
    }
    refused(&scratch.run(&["report", "-o", "/proc/r.html"], b""), "/proc/r.html");
}

#[test]
fn only_reports_are_replaced() {
    let scratch = shop();
    good(scratch.run(&["report"], b""));
    good(scratch.run(&["report"], b""));
    let own = scratch.root().join("own.html");
    fs::write(&own, "<h1>mine</h1>").unwrap();
    refused(
        &scratch.run(&["report", "-o", "own.html"], b""),
        "own.html: it is there and is no report",
    );
    assert_eq!(fs::read_to_string(&own).unwrap(), "<h1>mine</h1>");
    good(scratch.run(&["report", "-o", "own.html", "--force"], b""));
    assert!(fs::read_to_string(&own).unwrap().contains(MARKER));
    refused(&scratch.run(&["report", "-o", "."], b""), "it is a directory");
    refused(&scratch.run(&["report", "-o", "no/such/r.html"], b""), "no/such/r.html");
    refused(&scratch.run(&["report", "-o", "/dev/null", "--force"], b""), "it is not a file");
    // Nothing is left lying about.
    let names = fs::read_dir(scratch.root()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, [".claude", FILE, "own.html"]);
    // A link stays one, and what it leads to is written.
    std::os::unix::fs::symlink("own.html", scratch.root().join("link.html")).unwrap();
    good(scratch.run(&["report", "-o", "link.html"], b""));
    assert!(scratch.root().join("link.html").is_symlink());
}

#[test]
fn what_cannot_be_done_is_said_in_a_line() {
    let scratch = Scratch::new();
    refused(&scratch.run(&["report"], b""), "there is no session here yet");
    misused(&scratch.run(&["report", "--since", "soon"], b""), "`soon` is no time");
    let shop = shop();
    refused(&shop.run(&["report", "zz"], b""), "there is no session `zz` (hookkeeper sessions)");
    refused(&shop.run(&["report", "--session", "zz"], b""), "there is no session `zz`");
    let named = good(shop.run(&["report", "--session", "9f99"], b""));
    assert!(named.starts_with(&format!("{FILE}: 1 session, ")), "{named}");
    assert_eq!(shop.run(&["report", "9f99", "--session", "9f99"], b"").code, Some(64));
    shop.hook(&event("9f9-other", "UserPromptSubmit", json!({"prompt": "hello"})));
    refused(&shop.run(&["report", "9f"], b""), "`9f` could be several");
    refused(
        &shop.run(&["report", "--since", "2999-01-01"], b""),
        "nothing has happened since 2999-01-01",
    );
    assert_eq!(shop.run(&["report", "9f99", "--since", "7d"], b"").code, Some(64));
    fs::remove_dir_all(shop.state().join("journal")).unwrap();
    refused(&shop.run(&["report"], b""), "there is no session here yet");
}

#[test]
fn the_browser_is_started_with_the_file_or_missed() {
    let mut scratch = shop();
    let bin = scratch.home().join("bin");
    fs::create_dir(&bin).unwrap();
    scratch.env.insert("PATH".into(), bin.display().to_string());
    let run = scratch.run(&["report", "--open"], b"");
    refused(&run, "the report is written, but no browser shows it");
    assert!(page(&scratch, FILE).contains(MARKER), "the file is there");
    let opener: PathBuf = bin.join("my-browser");
    program(&opener, "#!/bin/sh\necho \"$1\" > \"$HOME/opened\"\n");
    scratch.env.insert("BROWSER".into(), "my-browser".into());
    good(scratch.run(&["report", "--open"], b""));
    let opened = fs::read_to_string(scratch.home().join("opened")).unwrap();
    assert_eq!(opened.trim(), scratch.root().join(FILE).display().to_string());
    program(&opener, "#!/bin/sh\nexit 3\n");
    refused(&scratch.run(&["report", "--open"], b""), "exit status: 3");
}

#[test]
fn a_damaged_journal_is_reported_as_far_as_it_goes() {
    let scratch = shop();
    let path = scratch.state().join(format!("journal/{SESSION}.jsonl"));
    let mut bytes = fs::read(&path).unwrap();
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
    bytes.extend(
        b"\xff\xfe\n{\"v\":9,\"time\":\"t\",\"kind\":\"tool\"}\n{\"v\":1,\"time\":\"2026-0",
    );
    fs::write(&path, bytes).unwrap();
    good(scratch.run(&["report"], b""));
    let page = page(&scratch, FILE);
    assert!(page.contains("Left out: 2 lines of the journal, cut off or damaged."));
    assert!(page.contains("Left out: 1 line of the journal, of a newer version."));
    let marks: usize =
        attributes(&page, "data-n").iter().map(|n| n.parse::<usize>().unwrap()).sum();
    assert!(marks > 20 && marks <= lines, "{marks} of {lines}");
    fs::write(&path, "").unwrap();
    good(scratch.run(&["report", "9f99"], b""));
}

#[test]
fn state_that_came_from_elsewhere_is_not_reported() {
    let (theirs, ours) = (shop(), Scratch::new());
    for (name, bytes) in support::tree(&theirs.root()) {
        let path = ours.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    refused(&ours.run(&["report"], b""), "there is no session here yet");
}
