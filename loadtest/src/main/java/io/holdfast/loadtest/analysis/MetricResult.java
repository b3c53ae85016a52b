package io.holdfast.loadtest.analysis;

import io.holdfast.evidence.Verdict;
import io.holdfast.loadtest.journal.Statistic;

/** Result for one of the numbers that a run is judged by. */
public record MetricResult(Statistic statistic, Verdict verdict) {}
