//! Where the value of every setting comes from, for people and for commands: the defaults, the
//! user's own file, the project's, the environment. A hook reads the project's file alone.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::core::settings::nearest::nearest;
use crate::core::settings::table::{Setting, Trust};
use crate::core::settings::{Place, Settings, misfit, parse, walk};
use crate::core::text::clip;

/// Of a file that is there since before the state: a clone or an archive brought it, or a person wrote
/// it before the first hook ran. Nothing tells these apart.
pub const NOT_WRITTEN_HERE: &str =
    "was not written here by hookkeeper (it may have come with a checkout)";
/// What stands for a key that somebody else wrote and nobody has taken up yet.
const HIDDEN_KEY: &str = "…";
/// Characters of a key that somebody else wrote.
const LONGEST_KEY: usize = 80;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    /// `hookkeeper.json` in the client's directory.
    User,
    /// `.claude/hookkeeper.json`
    Project,
    Environment(&'static str),
}

/// All that can be set, as it was found.
pub struct Layers<'a> {
    pub table: &'static [Setting],
    /// The bytes of the two files, if they are there.
    pub user: Option<&'a [u8]>,
    pub project: Option<&'a [u8]>,
    /// How far the project's file may be believed.
    pub trust: Trust,
    pub env: &'a dyn Fn(&str) -> Option<String>,
}

/// What holds, and why.
pub struct Resolved {
    pub settings: Settings,
    /// By keys, those of names in maps too; what is missing is a default.
    origins: BTreeMap<String, Origin>,
    pub remarks: Vec<Remark>,
}

/// Something in a file that does not hold.
#[derive(Debug, PartialEq)]
pub struct Remark {
    pub origin: Origin,
    /// Empty: the file as a whole.
    pub key: String,
    pub what: Fault,
}

#[derive(Debug, PartialEq)]
pub enum Fault {
    /// There is no such setting: somebody else's, a newer version's, or misspelt.
    Unknown { nearest: Option<String> },
    /// The value does not fit; in words.
    Wrong(String),
    /// The file was not written here, and this is more than it may set.
    Untrusted,
    /// A project's file may never set it.
    ForPersons,
    /// Hooks do not read it from there.
    NotHere,
}

impl Origin {
    /// One word; `config list --json` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::User => "user",
            Self::Project => "project",
            Self::Environment(_) => "environment",
        }
    }

    /// Where a person looks for it.
    pub fn place(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::User => "~/.claude/hookkeeper.json",
            Self::Project => ".claude/hookkeeper.json",
            Self::Environment(name) => name,
        }
    }
}

impl Remark {
    /// What does not hold, and why, in one sentence without its end.
    pub fn text(&self) -> String {
        let (place, key) = (self.origin.place(), clip(&self.key, LONGEST_KEY));
        match &self.what {
            Fault::Unknown { nearest } if self.key == HIDDEN_KEY => {
                // What is like it is a word of ours.
                let near = nearest.as_ref().map(|near| format!(" (did you mean `{near}`?)"));
                format!(
                    "{place}: it has a key that is no setting{}, and is not shown: the file \
                     {NOT_WRITTEN_HERE}; `hookkeeper trust` takes it up",
                    near.unwrap_or_default()
                )
            }
            Fault::Unknown { nearest: Some(near) } => {
                format!("{place}: there is no setting `{key}`; did you mean `{near}`?")
            }
            Fault::Unknown { nearest: None } => format!("{place}: there is no setting `{key}`"),
            Fault::Wrong(why) => format!("{place}: {why}"),
            Fault::Untrusted => format!(
                "{place}: `{key}` does not hold: the file {NOT_WRITTEN_HERE}; \
                 `hookkeeper trust` takes it up"
            ),
            Fault::ForPersons => {
                format!("{place}: `{key}` does not hold: no project's file may set it")
            }
            Fault::NotHere => {
                format!("{place}: `{key}` does not hold: hooks read .claude/hookkeeper.json alone")
            }
        }
    }
}

impl Layers<'_> {
    pub fn resolve(&self) -> Resolved {
        let mut settings = Settings::default();
        self.table.iter().for_each(|row| row.field.set_default(&mut settings));
        let mut resolved = Resolved { settings, origins: BTreeMap::new(), remarks: Vec::new() };
        resolved.add(self.table, self.user, Origin::User, Trust::Person);
        resolved.add(self.table, self.project, Origin::Project, self.trust);
        for (row, name) in self.table.iter().filter_map(|row| Some((row, row.env?))) {
            let Some(word) = (self.env)(name) else { continue };
            let origin = Origin::Environment(name);
            let typed = row.field.typed(None, &[word]);
            let what = match typed {
                Ok(value) => resolved.set(row, row.key, &value, origin),
                Err(why) => Some(Fault::Wrong(why)),
            };
            resolved.remark(origin, row.key, what);
        }
        resolved
    }
}

impl Resolved {
    pub fn origin(&self, key: &str) -> Origin {
        self.origins.get(key).copied().unwrap_or(Origin::Default)
    }

