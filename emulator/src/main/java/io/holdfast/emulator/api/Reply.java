package io.holdfast.emulator.api;

import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.TokenListener;
import io.holdfast.rules.fault.HttpFault;
import io.vertx.core.Context;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/*
 * Brings the answers to one request from the engine's thread to one client, on the connection's context.
 *
 * One request may want several answers: to each of several prompts, or several to one. Each is a request of its own to
 * the engine, and all are told in one stream, or in one body when the last has ended.
 *
 * A client that reads slowly gets larger chunks instead of more of them: tokens wait in their choice while the socket
 * is full, and the engine never waits for anyone. A client that goes away takes its requests along.
 */
public final class Reply {
    public static final String EVENTS = "text/event-stream; charset=utf-8";
    public static final String DONE = "data: [DONE]\n\n";

    /** Takes what the engine's thread tells of one answer. */
    private final class Listener implements TokenListener {
        private final Choice choice;
        private final StopSearch search;
        private Optional<Generation> request = Optional.empty();

        Listener(Choice choice) {
            this.choice = choice;
            this.search = new StopSearch(ask.stops(), context.tokenizer());
        }

        @Override
        public void token(int token, int count, int cachedTokens, boolean last) {
            long now = context.clock().nanos();
            eventLoop.runOnContext(_ -> request.ifPresent(known -> said(known, token, last, now)));
        }

        @Override
        public void failed(String message) {
            eventLoop.runOnContext(_ -> Reply.this.failed(500, message));
        }

        @Override
        public void refused(String message) {
            eventLoop.runOnContext(_ -> Reply.this.failed(400, message));
        }

        private void said(Generation known, int token, boolean last, long now) {
            if (choice.ended()) {
                return;
            }
            choice.add(token, known, now);
            if (last) {
                choice.end(search.found());
                context.answers().ended(choice, ask.options().stream());
            }
            progress(choice);
        }
    }

    private final RouteContext context;
    private final Call call;
    private final GenerationRequest ask;
    private final ResponseFormat shape;
    private final ErrorFormat errors;
    private final Context eventLoop;
    private final List<Choice> choices = new ArrayList<>();
    private final List<Generation> requests = new ArrayList<>();
    private final HttpFaults.AnswerFaults answerFaults;
    private Optional<AnswerStamps> stamps = Optional.empty();
    private boolean stalled;
    private boolean stallOver;
    private boolean closed;

    public Reply(RouteContext context, Call call, GenerationRequest ask, ResponseFormat shape, ErrorFormat errors) {
        this.context = context;
        this.call = call;
        this.ask = ask;
        this.shape = shape;
        this.errors = errors;
        this.eventLoop = call.vertx().getOrCreateContext();
        this.answerFaults = context.faults().answerFaults(ask.options().stream());
    }

    public List<Choice> choices() {
        return choices;
    }

    /** Asks the engine for all the answers at once. Choices are numbered prompt by prompt. */
    public void begin(List<String> ids) {
        if (!call.isOpen()) {
            return;
        }
        Choice.Moment now =
                new Choice.Moment(context.clock().unixSeconds(), context.clock().nanos());
        int index = 0;
        for (GenerationRequest.Prompt prompt : ask.prompts()) {
            for (int i = 0; i < ask.each(); i++, index++) {
                choices.add(new Choice(index, ids.get(index), prompt, ask.prefillOnly(), context.tokenizer(), now));
            }
        }
        stamps = context.settings()
                .stamps()
                .filter(_ -> ask.options().stream())
                .map(file -> new AnswerStamps(file, ids.isEmpty() ? "" : ids.getFirst(), call.received()));
        call.whenOver(this::over);
        if (answerFaults.miscounted()) {
            choices.forEach(Choice::miscount);
        }
        if (answerFaults.empty()) {
            choices.forEach(Choice::blank);
            choices.forEach(this::progress);
        } else {
            choices.forEach(this::submit);
        }
        if (choices.isEmpty()) {
            end();
        }
    }

