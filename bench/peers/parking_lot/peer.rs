// SPDX-License-Identifier: MIT
//! The mutex of parking_lot, for C: one of (), whose guard is forgotten while C
//! holds the lock.
use parking_lot::Mutex;

// What parking_lot.c says of it.
const _: () = assert!(std::mem::size_of::<Mutex<()>>() == 1);

/// # Safety
/// `mutex` points to one, or to as many bytes that are zero.
#[no_mangle]
pub unsafe extern "C" fn parking_lot_lock(mutex: *const Mutex<()>) {
    std::mem::forget((*mutex).lock());
}

/// # Safety
/// The caller holds it.
#[no_mangle]
pub unsafe extern "C" fn parking_lot_unlock(mutex: *const Mutex<()>) {
    (*mutex).force_unlock();
}
