package io.holdfast.workbench.table;

import io.holdfast.evidence.Quantiles;
import io.holdfast.workbench.table.Remark.Topic;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * Cost of waiting for a server to cool down, by a column of seconds.
 *
 * @param seconds of each leg
 * @param cap at which waiting ends
 */
record CoolDown(List<Double> seconds, double cap) {
    /** A probe ends a little after the cap. */
    private static final double SLACK = 1;

    private static final double SECONDS_IN_HOUR = 3_600;

    /** After so many in a row nobody should go on waiting. */
    private static final int IN_A_ROW = 3;

    CoolDown {
        seconds = List.copyOf(seconds);
    }

    static Optional<CoolDown> of(PublishedTable table) {
        List<Double> seconds = table.observations().stream()
                .filter(each -> each.metric().name().equals("cool_down"))
                .map(each -> each.value() / 1e3)
                .toList();
        OptionalDouble cap = Optional.ofNullable(table.settings().get(Column.CAP)).flatMap(Figure::of).stream()
                .mapToDouble(figure -> figure.number().doubleValue())
                .findFirst();
        return seconds.isEmpty() || cap.isEmpty()
                ? Optional.empty()
                : Optional.of(new CoolDown(seconds, cap.getAsDouble()));
    }

    static List<Remark> remarks(PublishedTable table) {
        return of(table).map(waits -> new Remark(Topic.COOL_DOWN, "", waits.text(), waits.firstOfThree() >= 0)).stream()
                .toList();
    }

    int atCap() {
        int count = 0;
        for (double each : seconds) {
            count += isAtCap(each) ? 1 : 0;
        }
        return count;
    }

    private boolean isAtCap(double wait) {
        return wait >= cap - SLACK;
    }

    double median() {
        return Quantiles.of(seconds.stream().mapToDouble(Double::doubleValue).toArray(), 0.5);
    }

    double hours() {
        double sum = 0;
        for (double each : seconds) {
            sum += each;
        }
        return sum / SECONDS_IN_HOUR;
    }

    /** The leg with the third wait up to the cap in a row, from 0; -1 where that never happened. */
    int firstOfThree() {
        int row = 0;
        for (int i = 0; i < seconds.size(); i++) {
            row = isAtCap(seconds.get(i)) ? row + 1 : 0;
            if (row == IN_A_ROW) {
                return i;
            }
        }
        return -1;
    }

    String text() {
        String text = String.format(
                Locale.ROOT,
                "Median %.0f s; %d of %d waits (%.0f %%) ended at the cap of %.0f s; %.1f h in all.",
                median(),
                atCap(),
                seconds.size(),
                100.0 * atCap() / seconds.size(),
                cap,
                hours());
        int third = firstOfThree();
        return third < 0
                ? text
                : text
                        + String.format(
                                Locale.ROOT,
                                " After leg %d, the third at the cap in a row, up to %.1f h more were to be expected.",
                                third + 1,
                                (seconds.size() - third - 1) * cap / SECONDS_IN_HOUR);
    }
}
