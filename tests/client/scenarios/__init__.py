"""The scenarios, in the order in which they run. Each takes a Bench and a Check."""
from . import agents, agents_beside, autonomous, branch_loops, branches, compaction, errors, install, iterative, loops, permissions, plugin, report, sessions, settings_faults

ALL = {function.__name__.replace("_", "-"): function
       for room in (sessions, agents, agents_beside, errors, compaction, loops, branch_loops, autonomous, branches, iterative, install, permissions, plugin, settings_faults, report)
       for function in room.SCENARIOS}
