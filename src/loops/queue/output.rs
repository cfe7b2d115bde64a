//! What the output of a test runner, a compiler or a linter says in numbers: how many issues, how
//! much coverage. Only totals of known shapes count; what is not known says nothing.

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measure {
    pub issues: Option<u64>,
    /// Per cent.
    pub coverage: Option<f64>,
}

#[derive(Default)]
struct Sums {
    /// Failures by the totals that tools print.
    failures: Option<u64>,
    /// Suites and files that failed, where tests are counted too.
    suites: u64,
    /// `error TS2322` and the like, line by line: for tools that print no total.
    listed: u64,
    /// Warnings count where there is nothing else to count.
    warnings: Option<u64>,
    coverage: Option<f64>,
    /// Packages with a coverage of their own: several have no total.
    packages: u64,
}

pub fn read(text: &str) -> Measure {
    let mut sums = Sums::default();
    for line in text.lines() {
        let line = plain(line);
        sums.count(&line);
        sums.cover(&line);
    }
    let listed = (sums.listed > 0).then_some(sums.listed);
    let failures = match sums.failures {
        Some(0) if sums.suites > 0 => Some(sums.suites),
        Some(n) => Some(n),
        None => listed.or((sums.suites > 0).then_some(sums.suites)),
    };
    Measure {
        issues: failures.or(sums.warnings),
        coverage: sums.coverage.filter(|_| sums.packages <= 1),
    }
}

impl Sums {
    fn fail(&mut self, more: u64) {
        self.failures = Some(self.failures.unwrap_or(0).saturating_add(more));
    }

    fn count(&mut self, line: &str) {
        let trimmed = line.trim();
        if let Some(rest) = trimmed.strip_prefix("test result: ") {
            // cargo test: `FAILED. 3 passed; 2 failed; …`, once for each program.
            self.fail(before_word(rest, "failed").unwrap_or(0));
        } else if let Some(failed) = jest(trimmed, "Tests:").or_else(|| vitest(trimmed, "Tests")) {
            self.fail(failed);
        } else if let Some(failed) =
            jest(trimmed, "Test Suites:").or_else(|| vitest(trimmed, "Test Files"))
        {
            self.suites += failed;
        } else if let Some(failed) = pytest(trimmed) {
            self.fail(failed);
        } else if let Some(failed) = go(line) {
            self.fail(failed);
        } else if let Some(rest) = trimmed.strip_prefix("Found ") {
            // tsc, mypy, ruff.
            if let Some(found) = number(rest).filter(|_| rest.contains(" error")) {
                self.fail(found);
            }
        } else if trimmed.starts_with("Success: no issues found") || trimmed == "All checks passed!"
        {
            self.fail(0);
        } else if let Some(rest) = trimmed.strip_prefix('✖') {
            // eslint: `✖ 12 problems (10 errors, 2 warnings)`
            if let Some(found) = number(rest.trim()).filter(|_| rest.contains("problem")) {
                self.fail(found);
            }
        } else if trimmed.starts_with("error: ") && trimmed.contains(" due to ") {
            // rustc, by itself or behind cargo.
            let errors = trimmed.split(" due to ").nth(1).and_then(number);
            self.fail(errors.unwrap_or(1));
        } else if trimmed.starts_with("warning: ") && trimmed.contains(" generated ") {
            let warnings = trimmed.split(" generated ").nth(1).and_then(number).unwrap_or(0);
            self.warnings = Some(self.warnings.unwrap_or(0) + warnings);
        } else if trimmed.starts_with("Finished `") {
            self.warnings = Some(self.warnings.unwrap_or(0));
        } else if let Some(rest) = trimmed.strip_prefix("FAILED (") {
            // unittest: `FAILED (failures=2, errors=1)`
            let count = |part: &str| part.split('=').nth(1).and_then(number).unwrap_or(0);
            let parts = rest.split(',').map(str::trim);
            let bad = parts.filter(|part| part.starts_with("fail") || part.starts_with("err"));
            self.fail(bad.map(count).sum());
        } else if let Some(failed) = rspec(trimmed).or_else(|| mocha(trimmed)) {
            self.fail(failed);
        } else if is_listed(trimmed) {
            self.listed += 1;
        }
    }

