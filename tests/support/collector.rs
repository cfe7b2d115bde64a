//! A small collector on loopback: it takes requests as a real one would, keeps what came, and answers
//! as it is told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// One request, as it came.
#[derive(Clone, Debug)]
pub struct Request {
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"));
        assert_eq!(self.header("content-encoding"), None);
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// What it says to a request: the status, further headers, a body.
pub type Answer = (u16, &'static str, String);

type Rule = dyn Fn(&Request) -> Answer + Send + Sync;

pub struct Collector {
    pub endpoint: String,
    requests: Arc<Mutex<Vec<Request>>>,
    rule: Arc<Mutex<Box<Rule>>>,
    is_over: Arc<AtomicBool>,
}

impl Collector {
    pub fn new() -> Self {
        Self::answering(|_| (200, "", "{}".into()))
    }

    pub fn answering(rule: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let rule: Arc<Mutex<Box<Rule>>> = Arc::new(Mutex::new(Box::new(rule)));
        let is_over = Arc::new(AtomicBool::new(false));
        let collector = Self { endpoint, requests, rule, is_over };
        let (requests, rule) = (Arc::clone(&collector.requests), Arc::clone(&collector.rule));
        let is_over = Arc::clone(&collector.is_over);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let (requests, rule) = (Arc::clone(&requests), Arc::clone(&rule));
                let Ok(stream) = stream else { continue };
                thread::spawn(move || serve(stream, &requests, &rule));
            }
        });
        collector
    }

    pub fn answer(&self, rule: impl Fn(&Request) -> Answer + Send + Sync + 'static) {
        *self.rule.lock().unwrap() = Box::new(rule);
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    pub fn forget(&self) {
        self.requests.lock().unwrap().clear();
    }

    fn records(&self, path: &str, fields: [&str; 3]) -> Vec<Value> {
        let mut all = Vec::new();
        for request in self.requests().iter().filter(|request| request.path == path) {
            let body = request.json();
            for of_resource in body[fields[0]].as_array().unwrap() {
                for of_scope in of_resource[fields[1]].as_array().unwrap() {
                    all.extend(of_scope[fields[2]].as_array().unwrap().iter().cloned());
                }
            }
        }
        all
    }

    pub fn logs(&self) -> Vec<Value> {
        self.records("/v1/logs", ["resourceLogs", "scopeLogs", "logRecords"])
    }

    pub fn spans(&self) -> Vec<Value> {
        self.records("/v1/traces", ["resourceSpans", "scopeSpans", "spans"])
    }

    pub fn metrics(&self) -> Vec<Value> {
        self.records("/v1/metrics", ["resourceMetrics", "scopeMetrics", "metrics"])
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.endpoint.trim_start_matches("http://"));
    }
}

fn serve(stream: TcpStream, requests: &Mutex<Vec<Request>>, rule: &Mutex<Box<Rule>>) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
    let mut writer = stream.try_clone().unwrap();
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        requests.lock().unwrap().push(request.clone());
        let (status, headers, body) = rule.lock().unwrap()(&request);
        let answer = match status {
            0 => body,
            _ => format!(
                "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{body}",
                body.len()
            ),
        };
        if writer.write_all(answer.as_bytes()).is_err() || status == 0 {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|n| *n > 0)?;
    let path = first.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let request = Request { path, headers, body: Vec::new() };
    let length = request.header("content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { body, ..request })
}

/// An attribute of a record.
pub fn attribute<'a>(record: &'a Value, key: &str) -> Option<&'a Value> {
    let all = record["attributes"].as_array()?;
    let found = all.iter().find(|attribute| attribute["key"] == key)?;
    found["value"].as_object()?.values().next()
}
