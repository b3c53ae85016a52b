//! Measures an index by others on a workload file, phase by phase as `benchmarks/measure index` does with ours, and prints
//! the same figures: `holdfast-peers chain20|dyn-crtc bench|check|mem FILE`.

mod indexes;
mod workload;

use indexes::{Chain, Dynamo, Index};
use std::hint::black_box;
use std::time::Instant;
use workload::Workload;

const ROUNDS: usize = 3;
const QUERY_PASSES: usize = 15;
const MOST_QUERIES: usize = 50_000;
const CHECK_QUERIES: usize = 5_000;
const CHECKPOINTS: usize = 10;
const CHUNK: usize = 1_000;

/// Seconds on the wall and of all processors for this process.
struct Watch(Instant, f64);

impl Watch {
    fn start() -> Watch {
        Watch(Instant::now(), cpu_seconds())
    }

    fn stop(&self) -> (f64, f64) {
        (self.0.elapsed().as_secs_f64(), cpu_seconds() - self.1)
    }
}

fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every Linux, and the struct is ours.
    let answer = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(answer, 0, "the processor clock cannot be asked");
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Bytes in memory, after what is free has been given back.
fn resident() -> i64 {
    // SAFETY: takes no pointer, and may be called at any time.
    unsafe { libc::malloc_trim(0) };
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc is not mounted");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("no VmRSS in /proc/self/status");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<i64>().ok()).expect("VmRSS is no number") * 1024
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The finaliser of splitmix64.
fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ value >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ value >> 31
}

/// A checksum over all answers, in which the order of engines does not count, and the blocks matched.
fn answers<I: Index>(index: &I, queries: &[I::Query]) -> (u64, u64) {
    let (mut checksum, mut matched) = (0u64, 0);
    for (number, query) in queries.iter().enumerate() {
        let base = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        index.find(query, |engine, depth| {
            if depth > 0 {
                let place = u64::from(engine).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
                checksum = checksum.wrapping_add(mix(base.wrapping_add(place).wrapping_add(depth.into())));
                matched += u64::from(depth);
            }
        });
    }
    (checksum, matched)
}

fn ask<I: Index>(index: &I, query: &I::Query) -> u64 {
    let mut depths = 0;
    index.find(query, |_, depth| depths += u64::from(depth));
    depths
}

fn bench<I: Index>(name: &str, file: &str) {
    let workload = Workload::read(file, MOST_QUERIES);
    let (mut wall, mut cpu) = (Vec::new(), Vec::new());
    let mut index = I::new(workload.engines);
    for round in 0..ROUNDS {
        if round > 0 {
            index = I::new(workload.engines);
        }
        let events = I::prepare(&workload.events);
        let watch = Watch::start();
        let rest = index.apply(events);
        let (seconds, cpu_seconds) = watch.stop();
        drop(rest);
        wall.push(seconds);
        cpu.push(cpu_seconds);
    }
    let queries: Vec<_> = workload.queries.iter().map(|locals| I::query(locals)).collect();
    let (checksum, matched) = answers(&index, &queries);
    let (mut rates, mut cpu_rates) = (Vec::new(), Vec::new());
    for _ in 0..QUERY_PASSES {
        let watch = Watch::start();
        black_box(queries.iter().map(|query| ask(&index, query)).sum::<u64>());
        let (seconds, cpu_seconds) = watch.stop();
        rates.push(queries.len() as f64 / seconds);
        cpu_rates.push(queries.len() as f64 / cpu_seconds);
    }
    let mut nanos: Vec<u128> = queries
        .iter()
        .map(|query| {
            let start = Instant::now();
            black_box(ask(&index, query));
            start.elapsed().as_nanos()
        })
        .collect();
    nanos.sort_unstable();
    let quantile = |share: f64| nanos[((nanos.len() as f64 * share) as usize).min(nanos.len() - 1)];
    let millions = workload.operations as f64 / 1e6;
    let first = wall[0];
    println!(
        "impl={name} mode=bench first_s={first:.3} mops={:.3} mops_cpu={:.3} qps={:.0} qps_cpu={:.0} p50_ns={} p99_ns={} \
         p999_ns={} check={checksum:016x} matched={matched} errors={}",
        millions / median(wall),
        millions / median(cpu),
        median(rates),
        median(cpu_rates),
        quantile(0.5),
        quantile(0.99),
        quantile(0.999),
        index.errors(),
    );
}

fn check<I: Index>(name: &str, file: &str) {
    let workload = Workload::read(file, CHECK_QUERIES);
    let queries: Vec<_> = workload.queries.iter().map(|locals| I::query(locals)).collect();
    let mut index = I::new(workload.engines);
    let (mut folded, mut checksums) = (0u64, Vec::new());
    let count = workload.events.len();
    for point in 0..CHECKPOINTS {
        let part = &workload.events[count * point / CHECKPOINTS..count * (point + 1) / CHECKPOINTS];
        index.apply(I::prepare(part));
        let (checksum, _) = answers(&index, &queries);
        folded = folded.rotate_left(7) ^ checksum;
        checksums.push(format!("{checksum:016x}"));
    }
    println!("impl={name} mode=check check={folded:016x} checksums={} errors={}", checksums.join(","), index.errors());
}

/// Resident memory that an index takes; the events, which are in memory before, come in chunks.
fn mem<I: Index>(name: &str, file: &str) {
    let workload = Workload::read(file, 0);
    let mut index = I::new(workload.engines);
    let before = resident();
    for chunk in workload.events.chunks(CHUNK) {
        index.apply(I::prepare(chunk));
    }
    println!("impl={name} mode=mem rss_delta={} errors={}", resident() - before, index.errors());
}

fn run<I: Index>(name: &str, mode: &str, file: &str) {
    match mode {
        "bench" => bench::<I>(name, file),
        "check" => check::<I>(name, file),
        "mem" => mem::<I>(name, file),
        _ => usage(),
    }
}

fn usage() -> ! {
    eprintln!("usage: holdfast-peers chain20|dyn-crtc bench|check|mem FILE");
    std::process::exit(2)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["chain20", mode, file] => run::<Chain>("chain20", mode, file),
        ["dyn-crtc", mode, file] => run::<Dynamo>("dyn-crtc", mode, file),
        _ => usage(),
    }
}
