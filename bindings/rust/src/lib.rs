// SPDX-License-Identifier: MIT
//! The mutex and the reader-writer lock of pawl, as `lock_api` has them.
//!
//! ```
//! static COUNT: pawl::Mutex<u64> = pawl::const_mutex(0);
//!
//! *COUNT.lock() += 1;
//! assert_eq!(*COUNT.lock(), 1);
//! ```
//!
//! Both are the C library's, by the functions that it exports: `pawl_mutex_lock` and
//! so on. All-zero is unlocked, and an unlocked lock may be moved.
//!
use lock_api::{GuardNoSend, GuardSend};
use std::cell::UnsafeCell;
use std::time::{Duration, Instant};

mod ffi {
    use std::os::raw::{c_int, c_long};

    /// `struct pawl_mutex`
    #[repr(C)]
    pub struct Mutex {
        pub words: [u64; 2],
    }

    /// `struct pawl_rwlock`
    #[repr(C)]
    pub struct RwLock {
        pub words: [u64; 4],
    }

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct Timespec {
        pub tv_sec: i64,
        pub tv_nsec: c_long,
    }

    pub const CLOCK_MONOTONIC: c_int = 1;

    extern "C" {
        pub fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
        pub fn pawl_mutex_lock(m: *mut Mutex);
        pub fn pawl_mutex_trylock(m: *mut Mutex) -> bool;
        pub fn pawl_mutex_timedlock(m: *mut Mutex, clock: c_int, time: *const Timespec) -> c_int;
        pub fn pawl_mutex_unlock(m: *mut Mutex);
        pub fn pawl_rwlock_read_lock(l: *mut RwLock);
        pub fn pawl_rwlock_read_trylock(l: *mut RwLock) -> bool;
        pub fn pawl_rwlock_read_timedlock(
            l: *mut RwLock,
            clock: c_int,
            time: *const Timespec,
        ) -> c_int;
        pub fn pawl_rwlock_read_unlock(l: *mut RwLock);
        pub fn pawl_rwlock_write_lock(l: *mut RwLock);
        pub fn pawl_rwlock_write_trylock(l: *mut RwLock) -> bool;
        pub fn pawl_rwlock_write_timedlock(
            l: *mut RwLock,
            clock: c_int,
            time: *const Timespec,
        ) -> c_int;
        pub fn pawl_rwlock_write_unlock(l: *mut RwLock);
        pub fn pawl_rwlock_downgrade(l: *mut RwLock);
    }
}

/// When so much time will have passed, on the monotonic clock; at the end of time if
/// that is further away than it can tell.
fn after(duration: Duration) -> ffi::Timespec {
    let mut time = ffi::Timespec { tv_sec: 0, tv_nsec: 0 };

    // Safety: the clock exists, and `time` is ours.
    unsafe { ffi::clock_gettime(ffi::CLOCK_MONOTONIC, &mut time) };
    let nanoseconds = time.tv_nsec as u64 + u64::from(duration.subsec_nanos());
    let seconds = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    time.tv_sec = time
        .tv_sec
        .saturating_add(seconds)
        .saturating_add((nanoseconds / 1_000_000_000) as i64);
    time.tv_nsec = (nanoseconds % 1_000_000_000) as _;
    time
}

fn until(instant: Instant) -> ffi::Timespec {
    after(instant.saturating_duration_since(Instant::now()))
}

/// `struct pawl_mutex`. Any thread may unlock it.
pub struct RawMutex(UnsafeCell<ffi::Mutex>);

// Safety: the C library synchronizes every access.
unsafe impl Send for RawMutex {}
unsafe impl Sync for RawMutex {}

// Safety: it excludes.
unsafe impl lock_api::RawMutex for RawMutex {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: RawMutex = RawMutex(UnsafeCell::new(ffi::Mutex { words: [0; 2] }));
    type GuardMarker = GuardSend;

    fn lock(&self) {
        unsafe { ffi::pawl_mutex_lock(self.0.get()) }
    }

    fn try_lock(&self) -> bool {
        unsafe { ffi::pawl_mutex_trylock(self.0.get()) }
    }

    unsafe fn unlock(&self) {
        ffi::pawl_mutex_unlock(self.0.get())
    }
}

