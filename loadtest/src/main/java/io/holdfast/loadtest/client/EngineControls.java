package io.holdfast.loadtest.client;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.run.LifeSign;
import io.holdfast.loadtest.run.RunClock;
import java.net.URI;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The engines that answer a load, each asked at an address of its own: mostly one, and several where a router is before
 * them.
 */
final class EngineControls implements AutoCloseable {
    private final Map<URI, EngineControl> engines = new LinkedHashMap<>();

    EngineControls(List<URI> addresses, HttpSettings settings, RunClock clock) {
        addresses.forEach(address -> engines.put(address, new EngineControl(address, settings, clock, sentence -> {})));
    }

    /** Returns the facts that all engines share; the cache is that of all together. */
    EngineFacts facts() {
        Map<URI, EngineFacts> facts = new LinkedHashMap<>();
        engines.forEach((address, engine) -> facts.put(address, engine.self().facts()));
        Map.Entry<URI, EngineFacts> first = facts.entrySet().iterator().next();
        facts.forEach((address, its) -> {
            if (!its.isLike(first.getValue())) {
                // One that is not there tells nothing of itself, which is no difference to speak of.
                engines.values().forEach(EngineControl::greet);
                throw new LoadTestException("The engines behind the router are not alike: that at " + first.getKey()
                        + " is " + first.getValue().text() + ", that at " + address + " is " + its.text()
                        + "; test those together that are.");
            }
        });
        boolean known =
                facts.values().stream().allMatch(its -> its.capacityTokens().isPresent());
        long all = facts.values().stream()
                .mapToLong(its -> its.capacityTokens().orElse(0))
                .sum();
        EngineFacts its = first.getValue();
        return new EngineFacts(
                its.family(),
                its.pageTokens(),
                known ? OptionalLong.of(all) : OptionalLong.empty(),
                its.longestPrompt(),
                its.version());
    }

    /** Empties all of their caches; the first reason why one was not, if so. */
    Optional<String> flush() {
        return engines.entrySet().stream()
                .flatMap(
                        engine -> engine
                                .getValue()
                                .flush()
                                .map(why -> engines.size() == 1 ? why : why + ", at " + engine.getKey())
                                .stream())
                .findFirst();
    }

    /** Returns the engines' life signs by their addresses. */
    Map<String, LifeSign> lifeSigns() {
        Map<String, LifeSign> signs = new LinkedHashMap<>();
        engines.forEach(
                (address, engine) -> signs.put(address.toString(), engine.self().lifeSign()));
        return signs;
    }

    /** Forgets of which family they are. */
    void forget() {
        engines.values().forEach(engine -> engine.self().forget());
    }

    @Override
    public void close() {
        engines.values().forEach(EngineControl::close);
    }
}
