package io.holdfast.core.index;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Collectors;

/**
 * A sequence of things that happen to a {@link BlockTree}, as values: it can be played again, in part, and read.
 *
 * <p>Caches are named by places of the script's own. A step that makes no sense, such as a batch of a cache that is not
 * there, is none, so that every part of a script is a script.
 */
record Script(BlockTree.Naming naming, List<Script.Step> steps) {
    sealed interface Step {}

    record Add(int place, CacheTraits traits) implements Step {
        @Override
        public String toString() {
            return "add cache " + place + " " + traits;
        }
    }

    record Drop(int place) implements Step {
        @Override
        public String toString() {
            return "drop cache " + place;
        }
    }

    record Lost(int place, Gap.Cause cause) implements Step {
        Gap gap() {
            return new Gap(cause, 7, cause == Gap.Cause.DISCONNECTED ? 7 : 9);
        }

        @Override
        public String toString() {
            return "gap in cache " + place + ": " + cause;
        }
    }

    record Restart(int place, long seen) implements Step {
        @Override
        public String toString() {
            return "restart of cache " + place + " at " + seen;
        }
    }

    /** What the cache is known to hold is written, forgotten but for what a gap leaves, and taken over again. */
    record Reload(int place, boolean afterAll) implements Step {
        @Override
        public String toString() {
            return "reload of cache " + place + (afterAll ? " when it holds nothing" : " over what it holds");
        }
    }

    record Batch(int place, List<Event> events) implements Step {
        @Override
        public String toString() {
            return "batch of cache " + place + ": "
                    + events.stream().map(Event::toString).collect(Collectors.joining("; "));
        }
    }

    sealed interface Event {}

    /** A block of an announcement: the engine's hash, the content chain's name, and what its tokens are made of. */
    record Block(long hash, long name, int seed) {
        static final int TOKENS = 2;

        int[] tokens() {
            return new int[] {seed, ~seed};
        }

        /** One block in seven has an image. */
        long extra() {
            return seed % 7 == 3 ? seed : 0;
        }

        @Override
        public String toString() {
            return hash == name ? Long.toString(hash) : hash + "=" + name;
        }
    }

    /** What an announcement has to name its blocks by. */
    enum Form {
        NAMES,
        TOKENS,
        NOTHING
    }

    record Store(OptionalLong parent, List<Block> blocks, Tier tier, int group, Form form) implements Event {
        static final int WINDOWED_GROUP = 2;

        /** Fills the buffer with parts of longer arrays, as a codec does. */
        StoredBlocks show(StoredBlocks chain) {
            chain.reset().in(tier).group(group).windowed(group == WINDOWED_GROUP);
            parent.ifPresent(chain::under);
            int count = blocks.size();
            long[] hashes = new long[count + 5];
            long[] names = new long[count + 3];
            long[] extras = new long[count + 1];
            int[] tokens = new int[(count + 1) * Block.TOKENS];
            for (int i = 0; i < count; i++) {
                hashes[i + 2] = blocks.get(i).hash;
                names[i + 1] = blocks.get(i).name;
                extras[i + 1] = blocks.get(i).extra();
                System.arraycopy(blocks.get(i).tokens(), 0, tokens, (i + 1) * Block.TOKENS, Block.TOKENS);
            }
            chain.hashes(hashes, 2, count);
            switch (form) {
                case NAMES -> chain.names(names, 1);
                case TOKENS ->
                    chain.tokens(tokens, Block.TOKENS, count * Block.TOKENS)
                            .blockTokens(Block.TOKENS)
                            .extras(extras, 1);
                case NOTHING -> {}
            }
            return chain;
        }

        Store with(List<Block> others) {
            return new Store(parent, others, tier, group, form);
        }

        @Override
        public String toString() {
            return "store " + blocks + (parent.isPresent() ? " under " + parent.getAsLong() : "") + " in " + tier
                    + (group == 0 ? "" : " group " + group) + (form == Form.NAMES ? "" : " with " + form);
        }
    }

    record Remove(List<Long> hashes, Tier tier, int group) implements Event {
        @Override
        public String toString() {
            return "remove " + hashes + " from " + tier + (group == 0 ? "" : " group " + group);
        }
    }

    record Clear() implements Event {
        @Override
        public String toString() {
            return "clear";
        }
    }

    /** Says whether a script still shows what is looked for. */
    interface Symptom {
        boolean shows(Script script);
    }

    Script with(List<Step> other) {
        return new Script(naming, other);
    }

    /** The script with nothing in it that can be left out while it shows the symptom. */
    Script shrunk(Symptom symptom) {
        Script smaller = with(fewest(steps, part -> symptom.shows(with(part))));
        for (int i = 0; i < smaller.steps.size(); i++) {
            smaller = smaller.shrunkAt(i, symptom);
        }
        return smaller.with(fewest(smaller.steps, part -> symptom.shows(with(part))));
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder().append(naming);
        for (int i = 0; i < steps.size(); i++) {
            text.append("\n  ").append(i + 1).append(". ").append(steps.get(i));
        }
        return text.toString();
    }

    private Script shrunkAt(int at, Symptom symptom) {
        if (!(steps.get(at) instanceof Batch batch)) {
            return this;
        }
        List<Event> events = new ArrayList<>(fewest(
                batch.events, part -> symptom.shows(replaced(at, new Batch(batch.place, part)))));
        for (int i = 0; i < events.size(); i++) {
            int event = i;
            Attempt attempt = changed -> {
                List<Event> others = new ArrayList<>(events);
                others.set(event, changed);
                return symptom.shows(replaced(at, new Batch(batch.place, others)));
            };
            events.set(i, shrunk(events.get(i), attempt));
        }
        return replaced(at, new Batch(batch.place, events));
    }

    private interface Attempt {
        boolean shows(Event changed);
    }

    private static Event shrunk(Event event, Attempt attempt) {
        return switch (event) {
            case Store s -> s.with(fewest(s.blocks, part -> attempt.shows(s.with(part))));
            case Remove r ->
                new Remove(fewest(r.hashes, part -> attempt.shows(new Remove(part, r.tier, r.group))), r.tier, r.group);
            case Clear c -> c;
        };
    }

    private Script replaced(int at, Step step) {
        List<Step> others = new ArrayList<>(steps);
        others.set(at, step);
        return with(others);
    }

    private interface Enough<T> {
        boolean holds(List<T> part);
    }

    /** The list without what can be left out, in ever smaller pieces; itself when nothing can. */
    private static <T> List<T> fewest(List<T> all, Enough<T> enough) {
        List<T> kept = all;
        for (int piece = Math.max(1, all.size() / 2); ; ) {
            Optional<List<T>> smaller = withoutOnePiece(kept, piece, enough);
            if (smaller.isPresent()) {
                kept = smaller.get();
                piece = Math.max(1, Math.min(piece, kept.size() / 2));
            } else if (piece == 1) {
                return kept;
            } else {
                piece /= 2;
            }
        }
    }

    private static <T> Optional<List<T>> withoutOnePiece(List<T> kept, int piece, Enough<T> enough) {
        List<T> rest = kept;
        // From the end: what came last depends on what came first.
        for (int to = kept.size(); to > 0; to -= piece) {
            List<T> part = new ArrayList<>(rest.subList(0, Math.max(0, to - piece)));
            part.addAll(rest.subList(to, rest.size()));
            if (enough.holds(part)) {
                rest = part;
            }
        }
        return rest.size() == kept.size() ? Optional.empty() : Optional.of(rest);
    }
}
