//! The phases of the autonomous loop, what each has to show, and which one follows.
//!
//! brainstorm → plan → spec_test → deepen → work → review → (fix → re_review)* → compound → test →
//! ship. Findings in review or re_review, or a failing test phase, lead to fix; with no round left
//! nothing follows them.

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
