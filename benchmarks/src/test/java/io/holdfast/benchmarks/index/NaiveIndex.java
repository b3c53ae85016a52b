package io.holdfast.benchmarks.index;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The index that one writes first: a set of names for each engine, and its hashes' way to them. Locks out everybody. */
final class NaiveIndex implements Index {
    private record Answer(int engine, int depth) {}

    private final List<Set<Long>> held = new ArrayList<>();
    private final List<Map<Long, Long>> names = new ArrayList<>();
    private long errors;

    NaiveIndex(int engines) {
        for (int i = 0; i < engines; i++) {
            held.add(new HashSet<>());
            names.add(new HashMap<>());
        }
    }

    @Override
    public synchronized void apply(Events events, int event) {
        Set<Long> holds = held.get(events.engine(event));
        Map<Long, Long> name = names.get(events.engine(event));
        if (events.kind(event) == WorkloadFile.CLEAR) {
            holds.clear();
            name.clear();
            return;
        }
        for (int i = events.from(event); i < events.to(event); i++) {
            if (events.kind(event) == WorkloadFile.REMOVE) {
                Long removed = name.remove(events.hashes()[i]);
                errors += removed != null && holds.remove(removed) ? 0 : 1;
            } else {
                name.put(events.hashes()[i], events.names()[i]);
                holds.add(events.names()[i]);
            }
        }
    }

    @Override
    public synchronized long errors() {
        return errors;
    }

    @Override
    public Reader reader() {
        return new Reader() {
            private List<Answer> answers = List.of();

            @Override
            public int match(long[] path, int from, int blocks) {
                answers = answers(path, from, blocks);
                return answers.size();
            }

            @Override
            public int engine(int i) {
                return answers.get(i).engine();
            }

            @Override
            public int depth(int i) {
                return answers.get(i).depth();
            }
        };
    }

    private synchronized List<Answer> answers(long[] path, int from, int blocks) {
        List<Answer> answers = new ArrayList<>();
        for (int engine = 0; engine < held.size(); engine++) {
            int depth = 0;
            while (depth < blocks && held.get(engine).contains(path[from + depth])) {
                depth++;
            }
            if (depth > 0) {
                answers.add(new Answer(engine, depth));
            }
        }
        return answers;
    }
}
