package io.holdfast.sidecar.engine;

import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.PinsView;
import io.holdfast.core.reading.Reading;
import io.holdfast.embed.ledger.FileLedgerStore;
import io.holdfast.sidecar.store.StrayLedgers;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Sentences for people about one engine: why it is not ready, and what else they should know. */
public final class EngineReport {
    private final EngineLink link;
    private final EventSubscriptions events;
    private final LedgerBinding binding;
    private final StrayLedgers strays;
    private final FileLedgerStore store;
    private final Ledger ledger;
    private final LastingHolds lasting;
    private final LearnedSnapshots snapshots;

    EngineReport(
            EngineLink link,
            EventSubscriptions events,
            LedgerBinding binding,
            StrayLedgers strays,
            FileLedgerStore store,
            Ledger ledger,
            LastingHolds lasting,
            LearnedSnapshots snapshots) {
        this.link = link;
        this.events = events;
        this.binding = binding;
        this.strays = strays;
        this.store = store;
        this.ledger = ledger;
        this.lasting = lasting;
        this.snapshots = snapshots;
    }

    /** Returns the reasons why the engine cannot be followed or held at now; empty when it can. */
    public List<String> unreadiness() {
        List<String> reasons = new ArrayList<>();
        if (!link.fault().isEmpty()) {
            reasons.add(link.fault());
        }
        if (link.limit().isEmpty()) {
            events.trouble().ifPresent(reasons::add);
        }
        if (link.capabilities().isEmpty()) {
            reasons.add("it is not known what its backend " + link.backendName() + " can do: "
                    + silence().orElse("the engine has not answered that yet"));
        }
        if (binding.engine().isEmpty()) {
            reasons.add("the engine's identity is not known: " + binding.silence());
        }
        // Whatever a person has to mend.
        binding.foreignPins()
                .or(this::leftAlone)
                .or(() -> link.view().pins().trouble())
                .ifPresent(reasons::add);
        binding.engine().flatMap(strays::of).ifPresent(reasons::add);
        store.unwritable().ifPresent(reasons::add);
        link.coldness().ifPresent(reasons::add);
        PinsView pins = link.pins();
        if (pins.leftovers() > 0) {
            reasons.add(pins.leftovers() + " pins of an earlier run are not released yet");
        }
        if (pins.refused() > 0) {
            reasons.add(
                    pins.refused() + " pins cannot be released, since the engine refuses the unpin; the log says why,"
                            + " usually a missing key");
        }
        return reasons;
    }

    /** Returns the reason why its numbers are not known; absent where they are. */
    Optional<String> silence() {
        return link.view().readings().runningRequests() instanceof Reading.Unknown unknown
                ? Optional.of(unknown.why())
                : Optional.empty();
    }

    /** Returns what else a person should know of the engine. */
    public List<String> notes() {
        List<String> notes = new ArrayList<>();
        link.limit().ifPresent(its -> {
            notes.add(EngineLimit.NO_EVENTS);
            its.note().ifPresent(notes::add);
        });
        link.capabilities()
                .filter(found -> !found.canPin())
                .ifPresent(found -> notes.add("follows, cannot hold: " + found.shortly()));
        link.capabilities().flatMap(_ -> silence()).ifPresent(why -> notes.add("its numbers are not known: " + why));
        notes.add(link.view().automatic().why());
        link.view().paused().ifPresent(notes::add);
        if (link.view().dryRun()) {
            notes.add("dry run, switched on through the API: plans are made, nothing is sent to the engine");
        }
        link.view().alarms().forEach(alarm -> notes.add(alarm.sentence()));
        notes.addAll(lasting.notes());
        snapshots.note().ifPresent(notes::add);
        PinsView pins = link.pins();
        if (pins.unsure() > 0) {
            notes.add(pins.unsure() + " pins may still be there: a call about them had no clear answer");
        }
        if (pins.kept() > 0) {
            notes.add(pins.kept() + " pins stay: an unpin could hurt the engine");
        }
        unreleasable().ifPresent(notes::add);
        return notes;
    }

    /** Returns the sentence about what is protected for nobody and cannot be released; absent where there is none. */
    public Optional<String> unreleasable() {
        long tokens = link.unreleasableTokens();
        return tokens == 0
                ? Optional.empty()
                : Optional.of(String.format(
                        Locale.ROOT,
                        link.pins().runningOut() > 0
                                ? "%,d tokens cannot be released before their time has run out, so they count until"
                                        + " then"
                                : "%,d tokens cannot be released: the engine has no call that takes them back, so they"
                                        + " count until it evicts them, clears its cache or restarts",
                        tokens));
    }

    /** Returns the sentence about earlier pins that a dry run does not touch; absent where there are none. */
    Optional<String> leftAlone() {
        int pins = link.config().dryRun() ? ledger.outstanding().size() : 0;
        if (pins == 0) {
            return Optional.empty();
        }
        String backends = String.join(
                " and ",
                ledger.outstanding().stream()
                        .map(entry -> entry.backend())
                        .distinct()
                        .toList());
        return Optional.of(
                pins + " pins of " + backends + " of an earlier run are left alone by dry_run: start once with"
                        + " backend: " + backends
                        + ", so that they are released, or counted where that cannot be, and then with dry_run");
    }
}
