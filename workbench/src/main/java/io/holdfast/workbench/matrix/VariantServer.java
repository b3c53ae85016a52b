package io.holdfast.workbench.matrix;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.client.ServerUnit;
import io.holdfast.loadtest.journal.ServerLog;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.workbench.load.Suite;
import java.net.URI;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * One address at which now this and now that variant of a server is started, each time as a new process. A variant that
 * does not start is remembered with the reason, and not tried again.
 */
public final class VariantServer implements ServerUnit {
    private final URI uri;
    private final List<ServerVariant> variants;
    private final Function<ServerVariant, ServerUnit> maker;
    private final Map<String, String> refusals = new LinkedHashMap<>();
    private Optional<ServerUnit> unit = Optional.empty();
    private String name = "";
    private String wanted = "";
    private boolean used;

    /**
     * Starts nothing yet.
     *
     * @param maker of a server that is not started yet and is started once
     */
    public VariantServer(URI uri, List<ServerVariant> variants, Function<ServerVariant, ServerUnit> maker) {
        this.uri = uri;
        this.variants = List.copyOf(variants);
        this.maker = maker;
    }

    @Override
    public URI uri() {
        return uri;
    }

    /** A server that serves another variant, or has served something, is another one after this. */
    @Override
    public void restart() {
        if (wanted.isEmpty()) {
            startAny();
        } else if (unit.isEmpty() || used || !name.equals(wanted)) {
            start(wanted);
        }
    }

    /** Whichever starts: all that is wanted is a server that can be asked what it is. */
    private void startAny() {
        if (unit.isPresent()) {
            return;
        }
        for (ServerVariant variant : variants) {
            try {
                start(variant.name());
                return;
            } catch (LoadTestException e) {
                refuse(variant.name(), e);
            }
        }
        throw new LoadTestException("None of the servers did start: " + refusals);
    }

    private void start(String which) {
        ServerVariant variant = variants.stream()
                .filter(each -> each.name().equals(which))
                .findFirst()
                .orElseThrow();
        close();
        ServerUnit made = maker.apply(variant);
        unit = Optional.of(made);
        try {
            made.restart();
        } catch (LoadTestException e) {
            close();
            throw e;
        }
        name = which;
        used = false;
    }

    private void refuse(String which, LoadTestException why) {
        if (Thread.currentThread().isInterrupted()) {
            throw why;
        }
        refusals.put(which, String.valueOf(why.getMessage()));
    }

    /** The servers of legs that each say their variant and their life. */
    public Suite.Servers servers(EngineUnderTest engine) {
        return new Suite.Servers() {
            private String life = "";

            @Override
            public String life(Suite.Leg leg) {
                return leg.settings().getOrDefault(ServerCompare.LIFE, "");
            }

            @Override
            public EngineUnderTest of(Suite.Leg leg) {
                String variant = leg.settings().getOrDefault(ServerCompare.VARIANT, "");
                String its = life(leg);
                if (!its.equals(life) && !refusals.containsKey(variant)) {
                    wanted = variant;
                    life = its;
                    try {
                        engine.beginLife();
                    } catch (LoadTestException e) {
                        refuse(variant, e);
                    }
                }
                if (refusals.containsKey(variant)) {
                    throw new Suite.NoServerException("did not start: " + refusals.get(variant));
                }
                return engine;
            }
        };
    }

    @Override
    public Duration lifeTakes() {
        return unit.map(ServerUnit::lifeTakes).orElse(Duration.ZERO);
    }

    @Override
    public void used() {
        used = true;
        unit.ifPresent(ServerUnit::used);
    }

    @Override
    public Optional<String> ended() {
        return unit.flatMap(ServerUnit::ended);
    }

    @Override
    public Optional<ServerLog> written() {
        return unit.flatMap(ServerUnit::written);
    }

    @Override
    public String name() {
        return "one of " + variants.size() + " variants at " + uri;
    }

    @Override
    public void close() {
        Optional<ServerUnit> last = unit;
        unit = Optional.empty();
        name = "";
        last.ifPresent(ServerUnit::close);
    }
}
