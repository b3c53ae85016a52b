package io.holdfast.workbench.table;

import io.holdfast.evidence.MeanInterval;
import io.holdfast.loadtest.measure.Metric;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;

/**
 * Standard deviations by arm and by which leg it was in its pair, and the ratio of those of both arms.
 *
 * <p>An arm that was always second may vary less because it was second.
 *
 * @param cells one for each arm in each position that it was measured in
 * @param ratio of the treatment's to the baseline's, over all places, as a log ratio with its 95 % interval
 */
record SpreadTable(Metric metric, List<Cell> cells, Optional<MeanInterval> ratio) {
    /** Fewer places than this say nothing about how sure the ratio is. */
    private static final int FEWEST = 4;

    SpreadTable {
        cells = List.copyOf(cells);
    }

    /**
     * Range of an arm in one position.
     *
     * @param position 1 or 2; 0 where the table does not tell
     */
    record Cell(Column.Side side, int position, int count, double least, double most) {}

    static SpreadTable of(Metric metric, List<Comparison> all) {
        List<Cell> cells = new ArrayList<>();
        for (Column.Side side : Column.Side.values()) {
            for (int position = 0; position <= 2; position++) {
                int at = position;
                double[] values = all.stream()
                        .flatMap(each -> Stream.of(each.baseline(), each.treatment()))
                        .filter(each -> each.side().equals(Optional.of(side)))
                        .filter(each -> each.order().map(PublishedTable::rank).orElse(0) == at)
                        .mapToDouble(Observation::value)
                        .toArray();
                OptionalDouble least = DoubleStream.of(values).min();
                if (least.isPresent()) {
                    cells.add(new Cell(
                            side,
                            position,
                            values.length,
                            least.getAsDouble(),
                            DoubleStream.of(values).max().orElseThrow()));
                }
            }
        }
        double[] ratios = all.stream()
                .filter(each -> !each.isControl())
                .flatMap(each -> each.logRatio().stream())
                .mapToDouble(Double::doubleValue)
                .toArray();
        return new SpreadTable(metric, cells, ratios.length < FEWEST ? Optional.empty() : MeanInterval.of(ratios));
    }

    /** Returns true if one arm varies less than the other, beyond chance. */
    boolean differs() {
        return ratio.map(mean -> mean.interval().excludesZero()).orElse(false);
    }

    /** Returns true if each arm was first and second. */
    boolean isCrossed() {
        return cells.stream().filter(cell -> cell.position() > 0).count() == 2L * Column.Side.values().length;
    }

    String text() {
        StringBuilder text = new StringBuilder(metric.title()).append(": ");
        for (int i = 0; i < cells.size(); i++) {
            Cell cell = cells.get(i);
            text.append(i == 0 ? "" : ", ")
                    .append(cell.side().name().toLowerCase(Locale.ROOT))
                    .append(cell.position() == 0 ? "" : cell.position() == 1 ? " first" : " second")
                    .append(" ")
                    .append(Comparison.rounded(cell.least(), 2))
                    .append(" to ")
                    .append(Comparison.rounded(cell.most(), 2));
        }
        text.append('.');
        ratio.ifPresent(mean -> text.append(" Treatment against baseline ")
                .append(TableReview.percent(mean.mean()))
                .append(" (95 % interval ")
                .append(TableReview.percent(mean.interval().low()))
                .append(" to ")
                .append(TableReview.percent(mean.interval().high()))
                .append(differs() ? ")." : "), which may be chance."));
        return text.append(
                        isCrossed()
                                ? ""
                                : " Each arm was in one position only, or it is not told: this may be what being"
                                        + " second does.")
                .toString();
    }
}
