pub mod agent;
pub mod category;
pub mod findings;
pub mod markdown;
pub mod marks;
pub mod panel;
pub mod report;
pub mod result;
pub mod synthesis;
pub mod table;
pub mod tree;
pub mod workflow_run;

use crate::state::Documents;

/// The documents of this room.
pub fn documents(all: &mut Documents) {
    all.add::<result::AgentResult>();
    all.add::<synthesis::Synthesis>();
    all.add::<result::ArchivedResult>();
    all.add::<synthesis::ParkedSynthesis>();
}
