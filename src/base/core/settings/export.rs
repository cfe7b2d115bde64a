//! `export.*`: where what happens is sent, and what of it. It could lead data away and run a program,
//! so no project's file sets it.

use crate::core::settings::Texts;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExportFields {
    pub off: bool,
    pub endpoint: Option<String>,
    pub headers: Texts,
    pub headers_file: Option<String>,
    pub headers_command: Option<String>,
    pub resource: Texts,
    pub logs: bool,
    pub traces: bool,
    pub metrics: bool,
    pub prompts: bool,
    pub reports: bool,
    pub ca: Option<String>,
    pub gzip: &'static str,
    pub timeout_seconds: u64,
}

impl ExportFields {
    /// Before the table has filled it.
    pub const BLANK: Self = Self {
        off: false,
        endpoint: None,
        headers: Texts::new(),
        headers_file: None,
        headers_command: None,
        resource: Texts::new(),
        logs: false,
        traces: false,
        metrics: false,
        prompts: false,
        reports: false,
        ca: None,
        gzip: "",
        timeout_seconds: 0,
    };
}

/// Where requests go: `/v1/logs` and the like are put behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub url: String,
    pub is_https: bool,
    /// On this machine.
    pub is_loopback: bool,
}

const LONGEST_HEADER: usize = 8 << 10;

/// Checks a header. A line break would end it, and begin another one.
pub fn check_header(name: &str, value: &str) -> Result<(), String> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || name.len() > 200 || !name.chars().all(is_token) {
        return Err("a header has a name that is none: letters, digits and dashes".into());
    }
    if value.contains(['\r', '\n']) {
        return Err(format!("the header `{name}` has a line break in it"));
    }
    let is_value = |c: char| c == '\t' || (' '..='~').contains(&c);
    if value.len() > LONGEST_HEADER || !value.chars().all(is_value) {
        return Err(format!("the header `{name}` has characters in it that no header may have"));
    }
    let own = ["content-type", "content-length", "content-encoding", "host", "transfer-encoding"];
    if own.iter().any(|own| name.eq_ignore_ascii_case(own)) {
        return Err(format!("the header `{name}` is not yours to set"));
    }
    Ok(())
}

pub fn check_endpoint(text: &str) -> Result<(), String> {
    Endpoint::parse(text).map(|_| ())
}

impl Endpoint {
    pub fn parse(text: &str) -> Result<Self, String> {
        let (scheme, rest) = text.trim().split_once("://").unwrap_or_default();
        let (is_https, rest) = match scheme.to_ascii_lowercase().as_str() {
            "https" => (true, rest.trim_end_matches('/')),
            "http" => (false, rest.trim_end_matches('/')),
            _ => return Err("it must begin with http:// or https://".into()),
        };
        let url = format!("{}://{rest}", scheme.to_ascii_lowercase());
        if url.chars().any(|c| c.is_whitespace() || c.is_control() || !c.is_ascii()) {
            return Err("an address has no spaces, line breaks or letters beyond ASCII".into());
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err("a password belongs into the headers, not into the address".into());
        }
        if rest.contains(['?', '#']) {
            return Err("nothing may stand behind the path of the address".into());
        }
        if ["/v1/logs", "/v1/traces", "/v1/metrics"].iter().any(|end| url.ends_with(end)) {
            return Err("without /v1/logs and the like: these are put behind it".into());
        }
        let (host, port) = split_authority(authority);
        if !is_host(host, authority.starts_with('[')) {
            return Err("it names no host that can be: letters, digits, dots and dashes".into());
        }
        let is_port = |port: &str| {
            port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|n| n > 0)
        };
        if port.is_some_and(|port| !is_port(port)) {
            return Err("its port is no number from 1 to 65535".into());
        }
        let is_loopback = host == "localhost"
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
        Ok(Self { url, is_https, is_loopback })
    }
}

/// Host and port; the host is empty where a bracket is open.
fn split_authority(authority: &str) -> (&str, Option<&str>) {
    match authority.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, "")) => (host, None),
            Some((host, rest)) => match rest.strip_prefix(':') {
                Some(port) => (host, Some(port)),
                None => ("", None),
            },
            None => ("", None),
        },
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    }
}

/// A name or an address as it is, not one that somebody else might read otherwise.
fn is_host(host: &str, in_brackets: bool) -> bool {
    let is_label = |label: &str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        !label.is_empty() && !label.starts_with('-') && label.bytes().all(plain)
    };
    match in_brackets {
        true => host.parse::<std::net::Ipv6Addr>().is_ok(),
        false => host.strip_suffix('.').unwrap_or(host).split('.').all(is_label),
    }
}
