package io.holdfast.emulator.fault;

import java.time.Duration;
import java.util.Locale;
import java.util.regex.Pattern;

/** Something that real servers do to benchmarks, and that an emulated one does on request. */
public sealed interface Fault {
    /** The first requests of a server life wait longer for their first token, as after a start without warm-up. */
    record ColdFirstWave(int requests, Duration extra) implements Fault {
        public ColdFirstWave {
            if (requests < 1 || extra.isNegative()) {
                throw new IllegalArgumentException("cold-first-wave wants at least 1 request and no negative time, not "
                        + requests + " and " + extra + ".");
            }
        }
    }

    /** The first requests of a server life take {@link #FACTOR} times their time to the first token: caches warm up. */
    record Warming(int requests) implements Fault {
        public static final double FACTOR = 1.25;

        public Warming {
            if (requests < 1) {
                throw new IllegalArgumentException("warming wants at least 1 request, not " + requests + ".");
            }
        }
    }

    /** Pins are answered as if they held, and nothing is locked. */
    record PinIgnored() implements Fault {}

    /** What would end the branches that pin does them no harm. */
    record PinForgiving() implements Fault {}

    /**
     * Reads {@code cold-first-wave[=REQUESTS,EXTRA_MS]} (64 requests and 150 ms unless told), {@code warming=REQUESTS} or
     * {@code pin-ignored}.
     *
     * @throws IllegalArgumentException for anything else, with one sentence that says what there is
     */
    public static Fault parse(String text) {
        Pattern number = Pattern.compile("\\d{1,7}");
        String[] nameAndRest = text.strip().toLowerCase(Locale.ROOT).split("=", 2);
        String[] values = nameAndRest.length == 1 ? new String[0] : nameAndRest[1].split(",", -1);
        for (String value : values) {
            if (!number.matcher(value).matches()) {
                throw unknown(text);
            }
        }
        return switch (nameAndRest[0]) {
            case "cold-first-wave" ->
                switch (values.length) {
                    case 0 -> new ColdFirstWave(64, Duration.ofMillis(150));
                    case 2 ->
                        new ColdFirstWave(Integer.parseInt(values[0]), Duration.ofMillis(Integer.parseInt(values[1])));
                    default -> throw unknown(text);
                };
            case "warming" -> {
                if (values.length != 1) {
                    throw unknown(text);
                }
                yield new Warming(Integer.parseInt(values[0]));
            }
            case "pin-ignored" -> {
                if (values.length != 0) {
                    throw unknown(text);
                }
                yield new PinIgnored();
            }
            default -> throw unknown(text);
        };
    }

    private static IllegalArgumentException unknown(String text) {
        return new IllegalArgumentException("There is no fault \"" + text
                + "\"; use cold-first-wave, cold-first-wave=REQUESTS,EXTRA_MS, warming=REQUESTS or pin-ignored.");
    }
}