    /** Ends the answer with what it has, as if the engine had been told to. */
    public void abort() {
        requests.forEach(context::abort);
        for (Choice choice : choices) {
            if (!choice.ended()) {
                choice.abort();
                progress(choice);
            }
        }
    }

    private void submit(Choice choice) {
        Listener listener = new Listener(choice);
        Generation request = context.submit(ask, choice.prompt(), listener.search, listener);
        listener.request = Optional.of(request);
        requests.add(request);
    }

    private void over() {
        closed = true;
        stamps.ifPresent(its -> its.write(call.vertx()));
        if (choices.stream().anyMatch(choice -> !choice.ended())) {
            requests.forEach(context::abort);
        }
    }

    private void progress(Choice choice) {
        if (closed) {
            return;
        }
        if (ask.options().stream()) {
            tell(choice);
        }
        if (choices.stream().allMatch(Choice::ended)) {
            end();
        }
    }

    private void end() {
        if (!ask.options().stream()) {
            late(() -> call.json(200, shape.whole(choices)));
        } else if (!stalled && !isFull()) {
            shape.closingEvents(choices).forEach(this::write);
            open().write(DONE);
            open().end();
        }
    }

    /** Answers an order to hold or release later than it was done, where a fault says so. */
    private void late(Runnable answer) {
        Duration delay = ask.hasOrder() ? context.faults().pinDelay() : Duration.ZERO;
        if (delay.isZero()) {
            answer.run();
        } else {
            call.vertx().setTimer(delay.toMillis(), _ -> answer.run());
        }
    }

    private void tell(Choice choice) {
        if (stalled || isFull()) {
            return;
        }
        if (answerFaults.cutAfter().isPresent()
                && answerFaults.cutAfter().getAsInt() < choice.tokens().size()) {
            cut(choice);
            return;
        }
        if (answerFaults.stall().isPresent() && !stallOver) {
            HttpFault.StalledStream stall = answerFaults.stall().get();
            if (choice.tokens().size() > stall.tokens()) {
                stalled = true;
                call.vertx().setTimer(stall.pause().toMillis(), _ -> goOn());
                return;
            }
        }
        boolean due = choice.chunks() == 0 || choice.untold() >= ask.options().interval() || choice.ended();
        if (due && choice.hasNews()) {
            List<String> events =
                    shape.newEvents(choice).stream().map(Reply::text).toList();
            int brought = choice.untold();
            stamps.filter(_ -> brought > 0)
                    .ifPresent(its -> its.chunk(context.clock().nanos(), brought));
            events.forEach(open()::write);
            choice.told(shape.heldBack());
        }
    }

    /** Tells what has gathered while nothing could be told. */
    private void goOn() {
        stallOver |= stalled;
        stalled = false;
        if (closed) {
            return;
        }
        choices.forEach(this::tell);
        if (choices.stream().allMatch(Choice::ended)) {
            end();
        }
    }

    private boolean isFull() {
        HttpServerResponse response = call.response();
        if (response.headWritten() && response.writeQueueFull()) {
            response.drainHandler(_ -> goOn());
            return true;
        }
        return false;
    }

    private void cut(Choice choice) {
        String event = "data: " + shape.newEvents(choice).getFirst().encode();
        open().write(event.substring(0, event.length() * 2 / 3)).onComplete(_ -> call.cut());
        closed = true;
        requests.forEach(context::abort);
    }

    private void failed(int status, String message) {
        if (closed) {
            return;
        }
        if (ask.options().stream() && call.response().headWritten()) {
            write(shape.failure(message));
            open().write(DONE);
            open().end();
        } else {
            call.json(status, errors.refusal(status, message));
        }
    }

    private void write(JsonObject event) {
        open().write(text(event));
    }

    private static String text(JsonObject event) {
        return "data: " + event.encode() + "\n\n";
    }

    private HttpServerResponse open() {
        HttpServerResponse response = call.response();
        if (!response.headWritten()) {
            response.setChunked(true).putHeader("content-type", EVENTS);
        }
        return response;
    }
}
