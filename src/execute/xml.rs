//! As much XML as task files need: elements, attributes, text, CDATA, comments, the five named
//! entities and numbered ones. A document type is refused, so nothing can be expanded or fetched.
//! What is wrong is said with its line and column.

use std::fmt;

/// An element: its own texts are in `content` in their order, between its children.
#[derive(Debug, Default, PartialEq)]
pub struct Element {
    pub name: String,
    pub attributes: Vec<(String, String)>,
    pub content: Vec<Content>,
}

#[derive(Debug, PartialEq)]
pub enum Content {
    Text(String),
    Element(Element),
}

#[derive(Debug, PartialEq)]
pub struct Malformed {
    pub line: usize,
    pub column: usize,
    pub why: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.why)
    }
}

/// Elements in elements: enough for any task, and no stack is exhausted.
const DEEPEST: usize = 100;

pub fn parse(text: &str) -> Result<Element, Malformed> {
    let mut reader = Reader { text, at: 0 };
    reader.skip("\u{feff}");
    reader.between()?;
    if !reader.skip("<") {
        return Err(reader.wrong("an element must begin here"));
    }
    let root = reader.element(0)?;
    reader.between()?;
    match reader.rest().is_empty() {
        true => Ok(root),
        false => Err(reader.wrong("nothing may follow the root element")),
    }
}

impl Element {
    pub fn children<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.elements().filter(move |element| element.name == name)
    }

    pub fn elements(&self) -> impl Iterator<Item = &Element> {
        self.content.iter().filter_map(|content| match content {
            Content::Element(element) => Some(element),
            Content::Text(_) => None,
        })
    }

    pub fn child(&self, name: &str) -> Option<&Element> {
        self.elements().find(|element| element.name == name)
    }

    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str())
    }

    /// All text in it, at any depth, trimmed.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.gather(&mut text);
        text.trim().to_owned()
    }

    fn gather(&self, to: &mut String) {
        for content in &self.content {
            match content {
                Content::Text(text) => to.push_str(text),
                Content::Element(element) => element.gather(to),
            }
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self, word: &str) -> bool {
        let there = self.rest().starts_with(word);
        if there {
            self.at += word.len();
        }
        there
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// What is wrong here.
    fn wrong(&self, why: impl Into<String>) -> Malformed {
        self.wrong_at(self.at, why)
    }

    fn wrong_at(&self, at: usize, why: impl Into<String>) -> Malformed {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Malformed { line, column, why: why.into() }
    }

    /// Up to a mark, which is skipped.
    fn until(&mut self, mark: &str, what: &str) -> Result<&'a str, Malformed> {
        let begin = self.at;
        match self.rest().split_once(mark) {
            Some((inside, _)) => {
                self.at += inside.len() + mark.len();
                Ok(inside)
            }
            None => Err(self.wrong_at(begin, format!("{what} is not closed"))),
        }
    }

    /// Blanks, comments and instructions around the root element.
    fn between(&mut self) -> Result<(), Malformed> {
        loop {
            self.blanks();
            if self.skip("<!--") {
                self.until("-->", "this comment")?;
            } else if self.skip("<?") {
                self.until("?>", "this instruction")?;
            } else if self.rest().starts_with("<!") {
                return Err(self.wrong("a document type is not allowed in a task file"));
            } else {
                return Ok(());
            }
        }
    }

    fn name(&mut self) -> Result<String, Malformed> {
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
        let name: String = self.rest().chars().take_while(|c| plain(*c)).collect();
        let begins = name.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
        if !begins {
            return Err(self.wrong("a name must begin here; a plain `<` is written &lt;"));
        }
        self.at += name.len();
        Ok(name)
    }

    /// An element whose `<` was read.
    fn element(&mut self, depth: usize) -> Result<Element, Malformed> {
        let begin = self.at.saturating_sub(1);
        if depth > DEEPEST {
            return Err(self.wrong("the elements are too deep in each other"));
        }
        let mut element = Element { name: self.name()?, ..Element::default() };
        loop {
            let before = self.at;
            self.blanks();
            if self.skip("/>") {
                return Ok(element);
            }
            if self.skip(">") {
                break;
            }
            if before == self.at {
                return Err(self.wrong(format!("<{}> is not closed with `>`", element.name)));
            }
            let attribute = self.attribute(&element.name)?;
            element.attributes.push(attribute);
        }
        loop {
            let rest = self.rest();
            let text = rest.split('<').next().unwrap_or_default();
            if !text.is_empty() {
                let decoded = self.decoded(text)?;
                element.content.push(Content::Text(decoded));
                self.at += text.len();
            }
            if self.skip("</") {
                let at = self.at - 2;
                let name = self.name()?;
                self.blanks();
                if name != element.name {
                    let why = format!("</{name}> closes nothing: <{}> is open", element.name);
                    return Err(self.wrong_at(at, why));
                }
                return match self.skip(">") {
                    true => Ok(element),
                    false => Err(self.wrong(format!("</{name}> is not closed with `>`"))),
                };
            } else if self.skip("<!--") {
                self.until("-->", "this comment")?;
            } else if self.skip("<![CDATA[") {
                let text = self.until("]]>", "this CDATA section")?;
                element.content.push(Content::Text(text.to_owned()));
            } else if self.skip("<?") {
                self.until("?>", "this instruction")?;
            } else if self.skip("<") {
                element.content.push(Content::Element(self.element(depth + 1)?));
            } else {
                return Err(self.wrong_at(begin, format!("<{}> is not closed", element.name)));
            }
        }
    }

    fn attribute(&mut self, element: &str) -> Result<(String, String), Malformed> {
        let name = self.name()?;
        self.blanks();
        if !self.skip("=") {
            return Err(self.wrong(format!("the attribute {name} of <{element}> has no value")));
        }
        self.blanks();
        let quote = match self.rest().chars().next() {
            Some('"') => "\"",
            Some('\'') => "'",
            _ => return Err(self.wrong(format!("the value of {name} must be in quotes"))),
        };
        self.skip(quote);
        let at = self.at;
        let value = self.until(quote, &format!("the value of {name}"))?;
        let here = Reader { text: self.text, at };
        Ok((name, here.decoded(value)?))
    }

    /// A text from here on, its entities replaced.
    fn decoded(&self, text: &str) -> Result<String, Malformed> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('&') {
            out.push_str(before);
            let at = self.at + (text.len() - after.len()) - 1;
            let unknown = || self.wrong_at(at, "a plain `&` is written &amp;");
            let (name, following) = after.split_once(';').ok_or_else(unknown)?;
            out.push(entity(name).ok_or_else(unknown)?);
            rest = following;
        }
        out.push_str(rest);
        Ok(out)
    }
}

