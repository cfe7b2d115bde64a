//! What can be wrong with a document, tried out on each of its values.

use serde_json::{Value, json};

/// Every removal of a field, every value replaced with ones of other types, and unknown fields.
pub fn mutations(document: &Value) -> Vec<(String, Value)> {
    let mut pointers = Vec::new();
    collect_pointers(document, String::new(), &mut pointers);
    let others = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(2.0),
        json!(5_000_000_000_u64),
        json!("text"),
        json!(""),
        json!("S1"),
        json!("2026-01-29T10:30:00.123Z"),
        json!("2026-01-29T10:30:00Z\n"),
        json!([]),
        json!([1]),
        json!({}),
        json!({"x": 1}),
    ];
    let mut mutated = Vec::new();
    for pointer in &pointers {
        for other in &others {
            let mut copy = document.clone();
            *copy.pointer_mut(pointer).unwrap() = other.clone();
            mutated.push((format!("{pointer} = {other}"), copy));
        }
        let mut copy = document.clone();
        if let Some(Value::Object(fields)) = copy.pointer_mut(pointer) {
            fields.insert("a field of the future".into(), json!({"x": [1, null]}));
            mutated.push((format!("{pointer} with one more"), copy));
        }
        if let Some((parent, key)) = pointer.rsplit_once('/') {
            let key = key.replace("~1", "/").replace("~0", "~");
            let mut copy = document.clone();
            if let Some(Value::Object(fields)) = copy.pointer_mut(parent) {
                fields.remove(&key).unwrap();
                mutated.push((format!("without {pointer}"), copy));
            }
        }
    }
    mutated
}

fn collect_pointers(value: &Value, at: String, pointers: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                collect_pointers(value, format!("{at}/{key}"), pointers);
            }
        }
        Value::Array(list) => {
            // The first ones are like the others.
            for (n, value) in list.iter().enumerate().take(2) {
                collect_pointers(value, format!("{at}/{n}"), pointers);
            }
        }
        _ => {}
    }
    pointers.push(at);
}
