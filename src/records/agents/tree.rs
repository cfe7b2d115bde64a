//! Agents below those that started them.

use std::collections::BTreeSet;

use crate::agents::agent::Agent;
use crate::agents::result::AgentResult;

/// What the branches of a tree grow from.
pub trait Node {
    fn id(&self) -> &str;
    /// The agent that started it, or the workflow that it belongs to.
    fn parent(&self) -> Option<&str>;
}

impl Node for Agent {
    fn id(&self) -> &str {
        &self.id
    }

    fn parent(&self) -> Option<&str> {
        self.parent_agent.as_deref().or(self.workflow.as_deref())
    }
}

impl Node for AgentResult {
    fn id(&self) -> &str {
        &self.agent_id
    }

    fn parent(&self) -> Option<&str> {
        self.parent_agent.as_deref().or(self.workflow.as_deref())
    }
}

/// Positions in a list, each parent before its children, and how deep each stands. Who has no parent
/// in the list stands at the left, in the list's order.
pub fn arrange<N: Node + ?Sized>(nodes: &[&N]) -> Vec<(usize, usize)> {
    let ids: BTreeSet<&str> = nodes.iter().map(|node| node.id()).collect();
    let is_root = |node: &N| node.parent().is_none_or(|parent| !ids.contains(parent));
    let mut placed = Vec::new();
    let mut seen = BTreeSet::new();
    let roots = (0..nodes.len()).filter(|at| nodes.get(*at).is_some_and(|node| is_root(node)));
    // What leads round in a circle has no root: it comes last, each one on its own.
    let starts: Vec<usize> = roots.chain(0..nodes.len()).collect();
    for start in starts {
        let mut waiting = vec![(start, 0)];
        while let Some((at, depth)) = waiting.pop() {
            let Some(node) = nodes.get(at).filter(|_| seen.insert(at)) else { continue };
            placed.push((at, depth));
            let is_child = |(_, other): &(usize, &&N)| other.parent() == Some(node.id());
            let children = nodes.iter().enumerate().filter(is_child).map(|(at, _)| (at, depth + 1));
            let children: Vec<_> = children.collect();
            waiting.extend(children.into_iter().rev());
        }
    }
    placed
}

/// An id as it stands in the tree.
pub fn indented(id: &str, depth: usize) -> String {
    match depth.min(DEEPEST) {
        0 => id.to_owned(),
        depth => format!("└{} {id}", "─".repeat(depth - 1)),
    }
}

const DEEPEST: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(id: &str, parent: Option<&str>) -> Agent {
        Agent { id: id.into(), parent_agent: parent.map(Into::into), ..Agent::default() }
    }

    fn shown(agents: &[Agent]) -> Vec<String> {
        let nodes: Vec<&Agent> = agents.iter().collect();
        let places = arrange(&nodes).into_iter();
        places.map(|(at, depth)| indented(&agents[at].id, depth)).collect()
    }

    #[test]
    fn children_stand_below_their_parents_and_nobody_is_left_out() {
        let agents = [
            agent("c", Some("b")),
            agent("a", None),
            agent("b", Some("a")),
            agent("d", Some("a")),
            agent("e", Some("gone")),
        ];
        assert_eq!(shown(&agents), ["a", "└ b", "└─ c", "└ d", "e"]);
        let circle = [agent("x", Some("y")), agent("y", Some("x")), agent("z", Some("z"))];
        assert_eq!(shown(&circle), ["x", "└ y", "z"]);
        assert_eq!(shown(&[]), Vec::<String>::new());
    }
}
