//! Why an execution cannot go on, as a sentence for people.

use std::fmt;
use std::path::Path;

/// Leaves the function with a sentence as its error.
#[macro_export]
macro_rules! refuse {
    ($($sentence:tt)*) => {
        return Err($crate::execute::Error::from(format!($($sentence)*)))
    };
}

pub use refuse;

#[derive(Debug, PartialEq)]
pub struct Error(String);

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn at(path: &Path, cause: impl fmt::Display) -> Self {
        Self(format!("{}: {cause}", path.display()))
    }

    /// What could not be done, before why.
    pub fn context(self, what: impl fmt::Display) -> Self {
        Self(format!("{what}: {self}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<String> for Error {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Error {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<crate::core::error::Error> for Error {
    fn from(error: crate::core::error::Error) -> Self {
        Self(error.to_string())
    }
}
