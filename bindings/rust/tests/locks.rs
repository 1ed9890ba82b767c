// SPDX-License-Identifier: MIT
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const THREADS: usize = 4;
const ROUNDS: usize = 2000;
const SOON: Duration = Duration::from_millis(1);
const NEVER: Duration = Duration::MAX;

fn together<T: Send + Sync + 'static>(shared: Arc<T>, body: fn(&T)) {
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let shared = shared.clone();
            thread::spawn(move || (0..ROUNDS).for_each(|_| body(&shared)))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn mutex_excludes() {
    let count = Arc::new(pawl::Mutex::new(0));

    together(count.clone(), |count| *count.lock() += 1);
    assert_eq!(*count.lock(), THREADS * ROUNDS);
    assert_eq!(std::mem::size_of::<pawl::RawMutex>(), 16);
}

#[test]
fn held_mutex_refuses_and_times_out() {
    let mutex = pawl::Mutex::new(());
    let held = mutex.lock();

    thread::scope(|s| {
        s.spawn(|| {
            assert!(mutex.try_lock().is_none());
            assert!(mutex.try_lock_for(SOON).is_none());
            assert!(mutex.try_lock_until(Instant::now()).is_none());
        });
    });
    drop(held);
    assert!(mutex.try_lock_for(NEVER).is_some());
}

#[test]
fn guard_of_a_mutex_may_be_sent() {
    let mutex = pawl::Mutex::new(());
    let held = mutex.lock();

    thread::scope(|s| {
        s.spawn(move || drop(held));
    });
    assert!(mutex.try_lock().is_some());
}

#[test]
fn rwlock_has_readers_or_a_writer() {
    let pair = Arc::new(pawl::RwLock::new((0, 0)));

    together(pair.clone(), |pair| {
        {
            let mut pair = pair.write();
            pair.0 += 1;
            pair.1 += 1;
        }
        let pair = pair.read();
        assert_eq!(pair.0, pair.1);
    });
    assert_eq!(pair.read().0, THREADS * ROUNDS);
}

#[test]
fn reading_is_recursive_and_keeps_writers_out() {
    let lock = pawl::RwLock::new(0);
    let one = lock.read();
    let two = lock.read_recursive();

    thread::scope(|s| {
        s.spawn(|| {
            assert!(lock.try_write().is_none());
            assert!(lock.try_write_for(SOON).is_none());
            assert!(lock.try_read_for(NEVER).is_some());
        });
    });
    drop((one, two));
    let read = lock_api::RwLockWriteGuard::downgrade(lock.try_write().unwrap());
    assert!(lock.try_read().is_some());
    drop(read);
}
