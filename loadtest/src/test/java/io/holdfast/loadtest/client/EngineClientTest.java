package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.client.EngineClient.Prepared;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.testing.StubEngine;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class EngineClientTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final String TOKEN = "data: {\"text\":\"a\",\"meta_info\":{\"completion_tokens\":1}}\n\n";

    private static final int MOST_TOKENS = 4;

    private final Vertx vertx = Vertx.vertx();
    private final StubEngine engine = StubEngine.start(vertx, 64);
    private final List<EngineClient> clients = new ArrayList<>();

    @BeforeEach
    void answerProperly() {
        engine.answers = body -> StubEngine.stream(3, 4, OptionalInt.of(2));
    }

    @AfterEach
    void stop() throws Exception {
        clients.forEach(EngineClient::close);
        engine.close();
        vertx.close().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
    }

    @Test
    void wholeStream_isOkWithStampsInOrderAndCounts() {
        RequestRecord record = sendOne();
        assertThat(record.status()).isEqualTo(RequestStatus.OK);
        assertThat(record.scheduled()).isLessThanOrEqualTo(record.sent());
        assertThat(record.sent()).isLessThanOrEqualTo(record.firstByte().orElseThrow());
        assertThat(record.firstByte().orElseThrow())
                .isLessThanOrEqualTo(record.firstToken().orElseThrow());
        assertThat(record.firstToken().orElseThrow())
                .isLessThanOrEqualTo(record.lastToken().orElseThrow());
        assertThat(record.lastToken().orElseThrow()).isLessThanOrEqualTo(record.done());
        assertThat(record.promptTokens()).hasValue(3);
        assertThat(record.completionTokens()).hasValue(4);
        assertThat(record.cachedTokens()).hasValue(2);
        assertThat(record.ttftMillis()).isPresent();
        assertThat(record.problem()).isEmpty();
    }

    @Test
    void openLoad_keepsItsTimesAndShowsWhatItCouldNotSend() {
        EngineClient client = opened(client(LIMIT), 2);
        long start = System.nanoTime();
        EngineClient.OpenLoop load =
                EngineClient.await(client.openLoop(requests(5), 2, Optional.empty()), LIMIT, "beginning");
        Future<EngineUnderTest.Sent> all = load.all();
        for (int i = 0; i < 5; i++) {
            // All at once: two have a connection, and the others would have to wait for one.
            load.due(i, start);
        }
        List<RequestRecord> records = EngineClient.await(all, LIMIT, "the load").load();
        assertThat(records).extracting(RequestRecord::number).containsExactly(0, 1, 2, 3, 4);
        assertThat(records).extracting(RequestRecord::scheduled).containsOnly(start);
        assertThat(records.subList(0, 2)).allSatisfy(record -> {
            assertThat(record.status()).isEqualTo(RequestStatus.OK);
            assertThat(record.ttftFromScheduleMillis().orElseThrow())
                    .isGreaterThan(record.ttftMillis().orElseThrow());
        });
        assertThat(records.subList(2, 5)).allSatisfy(record -> {
            assertThat(record.status()).isEqualTo(RequestStatus.NOT_SENT);
            assertThat(record.problem()).isEqualTo("all of 2 connections were in use when its turn came");
        });
        assertThat(EngineClient.await(client.health(), LIMIT, "asking").loadNanos())
                .isPositive();
    }

    @Test
    void openLoadOfNothing_isOverAtOnce() {
        EngineClient client = opened(client(LIMIT), 1);
        EngineClient.OpenLoop load =
                EngineClient.await(client.openLoop(List.of(), 1, Optional.empty()), LIMIT, "beginning");
        assertThat(EngineClient.await(load.all(), LIMIT, "the load").load()).isEmpty();
    }

    /** What is sent beside a load has a lane that no request of the load can take. */
    @Test
    void openLoad_needsALaneMoreForWhatIsBesideIt() {
        EngineClient client = opened(client(LIMIT), 2);
        Optional<EngineClient.Repeated> beside =
                Optional.of(new EngineClient.Repeated(requests(1).getFirst(), 1));
        assertThatThrownBy(() -> EngineClient.await(client.openLoop(requests(2), 2, beside), LIMIT, "beginning"))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("3 connections are needed and 2 are open");
        CompletableFuture<Boolean> allWereDue = new CompletableFuture<>();
        engine.answers = body -> request -> {
            CompletableFuture<Void> _ = allWereDue.thenRun(
                    () -> StubEngine.stream(3, 4, OptionalInt.of(2)).play(request));
        };
        EngineClient.OpenLoop load = EngineClient.await(client.openLoop(requests(3), 1, beside), LIMIT, "beginning");
        long start = System.nanoTime();
        for (int i = 0; i < 3; i++) {
            load.due(i, start);
        }
        allWereDue.complete(true);
        EngineUnderTest.Sent sent = EngineClient.await(load.all(), LIMIT, "the load");
        assertThat(sent.load())
                .extracting(RequestRecord::status)
                .containsExactly(RequestStatus.OK, RequestStatus.NOT_SENT, RequestStatus.NOT_SENT);
        assertThat(sent.beside()).hasSize(2).allMatch(RequestRecord::isOk);
        assertThat(engine.mostInFlight).hasValueLessThanOrEqualTo(2);
    }

    @Test
    void chunkOfSeveralTokens_isCountedByWhatTheEngineSays() {
        engine.answers = body -> StubEngine.events(counted(1) + counted(3) + counted(3) + counted(4)
                + "data: {\"text\":\"a\",\"meta_info\":{\"completion_tokens\":4,\"finish_reason\":{\"type\":"
                + "\"length\"}}}\n\n");
        RequestRecord record = sendOne();
        assertThat(record.tokens().tokens()).containsExactly(1, 2, 1);
        assertThat(record.itlMillis()).hasSize(3);
    }

    private static String counted(int tokens) {
        return TOKEN.replace("\"completion_tokens\":1", "\"completion_tokens\":" + tokens);
    }

    @Test
    void moreCachedThanSent_isImpossible() {
        engine.answers = body -> StubEngine.stream(3, 4, OptionalInt.of(4));
        RequestRecord record = sendOne();
        assertThat(record.status()).isEqualTo(RequestStatus.IMPOSSIBLE);
        assertThat(record.problem()).isEqualTo("the engine found 4 tokens cached of a prompt of 3");
        assertThat(record.ttftMillis()).isEmpty();
    }

    @Test
    void moreTokensThanAskedFor_areImpossible() {
        String last = "data:"
            + " {\"text\":\"a\",\"meta_info\":{\"completion_tokens\":%d,\"finish_reason\":{\"type\":\"length\"}}}\n\n";
        engine.answers = body -> StubEngine.events(TOKEN + last.formatted(MOST_TOKENS + 1));
        RequestRecord record = sendOne();
        assertThat(record.status()).isEqualTo(RequestStatus.IMPOSSIBLE);
        assertThat(record.problem())
                .isEqualTo("the engine counted " + (MOST_TOKENS + 1) + " tokens of an answer that may have "
                        + MOST_TOKENS);
        engine.answers = body -> StubEngine.events(TOKEN + last.formatted(MOST_TOKENS));
        assertThat(sendOne().status()).isEqualTo(RequestStatus.OK);
    }

    /** Whoever streams without an end fills no memory: what comes after that is not kept. */
    @Test
    void streamFarBeyondWhatWasAskedFor_isBroken() {
        String endless = IntStream.rangeClosed(1, 3_000)
                .mapToObj(EngineClientTest::counted)
                .collect(Collectors.joining());
        engine.answers = body -> StubEngine.events(endless);
        RequestRecord record = sendOne();
        assertThat(record.status()).isEqualTo(RequestStatus.BROKEN_STREAM);
        assertThat(record.problem()).isEqualTo("the stream goes on beyond the " + MOST_TOKENS + " requested tokens");
        assertThat(record.tokens().tokens()).hasSize(1_024);
    }

    @Test
    void streamWithoutCachedTokens_isOkAndTheyAreUnknown() {
        engine.answers = body -> StubEngine.stream(3, 4, OptionalInt.empty());
        RequestRecord record = sendOne();
        assertThat(record.status()).isEqualTo(RequestStatus.OK);
        assertThat(record.cachedTokens()).isEmpty();
    }

    @Test
    void errorStatus_isAnHttpErrorWithItsReason() {
        engine.answers = body -> StubEngine.status(500, "{\"error\":\"no memory\"}\nmore");
        RequestRecord record = sendOne();
        assertThat(record.status()).isEqualTo(RequestStatus.HTTP_ERROR);
        assertThat(record.problem()).isEqualTo("the engine answered 500: {\"error\":\"no memory\"}");
        engine.answers = body -> StubEngine.status(400, "Token id 29417 is out of vocabulary");
        assertThat(sendOne().problem())
                .isEqualTo("the engine answered 400: Token id 29417 is out of vocabulary; prompts have token ids from"
                        + " 1,000 to 29,999, of which this model does not know all, so ask by text, with --route"
                        + " OPENAI_TEXT or --api completions");
        assertThat(record.ttftMillis()).isEmpty();
    }

    @Test
    void connectionClosedInTheStream_isABrokenStreamWithoutTtft() {
        engine.answers = body -> StubEngine.breakAfter(TOKEN);
        RequestRecord record = sendOne();
        assertThat(record.status()).isEqualTo(RequestStatus.BROKEN_STREAM);
        assertThat(record.firstToken()).isPresent();
        assertThat(record.ttftMillis()).isEmpty();
    }

    @Test
    void streamWithoutEndMark_isABrokenStream() {
        engine.answers = body -> StubEngine.events(TOKEN);
        assertThat(sendOne().problem()).isEqualTo("the stream ended without saying that it was over");
    }

    @Test
    void errorInTheStream_isABrokenStream() {
        engine.answers =
                body -> StubEngine.events(TOKEN + "data: {\"error\":{\"message\":\"aborted\"}}\n\ndata: [DONE]\n\n");
        RequestRecord record = sendOne();
        assertThat(record.status()).isEqualTo(RequestStatus.BROKEN_STREAM);
        assertThat(record.problem()).contains("aborted");
    }

    @Test
    void streamOfNonsense_isABrokenStream() {
        engine.answers = body -> StubEngine.events("data: {nonsense\n\ndata: [DONE]\n\n");
        assertThat(sendOne().status()).isEqualTo(RequestStatus.BROKEN_STREAM);
    }

    @Test
    void noOutputAtAll_isEmpty() {
        engine.answers = body -> StubEngine.events("data: [DONE]\n\n");
        assertThat(sendOne().status()).isEqualTo(RequestStatus.EMPTY);
    }

    /** As half a character is, which only the next token would have made whole. */
    @Test
    void onlyTokenWithoutText_isThereWithTheEnd() {
        engine.answers = body -> StubEngine.events("data: {\"choices\":[{\"text\":\"\",\"finish_reason\":\"length\"}],"
                + "\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n");
        EngineClient client = new EngineClient(
                vertx, engine.uri(), settings(LIMIT).withRoute(CompletionRoute.OPENAI_COMPLETIONS), System::nanoTime);
        clients.add(client);
        RequestRecord record = send(client, 1, 1, 1).getFirst();
        assertThat(record.status()).as(record.problem()).isEqualTo(RequestStatus.OK);
        assertThat(record.firstToken()).isEqualTo(record.lastToken()).isPresent();
    }

    @Test
    void noTokensCounted_isEmptyHoweverMuchTextThereIs() {
        engine.answers = body ->
                StubEngine.events("data: {\"text\":\" \",\"meta_info\":{\"completion_tokens\":0}}\n\ndata: [DONE]\n\n");
        assertThat(sendOne().status()).isEqualTo(RequestStatus.EMPTY);
    }

    @Test
    void blankTextWithoutACount_isEmpty() {
        engine.answers = body -> StubEngine.events("data: {\"text\":\" \"}\n\ndata: [DONE]\n\n");
        assertThat(sendOne().status()).isEqualTo(RequestStatus.EMPTY);
    }

    @Test
    void stalledStream_timesOutAndTheLaneGoesOn() {
        AtomicInteger turn = new AtomicInteger();
        engine.answers =
                body -> turn.getAndIncrement() == 0 ? StubEngine.stall() : StubEngine.stream(3, 1, OptionalInt.of(0));
        List<RequestRecord> records = send(client(Duration.ofMillis(200)), 2, 1, 1);
        assertThat(records)
                .extracting(RequestRecord::status)
                .containsExactly(RequestStatus.TIMED_OUT, RequestStatus.OK);
        assertThat(records.getFirst().problem()).contains("200 ms");
    }

    @Test
    void requestThatTimedOutBeforeItsConnection_isNeverSent() throws Exception {
        try (SlowNames names = new SlowNames()) {
            Vertx slow = names.vertx();
            URI host = URI.create("http://engine.test:" + engine.uri().getPort());
            EngineClient client = new EngineClient(slow, host, settings(Duration.ofMillis(200)), System::nanoTime);
            Future<Void> open = client.open(1);
            assertThat(loop(client, requests(2), 1))
                    .extracting(RequestRecord::status)
                    .containsExactly(RequestStatus.TIMED_OUT, RequestStatus.TIMED_OUT);
            names.tell();
            EngineClient.await(open, LIMIT, "opening");
            LoadRequest last = new LoadRequest(Role.FLOOD, 1, new int[] {5000, 1, 2}, MOST_TOKENS);
            Prepared prepared =
                    new Prepared(0, last, Buffer.buffer(CompletionRoute.SGLANG_GENERATE.body(Optional.empty(), last)));
            loop(client, List.of(prepared), 1);
            assertThat(engine.bodies)
                    .extracting(body -> body.path("input_ids").toString())
                    .containsOnly("[5000,1,2]");
            assertThat(engine.connections).hasValue(1);
            client.close();
            slow.close().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
        }
    }

    @Test
    void slashesAtTheEndOfTheAddress_areNotDoubled() {
        for (String end : List.of("", "/", "//")) {
            URI address = URI.create(engine.uri() + end);
            EngineClient client = new EngineClient(vertx, address, settings(LIMIT), System::nanoTime);
            clients.add(client);
            assertThat(send(client, 1, 1, 1)).allMatch(RequestRecord::isOk);
        }
        assertThat(engine.paths).hasSize(3).containsOnly("POST /generate");
    }

    @Test
    void brokenConnection_isOpenedAgainForTheNextRequest() {
        AtomicInteger turn = new AtomicInteger();
        engine.answers = body ->
                turn.getAndIncrement() == 0 ? StubEngine.breakAfter(TOKEN) : StubEngine.stream(3, 1, OptionalInt.of(0));
        assertThat(send(client(LIMIT), 3, 1, 1))
                .extracting(RequestRecord::status)
                .containsExactly(RequestStatus.BROKEN_STREAM, RequestStatus.OK, RequestStatus.OK);
        assertThat(engine.connections).hasValue(2);
    }

    @Test
    void connectionClosedAfterAnAnswer_isOpenedAgain() {
        engine.answers = body -> request -> {
            request.response().putHeader("connection", "close");
            StubEngine.stream(3, 1, OptionalInt.of(0)).play(request);
        };
        assertThat(send(client(LIMIT), 5, 1, 1))
                .allSatisfy(record -> assertThat(record.isOk()).isTrue());
    }

    @Test
    void connections_areOpenBeforeTheLoadAndUsedAgain() {
        EngineClient client = client(LIMIT);
        EngineClient.await(client.open(4), LIMIT, "opening");
        assertThat(engine.bodies).isEmpty();
        assertThat(loop(client, requests(40), 4)).hasSize(40);
        assertThat(engine.connections).hasValue(4);
    }

    @Test
    void closedLoop_neverHasMoreThanItsConcurrencyUnderWay() {
        // Answered by fives, so that it must come to five however slow this machine is, and a while later, so that a
        // sixth
        // would be seen.
        List<HttpServerRequest> waiting = new ArrayList<>();
        engine.answers = body -> request -> {
            waiting.add(request);
            if (waiting.size() == 5) {
                vertx.setTimer(3, fired -> {
                    List<HttpServerRequest> answered = List.copyOf(waiting);
                    waiting.clear();
                    answered.forEach(StubEngine.stream(3, 1, OptionalInt.of(0))::play);
                });
            }
        };
        assertThat(send(client(LIMIT), 60, 8, 5))
                .allSatisfy(record -> assertThat(record.isOk()).isTrue());
        assertThat(engine.mostInFlight.get()).isEqualTo(5);
    }

    @Test
    void records_keepTheOrderOfTheList() {
        assertThat(send(client(LIMIT), 30, 8, 8))
                .extracting(RequestRecord::number)
                .isEqualTo(IntStream.range(0, 30).boxed().toList());
    }

    @Test
    void thousandsOfRequestsOnOneLane_doNotOverflow() {
        engine.answers = body -> StubEngine.status(503, "busy");
        assertThat(send(client(LIMIT), 6_000, 1, 1)).hasSize(6_000);
    }

    @Test
    void emptyList_isOverAtOnce() {
        assertThat(loop(opened(client(LIMIT), 1), List.of(), 1)).isEmpty();
    }

    @Test
    void engineThatWentAway_isARecordNotAnException() {
        EngineClient client = opened(client(LIMIT), 1);
        engine.close();
        RequestRecord record = loop(client, requests(1), 1).getFirst();
        assertThat(record.status()).isEqualTo(RequestStatus.BROKEN_STREAM);
        assertThat(record.problem()).isNotEmpty();
    }

    @Test
    void headersAndBody_arriveAsTheyAre() {
        AtomicInteger seen = new AtomicInteger();
        engine.answers = body -> request -> {
            seen.set("Bearer k".equals(request.getHeader("authorization")) ? 1 : 0);
            StubEngine.stream(3, 1, OptionalInt.of(0)).play(request);
        };
        sendOne();
        assertThat(seen).hasValue(1);
        assertThat(engine.bodies.getFirst().path("input_ids").toString()).isEqualTo("[1000,1,2]");
    }

    private RequestRecord sendOne() {
        return send(client(LIMIT), 1, 1, 1).getFirst();
    }

    private EngineClient client(Duration timeout) {
        EngineClient client = new EngineClient(vertx, engine.uri(), settings(timeout), System::nanoTime);
        clients.add(client);
        return client;
    }

    private static HttpSettings settings(Duration timeout) {
        return HttpSettings.defaults().withRequestTimeout(timeout).withHeaders(Map.of("authorization", "Bearer k"));
    }

    private static EngineClient opened(EngineClient client, int lanes) {
        EngineClient.await(client.open(lanes), LIMIT, "opening");
        return client;
    }

    private static List<RequestRecord> send(EngineClient client, int count, int lanes, int concurrency) {
        return loop(opened(client, lanes), requests(count), concurrency);
    }

    private static List<RequestRecord> loop(EngineClient client, List<Prepared> requests, int concurrency) {
        return EngineClient.await(client.closedLoop(requests, concurrency), LIMIT, "the load");
    }

    private static List<Prepared> requests(int count) {
        List<Prepared> requests = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            LoadRequest request = new LoadRequest(Role.FLOOD, 1, new int[] {1000 + i, 1, 2}, MOST_TOKENS);
            byte[] body = CompletionRoute.SGLANG_GENERATE.body(Optional.empty(), request);
            requests.add(new Prepared(i, request, Buffer.buffer(body)));
        }
        return requests;
    }
}
