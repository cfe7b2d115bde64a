//! Programs that are started, with all that they start.

use std::cell::RefCell;
use std::io;
use std::os::windows::io::AsRawHandle as _;
use std::process::{Child, Command, ExitStatus};

use win32job::{ExtendedLimitInfo, Job};

/// Programs that know the user's browser, and what they are told before the file.
pub const OPENERS: [(&str, &[&str]); 1] = [("rundll32", &["url.dll,FileProtocolHandler"])];

/// A program and all that it has started: a job. If we are killed, all of it ends; else it goes on
/// unless it is ended.
pub struct Group(RefCell<Option<Job>>);

impl Group {
    /// Starts a program in a job of its own.
    pub fn spawn(command: &mut Command) -> io::Result<(Child, Self)> {
        let job = Job::create_with_limit_info(ExtendedLimitInfo::new().limit_kill_on_job_close());
        let child = command.spawn()?;
        // A program that is over already is in no job, and needs none.
        let job = job.ok().filter(|job| job.assign_process(child.as_raw_handle() as isize).is_ok());
        Ok((child, Self(RefCell::new(job))))
    }

    /// Ends all of it: a job that is closed ends what is in it.
    pub fn end(&self) {
        drop(self.0.take());
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(job) = self.0.get_mut() {
            let _ = job.set_extended_limit_info(&ExtendedLimitInfo::new());
        }
    }
}

/// What runs a line as a person would type it: a shell that comes with git, as the client has it,
/// else the one of Windows.
pub fn shell(line: &str) -> Command {
    let named = std::env::var_os("CLAUDE_CODE_GIT_BASH_PATH").filter(|path| !path.is_empty());
    let bash = named.or_else(|| on_path("bash.exe")).or_else(|| on_path("sh.exe"));
    let (program, flag) = match bash {
        Some(bash) => (bash, "-c"),
        None => ("cmd".into(), "/C"),
    };
    let mut command = Command::new(program);
    command.args([flag, line]);
    command
}

/// Windows has a `bash.exe` of its own that starts another system.
fn on_path(name: &str) -> Option<std::ffi::OsString> {
    let path = std::env::var_os("PATH")?;
    let mut found = std::env::split_paths(&path).map(|dir| dir.join(name));
    let is_git = |file: &std::path::PathBuf| {
        let place = file.to_string_lossy().to_lowercase();
        !place.contains("\\windows\\") && !place.contains("\\windowsapps\\") && file.is_file()
    };
    found.find(is_git).map(Into::into)
}

pub fn code_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or(1)
}
