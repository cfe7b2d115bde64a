//! Signals, for commands that run until they are told to end. Hooks have none: they are over before
//! one comes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::flag;

use crate::process::system;

const PATIENCE: Duration = Duration::from_millis(500);

pub struct Signals {
    end: Arc<AtomicBool>,
    resumed: Arc<AtomicBool>,
}

impl Signals {
    /// From now on signals are noted, and end nothing by themselves.
    pub fn noted() -> io::Result<Self> {
        let signals = Self { end: Arc::default(), resumed: Arc::default() };
        for signal in system::ENDING {
            flag::register(signal, Arc::clone(&signals.end))?;
        }
        for signal in system::RESUMING {
            flag::register(signal, Arc::clone(&signals.resumed))?;
        }
        for signal in system::IGNORED {
            flag::register(signal, Arc::default())?;
        }
        Ok(signals)
    }

    /// From now on a change of the terminal's size ends a wait.
    pub fn wake_when_resized() -> io::Result<()> {
        for signal in system::WAKING {
            flag::register(signal, Arc::default())?;
        }
        Ok(())
    }

    /// Ends the process soon after it was told to end, if it has not done so by itself: a terminal that
    /// takes nothing lets a write wait for ever, and the last words too.
    pub fn insist(&self, last_words: fn()) {
        let end = Arc::clone(&self.end);
        thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                thread::sleep(PATIENCE);
            }
            thread::sleep(PATIENCE);
            thread::spawn(last_words);
            thread::sleep(PATIENCE);
            signal_hook::low_level::exit(0);
        });
    }

    pub fn say_end(&self) -> bool {
        self.end.load(Ordering::Relaxed)
    }

    /// Whether the process was stopped and goes on again, since this was last asked.
    pub fn say_resumed(&self) -> bool {
        self.resumed.swap(false, Ordering::Relaxed)
    }

    /// Stops this process, as Ctrl-Z does where the terminal sees to it.
    pub fn stop_here() {
        system::stop_here();
    }
}
