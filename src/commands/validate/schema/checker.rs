//! Checks a document against one of our schemas.
//!
//! This is exactly the part of JSON Schema 2020-12 that the files in `schemas/` use. A schema with
//! any other keyword is refused when it is loaded, so nothing is ever passed over in silence.
//! Tests compare every verdict with a complete implementation's.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::core::text::clip;
use crate::validate::schema::node::{Node, Type, object};

/// What is wrong with a document, and where: a JSON pointer, empty for the document itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    pub pointer: String,
    pub message: String,
}

pub struct Checker {
    root: Node,
    defs: BTreeMap<String, Node>,
}

impl Checker {
    /// The error says which keyword is not known, and where.
    pub fn load(schema: &str) -> Result<Self, String> {
        let mut schema: Map<String, Value> =
            serde_json::from_str(schema).map_err(|error| error.to_string())?;
        let mut defs = BTreeMap::new();
        for (name, def) in
            schema.shift_remove("$defs").as_ref().map(object).transpose()?.into_iter().flatten()
        {
            defs.insert(name.clone(), Node::load(def)?);
        }
        let checker = Self { root: Node::load(&Value::Object(schema))?, defs };
        checker.root.check_references(&checker.defs)?;
        checker.defs.values().try_for_each(|def| def.check_references(&checker.defs))?;
        Ok(checker)
    }

    pub fn check(&self, document: &Value) -> Vec<Fault> {
        let mut faults = Vec::new();
        self.visit(&self.root, document, "", &mut faults);
        faults
    }

    fn visit(&self, node: &Node, value: &Value, at: &str, faults: &mut Vec<Fault>) {
        let mut fault = |message: String| {
            faults.push(Fault { pointer: at.to_owned(), message });
        };
        if node.never {
            return fault("must not be there".into());
        }
        if !node.types.is_empty() && !node.types.iter().any(|kind| kind.fits(value)) {
            // All other words of the schema are about another type: one fault is enough.
            return fault(wrong_type(&node.types, value));
        }
        if node.words.as_ref().is_some_and(|words| !words.contains(value)) {
            let words = node.words.iter().flatten().map(Value::to_string).collect::<Vec<_>>();
            fault(format!("is {}, must be one of {}", shown(value), words.join(", ")));
        }
        if let (Some(pattern), Value::String(text)) = (&node.pattern, value)
            && !pattern.is_match(text)
        {
            let wanted = match &node.example {
                Some(example) => format!("be like {example}"),
                None => format!("match {pattern}"),
            };
            fault(format!("is {}, must {wanted}", shown(value)));
        }
        if let Some(number) = value.as_f64() {
            if let Some(minimum) = node.minimum.filter(|minimum| number < *minimum) {
                fault(format!("is {value}, must be at least {minimum}"));
            }
            if let Some(maximum) = node.maximum.filter(|maximum| number > *maximum) {
                fault(format!("is {value}, must be at most {maximum}"));
            }
        }
        if let Value::Object(fields) = value {
            for name in node.required.iter().filter(|name| !fields.contains_key(*name)) {
                fault(format!("has no `{name}`"));
            }
        }
        self.visit_inside(node, value, at, faults);
        if let Some(def) = node.reference.as_ref().and_then(|name| self.defs.get(name)) {
            self.visit(def, value, at, faults);
        }
        self.visit_any_of(node, value, at, faults);
    }

    fn visit_inside(&self, node: &Node, value: &Value, at: &str, faults: &mut Vec<Fault>) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    let additional = node.additional.as_deref();
                    if let Some(inner) = node.properties.get(key).or(additional) {
                        let key = key.replace('~', "~0").replace('/', "~1");
                        self.visit(inner, value, &format!("{at}/{key}"), faults);
                    }
                }
            }
            Value::Array(list) => {
                for (n, value) in list.iter().enumerate() {
                    if let Some(items) = &node.items {
                        self.visit(items, value, &format!("{at}/{n}"), faults);
                    }
                }
            }
            _ => {}
        }
    }

    /// If nothing fits, the faults of the alternative that came closest: the first one that finds
    /// its fault further inside than the value itself, else the first one.
    fn visit_any_of(&self, node: &Node, value: &Value, at: &str, faults: &mut Vec<Fault>) {
        let mut closest: Option<Vec<Fault>> = None;
        for alternative in &node.any_of {
            let mut own = Vec::new();
            self.visit(alternative, value, at, &mut own);
            if own.is_empty() {
                return;
            }
            let inside = |faults: &[Fault]| faults.iter().any(|fault| fault.pointer != at);
            if closest.as_ref().is_none_or(|best| !inside(best) && inside(&own)) {
                closest = Some(own);
            }
        }
        faults.extend(closest.into_iter().flatten());
    }
}

fn wrong_type(wanted: &[Type], value: &Value) -> String {
    let is = match value {
        Value::Null => "null".into(),
        Value::Bool(_) => value.to_string(),
        Value::Number(_) if wanted.contains(&Type::Integer) => value.to_string(),
        Value::Number(_) => "a number".into(),
        Value::String(_) => "a string".into(),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "an object".into(),
    };
    let wanted: Vec<&str> = wanted.iter().map(|kind| kind.name()).collect();
    format!("is {is}, must be {}", wanted.join(" or "))
}

fn shown(value: &Value) -> String {
    clip(&value.to_string(), 60)
}
