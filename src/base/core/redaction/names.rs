//! Names whose values are secret.

/// How much a name says of its value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// Chosen by people: any text may be one.
    Password,
    /// Made by machines: without blanks.
    Token,
    /// May be something else: only a value that looks random is a secret.
    Weak,
}

use Kind::{Password, Token, Weak};

struct Ending {
    text: &'static str,
    kind: Kind,
    /// Whether it counts at the end of a longer word (`dbpassword`).
    inside: bool,
}

const fn ending(text: &'static str, kind: Kind) -> Ending {
    Ending { text, kind, inside: false }
}

const fn inside(text: &'static str, kind: Kind) -> Ending {
    Ending { text, kind, inside: true }
}

/// What names end with. `_` stands for `-` and `.` too, and for none.
const ENDINGS: [Ending; 62] = [
    inside("password", Password),
    inside("passwd", Password),
    inside("passphrase", Password),
    inside("passcode", Password),
    inside("passwort", Password),
    inside("kennwort", Password),
    inside("contrasena", Password),
    ending("pwd", Password),
    ending("pass", Password),
    ending("sshpass", Password),
    inside("storepass", Password),
    inside("keypass", Password),
    ending("passw", Password),
    ending("psw", Password),
    ending("pw", Weak),
    ending("password_hash", Token),
    inside("secret", Token),
    ending("secrets", Weak),
    inside("token", Token),
    ending("tok", Weak),
    inside("apikey", Token),
    ending("api_key", Token),
    ending("app_key", Token),
    ending("access_key", Token),
    ending("accesskey", Token),
    ending("access_key_id", Token),
    ending("secret_key", Token),
    ending("secretkey", Token),
    ending("private_key", Token),
    ending("privatekey", Token),
    ending("auth_key", Token),
    ending("account_key", Token),
    ending("accountkey", Token),
    ending("credential", Token),
    ending("credentials", Token),
    ending("creds", Token),
    ending("session_key", Token),
    ending("encryption_key", Token),
    ending("signing_key", Token),
    ending("signing_secret", Token),
    ending("shared_key", Token),
    ending("master_key", Token),
    ending("deploy_key", Token),
    ending("license_key", Token),
    ending("service_key", Token),
    ending("secret_key_base", Token),
    ending("key_base", Token),
    ending("connection_string", Weak),
    ending("key", Weak),
    ending("keys", Weak),
    ending("auth", Weak),
    ending("salt", Weak),
    ending("pepper", Weak),
    ending("sig", Weak),
    ending("signature", Weak),
    ending("jwt", Weak),
    ending("bearer", Weak),
    ending("pat", Weak),
    ending("otp", Weak),
    ending("seed", Weak),
    ending("client_id", Weak),
    ending("webhook", Weak),
];

/// Services whose keys have no shape of their own: a random value beside such a name is one.
/// Sorted.
const SERVICES: [&str; 96] = [
    "adafruit",
    "adobe",
    "airbrake",
    "airtable",
    "algolia",
    "alibaba",
    "amplitude",
    "appcues",
    "artifactory",
    "asana",
    "atlassian",
    "auth0",
    "beamer",
    "bitbucket",
    "bitly",
    "bittrex",
    "bugsnag",
    "calendly",
    "circleci",
    "clearbit",
    "clickup",
    "cloudflare",
    "cloudinary",
    "codacy",
    "codecov",
    "cohere",
    "coinbase",
    "confluence",
    "confluent",
    "contentful",
    "coveralls",
    "datadog",
    "deepgram",
    "discord",
    "droneci",
    "dropbox",
    "elevenlabs",
    "etsy",
    "facebook",
    "fastly",
    "finicity",
    "finnhub",
    "flickr",
    "freshbooks",
    "freshdesk",
    "giphy",
    "gitter",
    "gocardless",
    "heroku",
    "honeycomb",
    "hubspot",
    "infura",
    "intercom",
    "ipstack",
    "jfrog",
    "jira",
    "kraken",
    "kucoin",
    "launchdarkly",
    "linkedin",
    "looker",
    "mailchimp",
    "mailgun",
    "mailjet",
    "mandrill",
    "mapbox",
    "mattermost",
    "meraki",
    "messagebird",
    "mixpanel",
    "netlify",
    "newrelic",
    "nytimes",
    "okta",
    "opsgenie",
    "pagerduty",
    "paypal",
    "plaid",
    "plivo",
    "pusher",
    "rapidapi",
    "rollbar",
    "segment",
    "sendbird",
    "sentry",
    "snyk",
    "sonar",
    "squarespace",
    "sumologic",
    "telegram",
    "travis",
    "trello",
    "twilio",
    "twitch",
    "twitter",
    "zendesk",
];