unsafe impl lock_api::RawMutexTimed for RawMutex {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_for(&self, timeout: Duration) -> bool {
        unsafe { ffi::pawl_mutex_timedlock(self.0.get(), ffi::CLOCK_MONOTONIC, &after(timeout)) == 0 }
    }

    fn try_lock_until(&self, timeout: Instant) -> bool {
        unsafe { ffi::pawl_mutex_timedlock(self.0.get(), ffi::CLOCK_MONOTONIC, &until(timeout)) == 0 }
    }
}

/// `struct pawl_rwlock`. The thread that locked it must unlock it; reading is recursive.
pub struct RawRwLock(UnsafeCell<ffi::RwLock>);

// Safety: as above.
unsafe impl Send for RawRwLock {}
unsafe impl Sync for RawRwLock {}

// Safety: it has readers or one writer.
unsafe impl lock_api::RawRwLock for RawRwLock {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: RawRwLock = RawRwLock(UnsafeCell::new(ffi::RwLock { words: [0; 4] }));
    type GuardMarker = GuardNoSend;

    fn lock_shared(&self) {
        unsafe { ffi::pawl_rwlock_read_lock(self.0.get()) }
    }

    fn try_lock_shared(&self) -> bool {
        unsafe { ffi::pawl_rwlock_read_trylock(self.0.get()) }
    }

    unsafe fn unlock_shared(&self) {
        ffi::pawl_rwlock_read_unlock(self.0.get())
    }

    fn lock_exclusive(&self) {
        unsafe { ffi::pawl_rwlock_write_lock(self.0.get()) }
    }

    fn try_lock_exclusive(&self) -> bool {
        unsafe { ffi::pawl_rwlock_write_trylock(self.0.get()) }
    }

    unsafe fn unlock_exclusive(&self) {
        ffi::pawl_rwlock_write_unlock(self.0.get())
    }
}

unsafe impl lock_api::RawRwLockRecursive for RawRwLock {
    fn lock_shared_recursive(&self) {
        lock_api::RawRwLock::lock_shared(self)
    }

    fn try_lock_shared_recursive(&self) -> bool {
        lock_api::RawRwLock::try_lock_shared(self)
    }
}

unsafe impl lock_api::RawRwLockDowngrade for RawRwLock {
    unsafe fn downgrade(&self) {
        ffi::pawl_rwlock_downgrade(self.0.get())
    }
}

unsafe impl lock_api::RawRwLockTimed for RawRwLock {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_shared_for(&self, timeout: Duration) -> bool {
        let time = after(timeout);
        unsafe { ffi::pawl_rwlock_read_timedlock(self.0.get(), ffi::CLOCK_MONOTONIC, &time) == 0 }
    }

    fn try_lock_shared_until(&self, timeout: Instant) -> bool {
        let time = until(timeout);
        unsafe { ffi::pawl_rwlock_read_timedlock(self.0.get(), ffi::CLOCK_MONOTONIC, &time) == 0 }
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> bool {
        let time = after(timeout);
        unsafe { ffi::pawl_rwlock_write_timedlock(self.0.get(), ffi::CLOCK_MONOTONIC, &time) == 0 }
    }

    fn try_lock_exclusive_until(&self, timeout: Instant) -> bool {
        let time = until(timeout);
        unsafe { ffi::pawl_rwlock_write_timedlock(self.0.get(), ffi::CLOCK_MONOTONIC, &time) == 0 }
    }
}

pub type Mutex<T> = lock_api::Mutex<RawMutex, T>;
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, RawMutex, T>;
pub type RwLock<T> = lock_api::RwLock<RawRwLock, T>;
pub type RwLockReadGuard<'a, T> = lock_api::RwLockReadGuard<'a, RawRwLock, T>;
pub type RwLockWriteGuard<'a, T> = lock_api::RwLockWriteGuard<'a, RawRwLock, T>;

/// For statics.
pub const fn const_mutex<T>(value: T) -> Mutex<T> {
    Mutex::const_new(<RawMutex as lock_api::RawMutex>::INIT, value)
}

/// For statics.
pub const fn const_rwlock<T>(value: T) -> RwLock<T> {
    RwLock::const_new(<RawRwLock as lock_api::RawRwLock>::INIT, value)
}
