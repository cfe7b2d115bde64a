//! What an agent found, read out of its last message: a fenced JSON block if it gives one, else
//! list items that carry an explicit severity mark.

use crate::agents::lists::{ListKind, items};
use crate::agents::marks;
use crate::agents::result::Finding;
use crate::core::json::{self, Object};
use crate::core::redaction::Redactor;
use crate::core::text::{clip, clip_block};
use crate::core::words::has_phrase;
use crate::errors::location::{file_and_line, is_file_name};

const FINDINGS: usize = 100;
const RECOMMENDATIONS: usize = 50;
const FILES: usize = 200;
const LONGEST_TITLE: usize = 200;
const LONGEST_NAME: usize = 40;
const LONGEST_TEXT: usize = 1000;

#[derive(Debug, Default, PartialEq)]
pub struct ReportedFindings {
    pub findings: Vec<Finding>,
    pub recommendations: Vec<String>,
    pub files: Vec<String>,
}

pub fn read(message: &str, redact: &Redactor) -> ReportedFindings {
    // Redacted before it is read: a secret of several lines falls apart in a list.
    let mut found =
        from_block(message, redact).unwrap_or_else(|| from_lists(&redact.text(message)));
    found.findings.truncate(FINDINGS);
    found.recommendations.truncate(RECOMMENDATIONS);
    found.files.truncate(FILES);
    for finding in &mut found.findings {
        for (text, most) in [
            (&mut finding.title, LONGEST_TITLE),
            (&mut finding.details, LONGEST_TEXT),
            (&mut finding.recommendation, LONGEST_TEXT),
            (&mut finding.category, LONGEST_NAME),
        ] {
            *text = clip_block(text, most);
        }
        finding.file = finding.file.take().map(|file| clip(&file, LONGEST_TITLE));
    }
    for text in &mut found.recommendations {
        *text = clip_block(text, LONGEST_TEXT);
    }
    for file in &mut found.files {
        *file = clip(file, LONGEST_TITLE);
    }
    found
}

/// The first fenced block that is a JSON object with a `findings` list.
fn from_block(message: &str, redact: &Redactor) -> Option<ReportedFindings> {
    let mut blocks = message.split("```").skip(1).step_by(2);
    blocks.find_map(|block| {
        let body = block.get(block.find('{')?..)?.trim_end();
        Object::parse(body.as_bytes()).ok()?.objects("findings")?;
        let body = json::map_strings(body, |key, text| redact.field(key, text));
        let object = Object::parse(body.as_bytes()).ok()?;
        let findings = object.objects("findings")?;
        let texts = |key: &str| -> Vec<String> {
            object.list(key).unwrap_or_default().into_iter().filter_map(json::text).collect()
        };
        Some(ReportedFindings {
            findings: findings.iter().filter_map(stated).collect(),
            recommendations: texts("recommendations"),
            files: texts("files_analyzed"),
        })
    })
}

fn stated(finding: &Object) -> Option<Finding> {
    let title = finding.word("title").or_else(|| finding.word("details"))?;
    let details = finding.word("details").unwrap_or_default();
    Some(Finding {
        severity: finding
            .word("severity")
            .and_then(|word| marks::severity(&word))
            .unwrap_or("S3")
            .into(),
        category: finding.word("category").unwrap_or_else(|| category(&title).to_owned()),
        title,
        details,
        recommendation: finding.word("recommendation").unwrap_or_default(),
        file: finding.word("file"),
        line: finding.number("line"),
        ..Finding::default()
    })
}

fn from_lists(message: &str) -> ReportedFindings {
    let mut found = ReportedFindings::default();
    for (section, item) in items(message) {
        if section == ListKind::Recommendations {
            found.recommendations.push(item);
        } else if let Some((severity, text)) = marks::split_severity(&item) {
            found.findings.push(described(severity, &text));
        }
    }
    found
}

