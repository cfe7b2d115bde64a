//! `export` in the user's own settings (`hookkeeper.json` in the client's directory), and the
//! variables `HOOKKEEPER_OTLP_*`, which count more. A project's file sets nothing of it: it would
//! decide where everything that happens here goes, with the user's own headers.

use std::path::PathBuf;

use crate::core::settings::Texts;
use crate::core::settings::export::Endpoint;
use crate::core::settings::layers::{Fault, Layers, Origin};
use crate::core::settings::table::{TABLE, Trust};
use crate::export::headers::{self, Headers};
use crate::export::what_to_send::WhatToSend;

/// Maps have no variable in the table of settings: their form in one is OpenTelemetry's.
const HEADERS: &str = "HOOKKEEPER_OTLP_HEADERS";
const RESOURCE: &str = "HOOKKEEPER_OTLP_RESOURCE";

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExportSettings {
    /// Without it nothing is sent.
    pub endpoint: Option<Endpoint>,
    pub headers: Headers,
    pub headers_file: Option<PathBuf>,
    /// A line for a shell.
    pub headers_command: Option<String>,
    pub resource: Texts,
    pub send: WhatToSend,
    /// A file with certificates in place of the system's.
    pub ca: Option<PathBuf>,
    pub gzip: Gzip,
    pub timeout_seconds: u64,
    /// What is wrong, in words.
    pub faults: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gzip {
    /// Where there is a network in between.
    #[default]
    Auto,
    On,
    Off,
}

impl ExportSettings {
    /// From the bytes of the two files, where they are there, and the environment.
    pub fn read(
        user: Option<&[u8]>,
        project: Option<&[u8]>,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let layers = Layers { table: TABLE, user, project, trust: Trust::Own, env };
        let resolved = layers.resolve();
        let fields = resolved.settings.export;
        let mut settings = Self {
            endpoint: None,
            headers: fields.headers.into_iter().collect(),
            headers_file: fields.headers_file.map(PathBuf::from),
            headers_command: fields.headers_command,
            resource: fields.resource,
            send: WhatToSend {
                logs: fields.logs,
                traces: fields.traces,
                metrics: fields.metrics,
                prompts: fields.prompts,
                reports: fields.reports,
            },
            ca: fields.ca.map(PathBuf::from),
            gzip: match fields.gzip {
                "on" => Gzip::On,
                "off" => Gzip::Off,
                _ => Gzip::Auto,
            },
            timeout_seconds: fields.timeout_seconds,
            faults: Vec::new(),
        };
        for remark in &resolved.remarks {
            settings.note(remark.origin, &remark.key, &remark.what);
        }
        settings.read_maps(env);
        if let Some(endpoint) = fields.endpoint.filter(|_| !fields.off) {
            match Endpoint::parse(&endpoint) {
                Ok(endpoint) => settings.endpoint = Some(endpoint),
                Err(why) => settings.faults.push(format!("export.endpoint: {why}")),
            }
        }
        settings
    }

    fn read_maps(&mut self, env: &dyn Fn(&str) -> Option<String>) {
        if let Some(word) = env(HEADERS) {
            match headers::from_variable(&word) {
                Ok(headers) => self.headers = headers,
                Err(why) => self.faults.push(format!("{HEADERS}: {why}")),
            }
        }
        for part in env(RESOURCE).iter().flat_map(|word| word.split(',')) {
            match part.split_once('=') {
                Some((name, value)) => {
                    self.resource.insert(name.trim().to_owned(), value.trim().to_owned());
                }
                None if part.trim().is_empty() => {}
                None => self.faults.push(format!("{RESOURCE}: it is `name=value,name=value`")),
            }
        }
    }

    pub fn is_on(&self) -> bool {
        self.endpoint.is_some()
    }

    /// Whether headers have to be fetched, or are there.
    pub fn has_headers(&self) -> bool {
        !self.headers.is_empty() || self.headers_file.is_some() || self.headers_command.is_some()
    }

    /// What is wrong with keys of ours; the rest is said by `config` and `doctor`.
    fn note(&mut self, origin: Origin, key: &str, what: &Fault) {
        let is_ours = key == "export" || key.starts_with("export.") || key.is_empty();
        if !is_ours {
            return;
        }
        let name = match origin {
            Origin::Environment(name) => name.to_owned(),
            Origin::Default | Origin::User | Origin::Project => key.to_owned(),
        };
        self.faults.push(match what {
            Fault::ForPersons => format!(
                "`{key}` in the project's settings does not count: it belongs into your own \
                 (hookkeeper.json in Claude Code's directory) or into HOOKKEEPER_OTLP_*"
            ),
            Fault::Unknown { nearest: Some(nearest) } => {
                format!("{name}: there is no such setting; `{nearest}`?")
            }
            Fault::Unknown { nearest: None } => format!("{name}: there is no such setting"),
            Fault::Wrong(why) if matches!(origin, Origin::Environment(_)) => {
                format!("{name}: {why}")
            }
            Fault::Wrong(why) => why.clone(),
            Fault::Untrusted | Fault::NotHere => format!("{name}: it is not read from there"),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(user: &str, env: &[(&str, &str)]) -> ExportSettings {
        let find = |name: &str| {
            env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        ExportSettings::read(Some(user.as_bytes()), None, &find)
    }

    #[test]
    fn it_is_off_unless_somebody_names_an_endpoint() {
        assert!(!ExportSettings::read(None, None, &|_| None).is_on());
        let user = r#"{"export": {"endpoint": "https://otel.example/x/", "prompts": true,
            "headers": {"Authorization": "Bearer s3cret"}, "resource": {"team": "a"}}}"#;
        let settings = read(user, &[]);
        assert_eq!(settings.faults, Vec::<String>::new());
        let endpoint = settings.endpoint.clone().unwrap();
        assert_eq!((endpoint.url.as_str(), endpoint.is_https), ("https://otel.example/x", true));
        assert!(settings.send.prompts && !settings.send.reports && settings.send.logs);
        assert!(!read(user, &[("HOOKKEEPER_OTLP_OFF", "on")]).is_on());
        let env =
            [("HOOKKEEPER_OTLP_ENDPOINT", "http://[::1]:4318"), ("HOOKKEEPER_OTLP_LOGS", "off")];
        let settings = read(user, &env);
        assert!(settings.endpoint.unwrap().is_loopback && !settings.send.logs);
    }

    #[test]
    fn a_projects_file_sets_nothing_and_that_is_said() {
        let project = br#"{"export": {"endpoint": "https://evil.example"}}"#;
        let settings = ExportSettings::read(None, Some(project), &|_| None);
        assert!(!settings.is_on());
        assert!(settings.faults[0].contains("does not count"), "{:?}", settings.faults);
    }

    #[test]
    fn what_is_wrong_is_said_without_secrets() {
        for user in [
            r#"{"export": {"endpoint": "ftp://x"}}"#,
            r#"{"export": {"endpoint": "https://u:s3cret@x"}}"#,
            r#"{"export": {"endpoint": "https://x/v1/logs"}}"#,
            r#"{"export": {"endpoint": "https:///x"}}"#,
            r#"{"export": {"headers": {"A": "s3cret\nB: c"}}}"#,
            r#"{"export": {"headers": "A: s3cret"}}"#,
            r#"{"export": {"timeout_seconds": 0}}"#,
            r#"{"export": {"endpiont": "https://x"}}"#,
            r#"{"export": 7}"#,
        ] {
            let settings = read(user, &[]);
            let said = settings.faults.join("; ");
            assert!(!said.is_empty(), "{user}");
            assert!(!said.contains("s3cret"), "{said}");
            assert!(!settings.is_on(), "{user}");
        }
        let env = [("HOOKKEEPER_OTLP_HEADERS", "A=s3cret%0a"), ("HOOKKEEPER_OTLP_RESOURCE", "a")];
        let said = read("{}", &env).faults.join("; ");
        assert!(said.contains("line break") && said.contains("name=value"), "{said}");
    }

    #[test]
    fn an_endpoint_is_an_address_and_nothing_else() {
        for (text, part) in [
            ("ftp://x", "http://"),
            ("https://u:s3cret@x", "password"),
            ("https://x/v1/logs", "/v1/logs"),
            ("https://x y", "no spaces"),
            ("https:///x", "no host"),
            ("https://x/?a=b", "behind the path"),
        ] {
            let why = Endpoint::parse(text).unwrap_err();
            assert!(why.contains(part) && !why.contains("s3cret"), "{text}: {why}");
        }
        assert!(Endpoint::parse("http://localhost:4318/").unwrap().is_loopback);
        assert!(!Endpoint::parse("http://127.evil.example:4318").unwrap().is_loopback);
    }
}
