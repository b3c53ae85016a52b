package io.holdfast.sidecar.view;

import io.holdfast.core.EngineView;
import io.holdfast.core.Traffic;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.budget.Budget;
import io.holdfast.core.cost.PrefillCost;
import io.holdfast.core.effect.TtftEffect;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.plan.Plan;
import io.holdfast.core.plan.Reason;
import io.holdfast.core.rank.Evidence;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.core.reuse.Durations;
import io.holdfast.kvcached.LimitView;
import io.holdfast.sidecar.engine.EngineLimit;
import io.holdfast.sidecar.engine.EngineLink;
import io.holdfast.sidecar.engine.EngineWatch;
import io.holdfast.sidecar.engine.EngineWatch.Sample;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.function.ToLongFunction;

/**
 * One engine at a glance: whether holding helps, what is held, what that costs and saves, and what it lacks. Whatever is not
 * known says why.
 *
 * @param unready why it cannot be looked after; empty when it can
 * @param notes what a person should know of it all the same
 * @param automatic whether holds are made without being asked for, and by which key
 * @param waiting the requested hold that waits first; absent where none waits
 * @param paused why nothing is held; absent while holding goes on
 * @param limit what is known of its kvcached limit; absent where it has none
 * @param conditions whether holds or moves of memory can pay here; absent before anything was measured
 * @param needs what it would need to be of more use or to be surer, the most urgent alone; absent where it needs nothing
 */
