//! The units of a task, in their order.

use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::loops::iterative::document::Unit;

/// Units in the order in which they were planned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Units(pub Vec<(String, Unit)>);

impl Units {
    pub fn iter(&self) -> impl Iterator<Item = &(String, Unit)> {
        self.0.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut (String, Unit)> {
        self.0.iter_mut()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn ids(&self) -> Vec<&str> {
        self.iter().map(|(id, _)| id.as_str()).collect()
    }

    pub fn get(&self, id: &str) -> Option<&Unit> {
        self.iter().find(|(known, _)| known == id).map(|(_, unit)| unit)
    }

    pub fn get_mut(&mut self, id: &str) -> Option<&mut Unit> {
        self.iter_mut().find(|(known, _)| known == id).map(|(_, unit)| unit)
    }
}

impl Serialize for Units {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(id, unit)| (id, unit)))
    }
}

impl<'de> Deserialize<'de> for Units {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Units;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of units")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Units, A::Error> {
                let mut units = Units::default();
                while let Some((id, unit)) = map.next_entry::<String, Unit>()? {
                    if units.get(&id).is_some() {
                        return Err(A::Error::custom(format!("unit `{id}` is there twice")));
                    }
                    units.0.push((id, unit));
                }
                Ok(units)
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}
