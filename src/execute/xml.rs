//! Task files as XML, read with roxmltree, which keeps places for errors: what may not be in one,
//! and where a broken one is broken. A document type is refused, so nothing can be expanded or
//! fetched; depth and number of nodes are limited.

use roxmltree::{Document, Error, Node, ParsingOptions, TextPos};

/// Elements in elements, and all nodes of a file: enough for any task.
const MAX_DEPTH: usize = 100;
const MAX_NODES: u32 = 1_000_000;

/// Reads a document; what is wrong with it is said with line and column.
pub fn parse(text: &str) -> Result<Document<'_>, String> {
    let options = ParsingOptions { nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let (at, why) = explain(text, &error);
        with_position(at, &why)
    })?;
    let refuse =
        |node: Node, why: &str| Err(with_position(document.text_pos_at(node.range().start), why));
    // The parser puts this character in the place of one that does not exist.
    let replaced = |part: &str| part.contains('\u{fffd}') && !text.contains('\u{fffd}');
    for node in document.descendants() {
        // The root, the elements around this one, and itself.
        if node.is_element() && node.ancestors().take(MAX_DEPTH + 3).count() > MAX_DEPTH + 2 {
            return refuse(node, "the elements are too deep in each other");
        }
        if node.text().is_some_and(replaced) || node.attributes().any(|a| replaced(a.value())) {
            return refuse(node, "a numbered entity in it is no character");
        }
    }
    Ok(document)
}

/// A reason with its place.
pub fn with_position(at: TextPos, why: &str) -> String {
    format!("line {}, column {}: {why}", at.row, at.col)
}

/// All text in a node, at any depth, trimmed.
pub fn text_content(node: Node) -> String {
    let texts = node.descendants().filter(Node::is_text).filter_map(|node| node.text());
    texts.collect::<String>().trim().to_owned()
}

/// The children that are elements, not text or comments.
pub fn elements<'a>(node: Node<'a, 'a>) -> impl Iterator<Item = Node<'a, 'a>> {
    node.children().filter(Node::is_element)
}

/// Where a document is broken, and how that is mended. The parser does not say where it missed the end
/// of something that was begun.
fn explain(text: &str, error: &Error) -> (TextPos, String) {
    let before = before(text, error.pos());
    let after = text.get(before.len()..).unwrap_or_default();
    let tag = before.rsplit('<').next().unwrap_or_default();
    let mut words = tag.split(|c: char| c.is_whitespace() || c == '=').filter(|w| !w.is_empty());
    let element = words.next().unwrap_or_default();
    let attribute = words.next_back().unwrap_or_default();
    let why = match error {
        Error::UnexpectedCloseTag(open, close, _) => {
            format!("</{close}> closes nothing: <{open}> is open")
        }
        Error::MalformedEntityReference(_) | Error::UnknownEntityReference(..) => {
            "a plain `&` is written &amp;".into()
        }
        Error::InvalidName(_) => "a name must begin here; a plain `<` is written &lt;".into(),
        Error::InvalidChar(b'=', ..) => {
            format!("the attribute {attribute} of <{element}> has no value")
        }
        Error::InvalidChar(b'"' | b'\'', ..) => {
            "the value of an attribute is not closed; a plain `<` in it is written &lt;".into()
        }
        Error::InvalidChar(b'>', ..) => "this tag is not closed with `>`".into(),
        Error::InvalidChar2("a quote", ..) => format!("the value of {attribute} must be in quotes"),
        Error::InvalidString("-->", _) => return unclosed(text, "<!--", "this comment"),
        Error::InvalidString("]]>", _) => return unclosed(text, "<![CDATA[", "this CDATA section"),
        Error::InvalidString("?>", _) => return unclosed(text, "<?", "this instruction"),
        Error::InvalidComment(_) => "a comment must not have `--` in it".into(),
        Error::UnknownToken(_) if after.starts_with("<!") => DOCUMENT_TYPE.into(),
        Error::UnknownToken(_) if after == "<" => "the file ends in a tag".into(),
        Error::UnknownToken(_) if Document::parse(before).is_ok() => {
            "nothing may follow the root element".into()
        }
        Error::UnknownToken(_) => "an element must begin here".into(),
        Error::NodesLimitReached => format!("it has more than {MAX_NODES} elements and texts"),
        Error::DtdDetected => {
            let at = text.find("<!DOCTYPE").unwrap_or_default();
            return (position(text, at), DOCUMENT_TYPE.into());
        }
        Error::NoRootNode if text.trim().is_empty() || text.trim_end().ends_with('>') => {
            return (position(text, text.len()), "an element must begin here".into());
        }
        Error::NoRootNode | Error::UnexpectedEndOfStream => {
            return (position(text, text.len()), "the file ends in a tag".into());
        }
        Error::UnclosedRootNode => return unclosed_element(text),
        other => other.to_string().replace(&format!(" at {}", other.pos()), ""),
    };
    (error.pos(), why)
}

