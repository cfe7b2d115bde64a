"use strict";
// Which package has the program for this machine, and where that is. Node looks for it as for any other package:
// below this one, beside it, and in every node_modules above.

const fs = require("node:fs");
const path = require("node:path");
const own = require("./package.json");

const platform = `${process.platform}-${process.arch}`;
const name = `@hookkeeper/${platform}`;
const known = Object.keys(own.optionalDependencies);
const again = "npm install --global hookkeeper";

// How a program for a system begins, and where it says for which processor. It is looked at before the program is
// started: what the kernel refuses the C library gives to a shell as a script, which ends with 2, the code that blocks.
const formats = {
  linux: { magic: "7f454c46", at: 18, processors: { x64: "3e00", arm64: "b700" } },
  darwin: { magic: "cffaedfe", at: 4, processors: { x64: "07000001", arm64: "0c000001" } },
  win32: { magic: "4d5a", at: 0, processors: { x64: "4d5a" } },
};

/** `{ program }`, or `{ trouble }`: why there is none, in one line. */
function find() {
  if (!known.includes(name)) {
    const others = known.map((other) => other.split("/")[1]).join(", ");
    return {
      trouble: `there is no program for ${platform}, only for ${others}. With Rust it can be built: cargo install hookkeeper`,
    };
  }
  const installed = look(name);
  if (!installed) return { trouble: missing() };
  if (installed.version !== own.version) {
    return { trouble: `${name} is ${installed.version}, but this is ${own.version}. Install both again: ${again}` };
  }
  const file = process.platform === "win32" ? "hookkeeper.exe" : "hookkeeper";
  const program = path.join(installed.folder, "bin", file);
  if (!fs.existsSync(program)) return { trouble: `${program} is not there. Install it again: ${again}` };
  if (!isForThisMachine(program)) return { trouble: `${program} does not run on ${platform}. Install it again: ${again}` };
  return { program };
}

function isForThisMachine(program) {
  const { magic, at, processors } = formats[process.platform];
  const head = Buffer.alloc(32);
  const file = fs.openSync(program, "r");
  fs.readSync(file, head, 0, head.length, 0);
  fs.closeSync(file);
  const text = head.toString("hex");
  return text.startsWith(magic) && text.startsWith(processors[process.arch], at * 2);
}

function missing() {
  const foreign = known.filter(look);
  if (foreign.length) {
    return `this was installed for another machine: there is ${foreign.join(", ")}, but this is ${platform}. Install it here: ${again}`;
  }
  return (
    `the package ${name}, which has the program, is not installed. It is an optional dependency: were these left out ` +
    `(--omit=optional), or does the registry not have it? Then: ${again} --include=optional`
  );
}

/** A package's folder and version, if it is there and can be read. */
function look(other) {
  try {
    const manifest = require.resolve(`${other}/package.json`);
    return { folder: path.dirname(manifest), version: require(manifest).version };
  } catch {
    return null;
  }
}

module.exports = { find };
