pub mod active;
pub mod cleared;
pub mod current;
pub mod ending;
pub mod lineage;
pub mod live;
pub mod locked_store;
pub mod metrics;
pub mod model;
pub mod new_project;
pub mod notices;
pub mod notifications;
pub mod panels;
pub mod queue_note;
pub mod record;
pub mod running_agents;
pub mod task;
pub mod waiting;
pub mod workflow;

use crate::state::Documents;
use crate::state::declared::parses_as;

/// The documents of this room.
pub fn documents(all: &mut Documents) {
    all.add::<live::Live>();
    all.add::<current::CurrentFile>();
    all.add::<active::Active>();
    all.add::<metrics::Metrics>();
    all.add_file::<metrics::Entry>(&metrics::ARCHIVE, parses_as::<metrics::Entry>);
    all.add::<notices::Notices>();
    all.add::<notifications::Notifications>();
    all.add::<cleared::Cleared>();
}
