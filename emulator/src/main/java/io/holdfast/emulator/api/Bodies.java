package io.holdfast.emulator.api;

import java.util.List;

/** Bytes of a request to JSON, in an engine's dialect, with the complaints that both engines' framework makes. */
final class Bodies {
    private Bodies() {}

    static Json parse(byte[] body, JsonReader.Dialect dialect) {
        if (body.length == 0) {
            throw new Complaint.Invalid(List.of(Complaint.noBody()));
        }
        try {
            return JsonReader.read(body, dialect);
        } catch (JsonReader.Malformed e) {
            throw new Complaint.Invalid(List.of(Complaint.notJson(e.at(), e.problem())));
        }
    }

    /** {@code application/json}, with whatever parameters. */
    static boolean isJson(Call call) {
        String type = call.header("content-type").orElse("");
        int parameters = type.indexOf(';');
        String bare = (parameters < 0 ? type : type.substring(0, parameters)).strip();
        return bare.equalsIgnoreCase("application/json");
    }

    /** Token ids of a list that holds whole numbers; what is no 32-bit number comes out as -1. */
    static int[] tokens(List<Json> items) {
        int[] tokens = new int[items.size()];
        for (int i = 0; i < tokens.length; i++) {
            long token = items instanceof Json.Ints numbers ? numbers.at(i) : whole(items.get(i));
            tokens[i] = token == (int) token ? (int) token : -1;
        }
        return tokens;
    }

    private static long whole(Json value) {
        return switch (value) {
            case Json.Int(long token) -> token;
            case Json.Bool bool -> bool.value() ? 1 : 0;
            default -> -1;
        };
    }
}
