//! The project's one lock: `flock` on a file of its own, which is never replaced and never deleted.
//! The kernel frees it when its holder dies, however it dies.

use std::fs::File;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// SessionEnd has 1.5 seconds in all.
const PATIENCE: Duration = Duration::from_millis(1000);

/// Held until dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// For a program that is to hold the lock too, for as long as it runs.
    pub fn file(&self) -> &File {
        &self.file
    }
}

pub enum Taken {
    Yes(Lock),
    /// Somebody else holds it, for longer than we wait.
    Busy,
}

/// Takes the lock, or gives up after a second. The first try costs one system call. Only if the
/// lock is held does a second thread wait in the kernel, which wakes it the moment the lock is
/// free; asking again and again would be slower and unfair.
pub fn acquire(file: File) -> io::Result<Taken> {
    match fs2::FileExt::try_lock_exclusive(&file) {
        Ok(()) => return Ok(Taken::Yes(Lock { file })),
        Err(error) if is_held(&error) => {}
        Err(error) => return Err(error),
    }
    let (sender, receiver) = sync_channel(1);
    std::thread::Builder::new().stack_size(64 << 10).spawn(move || {
        let locked = wait(&file).map(|()| Lock { file });
        // Nobody listens any more: the lock goes with its file.
        let _ = sender.send(locked);
    })?;
    match receiver.recv_timeout(PATIENCE) {
        Ok(locked) => locked.map(Taken::Yes),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(Taken::Busy),
    }
}

fn wait(file: &File) -> io::Result<()> {
    loop {
        match fs2::FileExt::lock_exclusive(file) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

fn is_held(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
