package io.holdfast.loadtest.analysis;

import io.holdfast.evidence.Verdict;
import io.holdfast.loadtest.journal.Statistic;

/** What one of the numbers that a run is judged by says. */
public record MetricResult(Statistic statistic, Verdict verdict) {}
