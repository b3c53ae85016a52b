package io.holdfast.app.sidecar;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.JsonText;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.loadtest.report.Document;
import io.holdfast.sidecar.client.OverviewCalls;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.stream.StreamSupport;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** What the engines of a fleet know together, as one sidecar sees it. */
@Command(
        name = "fleet",
        description = {
            "Prints what a running sidecar knows of its fleet: cells and their engines, the copies of each hot prefix"
                    + " and what they save, holds of the fleet, and what the store costs.",
            "Exit code 0: printed, 2: no sidecar answers."
        },
        sortOptions = false)
public final class FleetCommand implements Callable<Integer> {
    private static final int MOST_PREFIXES = 20;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Mixin
    private OverviewOptions which = new OverviewOptions();

    @Option(names = "--json", description = "Print one JSON document and nothing else.")
    private boolean json;

    FleetCommand() {}

    @Override
    public Integer call() {
        JsonNode fleet;
        try (OverviewCalls calls = which.open()) {
            fleet = calls.fleet();
        }
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(JsonText.of((ObjectNode) fleet));
        } else {
            print(fleet, TerminalText.plain(out));
        }
        out.flush();
        return ExitCode.OK;
    }

    private static void print(JsonNode fleet, TerminalText text) {
        text.paragraph("", "Store: " + fleet.path("store").asText() + ".");
        if (fleet.has("says")) {
            text.paragraph("", fleet.path("says").asText());
        }
        for (JsonNode cell : fleet.path("cells")) {
            cell(cell, text);
        }
    }

    private static void cell(JsonNode cell, TerminalText text) {
        int engines = cell.path("engineCount").asInt();
        text.heading(cell.path("model").asText() + ", blocks of " + cell.path("blockTokens") + " tokens");
        text.paragraph(
                "",
                engines == 0
                        ? "Nothing is known of other engines: the store has not answered for two periods."
                        : (engines == 1 ? "1 engine: " : engines + " engines: ")
                                + String.join(", ", list(cell.path("engines"), "id"))
                                + (engines > cell.path("engines").size() ? " and others" : "")
                                + ". Touches follow the cache: "
                                + percent(cell.path("touchesFollowTheCache").asDouble())
                                + " of those that could.");
        prefixes(cell, text);
        cell.path("holds").forEach(hold -> hold(hold, text));
        cell.path("here").forEach(here -> here(here, text));
    }

    private static void prefixes(JsonNode cell, TerminalText text) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("prefix", "tokens", "touches/h", "copies", "held", "saved tokens/h"));
        StreamSupport.stream(cell.path("prefixes").spliterator(), false)
                .limit(MOST_PREFIXES)
                .forEach(prefix -> rows.add(List.of(
                        prefix.has("name") ? prefix.path("name").asText().substring(0, 8) : "no. " + rows.size(),
                        prefix.has("tokens") ? number(prefix.path("tokens").asLong()) : "-",
                        number(Math.round(prefix.path("touchesAnHour").asDouble())),
                        Long.toString(count(prefix, "resident")),
                        Long.toString(count(prefix, "held")),
                        prefix.has("savedTokensAnHour")
                                ? number(prefix.path("savedTokensAnHour").asLong())
                                : "-")));
        if (rows.size() > 1) {
            text.blank();
            text.show(Document.titled("")
                    .add(Document.Table.of("hot prefixes", rows))
                    .build());
            int more = cell.path("prefixCount").asInt() - (rows.size() - 1);
            if (more > 0) {
                text.line("and " + more + " more");
            }
        }
    }

    private static long count(JsonNode prefix, String what) {
        return StreamSupport.stream(prefix.path("copies").spliterator(), false)
                .filter(copy -> copy.path(what).asBoolean())
                .count();
    }

    private static void hold(JsonNode hold, TerminalText text) {
        String requester = hold.path("requester").asText();
        text.paragraph(
                "  ",
                "Hold " + hold.path("id").asText() + (requester.isEmpty() ? "" : " of " + requester) + ": "
                        + number(hold.path("tokens").asLong()) + " tokens on "
                        + hold.path("copies").asText() + " engines, held on "
                        + hold.path("held").asInt() + ", for "
                        + number(hold.path("leaseSecondsLeft").asLong()) + " s more.");
        hold.path("on")
                .forEach(copy -> text.paragraph(
                        "    ",
                        copy.path("engine").asText() + " " + copy.path("state").asText()
                                + (copy.has("reason")
                                        ? ": " + copy.path("reason").asText()
                                        : "")));
    }

    private static void here(JsonNode here, TerminalText text) {
        long rounds = here.path("rounds").asLong();
        text.paragraph(
                "",
                "Engine " + here.path("engine").asText() + " takes part as "
                        + here.path("as").asText() + ": " + rounds
                        + " rounds, " + here.path("failedRounds").asLong()
                        + " of them without an answer; a round reads "
                        + number(perRound(here, "bytesRead")) + " bytes and writes "
                        + number(perRound(here, "bytesWritten")) + curves(here) + ".");
        if (!here.path("trouble").asText().isEmpty()) {
            text.paragraph(
                    "", "Its last round told nothing: " + here.path("trouble").asText() + ".");
        }
        if (here.path("nameTakenTwice").asBoolean()) {
            text.paragraph(
                    "",
                    "Another sidecar takes part by the same name, so that the others see one engine where there are"
                            + " two: the names of both machines and their stateDirectory are equal. Give one of them"
                            + " another stateDirectory.");
        }
        JsonNode warming = here.path("warming");
        text.paragraph(
                "",
                "Its empty cache: "
                        + (warming.path("plannedTokens").asLong() > 0
                                ? number(warming.path("storedTokens").asLong()) + " of "
                                        + number(warming.path("plannedTokens").asLong())
                                        + " tokens that are hot elsewhere were stored; "
                                : "nothing was stored there; ")
                        + warming.path("says").asText() + ".");
    }

    private static String curves(JsonNode here) {
        int engines = here.path("curvesTakenFrom").asInt();
        return engines == 0
                ? ""
                : "; it began with the curves of reuse of " + engines + (engines == 1 ? " engine" : " engines");
    }

    private static long perRound(JsonNode here, String bytes) {
        return here.path(bytes).asLong() / Math.max(1, here.path("rounds").asLong());
    }

    private static List<String> list(JsonNode items, String field) {
        List<String> all = new ArrayList<>();
        items.forEach(item -> all.add(item.path(field).asText()));
        return all;
    }

    private static String number(long value) {
        return String.format(Locale.ROOT, "%,d", value);
    }

    private static String percent(double part) {
        return Math.round(100 * part) + " %";
    }
}
