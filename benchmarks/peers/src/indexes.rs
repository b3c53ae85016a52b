//! The other indexes, each behind the same few calls.

use crate::workload::Event;
use dynamo_kv_router::indexer::{SyncIndexer, ThreadPoolIndexer};
use dynamo_kv_router::protocols as dynamo;
use dynamo_kv_router::ConcurrentRadixTreeCompressed;
use kv_index::{ChainBlockMap, ChainIndex, ContentHash, SequenceHash, StoredBlock};

pub trait Index {
    /// Events in the index's own types, made before any clock starts.
    type Prepared;
    type Query;

    fn new(engines: u32) -> Self;
    fn prepare(events: &[Event]) -> Self::Prepared;
    fn query(locals: &[u64]) -> Self::Query;

    /// Applies all of them; on return nothing is left in a queue. What is prepared may be given back to be dropped later.
    fn apply(&mut self, events: Self::Prepared) -> Option<Self::Prepared>;

    /// Tells each engine and how many leading blocks it holds.
    fn find(&self, query: &Self::Query, tell: impl FnMut(u32, u32));

    /// Events that were refused.
    fn errors(&self) -> u64;
}

/// kv-index: one writer for each engine's map, here the one thread.
pub struct Chain {
    index: ChainIndex,
    maps: Vec<ChainBlockMap>,
    errors: u64,
}

enum Kind {
    Stored(Option<SequenceHash>),
    Removed,
    Cleared,
}

/// Flat, as the crate takes slices: (engine, kind, end of its blocks in the array of its kind).
#[derive(Default)]
pub struct ChainEvents {
    events: Vec<(u32, Kind, usize)>,
    stored: Vec<StoredBlock>,
    removed: Vec<SequenceHash>,
}

impl Index for Chain {
    type Prepared = ChainEvents;
    type Query = Vec<ContentHash>;

    fn new(engines: u32) -> Self {
        let index = ChainIndex::new();
        for engine in 0..engines {
            let id = index.intern_worker(&engine.to_string()).expect("too many engines for kv-index");
            assert_eq!(id, engine);
        }
        Chain { index, maps: (0..engines).map(|_| ChainBlockMap::default()).collect(), errors: 0 }
    }

    fn prepare(events: &[Event]) -> ChainEvents {
        let mut flat = ChainEvents::default();
        for event in events {
            let made = match event {
                Event::Stored { engine, parent, blocks } => {
                    flat.stored.extend(blocks.iter().map(|block| StoredBlock {
                        seq_hash: SequenceHash(block.name),
                        content_hash: ContentHash(block.local),
                    }));
                    (*engine, Kind::Stored(parent.map(SequenceHash)), flat.stored.len())
                }
                Event::Removed { engine, names } => {
                    flat.removed.extend(names.iter().map(|&name| SequenceHash(name)));
                    (*engine, Kind::Removed, flat.removed.len())
                }
                Event::Cleared { engine } => (*engine, Kind::Cleared, 0),
            };
            flat.events.push(made);
        }
        flat
    }

    fn query(locals: &[u64]) -> Self::Query {
        locals.iter().map(|&local| ContentHash(local)).collect()
    }

    fn apply(&mut self, events: ChainEvents) -> Option<ChainEvents> {
        let (mut stored, mut removed) = (0, 0);
        for (engine, kind, end) in &events.events {
            let map = &mut self.maps[*engine as usize];
            match kind {
                Kind::Stored(parent) => {
                    let applied = self.index.apply_stored(*engine, &events.stored[stored..*end], *parent, map);
                    self.errors += u64::from(applied.is_err());
                    stored = *end;
                }
                Kind::Removed => {
                    self.index.apply_removed(*engine, &events.removed[removed..*end], map);
                    removed = *end;
                }
                Kind::Cleared => self.index.apply_cleared(*engine, map),
            }
        }
        Some(events)
    }

    fn find(&self, query: &Self::Query, mut tell: impl FnMut(u32, u32)) {
        for (engine, depth) in self.index.find_matches(query, false).scores {
            tell(engine, depth);
        }
    }

    fn errors(&self) -> u64 {
        self.errors
    }
}

/// Dynamo's router with the tree that it takes by default, behind its pool of one writing thread.
pub struct Dynamo(ThreadPoolIndexer<ConcurrentRadixTreeCompressed>);

const BLOCK_TOKENS: u32 = 16;

impl Index for Dynamo {
    type Prepared = Vec<dynamo::RouterEvent>;
    type Query = Vec<dynamo::LocalBlockHash>;

    fn new(_engines: u32) -> Self {
        Dynamo(ThreadPoolIndexer::new(ConcurrentRadixTreeCompressed::new(), 1, BLOCK_TOKENS))
    }

    fn prepare(events: &[Event]) -> Self::Prepared {
        let name = dynamo::ExternalSequenceBlockHash;
        let made = events.iter().enumerate().map(|(number, event)| {
            let (engine, data) = match event {
                Event::Stored { engine, parent, blocks } => {
                    let blocks = blocks.iter().map(|block| dynamo::KvCacheStoredBlockData {
                        block_hash: name(block.name),
                        tokens_hash: dynamo::LocalBlockHash(block.local),
                        mm_extra_info: None,
                    });
                    let stored = dynamo::KvCacheStoreData {
                        parent_hash: parent.map(name),
                        start_position: None,
                        blocks: blocks.collect(),
                    };
                    (*engine, dynamo::KvCacheEventData::Stored(stored))
                }
                Event::Removed { engine, names } => {
                    let block_hashes = names.iter().map(|&removed| name(removed)).collect();
                    (*engine, dynamo::KvCacheEventData::Removed(dynamo::KvCacheRemoveData { block_hashes }))
                }
                Event::Cleared { engine } => (*engine, dynamo::KvCacheEventData::Cleared),
            };
            let event = dynamo::KvCacheEvent { event_id: number as u64, data, dp_rank: 0 };
            dynamo::RouterEvent::new(engine.into(), event)
        });
        made.collect()
    }

    fn query(locals: &[u64]) -> Self::Query {
        locals.iter().map(|&local| dynamo::LocalBlockHash(local)).collect()
    }

    fn apply(&mut self, events: Self::Prepared) -> Option<Self::Prepared> {
        for event in events {
            self.0.enqueue_event(event).expect("Dynamo's indexer has stopped");
        }
        pollster::block_on(self.0.flush_and_wait()).expect("Dynamo's indexer has stopped");
        None
    }

    fn find(&self, query: &Self::Query, mut tell: impl FnMut(u32, u32)) {
        for (worker, depth) in self.0.backend().find_matches(query, false).scores {
            tell(worker.worker_id as u32, depth);
        }
    }

    /// Its writing thread keeps them to itself; a difference shows in the checksum of the answers.
    fn errors(&self) -> u64 {
        0
    }
}