fn described(severity: &str, text: &str) -> Finding {
    let (what, recommendation) = match caseless_split(text, "recommendation:") {
        Some((what, how)) => (what.trim(), how.trim()),
        None => (text, ""),
    };
    let place = text.split([' ', '(', ')', ',', '`', '\n', '[', ']']).find_map(|word| {
        let word = word.trim_end_matches(['.', ':', ';']);
        match file_and_line(word) {
            Some((file, line)) => Some((file, Some(line))),
            None => is_file_name(word).then(|| (word.to_owned(), None)),
        }
    });
    let (file, line) = place.map_or((None, None), |(file, line)| (Some(file), line));
    Finding {
        severity: severity.to_owned(),
        category: category(text).to_owned(),
        title: title(what, file.as_deref()),
        details: what.to_owned(),
        recommendation: recommendation.to_owned(),
        file,
        line,
        ..Finding::default()
    }
}

/// The first sentence, without the place in parentheses that `file` and `line` have already.
fn title(text: &str, file: Option<&str>) -> String {
    let mut sentence = first_sentence(text);
    if let Some(file) = file
        && let Some(open) = sentence.rfind(" (")
        && sentence
            .get(open + 2..)
            .is_some_and(|rest| rest.starts_with(file) && rest.ends_with(')'))
    {
        sentence = sentence.get(..open).unwrap_or(sentence);
    }
    sentence.trim_matches(['*', '_', ' ', '-', '–', '—', ':']).to_owned()
}

fn first_sentence(text: &str) -> &str {
    let text = text.split('\n').next().unwrap_or(text).trim();
    let mut ends = text.match_indices(['.', '!', '?']);
    let end = ends.find(|(at, _)| {
        let before = text.get(..*at).unwrap_or_default();
        let abbreviation = ["e.g", "i.e", "etc", "vs"].iter().any(|short| before.ends_with(short));
        let rest = text.get(at + 1..).unwrap_or_default();
        !abbreviation && (rest.is_empty() || rest.starts_with(char::is_whitespace))
    });
    end.and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}

const CATEGORIES: [(&str, &[&str]); 5] = [
    (
        "security",
        &[
            "security",
            "auth",
            "authentication",
            "authorization",
            "injection",
            "xss",
            "csrf",
            "vulnerability",
            "vulnerable",
            "secret",
            "secrets",
            "password",
            "passwords",
            "token",
            "credentials",
            "encryption",
            "rate limiting",
            "rate limit",
            "sanitize",
            "unsanitized",
            "permission",
            "permissions",
            "exploit",
            "traversal",
        ],
    ),
    (
        "accessibility",
        &["accessibility", "a11y", "aria", "contrast", "screen reader", "keyboard", "alt text"],
    ),
    (
        "performance",
        &[
            "performance",
            "slow",
            "latency",
            "n+1",
            "memory leak",
            "cache",
            "caching",
            "bottleneck",
            "throughput",
            "quadratic",
        ],
    ),
    ("testing", &["test", "tests", "testing", "coverage", "untested", "flaky", "assertion"]),
    (
        "quality",
        &[
            "quality",
            "duplicate",
            "duplicated",
            "duplication",
            "complexity",
            "naming",
            "dead code",
            "lint",
            "refactor",
            "readability",
            "unused",
            "typo",
            "maintainability",
            "documentation",
            "error handling",
        ],
    ),
];

fn category(text: &str) -> &'static str {
    let of = |words: &[&str]| words.iter().any(|word| has_phrase(text, word));
    CATEGORIES.iter().find(|(_, words)| of(words)).map_or("general", |&(name, _)| name)
}

