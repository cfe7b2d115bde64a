//! Precision and recall by label.

use std::collections::BTreeMap;

#[derive(Default)]
pub struct Score {
    /// Right, found too much, missed.
    labels: BTreeMap<String, [u32; 3]>,
}

impl Score {
    pub fn add(&mut self, expected: &str, got: &str) {
        if expected == got {
            self.labels.entry(expected.to_owned()).or_default()[0] += 1;
        } else {
            self.labels.entry(got.to_owned()).or_default()[1] += 1;
            self.labels.entry(expected.to_owned()).or_default()[2] += 1;
        }
    }

    pub fn print(&self, title: &str) {
        println!("{title:<24} precision  recall  of");
        for (label, [right, too_much, missed]) in &self.labels {
            let share = |of: u32| f64::from(*right) / f64::from((right + of).max(1));
            let (precision, recall) = (share(*too_much), share(*missed));
            println!("  {label:<22} {precision:>9.3} {recall:>7.3} {:>3}", right + missed);
        }
    }
}
