#!/bin/sh
# What the plugin's hooks start. It becomes `hookkeeper hook`; without that program it does nothing, but says so when
# a session begins. The argument is the event's name. On the usual path no other process is started.

PATH=${PATH:+$PATH:}${CLAUDE_PLUGIN_DATA:+$CLAUDE_PLUGIN_DATA/bin:}${CARGO_HOME:-$HOME/.cargo}/bin
command -v hookkeeper >/dev/null && exec hookkeeper hook

# The client complains of hooks that do not read. Some clients never close the stream, so one line has to do.
payload=$(head -n 1)
case $1$payload in
  SessionStart*'"source":"startup"'* | SessionStart*'"source":"resume"'*) ;;
  *) exit 0 ;;
esac
source="--path '$CLAUDE_PLUGIN_ROOT'"
case $CLAUDE_PLUGIN_ROOT in
  '' | *[\"\'\\]*) source='--path . (in a checkout of it)' ;; # Such a path would have to be escaped twice.
esac
printf '{"systemMessage":"HookKeeper: %s Install it with Rust 1.91 or newer: %s"}\n' \
  'the plugin is on, but the program hookkeeper is not installed, so nothing is recorded.' \
  "cargo install --locked $source"
