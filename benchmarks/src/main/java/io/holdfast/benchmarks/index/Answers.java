package io.holdfast.benchmarks.index;

/**
 * All answers to a list of queries in three numbers.
 *
 * @param checksum equal for two indexes if, but for an accident of 64 bits, all their answers are; the order of engines in
 *     an answer does not count
 * @param matched the depths of all engines, added up
 * @param best the greatest depth of each query, added up
 */
record Answers(long checksum, long matched, long best) {
    private static final long QUERY_STEP = 0x9E3779B97F4A7C15L;
    private static final long ENGINE_STEP = 0xC2B2AE3D27D4EB4FL;

    static Answers of(Index.Reader reader, Queries queries) {
        long checksum = 0;
        long matched = 0;
        long best = 0;
        for (int query = 0; query < queries.count(); query++) {
            int deepest = 0;
            int count = reader.match(queries, query);
            for (int i = 0; i < count; i++) {
                int depth = reader.depth(i);
                if (depth > 0) {
                    checksum += Mix.of(query * QUERY_STEP + reader.engine(i) * ENGINE_STEP + depth);
                    matched += depth;
                    deepest = Math.max(deepest, depth);
                }
            }
            best += deepest;
        }
        return new Answers(checksum, matched, best);
    }
}
