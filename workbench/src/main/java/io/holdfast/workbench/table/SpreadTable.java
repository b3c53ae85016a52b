package io.holdfast.workbench.table;

import io.holdfast.evidence.MeanInterval;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.workbench.table.Column.Side;
import java.util.ArrayList;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
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

    /**
     * Range of an arm in one position.
     *
     * @param position as {@code first}; empty where the table does not tell
     */
    record Cell(Side side, String position, double least, double most) {}

    static SpreadTable of(Metric metric, List<Comparison> all) {
        List<Observation> values = all.stream()
                .flatMap(each -> Stream.of(each.baseline(), each.treatment()))
                .toList();
        List<Cell> cells = new ArrayList<>();
        for (Side side : Side.values()) {
            for (String position : List.of("", "first", "second")) {
                DoubleSummaryStatistics range = values.stream()
                        .filter(each -> each.side().equals(Optional.of(side))
                                && position(each).equals(position))
                        .collect(Collectors.summarizingDouble(Observation::value));
                if (range.getCount() > 0) {
                    cells.add(new Cell(side, position, range.getMin(), range.getMax()));
                }
            }
        }
        double[] ratios = all.stream()
                .filter(each -> !each.isControl())
                .mapToDouble(Comparison::logRatio)
                .filter(Double::isFinite)
                .toArray();
        return new SpreadTable(metric, cells, ratios.length < FEWEST ? Optional.empty() : MeanInterval.of(ratios));
    }

    private static String position(Observation each) {
        return each.order().isEmpty() ? "" : each.ranFirst() ? "first" : "second";
    }

    /** Returns true if one arm varies less than the other, beyond chance. */
    boolean differs() {
        return ratio.filter(mean -> mean.interval().excludesZero()).isPresent();
    }

    /** Returns true if each arm was first and second. */
    boolean isCrossed() {
        return cells.stream().filter(cell -> !cell.position().isEmpty()).count() == 2L * Side.values().length;
    }

    String text() {
        String ranges = cells.stream()
                .map(cell -> (cell.side().name().toLowerCase(Locale.ROOT) + " " + cell.position()).strip() + " "
                        + Figure.rounded(cell.least(), 2) + " to " + Figure.rounded(cell.most(), 2))
                .collect(Collectors.joining(", "));
        return metric.title() + ": " + ranges + "."
                + ratio.map(mean -> " Treatment against baseline " + TableReview.percent(mean)
                                + (differs() ? "." : ", which may be chance."))
                        .orElse("")
                + (isCrossed()
                        ? ""
                        : " Each arm was in one position only, or it is not told: this may be what being second"
                                + " does.");
    }
}
