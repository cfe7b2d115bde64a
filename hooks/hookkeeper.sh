#!/bin/sh
# What the plugin's hooks start, with the event's name as argument; bin/hookkeeper starts it with `run` and a command.
# It becomes the program, and starts no other process on the way. Without the program a hook does nothing, but says so
# when a session begins.
version=0.1.0
event=$1
if [ "$event" = run ]; then
  shift
  root=${0%/*} root=${root%/bin/..}
else
  set -- hook
  root=$CLAUDE_PLUGIN_ROOT
fi

# Whether the program in such a package runs here: a plugin's folder may be shared with another system, and then every
# hook would end with an error. What a system's own programs need is there, or the kernel says what it is; in a container
# for another processor only the first is true.
runs_here() {
  case $1 in
    linux-x64) loader=/lib64/ld-linux-x86-64.so.2 musl=/lib/ld-musl-x86_64.so.1 machine=x86_64 ;;
    linux-arm64) loader=/lib/ld-linux-aarch64.so.1 musl=/lib/ld-musl-aarch64.so.1 machine=aarch64 ;;
    darwin-*) [ -d /System/Library ]; return ;;
    win32-*) [ -n "$WINDIR" ]; return ;;
    *) return 1 ;;
  esac
  [ -e "$loader" ] || [ -e "$musl" ] || { read -r kernel && [ "$kernel" = "$machine" ]; } 2>/dev/null </proc/sys/kernel/arch
}

# The plugin's own program first: it is of the version that these hooks were made for, whatever else is installed.
foreign=
for package in "$root"/node_modules/@hookkeeper/*; do
  [ -x "$package/bin/hookkeeper" ] || continue
  platform=${package##*/}
  runs_here "$platform" && exec "$package/bin/hookkeeper" "$@"
  case $platform in
    *[!a-z0-9-]*) ;; # None of ours, and nothing to quote.
    *) foreign=" The plugin has one for $platform, which does not run here." ;;
  esac
done

# Then one that is installed. bin/ of this plugin may be on the PATH too, and only leads back here.
rest=$PATH: PATH=
while [ -n "$rest" ]; do
  # Without a root that would be the system's own /bin.
  { [ -n "$root" ] && [ "${rest%%:*}" -ef "$root/bin" ]; } || PATH=$PATH${PATH:+:}${rest%%:*}
  rest=${rest#*:}
done
PATH=${PATH:+$PATH:}${CLAUDE_PLUGIN_DATA:+$CLAUDE_PLUGIN_DATA/bin:}${CARGO_HOME:-$HOME/.cargo}/bin
# An older program than the plugin says so.
export HOOKKEEPER_PLUGIN=$version
command -v hookkeeper >/dev/null && exec hookkeeper "$@"

missing="the program hookkeeper is not installed"
source="--git https://github.com/hookkeeper/hookkeeper hookkeeper"
way="Install it: npm install --global hookkeeper, or with Rust 1.91 or newer: cargo install --locked $source"
if [ "$event" = run ]; then
  printf 'hookkeeper: %s.%s %s\n' "$missing" "$foreign" "$way" >&2
  exit 1
fi
# The client complains of hooks that do not read. Some clients never close the stream, so one line has to do.
payload=$(head -n 1)
case $event$payload in
  SessionStart*'"source":"startup"'* | SessionStart*'"source":"resume"'*) ;;
  *) exit 0 ;;
esac
printf '{"systemMessage":"HookKeeper: the plugin is on, but %s, so nothing is recorded.%s %s"}\n' \
  "$missing" "$foreign" "$way"
