package io.holdfast.workbench.preset;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.loadtest.LoadTestException;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Answers of a model that show whether its server still gives right ones: questions with a number as their answer,
 * asked greedily behind a few that are answered already. The last whole number in a reply is taken for the answer.
 *
 * @param model that was asked
 * @param shots questions that each prompt begins with, with their answers
 */
public record Accuracy(String model, int shots, List<Answered> answered) {
    private static final int FORMAT = 1;
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Pattern NUMBER = Pattern.compile("-?\\d[\\d,]*");
    private static final double NORMAL_95 = 1.959964;

    /** A question whose answer is known; the last whole number of the answer counts. */
    public record Question(String question, String answer) {}

    /** A question with the reply to it. */
    public record Answered(Question question, String said, boolean right) {
        static Answered of(Question question, String said) {
            Optional<BigInteger> expected = lastInteger(question.answer());
            return new Answered(question, said, expected.isPresent() && expected.equals(lastInteger(said)));
        }
    }

    public Accuracy {
        answered = List.copyOf(answered);
    }

    /** Reads questions, a JSON object with 'question' and 'answer' in each line. */
    public static List<Question> questions(Path file) {
        List<Question> questions = new ArrayList<>();
        int number = 0;
        try (Stream<String> lines = Files.lines(file)) {
            for (String line : (Iterable<String>) lines::iterator) {
                number++;
                if (!line.isBlank()) {
                    JsonNode node = JSON.readTree(line);
                    String question = node.path("question").asText();
                    String answer = node.path("answer").asText();
                    if (question.isBlank() || lastInteger(answer).isEmpty()) {
                        throw new LoadTestException("Line " + number + " of " + file
                                + " has no 'question' with an 'answer' that ends in a whole number; write both.");
                    }
                    questions.add(new Question(question, answer));
                }
            }
        } catch (NoSuchFileException e) {
            throw new LoadTestException("There is no file " + file + "; name one with a question in each line.", e);
        } catch (JsonProcessingException e) {
            throw new LoadTestException(
                    "Line " + number + " of " + file + " is not JSON; write {\"question\": …, \"answer\": …}.", e);
        } catch (IOException e) {
            throw new LoadTestException("The file " + file + " cannot be read: " + e.getMessage() + ".", e);
        }
        return questions;
    }

    /** The prompts of so many questions; the first ones of the file are the shots and are not asked. */
    public static List<String> prompts(List<Question> all, int shots, int questions) {
        if (all.size() < shots + 1) {
            throw new LoadTestException("There are " + all.size() + " questions, and " + shots
                    + " are answered in each prompt, so none is left to ask; name a longer file or fewer shots.");
        }
        StringBuilder head = new StringBuilder();
        all.subList(0, shots)
                .forEach(shot -> head.append("Question: ")
                        .append(shot.question())
                        .append("\nAnswer: ")
                        .append(shot.answer())
                        .append("\n\n"));
        return asked(all, shots, questions).stream()
                .map(question -> head + "Question: " + question.question() + "\nAnswer:")
                .toList();
    }

    /** Returns the questions that are asked. */
    private static List<Question> asked(List<Question> all, int shots, int questions) {
        return all.subList(shots, Math.min(all.size(), shots + questions));
    }

    /**
     * Looks the answers through.
     *
     * @param said in the order of {@link #prompts}
     */
    public static Accuracy of(String model, List<Question> all, int shots, List<String> said) {
        List<Question> asked = asked(all, shots, said.size());
        List<Answered> answered = new ArrayList<>();
        for (int i = 0; i < said.size(); i++) {
            answered.add(Answered.of(asked.get(i), said.get(i)));
        }
        return new Accuracy(model, shots, answered);
    }

    /** The last whole number of a text, thousands separated or not. */
    static Optional<BigInteger> lastInteger(String text) {
        Matcher matcher = NUMBER.matcher(text);
        Optional<BigInteger> last = Optional.empty();
        while (matcher.find()) {
            last = Optional.of(new BigInteger(matcher.group().replace(",", "")));
        }
        return last;
    }

    public long right() {
        return answered.stream().filter(Answered::right).count();
    }

    /** Returns the share of right answers, of 1. */
    public double share() {
        return answered.isEmpty() ? 0 : (double) right() / answered.size();
    }

    /** Compares another arm on the same questions, with the interval of the paired difference. */
    public String against(Accuracy other) {
        List<String> own =
                answered.stream().map(each -> each.question().question()).toList();
        if (!own.equals(
                other.answered.stream().map(each -> each.question().question()).toList())) {
            throw new LoadTestException(
                    "The other results are of other questions and cannot be compared; ask both the same.");
        }
        int won = 0;
        int lost = 0;
        int otherwise = 0;
        for (int i = 0; i < own.size(); i++) {
            boolean here = answered.get(i).right();
            boolean there = other.answered.get(i).right();
            won += here && !there ? 1 : 0;
            lost += !here && there ? 1 : 0;
            otherwise += answered.get(i).said().equals(other.answered.get(i).said()) ? 0 : 1;
        }
        double all = own.size();
        double difference = (won - lost) / all;
        double half = NORMAL_95 * Math.sqrt(won + lost - (won - lost) * (won - lost) / all) / all;
        return String.format(
                Locale.ROOT,
                "Against %.2f of the other arm: %+.3f [%+.3f, %+.3f]; %d of %d answers read differently.",
                other.share(),
                difference,
                difference - half,
                difference + half,
                otherwise,
                own.size());
    }

    /** Content of the file. */
    private record Kept(
            int format,
            String suite,
            String model,
            int shots,
            int questions,
            long right,
            double accuracy,
            List<KeptAnswer> answers) {}

    private record KeptAnswer(String question, String answer, String said, boolean right) {
        static KeptAnswer of(Answered each) {
            return new KeptAnswer(each.question().question(), each.question().answer(), each.said(), each.right());
        }

        Answered answered() {
            return new Answered(new Question(question, answer), said, right);
        }
    }

    /** Returns the text of its file. */
    public String text() {
        Kept kept = new Kept(
                FORMAT,
                "accuracy",
                model,
                shots,
                answered.size(),
                right(),
                share(),
                answered.stream().map(KeptAnswer::of).toList());
        return JSON.valueToTree(kept).toPrettyString() + "\n";
    }

    /** Reads what {@link #text} wrote. */
    public static Accuracy read(Path file) {
        try {
            JsonNode root = JSON.readTree(file.toFile());
            if (root.path("format").asInt() != FORMAT || !root.path("answers").isArray()) {
                throw new LoadTestException("The file " + file
                        + " has no answers; name one that 'loadtest preset accuracy' wrote in this version.");
            }
            Kept kept = JSON.treeToValue(root, Kept.class);
            return new Accuracy(
                    kept.model(),
                    kept.shots(),
                    kept.answers().stream().map(KeptAnswer::answered).toList());
        } catch (IOException e) {
            throw new LoadTestException(
                    "The file " + file + " cannot be read as JSON; take it from where it was" + " copied.", e);
        }
    }
}
