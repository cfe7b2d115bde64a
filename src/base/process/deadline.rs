//! How long something may still take.

use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

impl Deadline {
    pub fn after(time: Duration) -> Self {
        Self(Instant::now() + time)
    }

    /// Nothing if the time is up.
    pub fn left(&self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }
}

/// Lets time pass before the next try.
pub fn pause(time: Duration) {
    std::thread::sleep(time);
}