public record EngineOverview(
        String id,
        String url,
        boolean dryRun,
        EngineView.Automatic automatic,
        Optional<Waiting> waiting,
        Verdict verdict,
        TtftEffect effect,
        List<String> unready,
        List<String> notes,
        Optional<String> paused,
        int alarms,
        HoldCounts holds,
        Pressure pressure,
        Hits hits,
        Saved saved,
        Optional<LimitView> limit,
        Optional<Conditions> conditions,
        Optional<String> needs) {

    /**
     * Numbers of holds, and the tokens that they hold.
     *
     * @param tokens pinned, by the ledger
     */
    public record HoldCounts(int held, int waiting, int lost, long tokens) {}

    /**
     * A requested hold that is not held yet, or not any more.
     *
     * @param hold its name, or its number where it has none
     * @param others how many more wait
     */
    record Waiting(String hold, int others, String reason) {
        /** @param why whether the reader may see the reasons of holds */
        String said(boolean why) {
            return "the requested hold " + hold + " waits" + (why ? ": " + clause(reason) : ApiJson.WITHHELD)
                    + (others == 0 ? "" : " (and " + others + " more)");
        }
    }

    /**
     * Tightness of the cache.
     *
     * @param demandTokens what the prompts ask of the cache that were under way at once, what they share counted once
     * @param demandEachInFullTokens the same with each of them counted in full
     * @param residenceSeconds how long a block survives that nobody touches
     * @param rho residence by reuse time: below about 1.5 holding can help, above 5 it cannot
     */
    public record Pressure(
            Reading capacityTokens,
            Reading usedTokens,
            Reading demandTokens,
            Reading demandEachInFullTokens,
            Reading hardTokens,
            Reading automaticTokens,
            Reading residenceSeconds,
            Reading reuseSeconds,
            Reading rho,
            Reading running,
            Reading waiting) {}

    /**
     * Cached share of requests within the last minutes.
     *
     * @param span how much time that is
     * @param savedSeconds time that the engine would have taken to compute the cached tokens, at its measured cost of a token
     * @param foundShared requests that found the prefix they share as a whole
     * @param foundInPart requests that found its beginning and computed the rest again
     * @param foundNothing requests that computed all of it again
     * @param others visible requests that share no prefix, or met it for the first time
     * @param invisible requests that the engine counts and its events do not show, which found all of their prompt
     * @param all requests that the engine counts, which are the sum of those
     */
    public record Hits(
            Duration span,
            Reading promptTokens,
            Reading cachedTokens,
            Reading cachedShare,
            Reading savedSeconds,
            Reading foundShared,
            Reading foundInPart,
            Reading foundNothing,
            Reading others,
            Reading invisible,
            Reading all) {
        /** Requests that found their shared prefix lost, wholly or in part. */
        public Reading lostShared() {
            return foundInPart instanceof Reading.Known part && foundNothing instanceof Reading.Known nothing
                    ? Reading.known(part.value() + nothing.value(), part.source(), part.atNanos())
                    : foundInPart;
        }
    }

    /**
     * What holding by rank adds, by two simulations of the cache: one without holds, one with holds always on. No engine
     * counts it, and windows without holds, which measure the effect, are not taken off.
     *
     * @param share of the tokens of recent prompts
     * @param tokens that share of the prompts of the time that {@link Hits} covers
     */
    public record Saved(Reading share, Reading tokens) {}

    /**
     * Returns the overview of one engine.
     *
     * @param segments how many kvcached segments this host has
     */
    public static EngineOverview of(EngineWatch watch, int segments, long nanos) {
        EngineLink link = watch.link();
        EngineView view = link.view();
        List<Sample> samples = watch.samples();
        Hits hits = hits(samples, view.readings(), watch.traffic().map(Traffic::prefill));
        List<String> unready = link.report().unreadiness();
        return new EngineOverview(
                link.id(),
                link.config().url().toString(),
                link.config().dryRun(),
                view.automatic(),
                waiting(link),
                Verdict.of(view.ttft()),
                view.ttft(),
                unready,
                link.report().notes(),
                view.paused(),
                view.alarms().size(),
                counts(link.holds(), view.budget()),
                pressure(view, watch.traffic(), nanos),
                hits,
                saved(view, hits, nanos),
                link.limit().map(EngineLimit::view),
                watch.traffic()
                        .map(traffic -> Conditions.of(
                                traffic,
                                view.readings().capacityTokens().number(),
                                link.config().onThisHost() ? OptionalInt.of(segments) : OptionalInt.empty())),
                needs(view, unready, link.capabilities()));
    }

    /** Order of attention: the smaller, the more urgent. */
    int urgency() {
        if (verdict.word() == Verdict.Word.HARMS) {
            return 0;
        }
        if (!unready.isEmpty()) {
            return 1;
        }
        return alarms > 0
                ? 2
                : switch (verdict.word()) {
                    case HARMS -> 0;
                    case CANNOT_TELL -> 3;
                    case DOES_NOTHING -> 4;
                    case HELPS -> 5;
                };
    }

    /**
     * One sentence: what it holds, what that saved, how sure that is, and what it would need.
     *
     * @param why whether the reader may see the reasons of holds
     */
    String summary(boolean why) {
        StringBuilder said = new StringBuilder("Engine ").append(id);
        if (dryRun) {
            said.append(" is watched in a dry run, which touches nothing");
        } else if (holds.held == 0) {
            said.append(" holds nothing").append(paused.isPresent() ? ", since holding is paused" : "");
        } else {
            said.append(String.format(
                    Locale.ROOT,
                    " holds %,d prefix%s (%,d tokens%s)",
                    holds.held,
                    holds.held == 1 ? "" : "es",
                    holds.tokens,
                    pressure.capacityTokens.number().isPresent()
                            ? String.format(
                                    Locale.ROOT,
                                    ", %.0f %% of its cache",
                                    100
                                            * holds.tokens
                                            / pressure.capacityTokens.number().getAsDouble())
                            : ""));
        }
        said.append("; ").append(automatic.why());
        waiting.ifPresent(which -> said.append("; ").append(which.said(why)));
        if (hits.cachedShare.number().isPresent()) {
            said.append(String.format(
                    Locale.ROOT,
                    "; its requests found %.0f %% of their prompts in the cache over the last %s",
                    100 * hits.cachedShare.number().getAsDouble(),
                    minutes(hits.span)));
        }
        if (saved.tokens.number().isPresent()) {
            said.append(String.format(
                    Locale.ROOT,
                    "; a simulation of its cache finds %,.0f tokens of these prompts more with holds that are always"
                            + " on",
                    saved.tokens.number().getAsDouble()));
        }
        said.append("; whether holding helps: ").append(verdict.word().said());
        verdict.shortly(effect).ifPresent(numbers -> said.append(", ").append(numbers));
        effect.expected().ifPresent(when -> said.append(", ").append(when));
        needs.ifPresent(what -> said.append("; it would need this: ").append(what));
        return said.append('.').toString();
    }

    private static Optional<Waiting> waiting(EngineLink link) {
        List<HoldView> waiting = link.holds().stream()
                .filter(hold -> hold.origin() == HoldOrigin.REQUESTED)
                .filter(hold -> hold.state() == HoldState.REQUESTED || hold.state() == HoldState.LOST)
                .toList();
        return waiting.stream()
                .findFirst()
                .map(hold -> new Waiting(
                        link.holdName(hold.id()).orElse(Long.toString(hold.id())), waiting.size() - 1, hold.reason()));
    }

    private static String clause(String sentence) {
        return sentence.endsWith(".") ? sentence.substring(0, sentence.length() - 1) : sentence;
    }

    private static String minutes(Duration span) {
        return span.toSeconds() < 90 ? span.toSeconds() + " s" : Math.round(span.toSeconds() / 60.0) + " min";
    }

    private static HoldCounts counts(List<HoldView> holds, Budget budget) {
        return new HoldCounts(
                count(holds, HoldState.HELD),
                count(holds, HoldState.REQUESTED),
                count(holds, HoldState.LOST),
                budget.pinnedTokens());
    }

    private static int count(List<HoldView> holds, HoldState state) {
        return (int) holds.stream().filter(hold -> hold.state() == state).count();
    }

    private static Pressure pressure(EngineView view, Optional<Traffic> traffic, long nanos) {
        EngineReadings readings = view.readings();
        Budget budget = view.budget();
        Reading unasked = Reading.unknown("the controller has not answered yet");
        return new Pressure(
                readings.capacityTokens(),
                readings.usedTokens(),
                traffic.map(its -> Conditions.demand(its, its.demand().sharedOnce(), nanos))
                        .orElse(unasked),
                traffic.map(its -> Conditions.demand(its, its.demand().eachInFull(), nanos))
                        .orElse(unasked),
                budget.hardUnknown()
                        .map(Reading::unknown)
                        .orElseGet(() -> bound(budget, budget.hardTokens(), "hard guard", nanos)),
                budget.automaticUnknown()
                        .map(Reading::unknown)
                        .orElseGet(() -> bound(budget, budget.automaticTokens(), "bound of automatic holds", nanos)),
                traffic.map(its ->
                                seconds(its.residence(), "no untouched block was removed for want of room yet", nanos))
                        .orElse(unasked),
                traffic.map(its -> seconds(its.reuse(), "no prefix was seen to be used twice yet", nanos))
                        .orElse(unasked),
                traffic.map(its -> rho(its, nanos)).orElse(unasked),
                readings.runningRequests(),
                readings.waitingRequests());
    }

    private static Reading bound(Budget budget, long tokens, String name, long nanos) {
        return budget.terms().isEmpty()
                ? Reading.unknown("it was not computed yet")
                : Reading.known((double) tokens, name, nanos);
    }

    private static Reading seconds(Durations durations, String none, long nanos) {
        return durations
                .median()
                .map(median ->
                        Reading.known(median.toMillis() / 1e3, "median of " + durations.count() + " measured", nanos))
                .orElseGet(() -> Reading.unknown(none));
    }

    private static Reading rho(Traffic traffic, long nanos) {
        OptionalDouble rho = traffic.rho();
        return rho.isPresent()
                ? Reading.known(rho.getAsDouble(), "residence by reuse time", nanos)
                : Reading.unknown("it needs both residence and reuse time");
    }

    /**
     * Returns the share of prompt tokens that were found, and the time that saved.
     *
     * @param cost absent before the controller has answered
     */
    public static Hits hits(List<Sample> samples, EngineReadings readings, Optional<PrefillCost> cost) {
        Reading prompts =
                EngineWatch.grown(samples, Sample::promptTokens, readings.promptTokens(), "the engine's prompt tokens");
        Reading cached =
                EngineWatch.grown(samples, Sample::cachedTokens, readings.cachedTokens(), "the engine's cached tokens");
        Duration span = samples.size() < 2
                ? Duration.ZERO
                : Duration.ofNanos(
                        samples.getLast().nanos() - samples.getFirst().nanos());
        return new Hits(
                span,
                prompts,
                cached,
                share(prompts, cached),
                saved(cached, cost),
                requests(samples, EngineOverview::found),
                requests(samples, sample -> sample.sharing().foundInPart()),
                requests(samples, sample -> sample.sharing().foundNothing()),
                requests(samples, EngineOverview::others),
                invisible(samples, readings),
                EngineWatch.grown(samples, Sample::requests, readings.ttftCount(), "the engine's count of requests"));
    }

    /**
     * Returns the requests that found a shared prefix, without those that somebody reported: they are invisible ones.
     */
    private static long found(Sample sample) {
        return sample.sharing().found() - sample.sharing().told();
    }

    private static long others(Sample sample) {
        return Math.max(
                0, sample.visibleRequests() - found(sample) - sample.sharing().lost());
    }

    /** At one moment a request may be visible already and not yet counted, so over little time this may fall short of none. */
    private static Reading invisible(List<Sample> samples, EngineReadings readings) {
        Reading reading = EngineWatch.grown(
                samples,
                sample -> sample.requests().isPresent()
                        ? OptionalDouble.of(sample.requests().getAsDouble() - sample.visibleRequests())
                        : OptionalDouble.empty(),
                readings.ttftCount(),
                "requests that the engine counts, less those that its events show");
        return reading instanceof Reading.Known known
                ? Reading.known(Math.max(0, known.value()), known.source(), known.atNanos())
                : reading;
    }

    private static Reading saved(Reading cached, Optional<PrefillCost> cost) {
        if (!(cached instanceof Reading.Known tokens)) {
            return cached;
        }
        return cost.map(measured -> switch (measured) {
                    case PrefillCost.Known known ->
                        Reading.known(
                                known.secondsPerToken() * tokens.value(),
                                String.format(
                                        Locale.ROOT,
                                        "cached tokens at %.1f us each, the measured cost of a token",
                                        1e6 * known.secondsPerToken()),
                                tokens.atNanos());
                    case PrefillCost.Unknown unknown -> Reading.unknown(unknown.why());
                })
                .orElseGet(() -> Reading.unknown("the controller has not answered yet"));
    }

    private static Reading requests(List<Sample> samples, ToLongFunction<Sample> counter) {
        return EngineWatch.grown(
                samples,
                sample -> OptionalDouble.of((double) counter.applyAsLong(sample)),
                Reading.unknown("it was not counted yet"),
                "requests that the engine's events show");
    }

    static Reading share(Reading prompts, Reading cached) {
        if (prompts instanceof Reading.Unknown) {
            return prompts;
        }
        if (!(cached instanceof Reading.Known found) || prompts.number().getAsDouble() <= 0) {
            return cached instanceof Reading.Unknown ? cached : Reading.unknown("no prompt came in that time");
        }
        return Reading.known(
                found.value() / prompts.number().getAsDouble(), "cached by prompt tokens", found.atNanos());
    }

    private static Saved saved(EngineView view, Hits hits, long nanos) {
        Evidence shadows = view.byRank().shadows();
        if (shadows.of() < 1) {
            Reading unknown = Reading.unknown("not simulated: " + view.byRank().why());
            return new Saved(unknown, unknown);
        }
        double share = (shadows.with() - shadows.without()) / shadows.of();
        return new Saved(
                Reading.known(share, "two simulations of this cache, with such holds and without", nanos),
                hits.promptTokens instanceof Reading.Known prompts
                        ? Reading.known(
                                Math.rint(share * prompts.value()), "that share of the prompts of this time", nanos)
                        : hits.promptTokens);
    }

    /** Why nothing is held or waits to be, by the reason that decided; absent where something is, or is let go to be measured. */
    private static Optional<String> nothingHeld(EngineView view) {
        if (view.holds().stream().anyMatch(hold -> hold.state() != HoldState.RELEASED)
                || view.lastPlan().lines().stream().anyMatch(line -> line.code() == Reason.MEASURING)) {
            return Optional.empty();
        }
        if (!view.automatic().on()) {
            return Optional.of(
                    "nobody requested a hold, and " + view.automatic().why());
        }
        Optional<Plan.Line> first = view.lastPlan().lines().stream()
                .filter(line -> line.action() == Plan.Action.WAIT)
                .findFirst();
        return first.map(line -> "a prefix of " + line.blocks() + " blocks waits: " + line.reason())
                .or(() -> Optional.of(
                        view.sharing().lost() == 0
                                ? "traffic that loses a prefix it shares; no request has yet"
                                : "nothing now: no prefix that was lost is used still"));
    }

    private static Optional<String> needs(EngineView view, List<String> unready, Optional<Capabilities> capabilities) {
        return unready.stream()
                .findFirst()
                .or(() -> view.alarms().stream().map(Budget.Alarm::sentence).findFirst())
                .or(view::paused)
                .or(() -> capabilities.filter(found -> !found.canPin()).map(Capabilities::shortly))
                .or(() -> view.budget().hardUnknown())
                .or(() -> nothingHeld(view))
                .or(() -> view.ttft().state() == TtftEffect.State.UNPROVEN
                        ? Optional.of(view.ttft().reason())
                        : Optional.empty())
                .map(EngineOverview::clause);
    }
}
