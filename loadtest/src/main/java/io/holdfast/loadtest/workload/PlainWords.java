package io.holdfast.loadtest.workload;

import java.util.List;
import java.util.StringJoiner;
import java.util.stream.IntStream;

/**
 * Token ids as text, for servers that take nothing else: a common English word for each, which is one token to most
 * tokenizers. Different ids may become the same word, so two texts share no more than their first few words by chance.
 */
public final class PlainWords {
    private static final List<String> WORDS = List.of("""
        able about above across after again agree ahead allow alone along also always among angle animal
        answer apple april area army around arrive artist autumn away back ball band bank base basic
        bear beat beauty become before begin behind believe below beside best better between beyond bird
        black blood blue board boat body book both bottom bread break bridge bright bring brother brown
        build busy call camp capital captain card care carry case cast catch cause cell center central
        century certain chain chair chance change charge chart check chief child choose church circle
        city claim class clean clear climb close cloud coast coat cold color come common company compare
        complete consider contain continue control cook cool copy corn corner correct cost cotton count
        country course cover create cross crowd current dance danger dark daughter day deal dear death
        decide deep degree depend describe desert design develop differ direct discuss distant divide
        doctor door double down draw dream dress drink drive drop dry during each early earth east easy
        edge effect egg eight either electric else empty end enemy energy engine enough enter equal even
        evening event ever every exact example except exercise expect experience eye face fact fair fall
        family famous far farm fast father favor fear feed feel few field fight figure fill final find
        fine finger finish fire first fish flat floor flow flower follow food foot force forest form
        forward four free fresh friend front fruit full game garden gas gather general gentle girl give
        glad glass gold good govern grand grass gray great green ground group grow guess guide hair half
        hand happy hard hat head hear heart heat heavy help high hill history hold hole home hope horse
        hour house huge human hundred hunt hurry ice idea imagine inch include industry insect
        instrument interest iron island join jump keep key kind king know lady lake land language large
        last late laugh law lead
        """.strip().split("\\s+", -1));

    private PlainWords() {}

    /** Token ids of which each becomes another word, and all words are there. */
    public static int[] each() {
        return IntStream.range(0, WORDS.size()).toArray();
    }

    public static String text(int[] tokens) {
        StringJoiner text = new StringJoiner(" ");
        for (int token : tokens) {
            text.add(WORDS.get(Math.floorMod(token, WORDS.size())));
        }
        return text.toString();
    }
}
