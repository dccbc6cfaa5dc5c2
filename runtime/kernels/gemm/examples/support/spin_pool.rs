/// Workers that wait by spinning: the cheapest dispatch there can be, for benchmarks only.
struct SpinPool<'a> {
    threads: usize,
    shared: &'a SpinShared,
}

struct SpinShared {
    /// Which run the workers are to join; `usize::MAX` ends them.
    run: AtomicUsize,
    next: AtomicUsize,
    tasks: AtomicUsize,
    idle: AtomicUsize,
    body: std::sync::Mutex<Option<&'static (dyn Fn(usize) + Sync)>>,
}

impl SpinShared {
    fn work(&self, body: &(dyn Fn(usize) + Sync)) {
        loop {
            let task = self.next.fetch_add(1, Ordering::Relaxed);
            if task >= self.tasks.load(Ordering::Relaxed) {
                return;
            }
            body(task);
        }
    }

    fn worker(&self) {
        let mut seen = 0;
        loop {
            let run = self.run.load(Ordering::Acquire);
            if run == usize::MAX {
                return;
            }
            if run == seen {
                spin_loop();
                continue;
            }
            seen = run;
            let body = self.body.lock().map(|body| *body).ok().flatten();
            if let Some(body) = body {
                self.work(body);
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
        self.shared.next.store(0, Ordering::Relaxed);
        self.shared.idle.store(0, Ordering::Relaxed);
        self.shared.run.fetch_add(1, Ordering::Release);
        self.shared.work(body);
        while self.shared.idle.load(Ordering::Acquire) < self.threads - 1 {
            spin_loop();
        }
    }
}

fn with_pool(threads: usize, body: impl FnOnce(&dyn Pool)) {
    let shared = SpinShared {
        run: AtomicUsize::new(0),
        next: AtomicUsize::new(0),
        tasks: AtomicUsize::new(0),
        idle: AtomicUsize::new(0),
        body: std::sync::Mutex::new(None),
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| shared.worker());
        }
        body(&SpinPool { threads, shared: &shared });
        shared.run.store(usize::MAX, Ordering::Release);
    });
}
