//! Scratch memory of the library, which several runtimes may share if they never run at once.

use super::raw;
use executorch_abi::Result;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

/// Who shares a workspace; upstream's names and numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sharing {
    /// The runtimes of one delegate instance. No lock.
    #[default]
    Disabled,
    /// All delegate instances of one loaded method. They lock each other out.
    PerModel,
    /// All delegate instances of the process. They lock each other out.
    Global,
}

impl Sharing {
    /// The mode of upstream's number.
    pub fn from_number(number: i32) -> Option<Self> {
        Some(match number {
            0 => Self::Disabled,
            1 => Self::PerModel,
            2 => Self::Global,
            _ => return None,
        })
    }

    /// Upstream's number.
    pub fn number(self) -> i32 {
        self as i32
    }
}

/// A workspace, shared by its clones.
#[derive(Debug, Clone)]
pub struct Workspace {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    raw: raw::Workspace,
    /// Held by whoever touches the workspace or a runtime on it; nothing if one instance alone has it.
    lock: Option<Mutex<()>>,
}

/// The right to touch a workspace, those that are [`Workspace::apart`] from it, and the runtimes on them. It must not be
/// kept for long.
#[derive(Debug)]
pub struct Access<'a> {
    _guard: Option<MutexGuard<'a, ()>>,
}

/// Workspaces of methods, by what identifies a method, and the process's own (`None`).
static SHARED: LazyLock<Mutex<HashMap<Option<usize>, Weak<Shared>>>> = LazyLock::new(Mutex::default);

impl Workspace {
    /// The workspace of an instance whose method is identified by `method`.
    pub fn get(sharing: Sharing, method: usize) -> Result<Self> {
        let key = match sharing {
            Sharing::Disabled => return Self::new(None),
            Sharing::PerModel => Some(method),
            Sharing::Global => None,
        };
        let mut all = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = all.get(&key).and_then(Weak::upgrade) {
            return Ok(Self { shared });
        }
        let made = Self::new(Some(Mutex::default()))?;
        all.retain(|_, workspace| workspace.strong_count() > 0);
        all.insert(key, Arc::downgrade(&made.shared));
        Ok(made)
    }

    /// One for runtimes that are prepared while others of the same instance are: a workspace of their own, unless several
    /// instances share this one.
    pub fn apart(&self) -> Result<Self> {
        if self.is_shared() { Ok(self.clone()) } else { Self::new(None) }
    }

    /// Whether instances share it.
    pub fn is_shared(&self) -> bool {
        self.shared.lock.is_some()
    }

    fn new(lock: Option<Mutex<()>>) -> Result<Self> {
        Ok(Self { shared: Arc::new(Shared { raw: raw::Workspace::new()?, lock }) })
    }

    /// Waits until nobody else uses the workspace.
    #[inline]
    pub fn access(&self) -> Access<'_> {
        let lock = self.shared.lock.as_ref();
        // A panic elsewhere leaves the library's own state as it was: the lock guards nothing of ours.
        Access { _guard: lock.map(|lock| lock.lock().unwrap_or_else(PoisonError::into_inner)) }
    }

    pub(super) fn raw(&self) -> &raw::Workspace {
        &self.shared.raw
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sharing_is_as_asked() {
        super::super::initialize().unwrap();
        let get = |sharing, method| Workspace::get(sharing, method).unwrap();
        let same = |a: &Workspace, b: &Workspace| Arc::ptr_eq(&a.shared, &b.shared);
        assert!(!same(&get(Sharing::Disabled, 1), &get(Sharing::Disabled, 1)));
        let first = get(Sharing::PerModel, 1);
        assert!(same(&first, &get(Sharing::PerModel, 1)));
        assert!(!same(&first, &get(Sharing::PerModel, 2)));
        let global = get(Sharing::Global, 1);
        assert!(same(&global, &get(Sharing::Global, 2)) && !same(&global, &first));
        let own = get(Sharing::Disabled, 1);
        assert!(same(&first, &first.apart().unwrap()) && !same(&own, &own.apart().unwrap()));
        drop((first, global));
        let kept = SHARED.lock().unwrap().values().filter(|w| w.strong_count() > 0).count();
        assert_eq!(kept, 0, "nothing is kept for nobody");
        for number in 0..3 {
            assert_eq!(Sharing::from_number(number).map(Sharing::number), Some(number));
        }
        assert_eq!(Sharing::from_number(3), None);
    }
}
