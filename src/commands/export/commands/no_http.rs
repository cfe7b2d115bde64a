//! In place of `http.rs` where the program was built without the feature `http`.

use std::path::Path;

use anyhow::bail;

use crate::core::settings::export::Endpoint;
use crate::export::answer::Answer;
use crate::export::flush::Transport;
use crate::export::headers::Headers;
use crate::export::otlp::Signal;
use crate::export::settings::ExportSettings;

pub const NOT_BUILT_IN: &str = "this program was built without the feature `http`, so it sends \
                                nothing; `cargo install hookkeeper` has it";

pub struct Http {
    /// Bytes as they went out.
    pub sent: u64,
}

impl Http {
    pub fn new(
        _: &ExportSettings,
        _: &Endpoint,
        _: Headers,
        _: Option<&Path>,
    ) -> anyhow::Result<Self> {
        bail!(NOT_BUILT_IN)
    }
}

impl Transport for Http {
    fn post(&mut self, _: Signal, _: &[u8]) -> Answer {
        Answer::None(NOT_BUILT_IN.into())
    }
}
