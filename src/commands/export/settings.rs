//! `export` in the user's own settings (`hookkeeper.json` in the client's directory), and the
//! variables `HOOKKEEPER_OTLP_*`, which count more. A project's file sets nothing of it: it would
//! decide where everything that happens here goes, with the user's own headers.

use std::path::PathBuf;

use crate::core::settings::Texts;
use crate::core::settings::export::Endpoint;
use crate::core::settings::layers::{Fault, Layers, Origin, Remark};
use crate::core::settings::table::{TABLE, Trust};
use crate::export::headers::{self, Headers};
use crate::export::what_to_send::WhatToSend;

/// Maps have no variable in the table of settings: their form in one is OpenTelemetry's.
const HEADERS: &str = "HOOKKEEPER_OTLP_HEADERS";
const OFF: &str = "HOOKKEEPER_OTLP_OFF";
/// What must not be missing from what is sent: who it is for, and whether it is they. The file as a
/// whole is one of these.
const NEEDED: [&str; 6] =
    ["", "export", "export.headers", "export.headers_file", "export.headers_command", "export.ca"];
/// Where a project says that nothing of it is to be sent, or where that could have been said.
const OPT_OUT: [&str; 3] = ["", "systems", "systems.export"];
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
    /// Somebody has said that nothing is to be sent.
    pub is_off: bool,
    /// Why nothing may be sent although an endpoint is named: it would go without what it was to go
    /// with.
    pub blocked: Option<String>,
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
        // A value that cannot be read is not taken for one that sends more.
        let is_wrong = |key: &str, is_project: bool| {
            let is_it = |remark: &Remark| {
                let is_there = (remark.origin == Origin::Project) == is_project;
                is_there && remark.key == key && matches!(remark.what, Fault::Wrong(_))
            };
            resolved.remarks.iter().any(is_it)
        };
        let wrong = |key: &str| is_wrong(key, false);
        let is_blank = env(OFF).is_some_and(|word| word.trim().is_empty());
        let mut settings = Self {
            endpoint: None,
            headers: fields.headers.into_iter().collect(),
            headers_file: fields.headers_file.map(PathBuf::from),
            headers_command: fields.headers_command,
            resource: fields.resource,
            send: WhatToSend {
                logs: fields.logs && !wrong("export.logs"),
                traces: fields.traces && !wrong("export.traces"),
                metrics: fields.metrics && !wrong("export.metrics"),
                prompts: fields.prompts && !wrong("export.prompts"),
                reports: fields.reports && !wrong("export.reports"),
            },
            ca: fields.ca.map(PathBuf::from),
            gzip: match fields.gzip {
                "on" => Gzip::On,
                "off" => Gzip::Off,
                _ => Gzip::Auto,
            },
            timeout_seconds: fields.timeout_seconds,
            is_off: fields.off || (wrong("export.off") && !is_blank),
            blocked: None,
            faults: Vec::new(),
        };
        for remark in &resolved.remarks {
            settings.note(remark.origin, &remark.key, &remark.what);
        }
        if let Some(key) = NEEDED.into_iter().find(|key| wrong(key)) {
            let name = if key.is_empty() { "your own settings" } else { key };
            settings.blocked = Some(format!("{name} cannot be used as it is"));
        }
        if OPT_OUT.into_iter().any(|key| is_wrong(key, true)) {
            let why =
                "whether the project opts out (`systems.export`) cannot be read from its file";
            settings.blocked = Some(why.into());
        }
        settings.read_maps(env);
        // A wrong address in the environment does not mean the one in the file.
        let is_meant = !settings.is_off && !wrong("export.endpoint");
        if let Some(endpoint) = fields.endpoint.filter(|_| is_meant) {
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
                Err(why) => {
                    let why = format!("{HEADERS}: {why}");
                    self.blocked.get_or_insert_with(|| why.clone());
                    self.faults.push(why);
                }
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

    /// Why nothing goes out, in words; nothing if it does.
    pub fn why_off(&self) -> Option<String> {
        match (&self.endpoint, self.faults.first()) {
            _ if self.is_off => {
                Some("export is off: `export.off` or HOOKKEEPER_OTLP_OFF says so".into())
            }
            (Some(_), _) => self.blocked.as_ref().map(|why| format!("nothing is sent: {why}")),
            (None, Some(fault)) => Some(format!("export is off: {fault}")),
            (None, None) => Some(
                "export is off: name an endpoint in your own settings (`export.endpoint`) or in \
                 HOOKKEEPER_OTLP_ENDPOINT"
                    .into(),
            ),
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
    fn a_project_that_may_have_opted_out_is_not_sent() {
        let why = |own: &str| {
            let user = br#"{"export": {"endpoint": "https://x"}}"#;
            ExportSettings::read(Some(user), Some(own.as_bytes()), &|_| None).why_off()
        };
        for own in [r#"{"systems": {"export": "off"}}"#, r#"{"systems": "off"}"#, "{"] {
            assert!(why(own).is_some_and(|why| why.contains("opts out")), "{own}");
        }
        for own in [r#"{"systems": {"loop": "off"}}"#, r#"{"keep_backups": "x"}"#, "{}"] {
            assert_eq!(why(own), None, "{own}");
        }
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
    fn a_value_that_cannot_be_read_sends_nothing() {
        let user =
            r#"{"export": {"endpoint": "https://x", "prompts": true, "headers": {"A": "b"}}}"#;
        for word in ["1", "yes", "TRUE", "true", "on", "YES", "2", "of", "never", "nein"] {
            let settings = read(user, &[("HOOKKEEPER_OTLP_OFF", word)]);
            assert!(settings.is_off && !settings.is_on(), "{word}");
            assert!(settings.why_off().unwrap().contains("says so"), "{word}");
        }
        for word in ["0", "no", "FALSE", "off", " "] {
            assert!(read(user, &[("HOOKKEEPER_OTLP_OFF", word)]).is_on(), "{word}");
        }
        assert!(!read(r#"{"export": {"endpoint": "https://x", "off": "yes"}}"#, &[]).is_on());
        for (name, word) in [("PROMPTS", "0"), ("PROMPTS", "rather not"), ("LOGS", "none")] {
            let settings = read(user, &[(&format!("HOOKKEEPER_OTLP_{name}"), word)]);
            let sent = if name == "LOGS" { settings.send.logs } else { settings.send.prompts };
            assert!(!sent, "{name} {word}");
        }
        assert!(!read(user, &[("HOOKKEEPER_OTLP_ENDPOINT", "ftp://y")]).is_on());
        for bad in ["A=s3cret%0ab", "s3cret", "A=s3cret%zz", "A B=s3cret"] {
            let settings = read(user, &[("HOOKKEEPER_OTLP_HEADERS", bad)]);
            let why = settings.why_off().unwrap();
            assert!(why.starts_with("nothing is sent: HOOKKEEPER_OTLP_HEADERS: "), "{why}");
            assert!(!why.contains("s3cret"), "{why}");
        }
        let env = [("HOOKKEEPER_OTLP_ENDPOINT", "https://x")];
        for user in [
            r#"{"export": {"headers": {"A": "s3cret\nB: c"}}}"#,
            r#"{"export": {"headers": "A: s3cret"}}"#,
            r#"{"export": {"headers_command": 7}}"#,
            r#"{"export": {"ca": 7}}"#,
            r#"{"export": "s3cret"}"#,
            "{s3cret",
        ] {
            let why = read(user, &env).why_off().unwrap();
            assert!(why.starts_with("nothing is sent: ") && !why.contains("s3cret"), "{why}");
        }
        assert_eq!(read(r#"{"export": {"gzip": "much"}}"#, &env).why_off(), None);
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
            ("http://", "no host"),
            ("https:///", "no host"),
            ("https://u:s3cret@x", "password"),
            ("https://x/v1/logs", "/v1/logs"),
            ("https://x y", "no spaces"),
            ("https:///x", "no host"),
            ("https://x/?a=b", "behind the path"),
            ("http://[::1", "no host"),
            ("http://[::1]x:80", "no host"),
            ("http://[zz]:80", "no host"),
            ("http://[]", "no host"),
            ("https://exa%6d.example", "no host"),
            ("https://-x_", "no host"),
            ("https://a..b", "no host"),
            ("https://x:99999", "port"),
            ("https://x:0", "port"),
            ("https://x:", "port"),
            ("https://x:+80", "port"),
            ("https://::1", "no host"),
        ] {
            let why = Endpoint::parse(text).unwrap_err();
            assert!(why.contains(part) && !why.contains("s3cret"), "{text}: {why}");
        }
        for text in
            ["HTTP://localhost:4318/", "http://[::1]", "http://127.0.0.1:1/x", "http://[::1]:65535"]
        {
            assert!(Endpoint::parse(text).unwrap().is_loopback, "{text}");
        }
        assert!(Endpoint::parse("https://otel-1.my_host.example.:443/a%20b").is_ok());
        assert!(!Endpoint::parse("http://127.evil.example:4318").unwrap().is_loopback);
    }
}
