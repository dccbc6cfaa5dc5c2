//! Sessions: one loaded model, and several states of the buffers that it changes (a key-value cache for each conversation).
//!
//! A *context* is made before the model is loaded, and told the names of those buffers. Methods that the thread loads between
//! [`begin_load`] and [`end_load`] belong to it. Each of its sessions has buffers of its own, which start as the model's were
//! when it was loaded, and are made when a call in the session first needs them. A call runs in the session that its thread
//! has made active.

use crate::container::Container;
use crate::error::cuda;
use crate::library::Pair;
use crate::shim::{Blob, Tensor};
use executorch_abi::error::*;
use executorch_abi::{Dtype, Error, Result};
use executorch_cuda_driver::memory::{self, Kind};
use executorch_cuda_driver::{Cuda, Device, DeviceBuffer};
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::CString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The session that is active where none is.
pub const NO_SESSION: i32 = -1;

#[derive(Debug, Default)]
struct Context {
    names: Vec<String>,
    /// Of those names, what has been found in a method.
    found: HashSet<String>,
    /// A method was loaded.
    is_loaded: bool,
    /// A method cannot have its constants replaced.
    is_unable: bool,
    /// The first mistake, which all later calls tell.
    mistake: Option<Error>,
    /// The buffers as they were when the first method was loaded.
    templates: HashMap<String, Arc<DeviceBuffer>>,
    sessions: BTreeMap<i32, HashMap<String, Arc<DeviceBuffer>>>,
    next: i32,
    has_had_sessions: bool,
}

#[derive(Debug, Default)]
struct Contexts {
    last: i32,
    live: HashMap<i32, Context>,
}

static CONTEXTS: Mutex<Option<Contexts>> = Mutex::new(None);

thread_local! {
    /// The context that methods belong to which this thread loads; 0 for none.
    static LOADING: Cell<i32> = const { Cell::new(0) };
    /// The context and session that this thread's calls run in.
    static ACTIVE: Cell<(i32, i32)> = const { Cell::new((0, NO_SESSION)) };
}

fn contexts() -> MutexGuard<'static, Option<Contexts>> {
    CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with<T>(id: i32, body: impl FnOnce(&mut Context) -> Result<T>) -> Result<T> {
    let mut guard = contexts();
    let live = &mut guard.get_or_insert_default().live;
    let context = live.get_mut(&id).ok_or_else(|| {
        Error::new(
            ET_ERROR_INVALID_ARGUMENT,
            format!("there is no context {id} of mutable state; it may be destroyed"),
        )
    })?;
    body(context)
}

/// Makes a context; its number is greater than 0.
pub fn create() -> i32 {
    let mut guard = contexts();
    let contexts = guard.get_or_insert_default();
    contexts.last += 1;
    let id = contexts.last;
    contexts.live.insert(id, Context::default());
    id
}

/// Destroys a context with its sessions. Nothing happens if there is none.
pub fn destroy(id: i32) {
    let context = contexts().get_or_insert_default().live.remove(&id);
    // Memory is freed without the lock.
    drop(context);
}

/// Adds names of buffers. Fails, also for good, if a method was loaded already.
pub fn register(id: i32, names: impl IntoIterator<Item = String>) -> Result<()> {
    with(id, |context| {
        if context.is_loaded {
            let mistake = Error::new(
                ET_ERROR_INVALID_STATE,
                "names of mutable buffers were registered after a method was loaded; register them first",
            );
            context.mistake.get_or_insert(mistake.clone());
            return Err(mistake);
        }
        for name in names {
            if !context.names.contains(&name) {
                context.names.push(name);
            }
        }
        Ok(())
    })
}

/// What the calling thread loads from now on belongs to the context.
pub fn begin_load(id: i32) -> Result<()> {
    with(id, |context| {
        if LOADING.get() != 0 {
            let mistake = Error::new(
                ET_ERROR_INVALID_STATE,
                "a load scope was begun within another on the same thread",
            );
            context.mistake.get_or_insert(mistake.clone());
            return Err(mistake);
        }
        LOADING.set(id);
        Ok(())
    })
}

/// What the calling thread loads from now on belongs to no context.
pub fn end_load() {
    LOADING.set(0);
}

/// Whether sessions can be made: a method was loaded, and all allow it.
pub fn is_available(id: i32) -> bool {
    with(id, |context| Ok(context.is_loaded && !context.is_unable && !context.templates.is_empty()))
        .unwrap_or(false)
}

