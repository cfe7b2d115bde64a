"use strict";
// Puts the program itself in the place of the launcher, so that no hook waits for Node. npm runs this when all packages
// are unpacked and before it links the command: what fails here leaves no link that leads nowhere.

const fs = require("node:fs");
const path = require("node:path");
const { spawnSync } = require("node:child_process");
const { find } = require("./find.js");
const { version } = require("./package.json");

function main() {
  const { program, trouble } = find();
  const why = trouble || wrong(program);
  if (why) {
    process.stderr.write(`hookkeeper: ${why}\n`);
    process.exitCode = 1;
    return;
  }
  // npm's shims on Windows, and Yarn's, go on starting Node with this file.
  const agent = process.env.npm_config_user_agent || "";
  if (process.platform !== "win32" && !agent.startsWith("yarn")) replace(path.join(__dirname, "bin", "hookkeeper"), program);
}

/** Why a program is not the one that is wanted. */
function wrong(program) {
  const run = spawnSync(program, ["--version"], { encoding: "utf8", timeout: 20000 });
  if (run.error) return `${program} does not run here: ${run.error.message}`;
  const said = run.stdout.trim();
  if (run.status !== 0 || said !== `hookkeeper ${version}`) {
    return `${program} is not hookkeeper ${version}: it says ${JSON.stringify(said)} and ends with ${run.signal || run.status}`;
  }
  return null;
}

/** All at once: whoever starts the launcher meanwhile gets the one or the other. */
function replace(launcher, program) {
  const beside = `${launcher}.${process.pid}`;
  try {
    try {
      fs.linkSync(program, beside);
    } catch {
      fs.copyFileSync(program, beside);
    }
    fs.chmodSync(beside, 0o755);
    fs.renameSync(beside, launcher);
  } catch (error) {
    fs.rmSync(beside, { force: true });
    process.stderr.write(`hookkeeper: it works, but is started through Node, which is slower: ${error.message}\n`);
  }
}

main();
