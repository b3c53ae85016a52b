package io.holdfast.core.budget;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.reading.Samples;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** The table of docs/guard.md is what the code computes; {@code -Dholdfast.rewrite=true} writes it anew. */
final class GuardTableTest {
    private static final Path PAGE = Path.of("..", "docs", "guard.md");
    private static final String BEGIN = "<!-- table: begin -->\n";
    private static final String END = "<!-- table: end -->";
    private static final long PROMPT = 1_024;
    private static final long ANSWER = 512;
    private static final long IN_USE = 1_500;

    @Test
    void guardTable_isWhatTheCodeComputes() throws IOException {
        String page = Files.readString(PAGE);
        int from = page.indexOf(BEGIN) + BEGIN.length();
        int to = page.indexOf(END);
        if (Boolean.getBoolean("holdfast.rewrite")) {
            Files.writeString(PAGE, page.substring(0, from) + table() + page.substring(to));
            return;
        }
        assertThat(page.substring(from, to)).isEqualTo(table());
    }

    private static String table() {
        StringBuilder text = new StringBuilder("""
            | cache | context | requested holds | automatic, 0 running | 2 | 8 | 32 |
            |---:|---:|---:|---:|---:|---:|---:|
            """);
        for (long capacity : new long[] {22_016, 43_008, 108_000, 400_000, 1_000_000}) {
            for (long context : new long[] {8_192, 32_768, 131_072}) {
                text.append(String.format(Locale.ROOT, "| %,d | %,d | ", capacity, context));
                Budget atRest = budget(capacity, context, 0);
                text.append(atRest.noRoom().isPresent() ? "no room" : tokens(atRest.hardTokens()));
                for (int running : new int[] {0, 2, 8, 32}) {
                    Budget budget = budget(capacity, context, running);
                    assertThat(budget.hardTokens()).isEqualTo(atRest.hardTokens());
                    text.append(" | ").append(tokens(budget.automaticTokens()));
                }
                text.append(" |\n");
            }
        }
        return text.toString();
    }

    private static String tokens(long tokens) {
        return String.format(Locale.ROOT, "%,d", tokens);
    }

    private static Budget budget(long capacity, long context, int running) {
        PromptSizes.Facts prompts = new PromptSizes.Facts(1_000, PROMPT, PROMPT, PROMPT, 0, PROMPT, PROMPT);
        PromptSizes.Facts answers = new PromptSizes.Facts(1_000, ANSWER, ANSWER, ANSWER, 0, ANSWER, ANSWER);
        return BudgetRule.compute(
                BudgetSettings.defaults(),
                Samples.readings((double) capacity, 16, (double) context, running, 0, (double)
                        Math.min(capacity, running * IN_USE)),
                new Observed(prompts, OptionalLong.of(prompts.p90()), answers, 0, true, running),
                0,
                true,
                0);
    }

    @Test
    void defaults_writeNoSizes() {
        assertThat(BudgetSettings.defaults().written()).isEqualTo(Optional.empty());
    }
}
