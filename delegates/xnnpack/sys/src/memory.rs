//! Memory for the library: the C library's. The pages of large blocks, such as scratch memory and tables of addresses, are
//! taken from the system at once: the library fills these blocks right away, and a fault for each page takes longer.

use crate::xnn_allocator;
use std::ffi::c_void;
use std::ptr;

/// Blocks of as many bytes are worth a call of the system.
const LARGE: usize = 128 << 10;
/// Larger ones may be used in part.
const LARGEST: usize = 64 << 20;

/// For [`crate::xnn_initialize`], which copies it.
pub(crate) fn allocator() -> xnn_allocator {
    xnn_allocator {
        context: ptr::null_mut(),
        allocate: Some(allocate),
        reallocate: Some(reallocate),
        deallocate: Some(deallocate),
        aligned_allocate: Some(aligned_allocate),
        aligned_deallocate: Some(deallocate),
    }
}

/// Takes the pages of a new block from the system.
fn populate(block: *mut c_void, size: usize) -> *mut c_void {
    if !block.is_null() && (LARGE..=LARGEST).contains(&size) {
        // SAFETY: asks for the system's page size.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096).max(1);
        let skipped = block.addr().next_multiple_of(page) - block.addr();
        // Best effort: systems before Linux 5.14 refuse it.
        // SAFETY: whole pages within the block, whose contents stay as they are.
        unsafe {
            let start = block.wrapping_byte_add(skipped);
            libc::madvise(start, (size - skipped) / page * page, libc::MADV_POPULATE_WRITE)
        };
    }
    block
}

unsafe extern "C" fn allocate(_: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: always callable.
    populate(unsafe { libc::malloc(size) }, size)
}

unsafe extern "C" fn aligned_allocate(_: *mut c_void, alignment: usize, size: usize) -> *mut c_void {
    let mut block = ptr::null_mut();
    // SAFETY: there is a place for the pointer. An alignment that is none is refused.
    let code = unsafe { libc::posix_memalign(&mut block, alignment.max(size_of::<*mut c_void>()), size) };
    if code == 0 { populate(block, size) } else { ptr::null_mut() }
}

unsafe extern "C" fn reallocate(_: *mut c_void, block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the library passes what these functions gave it, all of which the C library allocated.
    populate(unsafe { libc::realloc(block, size) }, size)
}

unsafe extern "C" fn deallocate(_: *mut c_void, block: *mut c_void) {
    // SAFETY: as above; it gives each block back once.
    unsafe { libc::free(block) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    fn check(block: *mut c_void, size: usize, byte: u8) {
        assert!(!block.is_null());
        // SAFETY: as many bytes were asked for, and written.
        let bytes = unsafe { std::slice::from_raw_parts(block.cast::<u8>(), size) };
        assert!(bytes.iter().all(|&b| b == byte));
    }

    #[test]
    fn blocks_of_any_size_come_and_go() {
        let context = ptr::null_mut();
        let sizes = [1, 100, LARGE - 1, LARGE, LARGE + 5000, 3 << 20, LARGEST + 1];
        for size in sizes {
            for other in sizes {
                // SAFETY: called as the library does.
                unsafe {
                    let first = allocate(context, size);
                    first.cast::<u8>().write_bytes(1, size);
                    let vectors = aligned_allocate(context, 64, other);
                    assert!(vectors.addr().is_multiple_of(64));
                    vectors.cast::<u8>().write_bytes(2, other);
                    let resized = reallocate(context, first, other);
                    check(resized, size.min(other), 1);
                    check(vectors, other, 2);
                    deallocate(context, vectors);
                    deallocate(context, resized);
                }
            }
        }
        // SAFETY: as above.
        unsafe {
            deallocate(context, ptr::null_mut());
            // The compiler knows the C library's functions, and leaves out those whose memory is not used.
            assert!(black_box(allocate(context, usize::MAX / 2)).is_null());
            assert!(black_box(aligned_allocate(context, 64, usize::MAX / 2)).is_null());
        }
    }
}
