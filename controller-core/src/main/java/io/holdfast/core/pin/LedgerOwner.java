package io.holdfast.core.pin;

import io.holdfast.core.pin.LedgerLine.Entry;
import io.holdfast.core.pin.LedgerLine.Header;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Says whose pins a ledger lists, so that nothing is asked of another engine or by another backend. */
final class LedgerOwner {
    private final Ledger ledger;
    private final List<Entry> abandoned = new ArrayList<>();
    private Optional<EngineIdentity> engine = Optional.empty();

    LedgerOwner(Ledger ledger) {
        this.ledger = ledger;
    }

    void engineIs(EngineIdentity identity) {
        engine = Optional.of(identity);
    }

    boolean engineIsKnown() {
        return engine.isPresent();
    }

    /** Leaves an entry alone whose backend is not in use. */
    void abandon(Entry entry) {
        abandoned.add(entry);
    }

    int abandoned() {
        return abandoned.size();
    }

    /** Returns true if the engine that answers is the one whose pins the ledger lists, or it lists none. */
    boolean isOurs() {
        return engine.isPresent() && ledger.engine().map(engine.get()::sameAs).orElse(true);
    }

    /**
     * Returns the reason why entries of the ledger are left alone, so that a person has to look; absent when all are
     * ours to release.
     */
    Optional<String> trouble() {
        if (engine.isPresent() && !isOurs()) {
            return Optional.of("the ledger belongs to the engine at "
                    + ledger.engine().map(EngineIdentity::shown).orElse("") + ", and this one is at "
                    + engine.map(EngineIdentity::shown).orElse("") + ": its "
                    + ledger.outstanding().size()
                    + " entries are neither released nor added to; name that engine again and start once, or delete the"
                    + " ledger where that engine has ended");
        }
        if (!abandoned.isEmpty()) {
            return Optional.of(abandoned.size() + " pins in the ledger were made by the backend "
                    + abandoned.getFirst().backend()
                    + ", which is not in use: they are left alone; start once with that"
                    + " backend, so that it releases them, or counts what cannot be released; where this version has"
                    + " none of that name, delete the ledger as soon as they are gone");
        }
        return Optional.empty();
    }

    /** Returns the header that has to precede the next pin in the ledger; absent when it is there. */
    Optional<Header> header() {
        Optional<EngineIdentity> written = ledger.engine();
        return engine.filter(known -> !known.equals(EngineIdentity.VOUCHED_FOR))
                .filter(known -> written.isEmpty()
                        || (written.get().model().isEmpty() && known.model().isPresent()))
                .map(known -> new Header(Header.VERSION, known));
    }
}