fn entity(name: &str) -> Option<char> {
    let number = |digits: &str, radix| u32::from_str_radix(digits, radix).ok();
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        other => {
            let digits = other.strip_prefix('#')?;
            let code = match digits.strip_prefix('x') {
                Some(digits) => number(digits, 16),
                None => number(digits, 10),
            };
            char::from_u32(code?).filter(|c| *c != '\0')
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_task_files_have() {
        let text = "\u{feff}<?xml version=\"1.0\"?>\n<!-- a task -->\n<task kind='x &lt; y'>\n <a>1 &amp; &#50;<b/>3</a><![CDATA[<raw> & ]]>\n</task>\n";
        let task = parse(text).unwrap();
        assert_eq!(task.attribute("kind"), Some("x < y"));
        assert_eq!(task.child("a").unwrap().text(), "1 & 23");
        assert_eq!(task.text(), "1 & 23<raw> &");
    }

    #[test]
    fn says_where_it_is_wrong() {
        for (text, at) in [
            ("", "line 1, column 1: an element must begin here"),
            ("<a>\n  <b>x</c>\n</a>", "line 2, column 7: </c> closes nothing: <b> is open"),
            ("<a>\n <b>", "line 2, column 2: <b> is not closed"),
            ("<a>x && y</a>", "line 1, column 6: a plain `&` is written &amp;"),
            ("<a>1 < 2</a>", "line 1, column 7: a name must begin here"),
            ("<a b=c/>", "line 1, column 6: the value of b must be in quotes"),
            ("<a b/>", "line 1, column 5: the attribute b of <a> has no value"),
            ("<a/><b/>", "line 1, column 5: nothing may follow the root element"),
            ("<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>", "line 1, column 1: a document type"),
            ("<é><!-- </é>", "line 1, column 8: this comment is not closed"),
        ] {
            let wrong = parse(text).unwrap_err().to_string();
            assert!(wrong.starts_with(at), "{text}: {wrong}");
        }
    }

    #[test]
    fn no_input_makes_it_panic_or_hang() {
        assert!(parse(&"<a>".repeat(100_000)).is_err());
        let text = "<task a=\"1\"><b>x &lt; <![CDATA[é]]></b><!-- c --></task>";
        for (end, _) in text.char_indices() {
            assert!(parse(text.get(..end).unwrap()).is_err(), "{end}");
        }
        for (at, _) in text.char_indices() {
            for byte in ["<", ">", "&", "\"", "\0", "é"] {
                let mut changed = text.to_owned();
                changed.insert_str(at, byte);
                let _ = parse(&changed);
            }
        }
    }
}
