//! `synthesis.json`: what the results of a session's agents come to, worked out once more.

use serde_json::{Map, Value, json};

use super::documents::{Files, ordered, schema, spelled};
use super::journal;
use super::step::{Step, name_of};

const SYNTHESIS: &str = ".claude/state/agents/results/synthesis.json";
const RESULTS: &str = ".claude/state/agents/results/";

/// Whether a document is the synthesis of what was there before and the results that this step has
/// written.
pub fn is_copy(path: &str, step: &Step) -> bool {
    if path != SYNTHESIS {
        return false;
    }
    let Some(text) = step.after.get(path) else { return false };
    let Ok(is) = serde_json::from_str::<Value>(text) else { return false };
    let session = is["session_id"].as_str().unwrap_or_default().to_owned();
    let mut synthesis = before(&session, &step.before);
    let mut results = 0;
    for name in journal::wrote(&journal::added(&step.before, &step.after)) {
        for (path, text) in step.after.range(RESULTS.to_owned()..) {
            if name_of(path) == name
                && path.starts_with(RESULTS)
                && path != SYNTHESIS
                && let Ok(result) = serde_json::from_str::<Value>(text)
                && result["session_id"] == session.as_str()
                && schema("result").checker.check(&result).is_empty()
            {
                fold(&mut synthesis, &result);
                results += 1;
            }
        }
    }
    let seconds = step.time.split('.').next().unwrap();
    synthesis.insert("updated".into(), format!("{seconds}Z").into());
    synthesis.insert("complete".into(), (!has_running(&session, &step.after)).into());
    let made = spelled("synthesis", &ordered("synthesis", Value::Object(synthesis)));
    results > 0 && made == *text
}

/// The synthesis of a session as it was, wherever it was.
fn before(session: &str, files: &Files) -> Map<String, Value> {
    for path in [
        SYNTHESIS.to_owned(),
        format!(".claude/state/agents/synthesis/{session}.json"),
        format!(".claude/state/agents/results-archive/{session}/synthesis.json"),
    ] {
        if let Some(text) = files.get(&path)
            && let Ok(Value::Object(synthesis)) = serde_json::from_str(text)
            && synthesis.get("session_id").is_some_and(|id| id == session)
            && schema("synthesis").checker.check(&Value::Object(synthesis.clone())).is_empty()
        {
            return synthesis;
        }
    }
    let empty = json!({"session_id": session, "agents": [], "findings": [], "recommendations": []});
    empty.as_object().unwrap().clone()
}

fn has_running(session: &str, files: &Files) -> bool {
    let record = files.get(&format!(".claude/state/session/live/{session}.json"));
    let Some(text) = record else { return false };
    let record: Value = serde_json::from_str(text).unwrap_or_default();
    record["agents"].as_array().is_some_and(|agents| !agents.is_empty())
}

fn fold(synthesis: &mut Map<String, Value>, result: &Value) {
    let id = &result["agent_id"];
    let findings = result["findings"].as_array().unwrap();
    let mut agent = json!({
        "id": id,
        "type": result["type"],
        "task": result["task"],
        "status": result["status"],
        "findings": findings.len(),
    });
    if let Some(lines) = result.get("report_lines") {
        agent["report_lines"] = lines.clone();
    }
    let agents = list(synthesis, "agents");
    agents.retain(|agent| agent["id"] != *id);
    agents.push(agent);
    let known = list(synthesis, "findings");
    for finding in &mut *known {
        finding["agents"].as_array_mut().unwrap().retain(|agent| agent != id);
    }
    known.retain(|finding| finding["agents"] != json!([]));
    for finding in findings {
        merge(known, finding, id);
    }
    known.sort_by_key(|finding| finding["severity"].to_string());
    let mut summary = json!({"total": known.len(), "S0": 0, "S1": 0, "S2": 0, "S3": 0});
    for finding in &*known {
        let severity = finding["severity"].as_str().unwrap_or_default();
        summary[severity] = (summary[severity].as_u64().unwrap_or_default() + 1).into();
    }
    synthesis.insert("summary".into(), summary);
    for text in result["recommendations"].as_array().unwrap() {
        let known = list(synthesis, "recommendations");
        if !known.iter().any(|known| is_same(known, text)) {
            known.push(text.clone());
        }
    }
}

/// The same finding of two agents is one, as grave as the graver of both.
fn merge(known: &mut Vec<Value>, finding: &Value, id: &Value) {
    for known in &mut *known {
        if known.get("file") != finding.get("file") || !is_same(&known["title"], &finding["title"])
        {
            continue;
        }
        if finding["severity"].as_str() < known["severity"].as_str() {
            known["severity"] = finding["severity"].clone();
        }
        if known["recommendation"] == "" {
            known["recommendation"] = finding["recommendation"].clone();
        }
        let agents = known["agents"].as_array_mut().unwrap();
        if !agents.contains(id) {
            agents.push(id.clone());
        }
        return;
    }
    let mut finding = finding.clone();
    finding["agents"] = json!([id]);
    known.push(finding);
}

fn is_same(a: &Value, b: &Value) -> bool {
    let (a, b) = (a.as_str().unwrap(), b.as_str().unwrap());
    a.trim_end_matches('.').eq_ignore_ascii_case(b.trim_end_matches('.'))
}

fn list<'a>(document: &'a mut Map<String, Value>, name: &str) -> &'a mut Vec<Value> {
    document[name].as_array_mut().unwrap()
}
