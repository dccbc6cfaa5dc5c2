//! Writing packed weights to their folder, at once or, if that fails, when a program asks for it.

use super::digest::Digest;
use super::disk::{Folder, Reference};
use super::log;
use super::memory::Packed;
use executorch_abi::error::ET_ERROR_ACCESS_FAILED;
use executorch_abi::{Error, Result};
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// What could not be written, of all graphs that are in use.
static UNSAVED: Mutex<Vec<Weak<Mutex<Option<Unsaved>>>>> = Mutex::new(Vec::new());

/// Keeps what could not be written as long as its graph is in use, for [`save_all`]. Mostly nothing.
#[derive(Debug, Default)]
pub struct Kept(Option<Arc<Mutex<Option<Unsaved>>>>);

impl Kept {
    /// Whether everything is where it belongs.
    pub fn is_saved(&self) -> bool {
        self.0.as_ref().is_none_or(|unsaved| unsaved.lock().unwrap_or_else(PoisonError::into_inner).is_none())
    }
}

/// What is to be written.
#[derive(Debug)]
pub struct Unsaved {
    /// To which folder.
    pub folder: Folder,
    /// The graph whose weights they are.
    pub graph: Digest,
    /// All of its packed weights, unless they are there.
    pub entries: Option<HashMap<Digest, Arc<Packed>>>,
    /// A source of the graph, unless what is known of it is noted.
    pub source: Option<Digest>,
    /// The state in which the file of the packed weights is known to be whole.
    pub whole: Option<Digest>,
}

impl Unsaved {
    /// Writes it, or keeps it for later and logs why.
    pub fn save_or_keep(self) -> Kept {
        let Err(error) = self.save() else { return Kept::default() };
        log::info(|| format!("packed weights cannot be kept in {}: {error}", self.folder));
        let unsaved = Arc::new(Mutex::new(Some(self)));
        let mut all = UNSAVED.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&unsaved));
        Kept(Some(unsaved))
    }

    fn save(&self) -> io::Result<()> {
        if let Some(entries) = &self.entries {
            let mut entries: Vec<_> = entries.iter().map(|(name, packed)| (*name, &**packed)).collect();
            // So that equal weights make equal files.
            entries.sort_unstable_by_key(|(name, _)| *name);
            self.folder.write_pack(self.graph, &entries)?;
        }
        let Some(source) = self.source else { return Ok(()) };
        self.folder.write_reference(source, &Reference { graph: self.graph, whole: self.whole })
    }
}

/// Tries again to write what could not be written when it was packed, of all graphs that are in use. Fails with the
/// first reason why something cannot, after having tried all.
pub fn save_all() -> Result<()> {
    let all: Vec<_> = {
        let all = UNSAVED.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter_map(Weak::upgrade).collect()
    };
    let mut result = Ok(());
    for unsaved in all {
        let mut unsaved = unsaved.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(what) = unsaved.as_ref() else { continue };
        match what.save() {
            Ok(()) => *unsaved = None,
            Err(error) => {
                let text = format!("packed weights cannot be kept in {}: {error}", what.folder);
                result = result.and(Err(Error::new(ET_ERROR_ACCESS_FAILED, text)));
            }
        }
    }
    result
}
