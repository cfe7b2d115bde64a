//! Why a document must stay as it is.

use std::fmt;

use crate::core::json::Object;

/// Why a document is not written, whatever is planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frozen {
    /// A newer version wrote it, and it can be read all the same.
    Newer,
    NewerAndUnreadable,
    /// Models write it too, so it is not moved away; what is wrong with it.
    Unreadable(String),
    /// It can be read and makes no sense; why.
    Unusable(String),
    /// Its system is switched off: it is not even read.
    Off,
    /// There is something in its place that is no file of ours; what is wrong with it.
    Planted(String),
}

impl fmt::Display for Frozen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newer => {
                f.write_str("was written by a newer version; it is read but not changed")
            }
            Self::NewerAndUnreadable => {
                f.write_str("was written by a newer version; it is left alone")
            }
            Self::Unreadable(why) => write!(f, "cannot be read ({why}); it is left as it is"),
            Self::Unusable(why) => write!(f, "is not used: {why}"),
            Self::Off => f.write_str("belongs to a system that is switched off"),
            Self::Planted(why) => f.write_str(why),
        }
    }
}

/// A document from a later version of the format: `version` above the one we know, `hooks_version`
/// above 3.0.
pub fn is_newer(bytes: &[u8], known: u64) -> bool {
    if memchr::memmem::find(bytes, b"version\"").is_none() {
        return false;
    }
    let Ok(document) = Object::parse(bytes) else { return false };
    let hooks = document.text("hooks_version").and_then(|version| version.parse::<f64>().ok());
    document.float("version").is_some_and(|version| version > known as f64)
        || hooks.is_some_and(|version| version > 3.0)
}