    fn cover(&mut self, line: &str) {
        let trimmed = line.trim();
        let percents = || trimmed.split_whitespace().filter_map(percent);
        let found = if trimmed.starts_with("TOTAL") {
            // Three columns of them: regions, functions, lines.
            percents().nth(2).or_else(|| percents().next_back())
        } else if trimmed.starts_with("All files") {
            // Statements, branches, functions, lines.
            let mut cells = trimmed.split('|').skip(1);
            cells.nth(3).and_then(|cell| cell.trim().parse().ok())
        } else if trimmed.starts_with("total:") && trimmed.contains("(statements)") {
            self.packages = 1;
            percents().next_back()
        } else if trimmed.contains("coverage: ") && trimmed.contains("% of statements") {
            self.packages += 1;
            percents().next()
        } else if trimmed.contains("% coverage, ")
            || trimmed.starts_with("Line Coverage: ")
            || (trimmed.starts_with("Lines") && trimmed.contains(" : "))
        {
            percents().next()
        } else {
            None
        };
        self.coverage = found.filter(|found| (0.0..=100.0).contains(found)).or(self.coverage);
    }
}

/// `85.7%`
fn percent(word: &str) -> Option<f64> {
    word.strip_suffix('%')?.parse().ok()
}

/// The number at the beginning.
fn number(text: &str) -> Option<u64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    text.get(..digits)?.parse().ok()
}

/// The number before a word: `3 failed`.
fn before_word(text: &str, wanted: &str) -> Option<u64> {
    let mut last = "";
    for word in text.split_whitespace() {
        if word.trim_end_matches([',', ';']) == wanted {
            return last.parse().ok();
        }
        last = word;
    }
    None
}

/// `Tests:       2 failed, 3 passed, 5 total`
fn jest(line: &str, head: &str) -> Option<u64> {
    let rest = line.strip_prefix(head)?;
    before_word(rest, "total")?;
    Some(before_word(rest, "failed").unwrap_or(0))
}

/// `Tests  2 failed | 3 passed (5)`
fn vitest(line: &str, head: &str) -> Option<u64> {
    let rest = line.strip_prefix(head)?.strip_prefix("  ")?;
    let is_total = rest.trim_end().ends_with(')')
        && (before_word(rest, "passed").is_some() || before_word(rest, "failed").is_some());
    is_total.then(|| before_word(rest, "failed").unwrap_or(0))
}

/// `==== 3 failed, 2 passed, 1 error in 0.12s ====`; the frame is left out with `-q`.
fn pytest(line: &str) -> Option<u64> {
    let line = line.trim_matches('=').trim();
    let (counts, took) = line.rsplit_once(" in ")?;
    let took = took.split_whitespace().next()?;
    took.strip_suffix('s')?.parse::<f64>().ok()?;
    if counts == "no tests ran" {
        return Some(0);
    }
    let mut failed = 0;
    for part in counts.split(", ") {
        let (count, what) = part.split_once(' ')?;
        let count: u64 = count.parse().ok()?;
        match what {
            "failed" | "error" | "errors" => failed += count,
            "passed" | "skipped" | "deselected" | "xfailed" | "xpassed" | "rerun" | "warning"
            | "warnings" => {}
            _ => return None,
        }
    }
    Some(failed)
}

/// A test or a package that failed, or one that went well.
fn go(line: &str) -> Option<u64> {
    if line.starts_with("--- FAIL: ") {
        return Some(1);
    }
    if let Some(rest) = line.strip_prefix("FAIL\t") {
        // Its tests have been counted; what was not built has none.
        return Some(u64::from(rest.ends_with("failed]")));
    }
    (line.starts_with("ok  \t")).then_some(0)
}

/// `12 examples, 2 failures, 1 pending`
fn rspec(line: &str) -> Option<u64> {
    let (examples, rest) = line.split_once(" example")?;
    examples.parse::<u64>().ok()?;
    before_word(rest, "failures").or_else(|| before_word(rest, "failure"))
}

/// `3 failing`, and `5 passing (12ms)` above it.
fn mocha(line: &str) -> Option<u64> {
    let (count, what) = line.split_once(' ')?;
    let count: u64 = count.parse().ok()?;
    match what.split(' ').next()? {
        "failing" => Some(count),
        "passing" if what == "passing" || what.starts_with("passing (") => Some(0),
        _ => None,
    }
}

/// A line for one error: `src/a.ts(3,7): error TS2322: …`, `src/a.ts:3:7 - error TS2322: …`.
fn is_listed(line: &str) -> bool {
    let code = line.split("error TS").nth(1);
    code.is_some_and(|code| number(code).is_some_and(|n| n >= 1000) && code.contains(':'))
}

/// A line without colours.
fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, escape)) = rest.split_once('\u{1b}') {
        out.push_str(before);
        let parameters = escape.strip_prefix('[').unwrap_or(escape);
        rest = parameters.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        rest = rest.get(1..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}
