// Adds the agent in the payload on stdin to DIR/active.json: one lock, one rename.
// Node has no flock: whoever makes the lock file has the lock.
"use strict";
const fs = require("fs");

const event = JSON.parse(fs.readFileSync(0, "utf8"));
process.chdir(process.argv[2]);
for (;;) {
  try {
    fs.closeSync(fs.openSync(".lock.js", "wx"));
    break;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
  }
}
try {
  const ledger = JSON.parse(fs.readFileSync("active.json", "utf8"));
  ledger.agents.push({
    id: event.agent_id,
    type: event.agent_type,
    started: new Date().toISOString(),
    status: "running",
    session_id: event.session_id,
  });
  ledger.total_spawned += 1;
  fs.writeFileSync(".active.json.new", JSON.stringify(ledger, null, 2));
  fs.renameSync(".active.json.new", "active.json");
} finally {
  fs.unlinkSync(".lock.js");
}