const DOCUMENT_TYPE: &str = "a document type is not allowed in a task file";

fn unclosed(text: &str, mark: &str, what: &str) -> (TextPos, String) {
    let at = text.rfind(mark).map_or(text.len(), |at| at + mark.len());
    (position(text, at), format!("{what} is not closed"))
}

/// The innermost element that is open at the end of the text: the one that the parser wants closed.
fn unclosed_element(text: &str) -> (TextPos, String) {
    let open = match Document::parse(&format!("{text}</_._>")) {
        Err(Error::UnexpectedCloseTag(open, ..)) => open,
        _ => String::new(),
    };
    let ends = |rest: &str| rest.starts_with(|c: char| c.is_whitespace() || matches!(c, '>' | '/'));
    let mark = format!("<{open}");
    let begins = |(at, _): &(usize, &str)| text.get(at + mark.len()..).is_some_and(ends);
    let at = text.rmatch_indices(&mark).find(begins).map_or(text.len(), |(at, _)| at);
    (position(text, at), format!("<{open}> is not closed"))
}

fn position(text: &str, at: usize) -> TextPos {
    let before = text.get(..at).unwrap_or(text);
    let row = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    TextPos::new(number(row), number(column))
}

/// The text before a place.
fn before(text: &str, at: TextPos) -> &str {
    let rows = text.split_inclusive('\n').take(at.row.saturating_sub(1) as usize);
    let line: usize = rows.map(str::len).sum();
    let rest = text.get(line..).unwrap_or_default();
    let column = rest.char_indices().nth(at.col.saturating_sub(1) as usize);
    text.get(..line + column.map_or(rest.len(), |(at, _)| at)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_task_files_have() {
        let text = "\u{feff}<?xml version=\"1.0\"?>\n<!-- a task -->\n<task kind='x &lt; y'>\n <a>1 &amp; &#50;<b/>3</a><![CDATA[<raw> & ]]>\n</task>\n";
        let document = parse(text).unwrap();
        let task = document.root_element();
        assert_eq!(task.attribute("kind"), Some("x < y"));
        assert_eq!(text_content(elements(task).next().unwrap()), "1 & 23");
        assert_eq!(text_content(task), "1 & 23<raw> &");
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
            ("<a>\n<![CDATA[ x</a>", "line 2, column 10: this CDATA section is not closed"),
            ("<!-- x -->\n<!DOCTYPE a><a/>", "line 2, column 1: a document type"),
            ("<a><!ENTITY x \"y\"></a>", "line 1, column 4: a document type"),
            ("<a b='x<y'/>", "line 1, column 8: the value of an attribute is not closed"),
            ("<a b=\"1\" b='2'/>", "line 1, column 10: attribute 'b' is already defined"),
            ("<a>\n<b c='", "line 2, column 7: the file ends in a tag"),
            ("<a><b/><bc>\n<b>x</b>", "line 1, column 8: <bc> is not closed"),
            ("<a>\n<b>&#xD800;</b></a>", "line 2, column 1: a numbered entity in it is no"),
            ("<a><!-- cargo test --all --></a>", "line 1, column 4: a comment must not have `--`"),
            ("<p:a/>", "line 1, column 2: an unknown namespace prefix 'p'"),
        ] {
            let wrong = parse(text).unwrap_err();
            assert!(wrong.starts_with(at), "{text}: {wrong}");
        }
    }

    #[test]
    fn no_input_makes_it_panic_or_hang() {
        assert!(parse(&"<a>".repeat(100_000)).is_err());
        let nested = |depth: usize| "<a>".repeat(depth) + &"</a>".repeat(depth);
        assert!(parse(&nested(MAX_DEPTH + 1)).is_ok());
        for depth in [MAX_DEPTH + 2, 100_000] {
            let wrong = parse(&nested(depth)).unwrap_err();
            assert_eq!(wrong, "line 1, column 304: the elements are too deep in each other");
        }
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
