//! A static web server for the two indexes: files below one folder, on this machine only.

use anyhow::{Context, Result};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// How long a client may keep the server waiting.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serves `root` until the process ends; returns the address, such as `http://127.0.0.1:1234`.
///
/// Fails where the machine has no network at all, not even with itself.
pub fn start(root: PathBuf) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").context("cannot listen on 127.0.0.1")?;
    let address = listener.local_addr()?;
    let probe = TcpStream::connect_timeout(&address, Duration::from_secs(2));
    drop(probe.context("cannot reach 127.0.0.1")?);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that goes away, or asks for what is not there, is nothing to the server.
            let _client_is_gone = answer(stream, &root);
        }
    });
    Ok(format!("http://{address}"))
}

fn answer(stream: TcpStream, root: &Path) -> Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(&stream).take(64 << 10);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut header = String::new();
    while reader.read_line(&mut header)? > 2 {
        header.clear();
    }
    let mut words = request.split_whitespace();
    let method = words.next().unwrap_or_default();
    let target = words.next().unwrap_or_default();
    let (status, kind, body) = match file(root, target).and_then(|path| Some((fs::read(&path).ok()?, path))) {
        Some((body, path)) => ("200 OK", kind(&path), body),
        None => ("404 Not Found", "text/plain", b"not found".to_vec()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let mut writer = &stream;
    writer.write_all(head.as_bytes())?;
    if method != "HEAD" {
        writer.write_all(&body)?;
    }
    Ok(writer.flush()?)
}

/// The file that a request names, if it lies below `root`.
fn file(root: &Path, target: &str) -> Option<PathBuf> {
    let path = target.split(['?', '#']).next()?.trim_start_matches('/');
    let path = Path::new(&decoded(path)?).to_owned();
    let inside = path.components().all(|part| matches!(part, Component::Normal(_)));
    if !inside {
        return None;
    }
    let path = root.join(path);
    Some(if path.is_dir() { path.join("index.html") } else { path })
}

/// Undoes the percent-encoding.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        match (first, tail) {
            (b'%', [high, low, tail @ ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                bytes.push(u8::try_from(digit(high)? * 16 + digit(low)?).ok()?);
                rest = tail;
            }
            (b'%', _) => return None,
            (byte, tail) => {
                bytes.push(*byte);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

fn kind(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html",
        Some("json") => "application/json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(address: &str, request: &str) -> String {
        let mut stream = TcpStream::connect(address.trim_start_matches("http://")).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn files_below_the_root_are_served_and_no_others() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        fs::create_dir_all(root.join("simple/a b")).unwrap();
        fs::write(root.join("simple/a b/index.html"), "page").unwrap();
        fs::write(dir.path().join("secret"), "secret").unwrap();
        let address = start(root).unwrap();
        let page = get(&address, "GET /simple/a%20b/?x=1 HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 200") && page.ends_with("page") && page.contains("text/html"));
        assert!(!get(&address, "HEAD /simple/a%20b/ HTTP/1.1\r\n\r\n").ends_with("page"));
        for target in ["/../secret", "/%2e%2e/secret", "//secret", "/none", "/%zz", "/%"] {
            let answer = get(&address, &format!("GET {target} HTTP/1.1\r\n\r\n"));
            assert!(answer.starts_with("HTTP/1.1 404"), "{target}: {answer}");
        }
    }
}
