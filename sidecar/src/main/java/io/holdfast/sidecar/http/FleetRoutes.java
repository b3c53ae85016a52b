package io.holdfast.sidecar.http;

import static io.holdfast.sidecar.config.ApiError.badRequest;

import com.fasterxml.jackson.core.JsonToken;
import io.holdfast.embed.cell.FleetHold;
import io.holdfast.embed.cell.FleetHoldView;
import io.holdfast.sidecar.cell.Cells;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.ConfigException;
import io.holdfast.sidecar.view.FleetJson;
import io.vertx.core.Future;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Collectors;

/** The API's routes about the fleet: what is known of it, what it is to hold, and tokens for its other sidecars. */
final class FleetRoutes implements HttpApi.Routes {
    private static final String FLEET = "/api/v1/fleet";
    private static final String HOLDS = FLEET + "/holds";
    private static final String ID = "[0-9a-f]{16}";
    private static final int MOST_BLOCKS = 65_536;

    private final HttpApi api;
    private final Access access;
    private final Optional<Cells> cells;

    FleetRoutes(HttpApi api, Access access, Optional<Cells> cells) {
        this.api = api;
        this.access = access;
        this.cells = cells;
    }

    @Override
    public void addTo(Router router) {
        router.get(FLEET).handler(this::fleet);
        router.get(HOLDS).handler(this::list);
        router.post(HOLDS).handler(this::hold);
        router.get(HOLDS + "/:hold").handler(this::show);
        router.delete(HOLDS + "/:hold").handler(this::release);
        router.post(FLEET + "/tokens").handler(this::tokens);
    }

    private void fleet(RoutingContext context) {
        boolean why = access.mayAct(context.request());
        api.show(context, () -> FleetJson.fleet(cells, why));
    }

    private Cells shared() {
        return cells.orElseThrow(() -> new ApiError(
                409,
                "This sidecar shares nothing with others: write fleet.store, such as memory or"
                        + " valkey://10.0.0.5:6379."));
    }

    private List<FleetHoldView> holds() {
        return shared().parts().stream()
                .collect(Collectors.toMap(part -> part.cell().id(), part -> part, (one, other) -> one))
                .values()
                .stream()
                .flatMap(part -> part.member().fleetHolds().stream())
                .toList();
    }

    private void list(RoutingContext context) {
        boolean why = access.mayAct(context.request());
        shared();
        api.show(context, () -> {
            List<FleetHoldView> all = holds();
            return new JsonObject()
                    .put("count", all.size())
                    .put(
                            "holds",
                            new JsonArray(all.stream()
                                    .map(hold -> FleetJson.hold(hold, why))
                                    .toList()));
        });
    }

    private void show(RoutingContext context) {
        String id = id(context);
        boolean why = access.mayAct(context.request());
        shared();
        api.show(
                context,
                () -> FleetJson.hold(
                        holds().stream()
                                .filter(view -> view.hold().id().equals(id))
                                .findFirst()
                                .orElseThrow(() -> noSuchHold(id)),
                        why));
    }

    private void release(RoutingContext context) {
        String id = id(context);
        // A hold is known to one cell, whichever engines of this sidecar are in it.
        boolean released =
                shared().parts().stream().map(part -> part.engine().release(id)).reduce(false, Boolean::logicalOr);
        if (!released) {
            throw noSuchHold(id);
        }
        api.reply(
                context,
                200,
                new JsonObject().put("id", id).put("says", "Every engine lets it go within two periods."));
    }

    private static String id(RoutingContext context) {
        String id = HttpApi.parameter(context, "hold");
        if (!id.matches(ID)) {
            throw noSuchHold(id);
        }
        return id;
    }

    private static ApiError noSuchHold(String id) {
        return new ApiError(
                404, "The fleet has no hold " + ConfigException.shown(id) + "; GET " + HOLDS + " says what there is.");
    }