/// Bytes of device memory that a session takes; 0 before methods are loaded.
pub fn bytes(id: i32) -> u64 {
    with(id, |context| Ok(context.templates.values().map(|buffer| buffer.len() as u64).sum())).unwrap_or(0)
}

/// Fails unless every name was found in a method, and sessions can be made.
pub fn validate(id: i32) -> Result<()> {
    with(id, |context| context.validate())
}

impl Context {
    fn validate(&self) -> Result<()> {
        if let Some(mistake) = &self.mistake {
            return Err(mistake.clone());
        }
        if !self.is_loaded || self.is_unable {
            return Err(Error::new(
                ET_ERROR_NOT_SUPPORTED,
                "no method was loaded for these sessions, or one that cannot replace its constants",
            ));
        }
        if self.names.is_empty() {
            return Err(Error::new(ET_ERROR_INVALID_STATE, "no names of mutable buffers were registered"));
        }
        let lost: Vec<_> =
            self.names.iter().filter(|name| !self.found.contains(*name)).map(String::as_str).collect();
        if lost.is_empty() {
            return Ok(());
        }
        Err(Error::new(
            ET_ERROR_INVALID_PROGRAM,
            format!("no loaded method has the mutable buffers {}", lost.join(", ")),
        ))
    }
}

/// Makes a session and returns its number.
pub fn create_session(id: i32) -> Result<i32> {
    with(id, |context| {
        context.validate()?;
        let token = context.next;
        context.next += 1;
        context.has_had_sessions = true;
        context.sessions.insert(token, HashMap::new());
        Ok(token)
    })
}

/// Destroys a session. Nothing happens if there is none.
pub fn destroy_session(id: i32, token: i32) {
    let session = with(id, |context| Ok(context.sessions.remove(&token)));
    // Memory is freed without the lock; that waits for what still uses it.
    drop(session);
}

/// The calling thread's calls run in a session from now on; in none with [`NO_SESSION`].
pub fn set_active(id: i32, token: i32) {
    ACTIVE.set(if token == NO_SESSION { (0, NO_SESSION) } else { (id, token) });
}

/// A mutable buffer of a container.
#[derive(Debug)]
struct Buffer {
    name: String,
    own_name: CString,
    dtype: i32,
    sizes: Vec<i64>,
    strides: Vec<i64>,
}

/// A session's buffers, bound to a container.
#[derive(Debug)]
struct Bound {
    token: i32,
    _tensors: Vec<Tensor>,
    _buffers: Vec<Arc<DeviceBuffer>>,
}

/// A container's part in a context.
#[derive(Debug)]
pub struct Member {
    /// 0 if it has none.
    context: i32,
    buffers: Vec<Buffer>,
    bound: Option<Bound>,
}

impl Member {
    /// Takes note of a container that the calling thread has loaded.
    pub fn join(container: &Container, library: &'static Cuda, device: Device) -> Result<Self> {
        let id = LOADING.get();
        let mut member = Self { context: id, buffers: Vec::new(), bound: None };
        if id == 0 {
            return Ok(member);
        }
        let constants = container.constants()?;
        with(id, |context| {
            context.is_loaded = true;
            let Some(constants) = constants.filter(|_| container.can_bind()) else {
                context.is_unable = true;
                return Ok(());
            };
            let own_names = crate::constants::names(&constants);
            container.extract(|name, view| {
                let Some(own_name) = own_names.get(name).filter(|_| context.names.iter().any(|n| n == name)) else {
                    return Ok(());
                };
                if !view.on_device {
                    return Err(Error::new(
                        ET_ERROR_NOT_SUPPORTED,
                        format!("the mutable buffer {name:?} is on the host; sessions have buffers on the device only"),
                    ));
                }
                let bytes = extent(view.dtype, view.sizes, view.strides)
                    .ok_or_else(|| Error::new(ET_ERROR_INVALID_PROGRAM, format!("the buffer {name:?} has an odd shape")))?;
                if !context.templates.contains_key(name) {
                    let template = DeviceBuffer::new(library, device, bytes).map_err(cuda)?;
                    // SAFETY: the constant spans so many bytes on the device, and so does the copy.
                    unsafe { memory::copy(library, template.as_ptr(), view.data, bytes, Kind::DeviceToDevice) }
                        .map_err(cuda)?;
                    context.templates.insert(name.to_owned(), Arc::new(template));
                } else if context.templates.get(name).is_some_and(|template| template.len() != bytes) {
                    return Err(Error::new(
                        ET_ERROR_INVALID_PROGRAM,
                        format!("methods disagree on the size of the mutable buffer {name:?}"),
                    ));
                }
                context.found.insert(name.to_owned());
                member.buffers.push(Buffer {
                    name: name.to_owned(),
                    own_name: (*own_name).clone(),
                    dtype: view.dtype,
                    sizes: view.sizes.to_vec(),
                    strides: view.strides.to_vec(),
                });
                Ok(())
            })
        })?;
        Ok(member)
    }

