package io.holdfast.loadtest.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.loadtest.report.Document.Axis;
import io.holdfast.loadtest.report.Document.Plot;
import io.holdfast.loadtest.report.Document.Point;
import io.holdfast.loadtest.report.Document.Series;
import io.holdfast.loadtest.report.Document.Shape;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/** Curves as a picture in a file of its own. */
final class PictureTest {
    private static final Series LRU = curve("LRU", "a", 0.05, 0.08, 0.2, 0.36);
    private static final Series PINS = curve("holdfast", "b", 0.09, 0.13, 0.22, 0.36);
    private static final Series OPTIMUM = curve("optimum", "c", 0.24, 0.31, 0.366, 0.366);

    @Test
    void curves_riseWithWhatWasFound_andToTheRightWithCapacity() throws Exception {
        Document svg = parsed(picture("conversation"));
        List<List<double[]>> curves = points(svg);
        assertThat(curves).hasSize(3);
        for (List<double[]> curve : curves) {
            assertThat(curve).hasSize(4);
            for (int at = 1; at < curve.size(); at++) {
                assertThat(curve.get(at)[0]).isGreaterThan(curve.get(at - 1)[0]);
                assertThat(curve.get(at)[1]).isLessThanOrEqualTo(curve.get(at - 1)[1]);
            }
        }
        for (int at = 0; at < 4; at++) {
            assertThat(curves.get(0).get(at)[1])
                    .isGreaterThanOrEqualTo(curves.get(1).get(at)[1]);
            assertThat(curves.get(1).get(at)[1]).isGreaterThan(curves.get(2).get(at)[1]);
        }
        // 36 % against 5 % of 0 to 40 %.
        double zero = y(svg, "0");
        double full = y(svg, "40");
        assertThat(full).isLessThan(90);
        double oneStep = (zero - full) / 40;
        assertThat(curves.get(0).get(0)[1]).isCloseTo(zero - 4.5 - 5 * oneStep, within(0.2));
        assertThat(curves.get(0).get(3)[1]).isCloseTo(zero - 4.5 - 36 * oneStep, within(0.2));
    }

    /** Viewers that are no browsers paint everything black where a colour is a variable. */
    @Test
    void colours_areWrittenOut() {
        assertThat(picture("conversation")).doesNotContain("var(").contains("fill: #ffffff");
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, 0.001, 0.36, 1})
    void names_standApartAndInside_whereCurvesEndTogether(double end) throws Exception {
        Document svg = parsed(
                picture("t", curve("LRU", "a", 0, end), curve("holdfast", "b", 0, end), curve("optimum", "c", 0, end)));
        List<Double> names = new ArrayList<>();
        for (Element text : elements(svg, "text")) {
            double y = Double.parseDouble(text.getAttribute("y"));
            assertThat(y).isBetween(12.0, 436.0);
            assertThat(Double.parseDouble(text.getAttribute("x"))).isBetween(0.0, 650.0);
            if (text.getAttribute("class").equals("name")) {
                assertThat(y).isLessThan(382);
                names.add(y);
            }
        }
        names.sort(null);
        assertThat(names).hasSize(3);
        assertThat(names.get(1) - names.get(0)).isGreaterThanOrEqualTo(17.9);
        assertThat(names.get(2) - names.get(1)).isGreaterThanOrEqualTo(17.9);
    }

    @Test
    void oneCapacity_isADot() throws Exception {
        Document svg = parsed(picture("t", curve("LRU", "a", 0.3)));
        assertThat(points(svg).getFirst()).hasSize(1);
        assertThat(points(svg).getFirst().getFirst()).satisfies(place -> {
            assertThat(place[0]).isBetween(64.0, 610.0);
            assertThat(place[1]).isBetween(78.0, 376.0);
        });
        assertThat(elements(svg, "circle")).hasSize(1);
    }

    @Test
    void picture_needsNothingElse_andKnowsTheDark() throws Exception {
        String svg = picture("a <b> & \"c\" \u0001");
        Document parsed = parsed(svg);
        assertThat(elements(parsed, "title").getFirst().getTextContent()).isEqualTo("a <b> & \"c\" ?");
        assertThat(svg.replace("http://www.w3.org/2000/svg", ""))
                .doesNotContain("http", "href", "url(", "@import", "<script");
        assertThat(svg).contains("prefers-color-scheme: dark").doesNotContain("%n", "NaN", "Infinity");
    }

    @Test
    void longName_isCutAtItsBegin() throws Exception {
        Document svg = parsed(picture("x".repeat(300) + "end"));
        assertThat(elements(svg, "text").getFirst().getTextContent())
                .hasSize(81)
                .startsWith("…")
                .endsWith("end");
    }

    private static String picture(String title) {
        return picture(title, LRU, PINS, OPTIMUM);
    }

    private static String picture(String title, Series... curves) {
        List<Point> all =
                Stream.of(curves).flatMap(curve -> curve.points().stream()).toList();
        double last = curves[0].points().getLast().x();
        return Svg.picture(new Plot(
                title,
                "",
                Axis.logarithmic("blocks", 900, 1.1 * last, "%,.0f"),
                Axis.upTo("found, %", all.stream().mapToDouble(Point::y).max().orElse(0), "%.0f"),
                List.of(curves)));
    }

    private static Series curve(String name, String style, double... ratios) {
        List<Point> points = new ArrayList<>();
        int capacity = 1_000;
        for (double ratio : ratios) {
            points.add(new Point(capacity, 100 * ratio, String.format(Locale.ROOT, "%.1f %%", 100 * ratio)));
            capacity *= 3;
        }
        return new Series(name, style, Shape.LINE, points);
    }

    private static Document parsed(String svg) throws Exception {
        return DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(new ByteArrayInputStream(svg.getBytes(StandardCharsets.UTF_8)));
    }

    private static double y(Document svg, String label) {
        return elements(svg, "text").stream()
                .filter(text -> text.getTextContent().equals(label))
                .mapToDouble(text -> Double.parseDouble(text.getAttribute("y")))
                .findFirst()
                .orElseThrow();
    }

    private static List<List<double[]>> points(Document svg) {
        List<List<double[]>> curves = new ArrayList<>();
        for (Element line : elements(svg, "polyline")) {
            List<double[]> points = new ArrayList<>();
            for (String point : line.getAttribute("points").strip().split(" ", -1)) {
                String[] place = point.split(",", -1);
                points.add(new double[] {Double.parseDouble(place[0]), Double.parseDouble(place[1])});
            }
            curves.add(points);
        }
        return curves;
    }

    private static List<Element> elements(Document svg, String name) {
        NodeList nodes = svg.getElementsByTagName(name);
        List<Element> elements = new ArrayList<>();
        for (int at = 0; at < nodes.getLength(); at++) {
            if (nodes.item(at) instanceof Element element) {
                elements.add(element);
            }
        }
        return elements;
    }
}
