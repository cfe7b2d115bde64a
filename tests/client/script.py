"""What the scripted model says: content blocks, and scripts made of them."""


def text(words):
    return {"type": "text", "text": words}


def call(name, **arguments):
    return {"type": "tool_use", "name": name, "input": arguments}


def bash(command, **more):
    return call("Bash", command=command, description="a step of the script", **more)


def wait_for(*files, then="true"):
    """A tool call that lasts until these files are in the project: scenarios meet there, not in time."""
    return _until(" && ".join(f"[ -e {file} ]" for file in files), then)


def wait_for_event(event):
    """A tool call that lasts until our hook has seen an event."""
    return _until(f"""grep -q '"event":"{event}"' .claude/state/journal/*.jsonl""", "true")


def _until(condition, then):
    return bash(f"until {condition}; do sleep 0.05; done; {then}")


def agent(description, prompt, kind="general-purpose", background=False):
    return call("Agent", description=description, prompt=prompt, subagent_type=kind,
                run_in_background=background)


def turns(*replies, agents=None):
    """A script: the main thread's replies in order. A reply is a block, a list of blocks, or a whole rule
    without its match. `agents` has the replies of subagents, by the prompt that each was given."""
    rules = [{**_rule(reply), "match": prompt, "in": "first"}
             for prompt, said in (agents or {}).items() for reply in _list(said)]
    return rules + [_rule(reply) for reply in replies]


def api_error(status, kind, message):
    return {"status": status, "etype": kind, "emsg": message}


def _list(said):
    return said if isinstance(said, tuple) else (said,)


def _rule(reply):
    if isinstance(reply, str):
        return {"reply": [text(reply)]}
    if isinstance(reply, list):
        return {"reply": reply}
    return {"reply": [reply]} if "type" in reply else reply
