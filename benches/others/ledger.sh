#!/bin/sh
# Adds the agent in the payload on stdin to DIR/active.json: one lock, one jq, one rename.
set -eu
cd "$1"
exec 9>>.lock
flock 9
jq --slurpfile ledger active.json '
  . as $event | $ledger[0]
  | .agents += [{id: $event.agent_id, type: $event.agent_type, started: (now | todate),
                 status: "running", session_id: $event.session_id}]
  | .total_spawned += 1' >.active.json.new
mv .active.json.new active.json