/// Longer names say nothing more at their end.
pub const LONGEST: usize = 64;

/// `DB_PASSWORD`, `api-key`, `accessToken`.
pub fn kind(name: &[u8]) -> Option<Kind> {
    let cut = name.len().saturating_sub(LONGEST);
    let name = name.get(cut..).unwrap_or(name);
    let name = name.trim_ascii_end();
    let last = name.last()?.to_ascii_lowercase();
    if !b"bdegknprstwyzlah".contains(&last) {
        return None;
    }
    ENDINGS
        .iter()
        .filter(|ending| ending.text.as_bytes().last() == Some(&last))
        .find_map(|ending| ends(name, ending).then_some(ending.kind))
}

fn ends(name: &[u8], ending: &Ending) -> bool {
    let mut at = name.len();
    for wanted in ending.text.bytes().rev() {
        let here = at.checked_sub(1).and_then(|at| name.get(at)).copied().unwrap_or(0);
        match wanted {
            b'_' if !matches!(here, b'_' | b'-' | b'.') => {
                // `apiKey` has its separator in the capital letter.
                if !name.get(at).is_some_and(u8::is_ascii_uppercase) {
                    return false;
                }
            }
            b'_' => at -= 1,
            _ if here.to_ascii_lowercase() == wanted => at -= 1,
            _ => return false,
        }
    }
    let before = at.checked_sub(1).and_then(|at| name.get(at));
    let capital = name.get(at).is_some_and(u8::is_ascii_uppercase);
    match before {
        None => true,
        Some(b) if !b.is_ascii_alphanumeric() => true,
        Some(b) if b.is_ascii_digit() => true,
        Some(b) if b.is_ascii_lowercase() && capital => true,
        Some(_) => ending.inside,
    }
}

pub fn names_service(name: &[u8]) -> bool {
    let plain: Vec<u8> = name
        .iter()
        .take(LONGEST)
        .filter(|b| b.is_ascii_alphanumeric())
        .map(u8::to_ascii_lowercase)
        .collect();
    let first = |service: &str| service.bytes().next().unwrap_or_default();
    (0..plain.len()).any(|at| {
        let rest = plain.get(at..).unwrap_or_default();
        let letter = rest.first().copied().unwrap_or_default();
        let start = SERVICES.partition_point(|service| first(service) < letter);
        let services = SERVICES.get(start..).unwrap_or_default().iter();
        let mut services = services.take_while(|service| first(service) == letter);
        services.any(|service| rest.starts_with(service.as_bytes()))
    })
}

/// Headers that carry credentials.
const HEADERS: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "set-cookie"];

pub fn is_header(name: &[u8]) -> bool {
    HEADERS.iter().any(|header| header.as_bytes().eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_how_secret_their_values_are() {
        for (name, wanted) in [
            ("DB_PASSWORD", Some(Password)),
            ("dbpassword", Some(Password)),
            ("MYSQL_PASS", Some(Password)),
            ("compass", None),
            ("api-key", Some(Token)),
            ("apiKey", Some(Token)),
            ("X-Api-Key", Some(Token)),
            ("SECRET_KEY_BASE", Some(Token)),
            ("accessToken", Some(Token)),
            ("STRIPE_KEY", Some(Weak)),
            ("monkey", None),
            ("tokens", None),
            ("tokenizer", None),
            ("author", None),
        ] {
            assert_eq!(kind(name.as_bytes()), wanted, "{name}");
        }
        assert!(SERVICES.is_sorted());
        assert!(names_service(b"NEW_RELIC_ID") && !names_service(b"license"));
    }
}
