"""The scenarios, in the order in which they run. Each takes a Bench and a Check."""
from . import agents, autonomous, branch_loops, branches, compaction, errors, install, iterative, loops, permissions, plugin, sessions

ALL = {function.__name__.replace("_", "-"): function
       for room in (sessions, agents, errors, compaction, loops, branch_loops, autonomous, branches, iterative, install, permissions, plugin)
       for function in room.SCENARIOS}
