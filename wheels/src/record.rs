//! The `RECORD` file: every file of the wheel with its SHA-256 and size.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// The text of `RECORD` for `files` (path and bytes), which ends with its own entry, without digest, as the format asks.
pub fn render<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>, record_path: &str) -> String {
    let mut text = String::new();
    for (path, data) in files {
        let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(data));
        text.push_str(&format!("{},sha256={digest},{}\n", field(path), data.len()));
    }
    text.push_str(&format!("{},,\n", field(record_path)));
    text
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
}
