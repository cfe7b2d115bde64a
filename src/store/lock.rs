//! The project's one lock: `flock` on a file of its own, and on the directory that the file is in.
//! The kernel frees both when their holder dies, however it dies.
//!
//! We never replace the file or delete it, but others may (`git clean`, `rm`, a purge). So whoever
//! has it asks whether it still has the name ([`acquire_in`]), and the directory is locked too:
//! who makes a new file in it waits for who holds the old one. A network file system may be unable
//! to lock directories, and Windows is; there the file has to do.

use std::fs::File;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use crate::core::error::{Error, Result};
use crate::process::deadline::Deadline;
use crate::store::dir::Dir;
use crate::store::home::{LOCK, lock_file};

/// SessionEnd has 1.5 seconds in all.
pub const PATIENCE: Duration = Duration::from_millis(1000);

/// Held until dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
    dir: Option<File>,
}

impl Lock {
    /// For a program that is to hold the lock too, for as long as it runs.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// One try; `false` if somebody else holds it.
    fn try_now(&self) -> io::Result<bool> {
        match fs2::FileExt::try_lock_exclusive(&self.file) {
            Ok(()) => {}
            Err(error) if is_held(&error) => return Ok(false),
            Err(error) => return Err(error),
        }
        let held = |dir: &File| fs2::FileExt::try_lock_exclusive(dir).is_err_and(|e| is_held(&e));
        Ok(!self.dir.as_ref().is_some_and(held))
    }

    fn wait(&self) -> io::Result<()> {
        wait(&self.file)?;
        if let Some(dir) = &self.dir {
            let _ = wait(dir);
        }
        Ok(())
    }
}

pub enum Taken {
    Yes(Lock),
    /// Somebody else holds it, for longer than we wait.
    Busy,
}

/// Takes the lock of a file, or gives up after a second.
pub fn acquire(file: File) -> io::Result<Taken> {
    acquire_within(Lock { file, dir: None }, PATIENCE)
}

/// Takes a lock that has no directory, with a patience of the caller's.
pub fn acquire_for(file: File, patience: Duration) -> io::Result<Taken> {
    acquire_within(Lock { file, dir: None }, patience)
}

/// Opens a directory of ours, which comes second, and takes its lock; `None` if it is not to be had
/// in time. What was removed or replaced while we waited is opened anew.
pub fn acquire_in<T>(
    patience: Duration,
    open: impl Fn() -> Result<(T, Dir)>,
) -> Result<(T, Dir, Option<Lock>)> {
    let deadline = Deadline::after(patience);
    loop {
        let tried = open().and_then(|(beside, dir)| {
            let failed = |error| Error::io("lock", &dir.path_of(LOCK), error);
            let both = Lock { file: lock_file(&dir)?, dir: dir.lockable()? };
            let taken = acquire_within(both, deadline.left()).map_err(failed)?;
            Ok((beside, dir, taken))
        });
        match tried {
            Ok((beside, dir, Taken::Busy)) => return Ok((beside, dir, None)),
            Ok((beside, dir, Taken::Yes(lock))) => {
                if dir.is_named(LOCK, &lock.file) {
                    return Ok((beside, dir, Some(lock)));
                }
                if deadline.is_over() {
                    return Ok((beside, dir, None));
                }
            }
            // The directory went while we were in it.
            Err(error) if error.is_not_found() && !deadline.is_over() => {}
            Err(error) => return Err(error),
        }
    }
}

/// The first try costs two system calls. Only if the lock is held does a second thread wait in the
/// kernel, which wakes it the moment the lock is free; asking again and again would be slower for two
/// and unfair for sixty-four.
fn acquire_within(lock: Lock, patience: Duration) -> io::Result<Taken> {
    if lock.try_now()? {
        return Ok(Taken::Yes(lock));
    }
    let (sender, receiver) = sync_channel(1);
    std::thread::Builder::new().stack_size(64 << 10).spawn(move || {
        let locked = lock.wait().map(|()| lock);
        // Nobody listens any more: the lock goes with its file.
        let _ = sender.send(locked);
    })?;
    match receiver.recv_timeout(patience) {
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
        || error.raw_os_error() == HELD_ON_WINDOWS
}

/// What Windows says of a lock that somebody else holds.
const HELD_ON_WINDOWS: Option<i32> = if cfg!(windows) { Some(33) } else { None };
