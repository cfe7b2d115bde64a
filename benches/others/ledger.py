"""Adds the agent in the payload on stdin to DIR/active.json: one lock, one rename."""

import fcntl
import json
import os
import sys
import time

event = json.load(sys.stdin)
os.chdir(sys.argv[1])
with open(".lock", "a") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    with open("active.json") as file:
        ledger = json.load(file)
    ledger["agents"].append({
        "id": event["agent_id"],
        "type": event["agent_type"],
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "status": "running",
        "session_id": event["session_id"],
    })
    ledger["total_spawned"] += 1
    with open(".active.json.new", "w") as file:
        json.dump(ledger, file, indent=2)
    os.replace(".active.json.new", "active.json")
