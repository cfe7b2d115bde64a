//! The parts of OTLP that are sent, as its JSON form has them: ids in hexadecimal, 64-bit numbers as
//! texts, names in lowerCamelCase.

use std::borrow::Cow;

use serde::ser::{SerializeMap as _, Serializer};
use serde::{Deserialize, Serialize};

use crate::core::time::{self, Time};
use crate::export::names;

/// What kind of data a request has, and where it goes below the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    Logs,
    Traces,
    Metrics,
}

impl Signal {
    pub const ALL: [Self; 3] = [Self::Logs, Self::Traces, Self::Metrics];

    pub fn name(self) -> &'static str {
        match self {
            Self::Logs => "logs",
            Self::Traces => "traces",
            Self::Metrics => "metrics",
        }
    }

    /// What a collector calls the records that it did not take.
    pub fn rejected_field(self) -> &'static str {
        match self {
            Self::Logs => "rejectedLogRecords",
            Self::Traces => "rejectedSpans",
            Self::Metrics => "rejectedDataPoints",
        }
    }

    fn fields(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Logs => ("resourceLogs", "scopeLogs", "logRecords"),
            Self::Traces => ("resourceSpans", "scopeSpans", "spans"),
            Self::Metrics => ("resourceMetrics", "scopeMetrics", "metrics"),
        }
    }
}

/// The value of an attribute, or a body.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(String),
    Number(u64),
    Float(f64),
    Flag(bool),
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match self {
            Self::Text(text) => map.serialize_entry("stringValue", text)?,
            Self::Number(number) => map.serialize_entry("intValue", &number.to_string())?,
            Self::Float(number) => map.serialize_entry("doubleValue", number)?,
            Self::Flag(flag) => map.serialize_entry("boolValue", flag)?,
        }
        map.end()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attribute {
    pub key: Cow<'static, str>,
    pub value: Value,
}

/// Attributes; what is empty is not one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Attributes(pub Vec<Attribute>);

impl Attributes {
    pub fn text(&mut self, key: impl Into<Cow<'static, str>>, text: impl AsRef<str>) {
        let text = text.as_ref();
        if !text.is_empty() {
            self.put(key, Value::Text(text.to_owned()));
        }
    }

    pub fn optional(&mut self, key: &'static str, text: Option<&String>) {
        if let Some(text) = text {
            self.text(key, text);
        }
    }

    pub fn number(&mut self, key: &'static str, number: impl Into<Option<u64>>) {
        if let Some(number) = number.into() {
            self.put(key, Value::Number(number));
        }
    }

    pub fn float(&mut self, key: &'static str, number: impl Into<Option<f64>>) {
        if let Some(number) = number.into().filter(|number| number.is_finite()) {
            self.put(key, Value::Float(number));
        }
    }

    pub fn flag(&mut self, key: &'static str, flag: bool) {
        if flag {
            self.put(key, Value::Flag(true));
        }
    }

