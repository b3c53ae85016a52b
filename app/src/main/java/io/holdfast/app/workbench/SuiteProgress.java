package io.holdfast.app.workbench;

import io.holdfast.app.cli.TerminalText;
import io.holdfast.loadtest.journal.ClientHealth;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Suite;
import java.io.PrintWriter;
import java.util.Locale;

/** Says which leg of a suite runs, and what became of it. */
record SuiteProgress(PrintWriter out) implements Suite.Watcher {
    @Override
    public void begins(Suite.Leg leg, int number, int of) {
        say(String.format(
                Locale.ROOT,
                "Leg %d of %d: %s, %,d requests.",
                number,
                of,
                leg.id(),
                leg.load().requests().size()));
    }

    @Override
    public void ended(LoadLeg leg) {
        long failed =
                leg.failures().values().stream().mapToInt(Integer::intValue).sum();
        double seconds = leg.parts().isEmpty() ? 0 : leg.parts().getLast().ended() / 1e9;
        say(String.format(
                Locale.ROOT, "  over after %.1f s%s.", seconds, failed == 0 ? "" : ", " + failed + " failed"));
        leg.client()
                .map(ClientHealth::troubles)
                .filter(troubles -> !troubles.isEmpty())
                .ifPresent(troubles -> say("  Its latencies say more of this client than of the server: "
                        + String.join("; ", troubles) + "."));
    }

    private void say(String sentence) {
        TerminalText.plain(out).text(sentence);
        out.flush();
    }
}
