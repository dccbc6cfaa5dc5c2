//! States of files. Every change of a file changes its `ctime`, which no program can set: so a file that is in a known
//! state has known contents.

use super::digest::Fields;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

/// A change within this time after another one may leave the file's times as they are (their resolution is a few
/// milliseconds, a second on old file systems). Files that were changed so recently are not known by their state.
pub const SETTLED: Duration = Duration::from_secs(2);

/// What tells one state of a file from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl State {
    /// The state that a file is in.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// The file's bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Adds to `fields` what tells this state from all others.
    pub fn write(&self, fields: &mut Fields) {
        fields.number(self.device).number(self.inode).number(self.size);
        for (seconds, nanoseconds) in [self.modified, self.changed] {
            fields.number(seconds.cast_unsigned()).number(nanoseconds.cast_unsigned());
        }
    }

    /// Whether any later change will show.
    pub fn is_settled(&self, now: SystemTime) -> bool {
        let Ok(now) = now.duration_since(SystemTime::UNIX_EPOCH) else { return false };
        [self.modified, self.changed].into_iter().all(|(seconds, nanoseconds)| {
            let (Ok(seconds), Ok(nanoseconds)) = (u64::try_from(seconds), u32::try_from(nanoseconds)) else {
                return false;
            };
            now.checked_sub(Duration::new(seconds, nanoseconds)).is_some_and(|age| age > SETTLED)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_settle() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
        let state = |modified, changed| State { device: 1, inode: 1, size: 1, modified, changed };
        assert!(state((997, 0), (997, 0)).is_settled(now));
        assert!(!state((998, 0), (997, 0)).is_settled(now));
        assert!(!state((997, 0), (999, 0)).is_settled(now));
        // From the future, from before time, and no time at all.
        assert!(!state((2000, 0), (997, 0)).is_settled(now));
        assert!(!state((-1, 0), (997, 0)).is_settled(now));
        assert!(!state((997, 0), (997, -1)).is_settled(now));
    }
}
