"""A terminal of its own: tmux with a shell in it."""

import os
import subprocess
import time
from itertools import count

PATIENCE = 30  # Seconds; only what never comes is waited for that long.


class Tmux:
    names = count()

    def __init__(self):
        self.server = f"hookkeeper-{os.getpid()}-{next(self.names)}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run("kill-server", check=False)

    def run(self, *args, check=True, **options):
        command = ["tmux", "-L", self.server, "-f", "/dev/null", *args]
        return subprocess.run(command, check=check, capture_output=True, text=True, **options).stdout

    def start(self, width, height, env, cwd):
        shell = "exec env -i " + " ".join(f"{name}='{value}'" for name, value in env.items())
        shell += " TERM=$TERM PS1='$ ' bash --norc --noprofile"
        self.run("new-session", "-d", "-x", str(width), "-y", str(height), "-c", str(cwd), shell,
                 env={**os.environ, "LC_ALL": "C.UTF-8"})
        self.run("set-option", "-g", "window-size", "manual")
        self.run("set-option", "-g", "status", "off")
        self.resize(width, height)
        self.until(lambda text: "$" in text)

    def resize(self, width, height):
        self.run("resize-window", "-x", str(width), "-y", str(height))

    def press(self, *keys):
        self.run("send-keys", *keys)

    def type(self, line):
        self.run("send-keys", "-l", line)
        self.run("send-keys", "Enter")

    def text(self, *options):
        return self.run("capture-pane", "-p", *options)

    def until(self, holds):
        """The text on the screen once something holds for it, or after a long wait."""
        end = time.monotonic() + PATIENCE
        while not holds(text := self.text()) and time.monotonic() < end:
            time.sleep(0.05)
        return text

    def ask(self, what):
        return self.run("display-message", "-p", what).strip()

    def child(self):
        """The process that the shell waits for."""
        shell = self.ask("#{pane_pid}")
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with open(f"/proc/{shell}/task/{shell}/children", encoding="ascii") as children:
                if pids := children.read().split():
                    return int(pids[-1])
            time.sleep(0.05)
        raise TimeoutError("the shell has started nothing")
