//! A plugin that is newer than the program that its hooks found: the user hears of it once a start.
//! All that the program knows goes on being recorded.

use crate::client::version;
use crate::state::plan::Plan;
use crate::turn::context::Context;

pub fn warn(plan: &mut Plan, context: &Context) {
    let newer = context.facts.plugin_version();
    if let Some(text) = newer.and_then(|plugin| warning(&plugin, env!("CARGO_PKG_VERSION"))) {
        plan.reply.tell_user(text);
    }
}

fn warning(plugin: &str, program: &str) -> Option<String> {
    let (newer, own) = (version::parse(plugin)?, version::parse(program)?);
    let plugin = version::spell(newer);
    (newer > own).then(|| {
        format!(
            "HookKeeper: the plugin is {plugin}, but its hooks run an older program, {program}. What only the newer \
             one knows is not recorded. Update it: npm install --global hookkeeper@{plugin}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_of_a_newer_plugin() {
        let said = warning("0.10.0", "0.9.1").unwrap();
        assert!(said.contains("the plugin is 0.10.0") && said.ends_with("hookkeeper@0.10.0"));
        assert_eq!(warning("0.9.1", "0.9.1"), None);
        assert_eq!(warning("0.9.0", "0.9.1"), None);
        assert_eq!(warning("", "0.9.1"), None);
        assert_eq!(warning("$(reboot)", "0.9.1"), None);
    }
}
