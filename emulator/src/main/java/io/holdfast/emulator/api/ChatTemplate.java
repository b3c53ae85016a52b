package io.holdfast.emulator.api;

import java.util.ArrayList;
import java.util.List;

/** Way in which a conversation becomes one text. */
public enum ChatTemplate {
    /** Each turn between marks, in order, so that a longer conversation continues a shorter one's tokens. */
    CHATML,

    /**
     * ChatML with an empty thought put before an answer that no user turn follows.
     *
     * <p>The trap of templates that rewrite the last answer: the prompt that ends with it and the one that goes on
     * after it part where it begins, so that warming a cache with the first does less for the second than it seems.
     */
    CHATML_THINK;

    /** A turn of a conversation. */
    public record Turn(String role, String content) {}

    /**
     * The turns with the tools that the model may call behind what the system says, which is where templates put them.
     *
     * @param tools a JSON list; empty for none
     */
    public static List<Turn> withTools(List<Turn> turns, String tools) {
        if (tools.isEmpty()) {
            return turns;
        }
        boolean begun = !turns.isEmpty() && turns.getFirst().role().equals("system");
        List<Turn> all = new ArrayList<>(turns);
        String said = begun ? all.removeFirst().content() + "\n\n" : "";
        all.addFirst(new Turn("system", said + "# Tools\n\n<tools>\n" + tools + "\n</tools>"));
        return all;
    }

    /** The conversation so far, and the beginning of the answer to it where one is to be said. */
    public String render(List<Turn> turns, boolean beginsAnswer) {
        int lastQuestion = turns.size() - 1;
        while (lastQuestion >= 0 && !turns.get(lastQuestion).role().equals("user")) {
            lastQuestion--;
        }
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < turns.size(); i++) {
            Turn turn = turns.get(i);
            boolean thinks =
                    this == CHATML_THINK && i > lastQuestion && turn.role().equals("assistant");
            text.append(Tokenizer.TURN)
                    .append(turn.role())
                    .append('\n')
                    .append(thinks ? "<think>\n\n</think>\n\n" : "")
                    .append(turn.content())
                    .append(Tokenizer.END_OF_TURN)
                    .append('\n');
        }
        return beginsAnswer ? text.append(Tokenizer.TURN).append("assistant\n").toString() : text.toString();
    }
}