    fn add(
        &mut self,
        table: &'static [Setting],
        bytes: Option<&[u8]>,
        origin: Origin,
        trust: Trust,
    ) {
        let fields = match bytes.map(parse) {
            None => return,
            Some(Ok(fields)) => fields,
            Some(Err(why)) => return self.remark(origin, "", Some(Fault::Wrong(why))),
        };
        // What somebody else has written there is not repeated.
        let is_foreign = trust == Trust::Harmless;
        walk(table, "", &fields, &mut |key, place, value| {
            let is_unknown = matches!(place, Place::Unknown);
            let what = match place {
                Place::Row(row) => match (origin, row.trust) {
                    (Origin::User, Trust::Harmless | Trust::Own) => Some(Fault::NotHere),
                    (Origin::Project, Trust::Person) => Some(Fault::ForPersons),
                    (_, needed) if needed > trust => Some(Fault::Untrusted),
                    _ => self.set(row, key, value, origin).map(|what| match what {
                        Fault::Wrong(_) if is_foreign => {
                            Fault::Wrong(format!("`{key}` must be {}", row.field.expects()))
                        }
                        what => what,
                    }),
                },
                Place::NoObject => Some(Fault::Wrong(format!("`{key}` must be an object"))),
                // Editors look there for the schema.
                Place::Unknown if key == "$schema" => None,
                Place::Unknown => Some(Fault::Unknown { nearest: nearest(table, key) }),
            };
            self.remark(origin, if is_unknown && is_foreign { HIDDEN_KEY } else { key }, what);
        });
    }

    fn set(
        &mut self,
        row: &'static Setting,
        key: &str,
        value: &Value,
        origin: Origin,
    ) -> Option<Fault> {
        let Some(faults) = row.field.set(&mut self.settings, value) else {
            return Some(Fault::Wrong(misfit(key, row, value)));
        };
        let names = value.as_object().into_iter().flat_map(Map::keys);
        self.origins.extend(names.map(|name| (format!("{key}.{name}"), origin)));
        self.origins.insert(key.to_owned(), origin);
        (!faults.is_empty()).then(|| Fault::Wrong(faults.join(", ")))
    }

    fn remark(&mut self, origin: Origin, key: &str, what: Option<Fault>) {
        self.remarks.extend(what.map(|what| Remark { origin, key: key.to_owned(), what }));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::core::settings::field::Field;

    /// Rows of all kinds, in fields that are at hand.
    const ROWS: &[Setting] = &[
        Setting {
            key: "export.pattern",
            field: Field::Patterns { at: |s| &mut s.redact },
            trust: Trust::Person,
            env: Some("HOOKKEEPER_PATTERN"),
            is_secret: true,
            help: "",
        },
        Setting {
            key: "export.on",
            field: Field::Switch { default: false, at: |s| &mut s.record },
            trust: Trust::Own,
            env: Some("HOOKKEEPER_ON"),
            is_secret: false,
            help: "",
        },
    ];

    fn resolve(user: Value, project: Value, trust: Trust, env: &[(&str, &str)]) -> Resolved {
        let find = |name: &str| {
            env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let (user, project) = (user.to_string(), project.to_string());
        let (user, project) = (Some(user.as_bytes()), Some(project.as_bytes()));
        Layers { table: ROWS, user, project, trust, env: &find }.resolve()
    }

    #[test]
    fn the_environment_counts_most_and_then_the_projects_file() {
        let on = json!({"export": {"on": true}});
        let found = resolve(json!({}), on.clone(), Trust::Own, &[]);
        assert!(found.settings.record && found.remarks.is_empty());
        assert_eq!(found.origin("export.on"), Origin::Project);
        let found = resolve(json!({}), on, Trust::Own, &[("HOOKKEEPER_ON", "off")]);
        assert!(!found.settings.record);
        assert_eq!(found.origin("export.on"), Origin::Environment("HOOKKEEPER_ON"));
        let found = resolve(json!({}), json!({}), Trust::Own, &[("HOOKKEEPER_ON", "perhaps")]);
        let wrong = Fault::Wrong("it must be true or false".into());
        assert_eq!(found.remarks[0].what, wrong);
        assert_eq!(found.origin("export.on"), Origin::Default);
    }

    #[test]
    fn what_is_for_persons_holds_in_their_own_file_alone() {
        let file = json!({"export": {"pattern": ["a"], "on": true}});
        let found = resolve(file.clone(), json!({}), Trust::Own, &[]);
        assert_eq!((found.settings.redact.len(), found.settings.record), (1, false));
        assert_eq!(found.remarks[0].what, Fault::NotHere);
        let found = resolve(json!({}), file.clone(), Trust::Own, &[]);
        assert_eq!((found.settings.redact.len(), found.settings.record), (0, true));
        assert_eq!(found.remarks[0].what, Fault::ForPersons);
        let found = resolve(json!({}), file, Trust::Harmless, &[]);
        assert_eq!((found.settings.redact.len(), found.settings.record), (0, false));
        assert_eq!(found.remarks[1].what, Fault::Untrusted);
        let foreign = json!({"Pl4nted": 1, "export": {"on": "Pl4nted"}});
        let found = resolve(json!({}), foreign, Trust::Harmless, &[]);
        assert_eq!(found.remarks.len(), 2);
        assert!(!format!("{:?}", found.remarks).contains("Pl4nted"), "{:?}", found.remarks);
        let secret = resolve(json!({"export": {"pattern": "s3cret"}}), json!({}), Trust::Own, &[]);
        assert!(!format!("{:?}", secret.remarks).contains("s3cret"), "{:?}", secret.remarks);
    }

    #[test]
    fn a_newer_versions_keys_are_said_with_the_nearest_known_one() {
        let found =
            resolve(json!({}), json!({"exprot": {"on": true}, "$schema": "x"}), Trust::Own, &[]);
        let nearest = Some("export".into());
        let [remark] = &found.remarks[..] else { panic!("{:?}", found.remarks) };
        assert_eq!((remark.key.as_str(), &remark.what), ("exprot", &Fault::Unknown { nearest }));
    }
}
