package io.holdfast.workbench.table;

import io.holdfast.evidence.Quantiles;
import io.holdfast.workbench.table.Remark.Topic;
import java.util.List;
import java.util.Locale;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/**
 * Cost of waiting for a server to cool down, by a column of seconds.
 *
 * @param seconds of each leg
 * @param cap at which waiting ends; NaN where the table does not tell
 */
@SuppressWarnings("ArrayRecordComponent") // A column that only this record sees.
record CoolDown(double[] seconds, double cap) {
    /** A probe ends a little after the cap. */
    private static final double SLACK = 1;

    private static final double SECONDS_IN_HOUR = 3_600;

    /** After so many in a row nobody should go on waiting. */
    private static final int IN_A_ROW = 3;

    static CoolDown of(PublishedTable table) {
        return new CoolDown(
                table.observations().stream()
                        .filter(each -> each.metric().name().equals("cool_down"))
                        .mapToDouble(each -> each.value() / 1e3)
                        .toArray(),
                Figure.value(table.settings().get(Column.CAP)));
    }

    List<Remark> remarks() {
        return seconds.length == 0 || Double.isNaN(cap)
                ? List.of()
                : List.of(new Remark(Topic.COOL_DOWN, "", text(), firstOfThree() >= 0));
    }

    long atCap() {
        return DoubleStream.of(seconds).filter(wait -> wait >= cap - SLACK).count();
    }

    double median() {
        return Quantiles.of(seconds, 0.5);
    }

    double hours() {
        return DoubleStream.of(seconds).sum() / SECONDS_IN_HOUR;
    }

    /** Returns the leg with the third wait up to the cap in a row, from 0; -1 where that never happened. */
    int firstOfThree() {
        return IntStream.range(IN_A_ROW - 1, seconds.length)
                .filter(leg -> IntStream.range(0, IN_A_ROW).allMatch(back -> seconds[leg - back] >= cap - SLACK))
                .findFirst()
                .orElse(-1);
    }

    String text() {
        int left = seconds.length - firstOfThree() - 1;
        return String.format(
                        Locale.ROOT,
                        "Median %.0f s; %d of %d waits (%.0f %%) ended at the cap of %.0f s; %.1f h in all.",
                        median(),
                        atCap(),
                        seconds.length,
                        100.0 * atCap() / seconds.length,
                        cap,
                        hours())
                + (firstOfThree() < 0
                        ? ""
                        : String.format(
                                Locale.ROOT,
                                " After leg %d, the third at the cap in a row, up to %.1f h more were to be expected.",
                                firstOfThree() + 1,
                                left * cap / SECONDS_IN_HOUR));
    }
}
