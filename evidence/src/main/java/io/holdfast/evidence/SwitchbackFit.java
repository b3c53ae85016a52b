package io.holdfast.evidence;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.DoubleStream;

/**
 * Effect of switching something on, from windows that follow one another, all else that was measured being equal.
 *
 * @param effect mean with it less mean without it
 * @param se the standard error of that
 * @param df degrees of freedom that are left to judge the spread by
 * @param sd how far a window strays from what the fit says of it
 * @param correlation of one window's straying with the next one's
 * @param coefficients of the value on 1, the arm and each covariate less its mean
 * @param means of the covariates
 */
public record SwitchbackFit(
        double effect,
        double se,
        int df,
        double sd,
        double correlation,
        List<Double> coefficients,
        List<Double> means) {
    /*
     * A regression of the values on the arm and the covariates whose errors follow an autoregression of first order: a
     * window is like the one before it. Neighbours that differ in their arm then say more about the effect than two
     * windows at random, which is why arms alternate. For a given correlation the errors are made independent by taking
     * from each value its expected part of the one before (over a hole of g windows, the correlation to the power g),
     * and what remains is least squares.
     *
     * The correlation is not known, and a single best guess from twenty windows makes intervals too narrow. So the fit
     * is made for each of several correlations, and these are averaged by their restricted likelihood; that they
     * disagree about the effect is part of its error. Correlations up to nearly 1 are among them: then the fit compares
     * neighbours only, so a slow drift that no covariate explains is no effect.
     *
     * A covariate that does not vary, or that others explain, is left out: its coefficient is 0.
     */
    private static final double[] CORRELATIONS = {-0.2, -0.1, 0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97};
    private static final int FEWEST_OVER = 5;
    private static final int FEWEST_OF_AN_ARM = 2;
    private static final double EXPLAINED = 1e-8;

    public SwitchbackFit {
        coefficients = List.copyOf(coefficients);
        means = List.copyOf(means);
    }

    /** Absent where there are too few windows, or none of one arm. */
    public static Optional<SwitchbackFit> of(List<WindowValue> windows) {
        int n = windows.size();
        int covariates = windows.isEmpty() ? 0 : windows.getFirst().covariates().size();
        long on = windows.stream().filter(WindowValue::on).count();
        if (n < covariates + 2 + FEWEST_OVER || on < FEWEST_OF_AN_ARM || n - on < FEWEST_OF_AN_ARM) {
            return Optional.empty();
        }
        double[] means = new double[covariates];
        for (WindowValue window : windows) {
            for (int c = 0; c < covariates; c++) {
                means[c] += window.covariates().get(c) / n;
            }
        }
        double[][] design = new double[n][covariates + 2];
        for (int i = 0; i < n; i++) {
            design[i][0] = 1;
            design[i][1] = windows.get(i).on() ? 1 : 0;
            for (int c = 0; c < covariates; c++) {
                design[i][c + 2] = windows.get(i).covariates().get(c) - means[c];
            }
        }
        List<Gls> fits = new ArrayList<>();
        for (double correlation : CORRELATIONS) {
            Gls.of(windows, design, correlation).ifPresent(fits::add);
        }
        return fits.isEmpty() ? Optional.empty() : Optional.of(averaged(fits, means));
    }

    private static SwitchbackFit averaged(List<Gls> fits, double[] means) {
        double best = fits.stream().mapToDouble(Gls::logLikelihood).max().orElseThrow();
        double total = 0;
        double effect = 0;
        double variance = 0;
        double sd = 0;
        double correlation = 0;
        double[] coefficients = new double[means.length + 2];
        for (Gls fit : fits) {
            double weight = Math.exp(fit.logLikelihood - best);
            total += weight;
            effect += weight * fit.beta.get(1);
            variance += weight * fit.effectVariance;
            sd += weight * fit.sd;
            correlation += weight * fit.correlation;
            for (int c = 0; c < coefficients.length; c++) {
                coefficients[c] += weight * fit.beta.get(c);
            }
        }
        double mean = effect / total;
        double between = 0;
        for (Gls fit : fits) {
            between += Math.exp(fit.logLikelihood - best) * Math.pow(fit.beta.get(1) - mean, 2);
        }
        for (int c = 0; c < coefficients.length; c++) {
            coefficients[c] /= total;
        }
        return new SwitchbackFit(
                mean,
                Math.sqrt((variance + between) / total),
                fits.getFirst().df,
                sd / total,
                correlation / total,
                boxed(coefficients),
                boxed(means));
    }

    private static List<Double> boxed(double[] values) {
        return DoubleStream.of(values).boxed().toList();
    }

    /** Least squares for one correlation. */
    private record Gls(
            double correlation, List<Double> beta, double effectVariance, double sd, int df, double logLikelihood) {
        static Optional<Gls> of(List<WindowValue> windows, double[][] design, double correlation) {
            int n = design.length;
            int p = design[0].length;
            double[][] x = new double[n][p];
            double[] y = new double[n];
            double scales = 0;
            for (int i = 0; i < n; i++) {
                double gap = i == 0
                        ? 0
                        : windows.get(i).position() - windows.get(i - 1).position();
                double like = i == 0 ? 0 : Math.pow(correlation, gap);
                double scale = 1 / Math.sqrt(1 - like * like);
                scales += Math.log(scale);
                y[i] = scale
                        * (windows.get(i).value()
                                - (i == 0 ? 0 : like * windows.get(i - 1).value()));
                for (int c = 0; c < p; c++) {
                    x[i][c] = scale * (design[i][c] - (i == 0 ? 0 : like * design[i - 1][c]));
                }
            }
            double logScale = scales;
            return new LeastSquares(x, y).solved().map(solved -> {
                double variance = solved.squares() / solved.df();
                double logLikelihood = -solved.df() / 2.0 * Math.log(Math.max(solved.squares(), Double.MIN_NORMAL))
                        + logScale
                        - solved.logDeterminant() / 2;
                return new Gls(
                        correlation,
                        solved.beta(),
                        variance * solved.inverseOfArm(),
                        Math.sqrt(variance),
                        solved.df(),
                        logLikelihood);
            });
        }
    }

    /** Normal equations by Cholesky's factors, in the order intercept, covariates, arm. */
    private static final class LeastSquares {
        private final double[][] x;
        private final double[] y;

        private record Solved(List<Double> beta, double inverseOfArm, double squares, int df, double logDeterminant) {}

        private LeastSquares(double[][] x, double[] y) {
            this.x = x;
            this.y = y;
        }

        /** Absent where the arm cannot be told from the rest. */
        private Optional<Solved> solved() {
            int p = x[0].length;
            int[] order = new int[p];
            order[p - 1] = 1;
            for (int c = 1; c < p - 1; c++) {
                order[c] = c + 1;
            }
            double[][] factor = new double[p][p];
            boolean[] used = new boolean[p];
            double[] half = new double[p];
            double logDeterminant = 0;
            int rank = 0;
            for (int i = 0; i < p; i++) {
                double left = product(order[i], order[i]);
                double before = left;
                for (int j = 0; j < i; j++) {
                    if (used[j]) {
                        double sum = product(order[i], order[j]);
                        for (int k = 0; k < j; k++) {
                            sum -= factor[i][k] * factor[j][k];
                        }
                        factor[i][j] = sum / factor[j][j];
                        left -= factor[i][j] * factor[i][j];
                    }
                }
                used[i] = left > EXPLAINED * before && before > 0;
                if (used[i]) {
                    factor[i][i] = Math.sqrt(left);
                    logDeterminant += Math.log(left);
                    double sum = 0;
                    for (int row = 0; row < y.length; row++) {
                        sum += x[row][order[i]] * y[row];
                    }
                    for (int k = 0; k < i; k++) {
                        sum -= factor[i][k] * half[k];
                    }
                    half[i] = sum / factor[i][i];
                    rank++;
                }
            }
            if (!used[p - 1] || !used[0]) {
                return Optional.empty();
            }
            double[] beta = new double[p];
            for (int i = p - 1; i >= 0; i--) {
                if (used[i]) {
                    double sum = half[i];
                    for (int k = i + 1; k < p; k++) {
                        sum -= factor[k][i] * beta[order[k]];
                    }
                    beta[order[i]] = sum / factor[i][i];
                }
            }
            double squares = 0;
            for (int row = 0; row < y.length; row++) {
                double rest = y[row];
                for (int c = 0; c < p; c++) {
                    rest -= x[row][c] * beta[c];
                }
                squares += rest * rest;
            }
            double inverse = 1 / (factor[p - 1][p - 1] * factor[p - 1][p - 1]);
            return Optional.of(new Solved(boxed(beta), inverse, squares, y.length - rank, logDeterminant));
        }

        private double product(int a, int b) {
            double sum = 0;
            for (double[] row : x) {
                sum += row[a] * row[b];
            }
            return sum;
        }
    }

    /** Distance from the effect, to either side, of a bound at this one-sided level. */
    public double reach(double level) {
        return se == 0 ? 0 : new StudentT(df).quantile(1 - level) * se;
    }

    /** Distance of a window from its expected value. */
    public double strays(WindowValue window) {
        double expected = coefficients.get(0) + (window.on() ? coefficients.get(1) : 0);
        for (int c = 0; c < means.size(); c++) {
            expected += coefficients.get(c + 2) * (window.covariates().get(c) - means.get(c));
        }
        return window.value() - expected;
    }
}
