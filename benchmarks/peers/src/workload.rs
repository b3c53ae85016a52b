//! A workload file, `KVWL0001`: what engines announced, then what a router asks. The reader in Java, `WorkloadFile`, says how
//! it is laid out.

use std::fs;

/// A block: the hash of its own tokens, and its name on the content chain.
#[derive(Clone, Copy)]
pub struct Block {
    pub local: u64,
    pub name: u64,
}

pub enum Event {
    Stored { engine: u32, parent: Option<u64>, blocks: Vec<Block> },
    Removed { engine: u32, names: Vec<u64> },
    Cleared { engine: u32 },
}

pub struct Workload {
    pub engines: u32,
    pub operations: u64,
    pub events: Vec<Event>,
    /// Of each path that is asked for, the hashes of its blocks' own tokens.
    pub queries: Vec<Vec<u64>>,
}

struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn next(&mut self) -> u64 {
        let (word, rest) = self.0.split_first_chunk::<8>().expect("the workload file is cut off; generate it again");
        self.0 = rest;
        u64::from_le_bytes(*word)
    }

    fn blocks(&mut self, count: usize) -> Vec<Block> {
        (0..count).map(|_| Block { local: self.next(), name: self.next() }).collect()
    }
}

impl Workload {
    pub fn read(file: &str, most_queries: usize) -> Workload {
        let bytes = fs::read(file).unwrap_or_else(|e| panic!("{file} cannot be read: {e}"));
        assert!(bytes.starts_with(b"KVWL0001"), "{file} is not a workload file: it does not begin with KVWL0001");
        let mut words = Words(&bytes[8..]);
        let engines = words.next() as u32;
        let [events, stored, removed, _clears, queries, _query_blocks] = std::array::from_fn(|_| words.next());
        let events = (0..events).map(|_| Self::event(&mut words)).collect();
        let queries = (0..(queries as usize).min(most_queries))
            .map(|_| {
                let count = words.next() as u32 as usize;
                words.blocks(count).into_iter().map(|block| block.local).collect()
            })
            .collect();
        Workload { engines, operations: stored + removed, events, queries }
    }

    fn event(words: &mut Words) -> Event {
        let head = words.next();
        let engine = (head >> 16) as u16 as u32;
        let count = (head >> 32) as usize;
        let parent = words.next();
        match head as u8 {
            0 => Event::Stored { engine, parent: (parent != 0).then_some(parent), blocks: words.blocks(count) },
            1 => Event::Removed { engine, names: (0..count).map(|_| words.next()).collect() },
            _ => Event::Cleared { engine },
        }
    }
}
