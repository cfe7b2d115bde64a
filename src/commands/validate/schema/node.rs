//! A schema, taken apart: what the [`checker`](crate::validate::schema::checker) goes by.

use std::collections::BTreeMap;

use regex_lite::Regex;
use serde_json::{Map, Value};

/// One schema in a schema. What it does not say, it allows.
#[derive(Default)]
pub struct Node {
    pub never: bool,
    pub reference: Option<String>,
    pub types: Vec<Type>,
    pub properties: BTreeMap<String, Node>,
    pub required: Vec<String>,
    pub items: Option<Box<Node>>,
    pub additional: Option<Box<Node>>,
    pub words: Option<Vec<Value>>,
    pub any_of: Vec<Node>,
    pub minimum: Option<f64>,
    pub maximum: Option<f64>,
    pub pattern: Option<Regex>,
    pub example: Option<String>,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Type {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl Node {
    pub fn load(schema: &Value) -> Result<Self, String> {
        let fields = match schema {
            Value::Bool(allowed) => return Ok(Self { never: !allowed, ..Self::default() }),
            other => object(other)?,
        };
        let mut node = Self::default();
        for (keyword, value) in fields {
            node.add_keyword(keyword, value).map_err(|why| format!("`{keyword}`: {why}"))?;
        }
        Ok(node)
    }

    fn add_keyword(&mut self, keyword: &str, value: &Value) -> Result<(), String> {
        match keyword {
            "$schema" | "$id" | "title" | "description" | "default" | "format" => {}
            "examples" => {
                let first = list(value)?.first();
                self.example = first.and_then(Value::as_str).map(str::to_owned);
            }
            "$ref" => {
                let name = text(value)?.strip_prefix("#/$defs/").filter(|n| !n.contains('/'));
                self.reference = Some(name.ok_or("only #/$defs/NAME is known")?.to_owned());
            }
            "type" => {
                let types = match value {
                    Value::Array(types) => types.iter().map(Type::load).collect(),
                    one => Type::load(one).map(|one| vec![one]),
                };
                self.types = types?;
            }
            "properties" => {
                for (name, schema) in object(value)? {
                    self.properties.insert(name.clone(), Self::load(schema)?);
                }
            }
            "required" => {
                let names = list(value)?.iter().map(|name| text(name).map(str::to_owned));
                self.required = names.collect::<Result<_, _>>()?;
            }
            "items" => self.items = Some(Box::new(Self::load(value)?)),
            "additionalProperties" => self.additional = Some(Box::new(Self::load(value)?)),
            "enum" => self.words = Some(words(list(value)?)?),
            "const" => self.words = Some(words(std::slice::from_ref(value))?),
            "anyOf" => {
                self.any_of = list(value)?.iter().map(Self::load).collect::<Result<_, _>>()?;
            }
            "minimum" => self.minimum = Some(value.as_f64().ok_or("it is no number")?),
            "maximum" => self.maximum = Some(value.as_f64().ok_or("it is no number")?),
            "pattern" => {
                let pattern = Regex::new(text(value)?).map_err(|error| error.to_string())?;
                self.pattern = Some(pattern);
            }
            _ => return Err("this keyword is not known".into()),
        }
        Ok(())
    }

    pub fn check_references(&self, defs: &BTreeMap<String, Self>) -> Result<(), String> {
        if let Some(name) = self.reference.as_ref().filter(|name| !defs.contains_key(*name)) {
            return Err(format!("`$ref`: there is no {name}"));
        }
        let inner = self.properties.values().chain(&self.any_of);
        let mut inner = inner.chain(self.items.as_deref()).chain(self.additional.as_deref());
        inner.try_for_each(|node| node.check_references(defs))
    }
}

impl Type {
    pub fn load(name: &Value) -> Result<Self, String> {
        Ok(match text(name)? {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::String,
            "array" => Self::Array,
            "object" => Self::Object,
            other => return Err(format!("there is no type {other}")),
        })
    }

    pub fn fits(self, value: &Value) -> bool {
        match self {
            Self::Null => value.is_null(),
            Self::Boolean => value.is_boolean(),
            // 2.0 is an integer in JSON Schema.
            Self::Integer => value.as_f64().is_some_and(|number| number.fract() == 0.0),
            Self::Number => value.is_number(),
            Self::String => value.is_string(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "true or false",
            Self::Integer => "a whole number",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "a list",
            Self::Object => "an object",
        }
    }
}

fn words(list: &[Value]) -> Result<Vec<Value>, String> {
    match list.iter().all(|word| word.is_string() || word.is_null()) {
        true => Ok(list.to_owned()),
        // Numbers are equal in more ways than one.
        false => Err("only strings and null are known".into()),
    }
}

pub fn object(value: &Value) -> Result<&Map<String, Value>, String> {
    value.as_object().ok_or_else(|| "it is no object".into())
}

fn list(value: &Value) -> Result<&[Value], String> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| "it is no list".into())
}

fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| "it is no string".into())
}
