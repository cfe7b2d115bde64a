"""The scenarios, in the order in which they run. Each takes a Bench and a Check."""
from . import agents, compaction, errors, iterative, loops, plugin, sessions

ALL = {function.__name__.replace("_", "-"): function
       for room in (sessions, agents, errors, compaction, loops, iterative, plugin) for function in room.SCENARIOS}
