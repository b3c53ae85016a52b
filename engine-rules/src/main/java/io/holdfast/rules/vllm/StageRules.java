package io.holdfast.rules.vllm;

import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.Pass;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/*
 * What a server of the optimisation log does in another way than vLLM; without such a server, all is vLLM's.
 *
 * Prefill
 * -------
 * Up to PAGED, all prompts that are read in a pass are filled up on the right to the longest of them: the pass costs
 * requests times longest. A padded prefill over blocks whose attention is larger than the model's headroom leaves the
 * GPU's memory over-committed, and all passes slow, until nobody runs or waits; the log saw ten times less throughput
 * there and gave no cause that holds, so this one is ours. RESTORE cuts long prompts only, one request at a time.
 *
 * Decode
 * ------
 * In slots, each request costs as much as the one with the longest context; a drained batch costs its first size up to
 * its end. Captured steps cost their graph's time, see Rates.
 *
 * Room
 * ----
 * A request is admitted when its whole answer has room beside the answers of those that run, so that nobody has to be
 * preempted.
 *
 * A gathered batch
 * ----------------
 * STATIC admits nobody before all that run have ended, and waits a little for others once a request comes: the log has
 * 50 ms more to the first token of a single request there than in the next stage, for each of three models.
 */
final class StageRules {
    private static final Logger log = LoggerFactory.getLogger(StageRules.class);

    private static final double GATHER_NANOS = 50e6;
    private static final double CAPTURE_NANOS = 1_500e6;
    private static final int RESTORING_CHUNK = 256;
    private static final int RESTORING_CHUNK_ABOVE = 2048;

    private final Optional<Stage> stage;
    private final Gpu gpu;
    private int captured;
    private boolean gathered;
    private int gatheredSize;
    private boolean overcommitted;

    StageRules(Optional<Stage> stage, Gpu gpu) {
        this.stage = stage;
        this.gpu = gpu;
    }

    /** Returns true once all graphs are captured, where there are any. */
    boolean isReady() {
        return !is(Profile.GRAPH) || captured == Rates.BUCKETS.size();
    }

    /** Captures the next graph; the last one leaves less memory than before. */
    void capture() {
        int bucket = Rates.BUCKETS.get(captured);
        if (gpu.run(Pass.decode(bucket), CAPTURE_NANOS)) {
            captured++;
            log.info("Captured the decode graph for {} requests.", bucket);
        }
    }

    /** Returns the number of blocks that captured graphs have taken from the cache. */
    int graphBlocks() {
        return is(Profile.GRAPH) && isReady()
                ? stage.orElseThrow().rates().size().graphBlocks()
                : 0;
    }

    /** Notes that nobody runs or waits. */
    void idle() {
        overcommitted = false;
        gathered = false;
    }

    /** Waits for others to join the first of a batch, once a batch; returns true if it did. */
    boolean gathers(boolean nobodyRuns) {
        if (!is(Profile.STATIC) || !nobodyRuns || gathered) {
            return false;
        }
        gathered = true;
        gatheredSize = 0;
        gpu.run(Pass.decode(0), GATHER_NANOS);
        return true;
    }

    /** Returns true if requests may join those that run. */
    boolean admits(boolean nobodyRuns) {
        return !is(Profile.STATIC) || nobodyRuns;
    }

    /**
     * Returns how many tokens of a request the pass computes; none where it has to wait for another's prompt.
     *
     * @param wanted tokens that are not computed yet
     * @param uncached tokens that had to be computed when it was admitted
     * @param left tokens that the pass may have
     * @param batch requests that are in the pass already
     */
    int share(int wanted, int uncached, int left, List<VllmRequest> batch) {
        if (!is(Profile.RESTORE) || wanted == 1) {
            return Math.min(wanted, left);
        }
        if (batch.stream().anyMatch(VllmRequest::isRead)) {
            return 0;
        }
        return uncached > RESTORING_CHUNK_ABOVE ? Math.min(wanted, RESTORING_CHUNK) : wanted;
    }

    /** Runs a pass for as long as the server takes for it; false when it is being stopped. */
    boolean run(Pass pass, List<VllmRequest> batch) {
        if (stage.isEmpty()) {
            return gpu.run(pass);
        }
        Profile profile = stage.get().profile();
        Rates rates = stage.get().rates();
        gathered = false;
        gatheredSize = Math.max(gatheredSize, batch.size());
        double nanos = 0;
        if (pass.prefills() > 0) {
            int longest = batch.stream()
                    .filter(VllmRequest::isRead)
                    .mapToInt(one -> one.scheduled)
                    .max()
                    .orElse(0);
            int computed = profile.pads() ? longest * pass.prefills() : pass.prefillTokens();
            if (profile == Profile.PAGED
                    && (long) computed * longest > rates.prefill().headroomScores()) {
                overcommit(computed);
            }
            nanos += rates.prefill()
                    .nanos(
                            computed,
                            batch.stream().mapToLong(VllmRequest::takeRestoring).sum());
        }
        if (pass.decodes() > 0) {
            nanos += decodeNanos(profile, rates, pass.decodes(), batch);
        }
        return gpu.run(pass, overcommitted ? nanos * rates.prefill().overcommit() : nanos);
    }

    private void overcommit(int tokens) {
        if (!overcommitted) {
            log.warn("A padded prefill of {} tokens exceeds the GPU's memory; all passes will be slow now.", tokens);
        }
        overcommitted = true;
    }

    private double decodeNanos(Profile profile, Rates rates, int decodes, List<VllmRequest> batch) {
        if (profile.inSlots()) {
            int slots = profile == Profile.STATIC ? gatheredSize : decodes;
            int longest = batch.stream().mapToInt(VllmRequest::length).max().orElse(0);
            return rates.decodeNanos(profile, slots, (long) slots * longest);
        }
        long context = batch.stream()
                .filter(one -> !one.isRead())
                .mapToLong(VllmRequest::length)
                .sum();
        return rates.decodeNanos(profile, decodes, context);
    }

    private boolean is(Profile profile) {
        return stage.filter(it -> it.profile() == profile).isPresent();
    }
}