    /// Binds the buffers of the thread's session to the container; says whether it runs in one.
    pub fn bind(&mut self, container: &Container, library: &'static Cuda, device: Device) -> Result<bool> {
        let (active, token) = ACTIVE.get();
        if self.context == 0 && token == NO_SESSION {
            return Ok(false);
        }
        if token == NO_SESSION {
            let has_had_sessions =
                with(self.context, |context| Ok(context.has_had_sessions)).unwrap_or(false);
            if !self.buffers.is_empty() && (has_had_sessions || self.bound.is_some()) {
                return Err(Error::new(
                    ET_ERROR_INVALID_STATE,
                    "the model has sessions, and the call is in none of them; make one active first",
                ));
            }
            return Ok(false);
        }
        if active != self.context {
            return Err(Error::new(
                ET_ERROR_INTERNAL,
                format!(
                    "a session of context {active} is active, the method belongs to context {}",
                    self.context
                ),
            ));
        }
        let mut buffers = Vec::new();
        with(active, |context| {
            let templates = &context.templates;
            let session = context.sessions.get_mut(&token).ok_or_else(|| {
                Error::new(
                    ET_ERROR_INVALID_ARGUMENT,
                    format!("there is no session {token}; it may be destroyed"),
                )
            })?;
            if self.bound.as_ref().is_some_and(|bound| bound.token == token) {
                return Ok(());
            }
            for buffer in &self.buffers {
                let own = match session.get(&buffer.name) {
                    Some(own) => Arc::clone(own),
                    None => {
                        let template = templates.get(&buffer.name).ok_or_else(|| {
                            Error::new(
                                ET_ERROR_INTERNAL,
                                format!("there is no template of {:?}", buffer.name),
                            )
                        })?;
                        let own = DeviceBuffer::new(library, device, template.len()).map_err(cuda)?;
                        // SAFETY: both hold as many bytes.
                        unsafe {
                            memory::copy(
                                library,
                                own.as_ptr(),
                                template.as_ptr(),
                                own.len(),
                                Kind::DeviceToDevice,
                            )
                        }
                        .map_err(cuda)?;
                        let own = Arc::new(own);
                        session.insert(buffer.name.clone(), Arc::clone(&own));
                        own
                    }
                };
                buffers.push(own);
            }
            Ok(())
        })?;
        if self.buffers.is_empty() || self.bound.as_ref().is_some_and(|bound| bound.token == token) {
            return Ok(true);
        }
        let mut tensors = Vec::new();
        let mut pairs = Vec::new();
        for (buffer, memory) in self.buffers.iter().zip(&buffers) {
            let blob = Blob {
                data: memory.as_ptr(),
                sizes: &buffer.sizes,
                strides: &buffer.strides,
                offset: 0,
                dtype: buffer.dtype,
                device: Some(device.0),
            };
            // SAFETY: the memory has the constant's extent, and is held with the tensor.
            let tensor = unsafe { Tensor::over(blob) }?;
            pairs.push(Pair { name: buffer.own_name.as_ptr(), handle: tensor.as_raw() });
            tensors.push(tensor);
        }
        // SAFETY: same shapes as the constants have; held until others are bound.
        unsafe { container.bind(&pairs, false) }?;
        // What was bound before may still be in use by work on the stream: freeing device memory waits for that.
        self.bound = Some(Bound { token, _tensors: tensors, _buffers: buffers });
        Ok(true)
    }
}

/// Bytes from the first to behind the last element.
fn extent(dtype: i32, sizes: &[i64], strides: &[i64]) -> Option<usize> {
    let size = Dtype::from_raw(i8::try_from(dtype).ok()?)?.size();
    if sizes.contains(&0) {
        return Some(0);
    }
    let mut last = 0_usize;
    for (&size, &stride) in sizes.iter().zip(strides) {
        let steps = usize::try_from(size.checked_sub(1)?).ok()?;
        last = last.checked_add(steps.checked_mul(usize::try_from(stride).ok()?)?)?;
    }
    last.checked_add(1)?.checked_mul(size)
}
