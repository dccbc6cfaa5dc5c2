//! The `RECORD` file: every file of the wheel with its SHA-256 and size.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// The text of `RECORD` for `files` (path and bytes), which ends with its own entry, without digest, as the format asks.
pub fn render<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>, record_path: &str) -> String {
    let mut text = String::new();
    for (path, data) in files {
        text.push_str(&format!("{},{},{}\n", field(path), digest(data), data.len()));
    }
    text.push_str(&format!("{},,\n", field(record_path)));
    text
}

/// The digest of a file as it stands in `RECORD`.
pub fn digest(data: &[u8]) -> String {
    format!("sha256={}", URL_SAFE_NO_PAD.encode(Sha256::digest(data)))
}

/// The fields of each line of a `RECORD`, or nothing if quotes are out of place.
pub fn parse(text: &str) -> Option<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut row = Vec::new();
        loop {
            let (value, after) = match rest.strip_prefix('"') {
                Some(quoted) => quoted_field(quoted)?,
                None => {
                    let end = rest.find([',', '\n', '\r']).unwrap_or(rest.len());
                    (rest[..end].to_owned(), &rest[end..])
                }
            };
            row.push(value);
            match after.strip_prefix(',') {
                Some(more) => rest = more,
                None => {
                    rest = after.strip_prefix("\r\n").or(after.strip_prefix('\n')).unwrap_or(after);
                    // Behind a field comes a comma, the end of the line, or the end.
                    if rest.len() == after.len() && !rest.is_empty() {
                        return None;
                    }
                    break;
                }
            }
        }
        rows.push(row);
    }
    Some(rows)
}

/// The value of a quoted field whose first quote is taken off, and what follows its last one.
fn quoted_field(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once('"')?;
        value.push_str(before);
        match after.strip_prefix('"') {
            Some(more) => {
                value.push('"');
                rest = more;
            }
            None => return Some((value, after)),
        }
    }
}

/// A CSV field, quoted where the path needs it.
fn field(path: &str) -> String {
    if path.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", path.replace('"', "\"\""))
    } else {
        path.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_digests() {
        // SHA-256 of the empty string and of "abc" (FIPS 180-4), in URL-safe base64.
        let text = render([("a.py", &b""[..]), ("b,c.py", &b"abc"[..])], "x.dist-info/RECORD");
        assert_eq!(
            text,
            "a.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n\
             \"b,c.py\",sha256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0,3\n\
             x.dist-info/RECORD,,\n"
        );
    }

    #[test]
    fn what_is_written_is_read_back() {
        let names = ["a.py", "b,c.py", "d \"e\".py", "x.dist-info/RECORD"];
        let text = render(names[..3].iter().map(|name| (*name, &b"abc"[..])), names[3]);
        let rows = parse(&text).unwrap();
        assert_eq!(rows.iter().map(|row| row[0].as_str()).collect::<Vec<_>>(), names);
        assert_eq!(rows[0][1..], [digest(b"abc"), "3".to_owned()]);
        assert_eq!(rows[3][1..], [String::new(), String::new()]);
        assert_eq!(parse(&text.replace('\n', "\r\n")).unwrap(), rows);
        assert_eq!(parse("a,b").unwrap(), [["a", "b"]]);
    }

    #[test]
    fn quotes_out_of_place_are_refused() {
        for text in ["\"a", "\"a\"b,c\n", "a\rb\n"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
