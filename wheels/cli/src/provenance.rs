//! `wheelhouse provenance`: the statement of what a wheel was built from, made, signed and verified.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Subcommand;
use wheelhouse::provenance::parts::Toolchain;
use wheelhouse::provenance::statement::{self, Expected, Origin};
use wheelhouse_release::sign::{Envelope, PrivateKey, PublicKey};

/// Makes, signs or verifies the statement of what a wheel was built from.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Make(Make),
    Sign(Sign),
    Verify(Verify),
}

/// Writes WHEEL.provenance.json beside a wheel; `cargo xtask wheel` does it by itself.
#[derive(clap::Args)]
struct Make {
    /// The wheel.
    wheel: PathBuf,
    /// Row that it was built for.
    #[arg(long)]
    row: String,
    /// Folder with the linked libraries that it was packed from.
    #[arg(long)]
    libs: PathBuf,
    /// Commit that it was built from.
    #[arg(long)]
    revision: Option<String>,
    /// Sources were changed after that commit.
    #[arg(long)]
    modified: bool,
    /// URI of who builds.
    #[arg(long)]
    builder: String,
}

/// Signs WHEEL.provenance.json as WHEEL.intoto.json, if it is true of the wheel.
#[derive(clap::Args)]
struct Sign {
    /// The wheel.
    wheel: PathBuf,
    /// File with the private key.
    #[arg(long)]
    key: PathBuf,
    /// Sign although the sources were changed after the commit, or have none.
    #[arg(long)]
    allow_modified: bool,
}

/// Verifies WHEEL.intoto.json against the wheel; prints what it says of the build.
#[derive(clap::Args)]
struct Verify {
    /// The wheel.
    wheel: PathBuf,
    /// Public key that is trusted (ed25519:...); may be given several times.
    #[arg(long = "key", required = true)]
    keys: Vec<PublicKey>,
    /// Statement, if it does not lie beside the wheel.
    #[arg(long)]
    statement: Option<PathBuf>,
    /// Row that it should be.
    #[arg(long)]
    row: Option<String>,
    /// Commit that it should be built from.
    #[arg(long)]
    revision: Option<String>,
    /// URI of who should have built it.
    #[arg(long)]
    builder: Option<String>,
    /// Accept sources that were changed after the commit, or have none.
    #[arg(long)]
    allow_modified: bool,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.action {
        Action::Make(arguments) => make(arguments),
        Action::Sign(arguments) => sign(arguments),
        Action::Verify(arguments) => verify(arguments),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn make(arguments: &Make) -> Result<()> {
    let (name, wheel) = read_wheel(&arguments.wheel)?;
    let origin = Origin {
        row: arguments.row.clone(),
        revision: arguments.revision.clone(),
        modified: arguments.modified,
        builder: arguments.builder.clone(),
        tools: Toolchain::load(&arguments.libs)?.tools,
    };
    let path = arguments.wheel.with_file_name(statement::file_name(&name));
    write(&path, &statement::make(&name, &wheel, &origin)?)
}

fn sign(arguments: &Sign) -> Result<()> {
    let (name, wheel) = read_wheel(&arguments.wheel)?;
    let text = read(&arguments.wheel.with_file_name(statement::file_name(&name)))?;
    let expected = Expected { allow_modified: arguments.allow_modified, ..Expected::default() };
    statement::check(&text, &name, &wheel, expected)?;
    let key = PrivateKey::load(&arguments.key)?;
    let envelope = Envelope::new(&key, statement::PAYLOAD_TYPE, text);
    write(&arguments.wheel.with_file_name(statement::signed_file_name(&name)), &envelope.to_json())
}

fn verify(arguments: &Verify) -> Result<()> {
    let (name, wheel) = read_wheel(&arguments.wheel)?;
    let beside = || arguments.wheel.with_file_name(statement::signed_file_name(&name));
    let path = arguments.statement.clone().unwrap_or_else(beside);
    let envelope = Envelope::from_json(&read(&path)?).with_context(|| path.display().to_string())?;
    let (text, key) = envelope
        .verify(statement::PAYLOAD_TYPE, &arguments.keys)
        .with_context(|| path.display().to_string())?;
    let expected = Expected {
        row: arguments.row.as_deref(),
        revision: arguments.revision.as_deref(),
        builder: arguments.builder.as_deref(),
        allow_modified: arguments.allow_modified,
    };
    let origin =
        statement::check(text, &name, &wheel, expected).with_context(|| path.display().to_string())?;
    println!("wheel: {name}");
    println!("signed by: {key}");
    println!("row: {}", origin.row);
    println!("source: {}{}", origin.revision.as_deref().unwrap_or("no commit"), changed(origin.modified));
    println!("builder: {}", origin.builder);
    for (tool, version) in &origin.tools {
        println!("{tool}: {version}");
    }
    Ok(())
}

fn changed(modified: bool) -> &'static str {
    if modified { ", changed" } else { "" }
}

/// Name and bytes of a wheel.
fn read_wheel(path: &Path) -> Result<(String, Vec<u8>)> {
    let name = path.file_name().with_context(|| format!("{} names no file", path.display()))?;
    Ok((name.to_string_lossy().into_owned(), read(path)?))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| path.display().to_string())
}

/// Writes a file and prints its path.
fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| path.display().to_string())?;
    println!("{}", path.display());
    Ok(())
}
