package io.holdfast.benchmarks.index;

import java.util.Arrays;

/** Paths that a router requests, by content chain, end to end in one array. */
final class Queries {
    private long[] names = new long[1 << 16];
    private int[] ends;
    private int count;

    private Queries(int most) {
        ends = new int[most];
    }

    /** The first queries of a file whose events have been read, or are not wanted. */
    static Queries of(WorkloadFile file, int most) {
        Queries queries = new Queries(Math.min(most, file.queries()));
        while (queries.count < queries.ends.length && file.nextQuery()) {
            queries.add(file);
        }
        return queries;
    }

    private void add(WorkloadFile file) {
        int from = from(count);
        int to = Math.addExact(from, file.count());
        if (to > names.length) {
            names = Arrays.copyOf(names, Math.max(to, (int) Math.min(Integer.MAX_VALUE - 8L, names.length * 2L)));
        }
        for (int i = 0; i < file.count(); i++) {
            names[from + i] = file.name(i);
        }
        ends[count++] = to;
    }

    int count() {
        return count;
    }

    long[] names() {
        return names;
    }

    int from(int query) {
        return query == 0 ? 0 : ends[query - 1];
    }

    int blocks(int query) {
        return ends[query] - from(query);
    }
}
