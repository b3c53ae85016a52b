package io.holdfast.emulator.api.vllm;

import io.holdfast.emulator.api.GenerationRequest;
import io.holdfast.emulator.api.ValidatedBody;
import io.holdfast.rules.engine.HoldOrder;
import io.holdfast.rules.engine.HoldReport.Result;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;

/** Leases by NIXL in the bodies of requests, and the receipts for them; nobody could fetch anything by one. */
final class NixlLeases {
    static final String FIELD = "kv_transfer_params";
    private static final String ORDER = "do_remote_decode";
    private static final int PORT = 5600;

    private NixlLeases() {}

    /**
     * Takes the order out of a request's body, if there is one.
     *
     * @param id of the request
     */
    static GenerationRequest take(ValidatedBody body, GenerationRequest ask, String id) {
        boolean leases = !ask.prompts().isEmpty()
                && body.object(FIELD).filter(given -> given.flag(ORDER)).isPresent();
        return leases ? ask.withOrder(new HoldOrder.Lease(id)) : ask;
    }

    /** @param engine the name of this life of the server */
    static JsonObject receipt(Result.Leased leased, String id, String engine) {
        return new JsonObject()
                .put("do_remote_prefill", true)
                .put(ORDER, false)
                .put("remote_block_ids", JsonArray.of(new JsonArray(leased.blocks())))
                .put("remote_engine_id", engine)
                .put("remote_request_id", id)
                .put("remote_host", "localhost")
                .put("remote_port", PORT)
                .put("tp_size", 1)
                .put("dcp_size", 1)
                .put("pp_size", 1)
                .put("remote_num_tokens", leased.tokens())
                .putNull("remote_blocks_expiry_time")
                .put("transfer_mode", "pull")
                .put("remote_prefill_cached_tokens", 0);
    }
}
