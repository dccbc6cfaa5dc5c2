//! The constants of a graph, and what identifies their contents.

use super::digest::{Digest, Fields};
use super::origin::Origins;
use crate::graph::{Constant, Graph, Role};
use crate::parallel;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Once, OnceLock};

/// Bytes that a thread takes the digest of at a time.
const CHUNK: usize = 1 << 20;

/// The constants of a graph, numbered in its order.
pub struct Constants {
    known: Vec<Known>,
    /// Numbers by address and size.
    numbers: HashMap<(usize, usize), usize>,
    origins: Origins,
    /// Done once those of no known origin were read.
    strangers: Once,
}

struct Known {
    constant: Constant,
    /// By where the bytes come from.
    origin: OnceLock<Option<Digest>>,
    /// By the bytes.
    content: OnceLock<Digest>,
}

impl Constants {
    /// Those of a graph.
    pub fn new(graph: &Graph) -> Self {
        let mut all = Self {
            known: Vec::new(),
            numbers: HashMap::new(),
            origins: Origins::default(),
            strangers: Once::new(),
        };
        for value in &graph.values {
            if let Role::Constant(constant) = &value.role {
                let number = all.known.len();
                if *all.numbers.entry(place(constant)).or_insert(number) == number {
                    let (origin, content) = (OnceLock::new(), OnceLock::new());
                    all.known.push(Known { constant: constant.clone(), origin, content });
                }
            }
        }
        all
    }

    /// Bytes of all constants.
    pub fn size(&self) -> usize {
        self.known.iter().map(|known| known.constant.bytes().len()).fold(0, usize::saturating_add)
    }

    /// Finds out where the constants come from, and reads them if that is not known: mostly it is so for all or for none.
    pub fn prepare(&self) {
        if let Some(first) = self.known.first() {
            self.identity(first);
        }
    }

    /// Adds to `fields` what stands for a constant as long as this process lives.
    pub fn write_identity(&self, fields: &mut Fields, constant: &Constant) {
        match self.known(constant) {
            Some(known) => fields.digest(self.identity(known)),
            None => fields.digest(content(constant.bytes())),
        };
    }

    /// Adds to `fields` what stands for a constant where the graph's contents are known.
    pub fn write_number(&self, fields: &mut Fields, constant: &Constant) {
        match self.numbers.get(&place(constant)) {
            Some(&number) => fields.number(0).number(number as u64),
            None => fields.number(1).digest(content(constant.bytes())),
        };
    }

    /// What identifies the graph that `fields` describe by the files that its constants come from: nothing if they come
    /// from none.
    pub fn source(&self, fields: &Fields) -> Option<Digest> {
        let mut fields = fields.clone();
        for known in &self.known {
            fields.digest(self.identity(known));
        }
        self.known.iter().any(|known| self.origin(known).is_some()).then(|| fields.finish())
    }

    /// What identifies the graph that `fields` describe by its constants' contents. Reads them all.
    pub fn graph(&self, fields: &Fields) -> Digest {
        let mut fields = fields.clone();
        self.read(|_| true);
        for known in &self.known {
            fields.digest(known.content());
        }
        fields.finish()
    }

    fn known(&self, constant: &Constant) -> Option<&Known> {
        self.known.get(*self.numbers.get(&place(constant))?)
    }

    fn origin(&self, known: &Known) -> Option<Digest> {
        *known.origin.get_or_init(|| self.origins.identify(known.constant.bytes()))
    }

    fn identity(&self, known: &Known) -> Digest {
        self.origin(known).unwrap_or_else(|| {
            // All at once, so that threads share the work.
            self.strangers.call_once(|| self.read(|known| self.origin(known).is_none()));
            known.content()
        })
    }

    /// Takes the digests of the contents of some constants on all threads.
    fn read(&self, wanted: impl Fn(&Known) -> bool) {
        let unread = |known: &&Known| known.content.get().is_none() && wanted(known);
        let unread: Vec<&Known> = self.known.iter().filter(unread).collect();
        // A task for about as many bytes as a chunk has: of small constants, several.
        let (mut tasks, mut room): (Vec<Range<usize>>, _) = (Vec::new(), 0);
        for (index, known) in unread.iter().enumerate() {
            let size = known.constant.bytes().len();
            if size >= room {
                tasks.push(index..index);
                room = CHUNK;
            }
            if let Some(last) = tasks.last_mut() {
                last.end = index + 1;
            }
            room = room.saturating_sub(size);
        }
        // What a task failed to do is done when it is asked for.
        let _ = parallel::map(tasks.len(), |task| {
            for known in unread.get(tasks[task].clone()).unwrap_or_default() {
                known.content();
            }
        });
    }
}

impl Known {
    fn content(&self) -> Digest {
        *self.content.get_or_init(|| content(self.constant.bytes()))
    }
}

fn place(constant: &Constant) -> (usize, usize) {
    let bytes = constant.bytes();
    (bytes.as_ptr().addr(), bytes.len())
}

/// The digest of a constant's bytes: of large ones, of their chunks' digests, which threads share.
fn content(bytes: &[u8]) -> Digest {
    if bytes.len() <= CHUNK {
        return Digest::of(bytes);
    }
    let chunks: Vec<&[u8]> = bytes.chunks(CHUNK).collect();
    let digests = parallel::map(chunks.len(), |index| Digest::of(chunks[index]));
    let mut fields = Fields::new("chunks");
    for (chunk, digest) in chunks.iter().zip(digests) {
        fields.digest(digest.unwrap_or_else(|| Digest::of(chunk)));
    }
    fields.finish()
}