    fn put(&mut self, key: impl Into<Cow<'static, str>>, value: Value) {
        self.0.push(Attribute { key: key.into(), value });
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogRecord {
    pub time_unix_nano: String,
    pub observed_time_unix_nano: String,
    pub severity_number: u8,
    pub severity_text: &'static str,
    pub event_name: String,
    pub body: Value,
    pub attributes: Attributes,
    pub trace_id: String,
    pub span_id: String,
}

/// What a program does for itself.
pub const INTERNAL: u8 = 1;
pub const FAILED: u8 = 2;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Span {
    pub trace_id: String,
    pub span_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub parent_span_id: String,
    pub name: String,
    pub kind: u8,
    pub start_time_unix_nano: String,
    pub end_time_unix_nano: String,
    pub attributes: Attributes,
    pub status: Status,
}

impl Span {
    pub fn is_of_kind(&self, kind: &str) -> bool {
        let value = self.attributes.0.iter().find(|one| one.key == names::KIND);
        value.is_some_and(|one| matches!(&one.value, Value::Text(text) if text == kind))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Status {
    pub code: u8,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metric {
    pub name: &'static str,
    pub description: &'static str,
    pub unit: &'static str,
    #[serde(flatten)]
    pub data: Data,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Data {
    #[serde(rename_all = "camelCase")]
    Sum { data_points: Vec<Point>, aggregation_temporality: u8, is_monotonic: bool },
    #[serde(rename_all = "camelCase")]
    Gauge { data_points: Vec<Point> },
    #[serde(rename_all = "camelCase")]
    Histogram { data_points: Vec<HistogramPoint>, aggregation_temporality: u8 },
}

/// Values count since `start_time_unix_nano`, not since the last time that they were sent: sending
/// one twice is harmless.
pub const CUMULATIVE: u8 = 2;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Point {
    pub attributes: Attributes,
    pub start_time_unix_nano: String,
    pub time_unix_nano: String,
    pub as_double: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HistogramPoint {
    pub attributes: Attributes,
    pub start_time_unix_nano: String,
    pub time_unix_nano: String,
    pub count: String,
    pub sum: f64,
    pub bucket_counts: Vec<String>,
    pub explicit_bounds: Vec<f64>,
}

/// A request: records of one kind, of one project on one machine.
pub struct Request<'a, T> {
    pub signal: Signal,
    pub resource: &'a Attributes,
    pub records: &'a [T],
}

impl<T: Serialize> Request<'_, T> {
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

impl<T: Serialize> Serialize for Request<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (resources, scopes, records) = self.signal.fields();
        let scope = Scope { name: "hookkeeper", version: env!("CARGO_PKG_VERSION") };
        let of_scope = Pair(("scope", &scope), (records, self.records));
        let resource = Pair(("attributes", self.resource), ("droppedAttributesCount", 0));
        let of_resource = Pair(("resource", &resource), (scopes, [of_scope]));
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(resources, &[of_resource])?;
        map.end()
    }
}

#[derive(Serialize)]
struct Scope {
    name: &'static str,
    version: &'static str,
}

/// An object with two fields whose names are known late.
struct Pair<A, B>((&'static str, A), (&'static str, B));

impl<A: Serialize, B: Serialize> Serialize for Pair<A, B> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry(self.0.0, &self.0.1)?;
        map.serialize_entry(self.1.0, &self.1.1)?;
        map.end()
    }
}

/// Nanoseconds since 1970, as a text; what is no time is 0.
pub fn nanos(time: Time) -> String {
    time.timestamp_nanos_opt().unwrap_or(0).max(0).to_string()
}

/// Nanoseconds since 1970 of a spelled time, as a text; what is no time is 0.
pub fn spelled_nanos(text: &str) -> String {
    time::parse(text).map_or_else(|| "0".to_owned(), nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_form_of_otlp_json() {
        let mut resource = Attributes::default();
        resource.text("service.name", "hookkeeper");
        let mut attributes = Attributes::default();
        attributes.number("n", 7);
        attributes.float("f", 0.5);
        attributes.float("none", f64::NAN);
        attributes.flag("yes", true);
        attributes.flag("no", false);
        attributes.text("empty", "");
        let time = time::parse("2026-01-29T10:30:00.001Z").unwrap();
        let span = Span {
            trace_id: "aa".into(),
            span_id: "bb".into(),
            parent_span_id: String::new(),
            name: "session".into(),
            kind: INTERNAL,
            start_time_unix_nano: nanos(time),
            end_time_unix_nano: nanos(time),
            attributes,
            status: Status::default(),
        };
        let request = Request { signal: Signal::Traces, resource: &resource, records: &[span] };
        let sent: serde_json::Value = serde_json::from_slice(&request.to_bytes()).unwrap();
        let of_scope = &sent["resourceSpans"][0]["scopeSpans"][0];
        assert_eq!(of_scope["scope"]["name"], "hookkeeper");
        let span = &of_scope["spans"][0];
        assert_eq!(span["startTimeUnixNano"], "1769682600001000000");
        assert_eq!(
            span["attributes"],
            serde_json::json!([
                {"key": "n", "value": {"intValue": "7"}},
                {"key": "f", "value": {"doubleValue": 0.5}},
                {"key": "yes", "value": {"boolValue": true}},
            ])
        );
        assert!(span.get("parentSpanId").is_none());
        assert_eq!(
            sent["resourceSpans"][0]["resource"]["attributes"][0]["value"]["stringValue"],
            "hookkeeper"
        );
    }
}
