/// The most threads.
const MOST: usize = 64;

/// Workers that wait by spinning: the cheapest dispatch there can be, for benchmarks only. Each starts with its own
/// share of the tasks, then helps with the others'.
struct SpinPool<'a> {
    threads: usize,
    shared: &'a SpinShared,
}

struct SpinShared {
    /// Which run the workers are to join; `usize::MAX` ends them.
    run: AtomicUsize,
    next: [AtomicUsize; MOST],
    tasks: AtomicUsize,
    threads: usize,
    idle: AtomicUsize,
    body: std::sync::Mutex<Option<&'static (dyn Fn(usize) + Sync)>>,
}

impl SpinShared {
    fn work(&self, id: usize, body: &(dyn Fn(usize) + Sync)) {
        let tasks = self.tasks.load(Ordering::Relaxed);
        for share in (id..self.threads).chain(0..id) {
            let end = tasks * (share + 1) / self.threads;
            loop {
                let task = self.next[share].fetch_add(1, Ordering::Relaxed);
                if task >= end {
                    break;
                }
                body(task);
            }
        }
    }

    fn worker(&self, id: usize) {
        let (mut seen, mut spins) = (0, 0u32);
        loop {
            let run = self.run.load(Ordering::Acquire);
            if run == usize::MAX {
                return;
            }
            if run == seen {
                wait(&mut spins);
                continue;
            }
            (seen, spins) = (run, 0);
            let body = self.body.lock().map(|body| *body).ok().flatten();
            if let Some(body) = body {
                self.work(id, body);
            }
            self.idle.fetch_add(1, Ordering::Release);
        }
    }
}

impl Pool for SpinPool<'_> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn run(&self, tasks: usize, body: &(dyn Fn(usize) + Sync)) {
        // SAFETY: this function returns only after every worker has left `body`.
        let forever: &'static (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(body) };
        if let Ok(mut slot) = self.shared.body.lock() {
            *slot = Some(forever);
        }
        self.shared.tasks.store(tasks, Ordering::Relaxed);
        for (share, next) in self.shared.next.iter().enumerate().take(self.threads) {
            next.store(tasks * share / self.threads, Ordering::Relaxed);
        }
        self.shared.idle.store(0, Ordering::Relaxed);
        self.shared.run.fetch_add(1, Ordering::Release);
        self.shared.work(0, body);
        let mut spins = 0;
        while self.shared.idle.load(Ordering::Acquire) < self.threads - 1 {
            wait(&mut spins);
        }
    }
}

fn with_pool(threads: usize, body: impl FnOnce(&dyn Pool)) {
    assert!((1..=MOST).contains(&threads), "1 to 64 threads");
    let shared = SpinShared {
        run: AtomicUsize::new(0),
        next: [const { AtomicUsize::new(0) }; MOST],
        tasks: AtomicUsize::new(0),
        threads,
        idle: AtomicUsize::new(0),
        body: std::sync::Mutex::new(None),
    };
    std::thread::scope(|scope| {
        for id in 1..threads {
            let shared = &shared;
            scope.spawn(move || shared.worker(id));
        }
        body(&SpinPool { threads, shared: &shared });
        shared.run.store(usize::MAX, Ordering::Release);
    });
}

/// Waits a moment; after many, lets others run, on whom this may be waiting.
fn wait(spins: &mut u32) {
    *spins = spins.saturating_add(1);
    if *spins < 20_000 {
        spin_loop();
    } else {
        std::thread::yield_now();
    }
}
