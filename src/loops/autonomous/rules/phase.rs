//! The phases of the autonomous loop, what each has to show, and which one follows. A test compares
//! this table with the code below it.
//!
//! | phase | its receipt names | when | then |
//! |---|---|---|---|
//! | brainstorm | a document | always | plan |
//! | plan | a document | always | spec_test |
//! | spec_test | a document | always | deepen |
//! | deepen | a document | always | work |
//! | work | a commit | always | review |
//! | review | a summary | findings and rounds | fix |
//! | review | a summary | no findings | compound |
//! | fix | a commit | always | re_review |
//! | re_review | a summary | findings and rounds | fix |
//! | re_review | a summary | no findings | compound |
//! | compound | a document | always | test |
//! | test | a commit | findings and rounds | fix |
//! | test | a commit | no findings | ship |
//! | ship | a release | the promise, all phases proven, nothing open | the loop is complete |
//!
//! Findings are P1 findings of a review, or failures of a test phase. Rounds are
//! `fix_review_cycles < max_fix_cycles`, counted when a re_review ends. Findings with no round left
//! end the loop (`capped`, and an entry in `errors`), unless a person says ship (`limits`,
//! `consent`).
//!
//! A phase is left with `hookkeeper autonomous advance`, or by a model that edits the file, which
//! is judged at the next Stop (`edited`). One that took `max_phase_iterations` is left without a
//! receipt, with an entry in `errors`. A spec_test left so waits for a person all the same, and a
//! ship ends the loop.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Brainstorm,
    Plan,
    SpecTest,
    Deepen,
    Work,
    Review,
    Fix,
    ReReview,
    Compound,
    Test,
    Ship,
}

/// What proves that a phase did something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// A document that exists, is not empty, and was committed in the phase.
    Document,
    /// A commit that was made in the phase.
    Commit,
    /// What was seen.
    Summary,
    /// A pull request, a tag, or a merge that was made in the phase.
    Release,
}

impl Phase {
    pub const ALL: [Self; 11] = [
        Self::Brainstorm,
        Self::Plan,
        Self::SpecTest,
        Self::Deepen,
        Self::Work,
        Self::Review,
        Self::Fix,
        Self::ReReview,
        Self::Compound,
        Self::Test,
        Self::Ship,
    ];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Brainstorm => "brainstorm",
            Self::Plan => "plan",
            Self::SpecTest => "spec_test",
            Self::Deepen => "deepen",
            Self::Work => "work",
            Self::Review => "review",
            Self::Fix => "fix",
            Self::ReReview => "re_review",
            Self::Compound => "compound",
            Self::Test => "test",
            Self::Ship => "ship",
        }
    }

    pub fn proof(self) -> Proof {
        match self {
            Self::Brainstorm | Self::Plan | Self::SpecTest | Self::Deepen | Self::Compound => {
                Proof::Document
            }
            Self::Work | Self::Fix | Self::Test => Proof::Commit,
            Self::Ship => Proof::Release,
            Self::Review | Self::ReReview => Proof::Summary,
        }
    }

    /// Whether it looks for faults: `--findings` says how many it found.
    pub fn finds(self) -> bool {
        matches!(self, Self::Review | Self::ReReview | Self::Test)
    }

    /// The phase that follows; after ship there is none, nor after findings with no round left.
    pub fn next(self, has_findings: bool, has_rounds: bool) -> Option<Self> {
        let has_findings = has_findings && self.finds();
        Some(match self {
            Self::Brainstorm => Self::Plan,
            Self::Plan => Self::SpecTest,
            Self::SpecTest => Self::Deepen,
            Self::Deepen => Self::Work,
            Self::Work => Self::Review,
            _ if has_findings && !has_rounds => return None,
            Self::Review | Self::ReReview | Self::Test if has_findings => Self::Fix,
            Self::Review | Self::ReReview => Self::Compound,
            Self::Fix => Self::ReReview,
            Self::Compound => Self::Test,
            Self::Test => Self::Ship,
            Self::Ship => return None,
        })
    }

    pub fn leads_to(self, other: Self) -> bool {
        [true, false].iter().any(|findings| self.next(*findings, true) == Some(other))
    }

    /// What it has to produce.
    pub fn task(self) -> &'static str {
        match self {
            Self::Brainstorm => {
                "Explore the feature: options, trade-offs, open questions, and the choice. Write it \
                 into a document and commit it."
            }
            Self::Plan => {
                "Write the plan: files, steps, risks, how each step is checked. Commit it."
            }
            Self::SpecTest => {
                "Write acceptance tests from the plan before any implementation, see that each of \
                 them fails for the right reason, and commit them. A person looks at them next."
            }
            Self::Deepen => {
                "Go through the plan once more with what the tests have shown: fill gaps, check \
                 assumptions, commit it. One pass."
            }
            Self::Work => {
                "Implement the plan until the acceptance tests pass. Commit as you go. Note \
                 approaches that failed."
            }
            Self::Review => {
                "Review all changes with fresh eyes. P1 findings (wrong, unsafe, losing data) lead to \
                 a fix phase."
            }
            Self::Fix => "Mend the P1 findings and failing tests, one commit each.",
            Self::ReReview => "Review the fixes: is each finding gone, is nothing else broken?",
            Self::Compound => {
                "Write down what the next one who works here should know: decisions, traps, failed \
                 approaches. Commit it."
            }
            Self::Test => {
                "Run the whole test suite and the acceptance tests, write down what came of it, and \
                 commit that. Failures lead to a fix phase."
            }
            Self::Ship => {
                "Push the branch and open the pull request; where there is none, merge the branch or \
                 tag the release."
            }
        }
    }

    /// The phase's command, as a model would type it.
    pub fn command(self) -> String {
        let mut command = "hookkeeper autonomous advance --summary '…'".to_owned();
        if self.proof() == Proof::Document {
            command.push_str(" --artifact PATH");
        }
        if self.finds() {
            command.push_str(" --findings N");
        }
        if self.proof() == Proof::Release {
            command.push_str(" --pr-url URL");
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The machine and the table above it say the same.
    #[test]
    fn the_phases_are_as_in_the_table() {
        let rows = include_str!("phase.rs").lines().filter_map(|line| line.strip_prefix("//! | "));
        let mut said = Vec::new();
        for row in rows.skip(1) {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            said.push(cells[..4].iter().map(ToString::to_string).collect::<Vec<_>>());
        }
        let last = "ship | a release | the promise, all phases proven, nothing open";
        assert_eq!(said.pop().unwrap()[..3].join(" | "), last);
        let mut is = Vec::new();
        for phase in Phase::ALL.into_iter().filter(|phase| *phase != Phase::Ship) {
            let proof = match phase.proof() {
                Proof::Document => "a document",
                Proof::Commit => "a commit",
                Proof::Summary => "a summary",
                Proof::Release => "a release",
            };
            let other = phase.next(false, true).unwrap();
            assert_eq!(phase.next(false, false), Some(other), "rounds without findings");
            let without = if phase.finds() { None } else { Some(other) };
            assert_eq!(phase.next(true, false), without, "findings without rounds");
            let row = |when: &str, then: Phase| {
                [phase.name(), proof, when, then.name()].map(str::to_owned).to_vec()
            };
            match phase.next(true, true).unwrap() {
                mended if mended != other => {
                    is.extend([row("findings and rounds", mended), row("no findings", other)]);
                }
                _ => is.push(row("always", other)),
            }
        }
        assert_eq!(said, is);
        assert_eq!((Phase::Ship.proof(), Phase::Ship.next(true, true)), (Proof::Release, None));
    }
}
