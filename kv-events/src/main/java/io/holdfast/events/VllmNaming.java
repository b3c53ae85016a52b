package io.holdfast.events;

import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.events.VllmHashing.Algorithm;
import io.holdfast.events.VllmHashing.Form;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Block names of a vLLM engine, by a rule found out from the first prompt that it announces. */
final class VllmNaming implements BlockNaming {
    /*
     * A name depends on an algorithm that the engine can be started with and on a seed that its process has. Neither is
     * told, but an event has a block's tokens beside its name: so the known algorithms are tried with the seeds that
     * are common, or with what the configuration says, on first blocks of prompts without a salt, an adapter or an
     * image, until one comes out right. A few blocks that no rule fits are enough to give up, and the reason is told; a
     * restart begins anew, since another process may have another seed.
     *
     * What the configuration says is believed until a block contradicts it.
     */

    private static final Logger LOG = LoggerFactory.getLogger(VllmNaming.class);
    private static final int MOST_TRIES = 8;

    private final String engineId;
    private final Optional<Algorithm> configuredAlgorithm;
    private final Optional<String> configuredSeed;
    private volatile Optional<VllmHashing> known;
    private volatile boolean proven;
    private final AtomicInteger tried = new AtomicInteger();

    VllmNaming(String engineId, Optional<Algorithm> algorithm, Optional<String> seed) {
        this.engineId = engineId;
        this.configuredAlgorithm = algorithm;
        this.configuredSeed = seed;
        this.known = configured();
    }

    private Optional<VllmHashing> configured() {
        // A prompt without extras is named the same in all forms.
        return configuredAlgorithm.flatMap(
                algorithm -> configuredSeed.map(seed -> new VllmHashing(algorithm, seed, Form.TAGGED)));
    }

    @Override
    public long[] of(int[] tokens, int blockTokens) {
        return now().of(tokens, blockTokens);
    }

    @Override
    public BlockNaming now() {
        return new Rule(known.orElseThrow(() -> new UnknownRule(unknown(), tried.get() == 0)));
    }

    private record Rule(VllmHashing hashing) implements BlockNaming {
        @Override
        public long[] of(int[] tokens, int blockTokens) {
            return new VllmBlockNames(hashing).of(tokens, blockTokens);
        }
    }

    @Override
    public Optional<String> rule() {
        return known.map(VllmHashing::shown);
    }

    private String unknown() {
        String mend = "; write hashAlgorithm and hashSeed (its --prefix-caching-hash-algo and PYTHONHASHSEED) into the"
                + " configuration, or send the hashes of its events.";
        return tried.get() == 0
                ? "The rule by which this vLLM engine names its blocks is not known before it announces the first"
                        + " block of a prompt with its tokens: send it any prompt longer than a block and"
                        + " request again, or hold by example."
                : "No known rule gives the names of this vLLM engine's blocks (tried with " + tried.get() + " blocks)"
                        + mend;
    }

    @Override
    public KvEventSink listening(KvEventSink next) {
        return new Listener(next);
    }

    private void heard(StoredBlocks chain) {
        int length = chain.blockTokens();
        boolean plain = chain.rooted()
                && chain.count() > 0
                && length > 0
                && chain.tokenCount() >= length
                && !chain.windowed()
                && !chain.namespaced()
                && chain.namespace() == 0
                && chain.extra(0) == 0;
        if (!plain) {
            return;
        }
        int[] tokens = new int[length];
        for (int i = 0; i < length; i++) {
            tokens[i] = chain.token(i);
        }
        Optional<VllmHashing> found = VllmHashing.detect(
                        tokens,
                        VllmExtras.NONE,
                        chain.hash(0),
                        configuredSeed.map(List::of).orElse(List.of()))
                .filter(each -> configuredAlgorithm.isEmpty() || configuredAlgorithm.get() == each.algorithm());
        tried.incrementAndGet();
        if (found.isPresent()) {
            proven = true;
            LOG.info("Engine {} names its blocks by {}.", engineId, found.get().shown());
        } else if (known.isPresent()) {
            LOG.warn(
                    "Engine {} does not name its blocks as hashAlgorithm and hashSeed of the configuration say, so"
                            + " holds by tokens are refused.",
                    engineId);
        }
        known = found;
    }

    private void restarted() {
        proven = false;
        tried.set(0);
        known = configured();
    }

    private final class Listener extends RelayedEvents {
        Listener(KvEventSink next) {
            super(next);
        }

        @Override
        public void stored(StoredBlocks chain) {
            if (!proven && tried.get() < MOST_TRIES) {
                heard(chain);
            }
            super.stored(chain);
        }

        @Override
        public void restarted(long seen) {
            VllmNaming.this.restarted();
            super.restarted(seen);
        }
    }
}
