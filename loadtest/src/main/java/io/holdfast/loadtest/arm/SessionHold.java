package io.holdfast.loadtest.arm;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.FlushReceipt;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.run.EngineUnderTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Holds by a session of the engine's own: what sessions refer to is evicted last.
 *
 * <p>Both arms send the prefix once for one token, and close a session once; in the pinned arm alone the request names
 * that session. So a further request for the prefix is no part of the difference. A session that was closed is ignored
 * from then on, so each has a name of its own.
 */
final class SessionHold implements ArmSwitch {
    private static final Logger LOG = LoggerFactory.getLogger(SessionHold.class);

    private final EngineUnderTest engine;
    private final String ownPart;
    private final List<RequestRecord> sent = new ArrayList<>();
    private Optional<String> open = Optional.empty();
    private int sessions;
    private int page = 1;

    /** @param nonce tells the sessions of this run from those of any other */
    SessionHold(EngineUnderTest engine, long nonce) {
        this.engine = engine;
        this.ownPart = HexFormat.of().toHexDigits(nonce);
    }

    @Override
    public String name() {
        return "a session of the engine's own";
    }

    @Override
    public boolean claimsHold() {
        return true;
    }

    @Override
    public void prepare() {
        engine.holdRoutes().whyNoSessions().ifPresent(why -> {
            throw new LoadTestException(why);
        });
        page = engine.facts().pageTokensOrUsual();
    }

    @Override
    public Optional<String> afterAKill() {
        return Optional.of(
                "A session that a kill -9 leaves open protects its prefix until the cache is emptied, as a resumed"
                        + " run does first.");
    }

    /** A flush ends what every session keeps. */
    @Override
    public FlushReceipt follow(Flush flush) {
        FlushReceipt receipt = ArmSwitch.super.follow(flush);
        open = receipt.problem().isEmpty() ? Optional.empty() : open;
        return receipt;
    }

    @Override
    public HoldReceipt on(Prefixes prefixes, Duration within) {
        closeWhatIsOpen();
        String session = another();
        open = Optional.of(session);
        RequestRecord record = engine.ask(prefixes.probed().inSession(session));
        sent.add(record);
        int tokens = prefixes.probed().length();
        int blocks = tokens / page;
        return record.isOk()
                ? HoldReceipt.held(
                        session, blocks, blocks, (long) blocks * page, "the prefix was sent in a session of its own")
                : HoldReceipt.notHeld(session, blocks, record.problem());
    }

    @Override
    public HoldReceipt off(Prefixes prefixes, Duration within) {
        closeWhatIsOpen();
        RequestRecord record = engine.ask(prefixes.probed());
        sent.add(record);
        return record.isOk()
                ? HoldReceipt.sham("the prefix was sent in no session")
                : HoldReceipt.skipped(record.problem());
    }

    @Override
    public ReleaseReceipt release(HoldReceipt step) {
        boolean holds = !step.id().isEmpty();
        Optional<String> problem = engine.holdRoutes().closeSession(holds ? step.id() : another());
        if (!holds) {
            return problem.map(ReleaseReceipt::unanswered)
                    .orElseGet(() -> ReleaseReceipt.sham("a session that nothing was sent in was closed"));
        }
        open = problem.isPresent() ? open : Optional.empty();
        return problem.map(ReleaseReceipt::unanswered)
                .orElseGet(() -> ReleaseReceipt.released("the engine closed the session"));
    }

    /**
     * Closes a session that an earlier leg could not close: it takes cache from this leg where nobody empties the
     * cache.
     */
    private void closeWhatIsOpen() {
        if (open.filter(session -> engine.holdRoutes().closeSession(session).isEmpty())
                .isPresent()) {
            open = Optional.empty();
        }
    }

    @Override
    public List<RequestRecord> sent() {
        List<RequestRecord> since = List.copyOf(sent);
        sent.clear();
        return since;
    }

    private String another() {
        sessions++;
        return "holdfast-loadtest-" + ownPart + "-" + sessions;
    }

    @Override
    public void close() {
        open.flatMap(session -> engine.holdRoutes().closeSession(session))
                .ifPresent(why -> LOG.warn("The session {} could not be closed: {}", open.orElse(""), why));
        open = Optional.empty();
    }
}
