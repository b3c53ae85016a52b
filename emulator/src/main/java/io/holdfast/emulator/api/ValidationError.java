package io.holdfast.emulator.api;

import java.util.ArrayList;
import java.util.List;

/** A request that does not say what its route needs; each engine reports it in its own {@link ErrorFormat}. */
public final class ValidationError extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String type;
    private final transient List<Object> location;
    private final String problem;

    /**
     * @param type the engines' word for this kind of error, such as {@code missing}
     * @param location names and indexes on the way to the value, from {@code body} or {@code query} on
     */
    public ValidationError(String type, List<Object> location, String problem) {
        super(problem, null, false, false);
        this.type = type;
        this.location = List.copyOf(location);
        this.problem = problem;
    }

    static ValidationError missing(List<Object> location) {
        return new ValidationError("missing", location, "Field required");
    }

    static List<Object> below(List<Object> location, Object step) {
        List<Object> longer = new ArrayList<>(location);
        longer.add(step);
        return longer;
    }

    public String type() {
        return type;
    }

    public List<Object> location() {
        return location;
    }

    public String problem() {
        return problem;
    }
}
