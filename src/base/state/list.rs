//! A list for what is read once and kept: references into it stay good while it grows.

use std::cell::OnceCell;

/// A list that grows while references into it are held.
pub struct List<T> {
    first: OnceCell<Box<Node<T>>>,
}

struct Node<T> {
    value: T,
    next: OnceCell<Box<Self>>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { first: OnceCell::new() }
    }
}

impl<T> List<T> {
    pub fn find(&self, mut is: impl FnMut(&T) -> bool) -> Option<&T> {
        let mut at = self.first.get();
        while let Some(node) = at {
            if is(&node.value) {
                return Some(&node.value);
            }
            at = node.next.get();
        }
        None
    }

    pub fn each(&self, mut look: impl FnMut(&T)) {
        self.find(|value| {
            look(value);
            false
        });
    }

    pub fn push(&self, value: T) -> &T {
        let mut at = &self.first;
        while let Some(node) = at.get() {
            at = &node.next;
        }
        &at.get_or_init(|| Box::new(Node { value, next: OnceCell::new() })).value
    }
}