fn caseless_split<'a>(text: &'a str, separator: &str) -> Option<(&'a str, &'a str)> {
    let at = text.to_ascii_lowercase().find(separator)?;
    Some((text.get(..at)?, text.get(at + separator.len()..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(message: &str) -> ReportedFindings {
        super::read(message, &Redactor::default())
    }

    #[test]
    fn lists_with_marks() {
        let found = read(
            "## Findings\n\n- **[S1]** Missing rate limiting on login endpoint (src/auth/login.ts:1). \
             Recommendation: add a limiter.\n- [S3] Uses an s3 bucket name in a comment\n\n\
             ## Recommendations\n\n1. Update deps\n2. Add tests",
        );
        let first = &found.findings[0];
        assert_eq!(first.title, "Missing rate limiting on login endpoint");
        assert_eq!((first.severity.as_str(), first.category.as_str()), ("S1", "security"));
        assert_eq!((first.file.as_deref(), first.line), (Some("src/auth/login.ts"), Some(1)));
        assert_eq!(first.recommendation, "add a limiter.");
        assert_eq!(found.findings[1].title, "Uses an s3 bucket name in a comment");
        assert_eq!(found.findings[1].category, "general");
        assert_eq!(found.recommendations, ["Update deps", "Add tests"]);
        assert_eq!(found.findings.len(), 2);
    }

    #[test]
    fn every_kind_of_mark() {
        for (item, severity) in [
            ("- **Critical**: x breaks", "S0"),
            ("* High: x breaks", "S1"),
            ("1. [P2] x breaks", "S2"),
            ("2) **S3** x breaks", "S3"),
            ("- **Medium:** x breaks", "S2"),
            ("- x breaks [S0]", "S0"),
            ("+ (low) x breaks", "S3"),
            ("- `S1` x breaks", "S1"),
            ("- 🔴 **Critical** — x breaks", "S0"),
            ("- x breaks (**High**)", "S1"),
            ("- x breaks — **High**", "S1"),
            ("- **S1 – x breaks**", "S1"),
            ("- **High severity**: x breaks", "S1"),
            ("- **S1** | x breaks", "S1"),
        ] {
            let found = read(item);
            assert_eq!(found.findings.len(), 1, "{item}");
            assert_eq!(found.findings[0].severity, severity, "{item}");
            assert_eq!(found.findings[0].title, "x breaks", "{item}");
        }
    }

    #[test]
    fn what_is_no_finding() {
        for text in [
            "- uses s3 bucket",
            "- the S3 client is old",
            "- High time to go",
            "S1: not in a list",
            "Finding: missing rate limiting. DONE_AUDIT",
            "```\n- [S1] in a code block\n```",
            "- [x] done",
            "- see [S1x]",
        ] {
            assert_eq!(read(text).findings, [], "{text}");
        }
    }

    #[test]
    fn a_block_wins() {
        let found = read(
            "- [S0] not this\n```json\n{\"findings\":[{\"severity\":\"high\",\"title\":\"T\",\"line\":3},\
             {\"severity\":7,\"title\":\"U\"},{}],\"files_analyzed\":[\"a.ts\",1]}\n```",
        );
        assert_eq!(found.findings.len(), 2);
        assert_eq!(found.findings[0].severity, "S1");
        assert_eq!(found.findings[0].line, Some(3));
        assert_eq!(found.findings[1].severity, "S3");
        assert_eq!(found.files, ["a.ts"]);
    }

    #[test]
    fn nested_items_belong_to_the_item_above() {
        let found = read(
            "- [S1] Missing limit\n  - File: src/a.ts:3\n  - Recommendation: add one\n- plain",
        );
        assert_eq!(found.findings.len(), 1);
        assert_eq!(found.findings[0].title, "Missing limit");
        assert_eq!(found.findings[0].file.as_deref(), Some("src/a.ts"));
        assert_eq!(found.findings[0].recommendation, "add one");
    }

    #[test]
    fn continuation_lines_belong_to_the_item() {
        let found = read("- [S2] First thing. More\n  Recommendation: do it\n\nother text");
        assert_eq!(found.findings[0].title, "First thing");
        assert_eq!(found.findings[0].recommendation, "do it");
    }
}
