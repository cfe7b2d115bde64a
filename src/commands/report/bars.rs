//! A chart that is a table: each row has its value and a bar.

use maud::{Markup, html};

use crate::report::text::percent;

pub struct Row {
    pub name: Markup,
    pub value: String,
    /// The parts of the bar, each with its class.
    pub parts: Vec<(&'static str, f64)>,
}

/// Bars as long as their values, the largest one as long as there is room.
pub fn bars(caption: &str, head: [&str; 2], rows: &[Row]) -> Markup {
    let sum = |row: &Row| row.parts.iter().map(|(_, value)| value).sum::<f64>();
    let most = rows.iter().map(sum).fold(0.0, f64::max);
    let scale = if most > 0.0 { 100.0 / most } else { 0.0 };
    html! {
        table.bars {
            caption { (caption) }
            thead { tr { th scope="col" { (head[0]) } th.number scope="col" { (head[1]) } td {} } }
            tbody {
                @for row in rows {
                    tr {
                        th scope="row" { (row.name) }
                        td.number { (row.value) }
                        td.bar {
                            svg width="100%" height="14" aria-hidden="true" { (parts(row, scale)) }
                        }
                    }
                }
            }
        }
    }
}

fn parts(row: &Row, scale: f64) -> Markup {
    let mut left = 0.0;
    html! {
        @for (class, value) in &row.parts {
            @let width = value * scale;
            @if width > 0.0 {
                rect.(class) x=(percent(left)) y="1" width=(percent(width.max(0.3))) height="12" rx="2" {}
            }
            @let () = left += width;
        }
    }
}
