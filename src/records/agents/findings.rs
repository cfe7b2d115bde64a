//! What an agent found, read out of its last message: JSON if it gives some, else what its report
//! marks with a severity.

use serde_json::value::RawValue;

use crate::agents::category::category;
use crate::agents::marks;
use crate::agents::report::{self, Marked};
use crate::agents::result::Finding;
use crate::core::json::{self, Object};
use crate::core::redaction::Redactor;
use crate::core::text::{clip, clip_block};
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
        from_json(message, redact).unwrap_or_else(|| from_report(&redact.text(message)));
    found.recommendations.truncate(RECOMMENDATIONS);
    found.files.truncate(FILES);
    found.findings = bounded(found.findings);
    for text in &mut found.recommendations {
        *text = clip_block(text, LONGEST_TEXT);
    }
    for file in &mut found.files {
        *file = clip(file, LONGEST_TITLE);
    }
    found
}

/// Findings as they are kept: not too many or too long.
fn bounded(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.truncate(FINDINGS);
    for finding in &mut findings {
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
    findings
}

/// The findings of a JSON list, each read by `read`.
pub fn from_list(
    list: &str,
    redact: &Redactor,
    read: fn(&Object) -> Option<Finding>,
) -> Vec<Finding> {
    let wrapped = redacted(&format!("{{\"list\":{list}}}"), redact);
    let object = Object::parse(wrapped.as_bytes()).unwrap_or_default();
    let entries = object.objects("list").unwrap_or_default();
    bounded(entries.iter().take(FINDINGS).filter_map(read).collect())
}

fn redacted(json: &str, redact: &Redactor) -> String {
    json::map_strings(json, |key, text| redact.field(key, text))
}

/// The first JSON in a message that is a list of findings or an object with one: in a fenced block,
/// or at the beginning of a line.
fn from_json(message: &str, redact: &Redactor) -> Option<ReportedFindings> {
    if !KEYS.iter().chain(SEVERITIES).any(|key| message.contains(&format!("\"{key}\""))) {
        return None;
    }
    let mut lines = message.split_inclusive('\n').scan(0, |end, line| {
        let begin = *end;
        *end += line.len();
        Some((begin, line))
    });
    let mut starts = lines.by_ref().filter_map(|(begin, line)| {
        let indent = line.len() - line.trim_start().len();
        line.trim_start().starts_with(['{', '[']).then_some(begin + indent)
    });
    // What is no JSON here is prose or code; more places than these are not tried.
    starts.by_ref().take(JSON_STARTS).find_map(|at| json_findings(message.get(at..)?, redact))
}

fn listed<'a>(object: &Object<'a>) -> Option<Vec<Object<'a>>> {
    KEYS.iter().find_map(|key| object.objects(key))
}

fn json_findings(text: &str, redact: &Redactor) -> Option<ReportedFindings> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let value = values.next()?.ok()?.get();
    let is_bare = value.starts_with('[');
    let value = if is_bare { format!("{{\"findings\":{value}}}") } else { value.to_owned() };
    listed(&Object::parse(value.as_bytes()).ok()?)?;
    let value = redacted(&value, redact);
    let object = Object::parse(value.as_bytes()).ok()?;
    let mut findings = listed(&object)?;
    findings.truncate(FINDINGS);
    if is_bare {
        // Any list of objects could be meant.
        findings.retain(|finding| SEVERITIES.iter().any(|key| finding.raw(key).is_some()));
    }
    let findings: Vec<Finding> = findings.iter().filter_map(stated).collect();
    if is_bare && findings.is_empty() {
        return None;
    }
    let texts = |key: &str| -> Vec<String> {
        object.list(key).unwrap_or_default().into_iter().filter_map(json::text).collect()
    };
    Some(ReportedFindings {
        findings,
        recommendations: texts("recommendations"),
        files: texts("files_analyzed"),
    })
}

const KEYS: &[&str] = &["findings", "issues", "problems"];
const SEVERITIES: &[&str] = &["severity", "priority"];
const JSON_STARTS: usize = 20;

