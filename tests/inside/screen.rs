//! The screen of the live view, on a terminal of its own.

use std::fs;
use std::process::Command;
use std::time::Duration;

use hookkeeper::inside::console::screen::Screen;

use crate::support::Scratch;

#[test]
fn a_panic_gives_the_terminal_back() {
    let scratch = Scratch::new();
    let after = scratch.home().join("after");
    let this = std::env::current_exe().unwrap();
    let script = format!(
        "{} --ignored --exact screen::panics_on_the_screen; stty -a > {}.new; tmux display-message -p 'alternate #{{alternate_on}}' >> {1}.new; mv {1}.new {1}",
        this.display(),
        after.display()
    );
    let server = format!("hookkeeper-panic-{}", std::process::id());
    let tmux = |args: &[&str]| {
        let mut command = Command::new("tmux");
        command.args(["-L", &server, "-f", "/dev/null"]).args(args).output()
    };
    let Ok(started) = tmux(&["new-session", "-d", "-x", "80", "-y", "24", &script]) else {
        // Without tmux there is no terminal to try it on.
        return;
    };
    assert!(started.status.success(), "{started:?}");
    let waited = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        after.exists()
    });
    let _ = tmux(&["kill-server"]);
    assert!(waited);
    let modes = fs::read_to_string(after).unwrap();
    assert!(modes.contains(" icanon") && modes.contains(" echo "), "{modes}");
    assert!(modes.contains("alternate 0"), "{modes}");
}

#[test]
#[ignore = "started on a terminal of its own by the test above"]
fn panics_on_the_screen() {
    let screen = Screen::open().unwrap();
    // A release build ends in the panic: nothing is dropped there.
    std::mem::forget(screen);
    panic!("as it was told to");
}
