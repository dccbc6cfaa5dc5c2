//! Memory that callers give to a method.

use crate::tensor::et_device_type_t;
use std::ffi::c_void;

/// An allocator of the caller. Memory is never freed one by one: `reset` frees all of it.
/// Used by one thread at a time. The table must outlive its users.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_allocator_t {
    /// `sizeof(et_allocator_t)`.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Passed to both functions.
    pub user_data: *mut c_void,
    /// Returns `size` bytes aligned to `alignment` (a power of two), or null.
    pub allocate:
        Option<unsafe extern "C" fn(user_data: *mut c_void, size: usize, alignment: usize) -> *mut c_void>,
    /// Frees all that was allocated; null if the allocator cannot.
    pub reset: Option<unsafe extern "C" fn(user_data: *mut c_void)>,
}

/// A planned buffer that the caller owns.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_arena_t {
    /// Its first byte, aligned to at least 16.
    pub data: *mut c_void,
    /// Its bytes.
    pub size: usize,
    /// Where it lives.
    pub device_type: et_device_type_t,
    /// Which device of that type.
    pub device_index: i8,
    /// Zero.
    pub reserved: [u8; 6],
}

/// The memory of one method. Everything is optional: what is null, the runtime allocates itself.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_memory_manager_t {
    /// `sizeof(et_memory_manager_t)`.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// For what delegates keep with the method.
    pub method_allocator: *const et_allocator_t,
    /// For memory that one instruction needs; reset after each.
    pub temp_allocator: *const et_allocator_t,
    /// `planned_count` buffers, in the order of the method's metadata; null to let the runtime allocate them.
    pub planned: *const et_arena_t,
    /// Their number; must be at least the method's if `planned` is not null.
    pub planned_count: usize,
}