/// A finding that is given as JSON.
pub fn stated(finding: &Object) -> Option<Finding> {
    let word = |keys: &[&str]| keys.iter().find_map(|key| finding.word(key));
    let title =
        word(&["title", "summary", "message", "issue", "problem", "description", "details"])?;
    let place = word(&["location", "file", "path", "filename"]);
    let place = place.map(|place| match file_and_line(&place) {
        Some((file, line)) => (file, Some(line)),
        None => (place, None),
    });
    let (file, line) = place.map_or((None, None), |(file, line)| (Some(file), line));
    let severity = word(SEVERITIES).and_then(|word| marks::first_severity(&word));
    Some(Finding {
        severity: severity.unwrap_or("S3").into(),
        category: finding.word("category").unwrap_or_else(|| category(&title).to_owned()),
        details: word(&["details", "failure_scenario"]).unwrap_or_default(),
        recommendation: word(&["recommendation", "fix", "suggestion"]).unwrap_or_default(),
        title,
        file,
        line: finding.number("line").or(line),
        ..Finding::default()
    })
}

fn from_report(message: &str) -> ReportedFindings {
    let report = report::read(message, FINDINGS);
    ReportedFindings {
        findings: report.findings.iter().map(described).collect(),
        recommendations: report.recommendations,
        files: Vec::new(),
    }
}

fn described(marked: &Marked) -> Finding {
    let text = marked.text.as_str();
    let (what, recommendation) = match caseless_split(text, "recommendation:") {
        Some((what, how)) => (what.trim(), how.trim_matches(['*', ' ', '\n'])),
        None => (text, ""),
    };
    let place = find_place(marked.place.as_deref().unwrap_or(text));
    let (file, line) = place.map_or((None, None), |(file, line)| (Some(file), line));
    Finding {
        severity: marked.severity.to_owned(),
        category: category(text).to_owned(),
        title: title(what),
        details: what.to_owned(),
        recommendation: recommendation.to_owned(),
        file,
        line,
        ..Finding::default()
    }
}

/// The first file that a text names, with its line if it has one.
fn find_place(text: &str) -> Option<(String, Option<u64>)> {
    text.split([' ', '(', ')', ',', '`', '\n', '[', ']', '*']).find_map(|word| {
        let word = word.trim_end_matches(['.', ':', ';']);
        match file_and_line(word) {
            Some((file, line)) => Some((file, Some(line))),
            None => is_file_name(word).then(|| (word.to_owned(), None)),
        }
    })
}

/// Whether a text is a place and nothing else.
fn is_place(text: &str) -> bool {
    let text = text.trim_matches(['`', '*', ' ', '(', ')', '.']);
    !text.contains(' ') && find_place(text).is_some()
}

const AROUND: [char; 8] = ['*', '_', ' ', '-', '–', '—', ':', '|'];

/// What is bold at the beginning, or the first sentence; without a place before it or behind it,
/// which `file` and `line` have already.
fn title(text: &str) -> String {
    let mut text = text.trim();
    if let Some(rest) = text.strip_prefix("**") {
        let end = rest.find("**").or_else(|| rest.find('\n')).unwrap_or(rest.len());
        let (bold, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
        if !is_place(bold) {
            return bold.trim_matches(AROUND).trim_end_matches('.').to_owned();
        }
        text = behind.trim_start_matches(AROUND);
    }
    if let Some((code, behind)) = text.strip_prefix('`').and_then(|rest| rest.split_once('`'))
        && is_place(code)
    {
        text = behind.trim_start_matches(AROUND);
    }
    without_place(first_sentence(text)).trim_matches(AROUND).to_owned()
}

/// A sentence without ` (src/a.ts:3)` or ` — src/a.ts:3` at its end.
fn without_place(sentence: &str) -> &str {
    [" (", " - ", " — ", " – "]
        .iter()
        .filter_map(|mark| sentence.rsplit_once(mark))
        .find_map(|(before, place)| is_place(place).then_some(before))
        .unwrap_or(sentence)
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
