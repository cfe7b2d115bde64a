//! What `doctor --fix` makes of the findings. What a fix does is the command's to know.

use crate::doctor::Checked;
use crate::doctor::finding::{Finding, Fix, Level};

/// Applies each fix once and examines everything again: what was mended is what the second look
/// says.
pub fn repair(
    before: Vec<Checked>,
    apply: impl Fn(Fix) -> Result<String, String>,
    examine_again: impl FnOnce() -> Vec<Checked>,
) -> Vec<Checked> {
    let mut fixes: Vec<Fix> = Vec::new();
    for fix in before.iter().filter_map(|checked| checked.finding.fix) {
        if !fixes.contains(&fix) {
            fixes.push(fix);
        }
    }
    if fixes.is_empty() {
        return before;
    }
    let applied: Vec<_> = fixes.into_iter().map(|fix| (fix, apply(fix))).collect();
    let mut after = examine_again();
    for (fix, result) in &applied {
        let had =
            |id: &str| before.iter().any(|old| old.check.id == id && old.finding.fix == Some(*fix));
        match result {
            Ok(what) => {
                let mended = after.iter_mut().filter(|now| {
                    now.finding.level == Level::Ok && !now.fixed && had(now.check.id)
                });
                for now in mended {
                    now.fixed = true;
                    now.finding = Finding::ok(what.clone());
                }
            }
            Err(why) => {
                let same = after.iter_mut().filter(|now| now.finding.fix == Some(*fix));
                for now in same {
                    now.finding.hint = format!("Not mended: {why}");
                }
            }
        }
    }
    after
}