    private void hold(RoutingContext context) {
        HttpApi.requireJson(context.request());
        shared();
        api.body(context)
                .onSuccess(body -> api.work(() -> FleetHoldBody.parse(body.bytes(), MOST_BLOCKS))
                        .compose(said -> hold(context, said))
                        .onComplete(done -> body.close())
                        .onFailure(context::fail))
                .onFailure(context::fail);
    }

    private Future<?> hold(RoutingContext context, FleetHoldBody said) {
        Cells.Part part = part(said);
        return api.sharedTokens(part.link(), said.source()).map(tokens -> {
            FleetHold hold;
            try {
                hold = part.engine()
                        .hold(tokens, said.copies(), said.requester(), said.weight(), said.lease())
                        .orElseThrow(() -> new ApiError(
                                503,
                                "The fleet has as many holds as it can, or this sidecar keeps the tokens of too many;"
                                        + " release one of GET " + HOLDS + "."));
            } catch (IllegalArgumentException e) {
                throw badRequest(String.valueOf(e.getMessage()));
            }
            context.response().putHeader("location", HOLDS + "/" + hold.id());
            api.reply(context, 201, FleetJson.hold(hold, true).put("see", HOLDS + "/" + hold.id()));
            return hold;
        });
    }

    private Cells.Part part(FleetHoldBody said) {
        List<Cells.Part> parts = shared().parts();
        List<Cells.Part> meant = said.engine()
                .map(name -> parts.stream()
                        .filter(part -> part.link().id().equals(name))
                        .toList())
                .orElse(parts);
        if (meant.isEmpty()) {
            throw said.engine()
                    .map(name -> new ApiError(
                            404,
                            "No engine " + ConfigException.shown(name)
                                    + " takes part in the fleet here, or not yet; GET " + FLEET + " says which do."))
                    .orElseGet(() -> new ApiError(
                            503, "No engine of this sidecar has said yet what it serves; ask again when one answers."));
        }
        if (meant.stream().map(Cells.Part::cell).distinct().count() > 1) {
            throw badRequest("The engines of this sidecar serve several models or block sizes; name one of them with"
                    + " engine, whose tokens are meant.");
        }
        return meant.getFirst();
    }

    /** Answers another sidecar, which has the act token, with the tokens of a hold that was taken here or a hot prefix. */
    private void tokens(RoutingContext context) {
        HttpApi.requireJson(context.request());
        shared();
        api.body(context)
                .onSuccess(body -> api.work(() -> found(asked(body.bytes())))
                        .onComplete(done -> body.close())
                        .onSuccess(tokens -> api.show(
                                context,
                                () -> new JsonObject()
                                        .put(
                                                "tokens",
                                                new JsonArray(Arrays.stream(tokens)
                                                        .mapToObj(Integer::toUnsignedLong)
                                                        .toList()))))
                        .onFailure(context::fail))
                .onFailure(context::fail);
    }

    /** What tokens are asked for: a hold's, or those of a prefix by its name. */
    private record Asked(String hold, OptionalLong name) {}

    private int[] found(Asked asked) {
        Cells known = shared();
        return (asked.name().isPresent() ? known.tellTokens(asked.name().getAsLong()) : known.tokens(asked.hold()))
                .orElseThrow(
                        () -> new ApiError(404, "This sidecar has no tokens of that hold or prefix, or not any more."));
    }

    private static Asked asked(byte[] bytes) {
        Asked[] asked = {new Asked("", OptionalLong.empty())};
        PrefixFields.each(bytes, "{\"hold\":\"0123456789abcdef\"}", (field, json) -> {
            String text = json.currentToken() == JsonToken.VALUE_STRING ? json.getText() : "";
            if (!text.matches(ID) || !(field.equals("hold") || field.equals("name"))) {
                throw badRequest("The body names neither a hold nor a prefix; send"
                        + " {\"hold\":\"0123456789abcdef\"}, or a name in its place.");
            }
            asked[0] = field.equals("hold")
                    ? new Asked(text, OptionalLong.empty())
                    : new Asked("", OptionalLong.of(Long.parseUnsignedLong(text, 16)));
        });
        return asked[0];
    }
}
