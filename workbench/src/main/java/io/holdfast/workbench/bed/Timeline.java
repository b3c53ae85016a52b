package io.holdfast.workbench.bed;

import io.holdfast.loadtest.journal.RequestRecord;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Requests over time as text, a line each: {@code .} from a request's turn until it is sent, {@code -} until its first
 * token, {@code =} while its answer comes; below them how many were under way, and how many of those were decoding.
 */
public final class Timeline {
    private static final int LEAST_WIDTH = 20;
    private static final char WAITS = '.';
    private static final char PREFILL = '-';
    private static final char DECODE = '=';

    private final List<RequestRecord> requests;
    private final int width;
    private final long from;
    private final long to;

    /** @param width columns of the time's axis */
    public Timeline(List<RequestRecord> requests, int width) {
        this.requests = List.copyOf(requests);
        this.width = Math.max(LEAST_WIDTH, width);
        this.from = requests.stream().mapToLong(RequestRecord::scheduled).min().orElse(0);
        this.to = Math.max(
                from + 1, requests.stream().mapToLong(RequestRecord::done).max().orElse(from + 1));
    }

    public List<String> lines() {
        List<String> lines = new ArrayList<>();
        int[] underWay = new int[width];
        int[] decoding = new int[width];
        String axis = String.format(Locale.ROOT, "%.1f ms", (to - from) / 1e6);
        lines.add(" ".repeat(17) + "0" + " ".repeat(Math.max(1, width - 1 - axis.length())) + axis);
        for (RequestRecord request : requests) {
            char[] row = new char[width];
            Arrays.fill(row, ' ');
            long first = request.firstToken().orElse(request.done());
            long last = request.lastToken().orElse(request.done());
            fill(row, request.scheduled(), request.sent(), WAITS);
            fill(row, request.sent(), first, PREFILL);
            if (request.firstToken().isPresent()) {
                fill(row, first, Math.max(last, first), DECODE);
            }
            for (int i = 0; i < width; i++) {
                underWay[i] += row[i] == PREFILL || row[i] == DECODE ? 1 : 0;
                decoding[i] += row[i] == DECODE ? 1 : 0;
            }
            lines.add(String.format(
                            Locale.ROOT,
                            "%-6s %3d %4s  %s%s",
                            request.role().name().toLowerCase(Locale.ROOT),
                            request.number(),
                            request.isOk() ? "" : "bad",
                            new String(row),
                            request.isOk() ? "" : " " + request.problem())
                    .stripTrailing());
        }
        lines.add("under way        " + digits(underWay));
        lines.add("decoding         " + digits(decoding));
        lines.add(". its turn came   - sent, until the first token   = until the last one");
        return lines;
    }

    /** Fills at least one column, so that short spans are seen; later spans are written over it. */
    private void fill(char[] row, long begin, long end, char mark) {
        if (end < begin || (mark == WAITS && end == begin)) {
            return;
        }
        int first = Math.min(column(begin), width - 1);
        Arrays.fill(row, first, Math.max(first + 1, column(end)), mark);
    }

    private int column(long nanos) {
        return (int) Math.clamp((nanos - from) * (double) width / (to - from), 0, width);
    }

    /** A digit each, and a plus above nine. */
    private static String digits(int[] counts) {
        StringBuilder text = new StringBuilder();
        for (int count : counts) {
            text.append(count > 9 ? '+' : (char) ('0' + count));
        }
        return text.toString();
    }
}
