#!/usr/bin/env python3
"""The expressions of the rules and dashboards beside this file; standard library only. deploy/verify calls it.

    expressions.py files                      names and JSON, without a Prometheus
    expressions.py ask PROMETHEUS ENGINE      every expression, of a Prometheus that scrapes a sidecar and has the rules
    expressions.py alerts PROMETHEUS [ALERT=ENGINE ...]   waits until these alerts are pending or fire, and no others
    expressions.py traffic ENGINE             requests that share a prefix, until it is ended
    expressions.py get URL [BODY]             what is there, for promtool, or the answer to a POST"""
import json
import pathlib
import random
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "metrics.md"
DASHBOARDS = sorted((HERE / "grafana").glob("*.json"))
RULES = HERE / "prometheus" / "holdfast.rules.yaml"
NOT_USED = HERE / "prometheus" / "not-used"
PATIENCE = 90
# Prometheus' own, of every target.
GIVEN = {"up"}
WORDS = {"and", "or", "unless", "bool", "by", "without", "on", "ignoring", "group_left", "group_right", "offset"}


def get(url, body=None):
    request = urllib.request.Request(url, None if body is None else body.encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read().decode()


def panels(of):
    for panel in of.get("panels", []):
        yield panel
        yield from panels(panel)


def dashboard_expressions():
    """Rows of dashboard, panel and expression."""
    for file in DASHBOARDS:
        for panel in panels(json.loads(file.read_text())):
            for target in panel.get("targets", []):
                yield file.name, f"{panel['title']} {target['refId']}", target["expr"]


def rule_expressions(text):
    """The expressions of the file, by its layout: one line, or a block that is indented further. Prometheus reads YAML."""
    for found in re.finditer(r"^( +)expr: (\|\n((?:\1 +.*\n|\n)+)|.*)", text, re.M):
        yield found[3] or found[2]


def bare(expression):
    """An expression without what is in quotes, braces, brackets and after by or on."""
    expression = re.sub(r'"[^"]*"', "", expression)
    expression = re.sub(r"\{[^}]*}|\[[^]]*]", " ", expression)
    return re.sub(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", " ", expression)


def names(expression):
    found = re.findall(r"(?<![\w.])([a-zA-Z_:][\w:]*)(?!\w|\s*\()", bare(expression))
    return {name for name in found if name not in WORDS}


def selectors(expression):
    """Each metric of an expression with its labels."""
    used = names(expression)
    return [name + (labels or "") for name, labels in re.findall(r"([a-zA-Z_:][\w:]*)(\{[^}]*})?", expression) if name in used]


def documented():
    """Names as the page lists them, and as series are called."""
    listed = dict(re.findall(r"^\| `((?:holdfast|vertx)_\w+)` \| (\w+) \|", PAGE.read_text(), re.M))
    series = {}
    for name, kind in listed.items():
        for ending in ["_count", "_sum"] if kind == "summary" else [""]:
            series[name + ending] = name
    return listed, series


def files():
    wrong = []
    listed, series = documented()
    used = set()
    expressions = [(RULES.name, " ".join(text.split())[:40], text) for text in rule_expressions(RULES.read_text())]
    for where, title, expression in expressions + list(dashboard_expressions()):
        for name in names(expression) - GIVEN:
            if name in series:
                used.add(series[name])
            else:
                wrong.append(f"{where}: {title}: no page has the metric {name}; take one of docs/metrics.md.")
    excused = dict(line.split(": ", 1) for line in NOT_USED.read_text().splitlines() if line and line[0] != "#")
    for name in sorted(set(listed) - used - set(excused)):
        wrong.append(f"{name} is in no rule or dashboard: use it, or write the reason into deploy/prometheus/not-used.")
    for name in sorted(set(excused) & used):
        wrong.append(f"deploy/prometheus/not-used lists {name}, which is used: remove its line.")
    for name in sorted(set(excused) - set(listed)):
        wrong.append(f"deploy/prometheus/not-used lists {name}, which docs/metrics.md does not have: remove its line.")
    end(wrong, f"{len(used)} metrics are used, {len(excused)} are listed with a reason.")


class Prometheus:
    def __init__(self, url):
        self.url = url

    def api(self, path, **parameters):
        try:
            return json.loads(get(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"))["data"]
        except urllib.error.HTTPError as error:
            raise ValueError(json.loads(error.read())["error"]) from error

    def series(self, expression):
        return self.api("query", query=expression)["result"]


def until(deadline, condition):
    """The first answer that is not empty, or the last one."""
    while True:
        answer = condition()
        if answer or time.monotonic() > deadline:
            return answer
        time.sleep(0.5)


def ask(url, engine):
    prometheus = Prometheus(url)
    deadline = time.monotonic() + PATIENCE
    wrong = []
    rules = until(deadline, lambda: [rule for group in prometheus.api("rules")["groups"] for rule in group["rules"]])
    if not rules:
        wrong.append("Prometheus has no rules.")
    rows = [("rules", rule["name"], selector) for rule in rules for selector in selectors(rule["query"])]
    for where, title, expression in rows + list(dashboard_expressions()):
        # As Grafana does, with All where a dashboard can show several.
        expression = expression.replace('=~"$engine"', '=~".*"').replace("$engine", engine).replace("$__rate_interval", "1m")
        try:
            found = until(deadline, lambda asked=expression: prometheus.series(asked))
        except ValueError as error:
            wrong.append(f"{where}: {title}: {error}: {expression}")
            continue
        numbers = sum(one["value"][1] != "NaN" for one in found)
        print(f"{where:13} {title[:58]:58} {len(found):3} series {numbers:3} known")
        if not found:
            scraped = set(prometheus.api("label/__name__/values"))
            missing = ", ".join(sorted(names(expression) - scraped)) or "none: its labels find nothing"
            wrong.append(f"{where}: {title}: no series; metrics that no scrape has: {missing}: {expression}")
    # A rule is judged by what Prometheus made of it, since most of them find nothing while all is well.
    for rule in until(deadline, lambda: judged(prometheus)) or rules:
        if rule["health"] != "ok":
            wrong.append(f"rules: {rule['name']}: {rule['health']} {rule.get('lastError', '')}")
    end(wrong, f"{len(rows)} selectors of {len(rules)} rules and every expression of {len(DASHBOARDS)} dashboards have series.")


def judged(prometheus):
    rules = [rule for group in prometheus.api("rules")["groups"] for rule in group["rules"]]
    return [] if any(rule["health"] == "unknown" for rule in rules) else rules


def alerts(url, expected):
    prometheus = Prometheus(url)
    wanted = {tuple(one.split("=", 1)) for one in expected}

    def active():
        return {(one["metric"]["alertname"], one["metric"].get("engine", "")) for one in prometheus.series("ALERTS")}

    if not until(time.monotonic() + PATIENCE, lambda: active() == wanted):
        end([f"Expected the alerts {sorted(wanted)}, but these are pending or fire: {sorted(active())}."], "")
    print("Pending or firing, and nothing else: " + (", ".join(sorted(" ".join(one).strip() for one in wanted)) or "none"))


def traffic(engine):
    chance = random.Random(42)
    tokens = lambda count: [chance.randrange(300, 4000) for _ in range(count)]
    heads = [tokens(512) for _ in range(2)]
    while True:
        for prompt in [head + tokens(64) for head in heads] + [tokens(1000) for _ in range(4)]:
            get(engine + "/generate", json.dumps({"input_ids": prompt, "sampling_params": {"max_new_tokens": 4}}))
        time.sleep(1)


def end(wrong, right):
    for line in wrong:
        print(f"WRONG  {line}", file=sys.stderr)
    if wrong:
        sys.exit(1)
    print(right)


def main():
    match sys.argv[1:]:
        case ["files"]:
            files()
        case ["ask", url, engine]:
            ask(url, engine)
        case ["alerts", url, *expected]:
            alerts(url, expected)
        case ["traffic", url]:
            traffic(url)
        case ["get", url, *body]:
            print(get(url, *body), end="")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
