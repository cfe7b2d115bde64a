//! OTLP over HTTP: JSON, with gzip where there is a network in between. The one place of the program
//! that knows a network.
//!
//! JSON, not protobuf: a record costs 3.5 µs of CPU, gzip makes it 12 times smaller, and a
//! generated protobuf would bring prost and a build step. ureq, rustls with ring, the system's
//! certificates (rustls-native-certs) and flate2 are 21 crates on Linux.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use ureq::Agent;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};

use crate::core::gate::one_line;
use crate::core::settings::export::Endpoint;
use crate::core::text::clip;
use crate::export::answer::Answer;
use crate::export::flush::Transport;
use crate::export::headers::Headers;
use crate::export::otlp::Signal;
use crate::export::settings::{ExportSettings, Gzip};
use crate::process::files;

/// An answer that is longer says nothing more.
const LONGEST_ANSWER: u64 = 64 << 10;
/// Smaller requests are sent as they are.
const WORTH_PACKING: usize = 2 << 10;
const CONNECT: Duration = Duration::from_secs(5);
const LARGEST_CA: u64 = 4 << 20;

pub struct Http {
    agent: Agent,
    endpoint: Endpoint,
    headers: Headers,
    packs: bool,
    /// Bytes as they went out.
    pub sent: u64,
}

impl Http {
    pub fn new(
        settings: &ExportSettings,
        endpoint: &Endpoint,
        headers: Headers,
        ca: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            // Where it leads is not where the user wanted it to go.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_global(Some(Duration::from_secs(settings.timeout_seconds)))
            .timeout_connect(Some(CONNECT.min(Duration::from_secs(settings.timeout_seconds))))
            .user_agent(concat!("hookkeeper/", env!("CARGO_PKG_VERSION")));
        if endpoint.is_loopback {
            config = config.proxy(None);
        }
        if endpoint.is_https {
            config = config.tls_config(tls(ca)?);
        }
        let packs = match settings.gzip {
            Gzip::Auto => !endpoint.is_loopback,
            Gzip::On => true,
            Gzip::Off => false,
        };
        let agent = config.build().new_agent();
        Ok(Self { agent, endpoint: endpoint.clone(), headers, packs, sent: 0 })
    }

    fn post_as(&mut self, signal: Signal, body: &[u8], packed: bool) -> Answer {
        let url = format!("{}/v1/{}", self.endpoint.url, signal.name());
        let mut request = self.agent.post(&url).header("Content-Type", "application/json");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        if packed {
            request = request.header("Content-Encoding", "gzip");
        }
        self.sent += body.len() as u64;
        let mut response = match request.send(body) {
            Ok(response) => response,
            Err(error) => return Answer::None(in_words(&error.to_string())),
        };
        let retry_after = response.headers().get("retry-after");
        let retry_after = retry_after.and_then(|value| value.to_str().ok()).map(str::to_owned);
        let status = response.status().as_u16();
        let is_good = response.status().is_success();
        let body = response.body_mut().with_config().limit(LONGEST_ANSWER).read_to_vec();
        match body {
            Ok(body) => Answer::Http { status, retry_after, body },
            // Nobody knows whether it is the answer of who takes records.
            Err(error) if is_good => {
                let why = in_words(&error.to_string());
                Answer::None(format!("it answers {status}, and the rest cannot be read ({why})"))
            }
            // A refusal is one, whatever else it says.
            Err(_) => Answer::Http { status, retry_after, body: Vec::new() },
        }
    }
}

impl Transport for Http {
    fn post(&mut self, signal: Signal, body: &[u8]) -> Answer {
        let packed = (self.packs && body.len() >= WORTH_PACKING).then(|| pack(body)).flatten();
        let Some(packed) = packed else { return self.post_as(signal, body, false) };
        match self.post_as(signal, &packed, true) {
            // It does not read gzip: from now on without.
            Answer::Http { status: 415, .. } => {
                self.packs = false;
                self.post_as(signal, body, false)
            }
            answer => answer,
        }
    }
}

/// What went wrong, with what to do where that is not clear.
fn in_words(error: &str) -> String {
    let hint = if error.contains("CaUsedAsEndEntity") {
        ": the endpoint shows a CA's certificate; make one with basicConstraints CA:FALSE, and name it in export.ca"
    } else if error.contains("UnknownIssuer") {
        ": nobody here knows who signed it; export.ca can name the certificate"
    } else {
        ""
    };
    format!("{}{hint}", clip(&one_line(error), 300))
}

fn pack(body: &[u8]) -> Option<Vec<u8>> {
    let mut packer = GzEncoder::new(Vec::with_capacity(body.len() / 8), Compression::fast());
    packer.write_all(body).ok()?;
    packer.finish().ok()
}

/// Verified by the system's certificates, or by those in a file of the user's.
fn tls(ca: Option<&Path>) -> anyhow::Result<TlsConfig> {
    let certificates = match ca {
        Some(path) => from_file(path).with_context(|| format!("export.ca: {}", path.display()))?,
        None => {
            let found = rustls_native_certs::load_native_certs();
            let certificates: Vec<Certificate> =
                found.certs.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
            ensure!(
                !certificates.is_empty(),
                "this system has no certificates to verify an https endpoint with; export.ca can name some"
            );
            certificates
        }
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(provider)
        .root_certs(RootCerts::new_with_certs(&certificates))
        .build())
}

fn from_file(path: &Path) -> anyhow::Result<Vec<Certificate<'static>>> {
    let Some(pem) = files::head(path, LARGEST_CA) else { bail!("it cannot be read") };
    let mut certificates = Vec::new();
    for item in parse_pem(&pem) {
        if let PemItem::Certificate(certificate) = item.context("it is no PEM file")? {
            certificates.push(certificate);
        }
    }
    ensure!(!certificates.is_empty(), "there is no certificate in it");
    Ok(certificates)
}
