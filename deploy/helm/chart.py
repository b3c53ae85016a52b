"""What deploy/helm/render writes and deploy/helm/check compares; standard library and the helm on the PATH.

The configuration's part of the chart's schema comes from the table in docs/configuration.md, which a test holds to the
records that read the configuration. The rest of the schema is values.base.json."""
import json
import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CHART = HERE / "holdfast"
VALUES = HERE / "values"
SNIPPETS = HERE / "snippets"
PLAIN = HERE.parent / "kubernetes"
PAGE = ROOT / "docs" / "configuration.md"

# Keys that have to be written, by their section. The table does not say it; a test in sidecar holds this to the records.
REQUIRED = {
    "engines.ID": ["type", "url"],
    "devices.ID": ["memory", "weights"],
    "listen.tls": ["certificate", "key"],
    "discovery.dns": ["name", "type"],
}
ID = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
BYTES = {
    "anyOf": [
        {"type": "integer", "minimum": 0},
        {"type": "string", "pattern": "^([0-9][0-9_,]*([.][0-9]+)?|[.][0-9]+) *([bB]|[kKmMgG][bB]?)?$"},
    ]
}
ENDPOINT = {"type": "string", "pattern": "^tcp://.+:[0-9]{1,5}$"}
VARIABLE = {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}
# Without a user: a password would stand in a ConfigMap.
URL = {"type": "string", "pattern": "^https?://[^@?#]+$"}
TEXT = {"type": "string", "minLength": 1}
KINDS = {
    "true or false": {"type": "boolean"},
    "bytes": BYTES,
    "variable": VARIABLE,
    "tcp://host:port": ENDPOINT,
    "URL": URL,
    "URLs": {"type": "array", "items": URL},
    "text": {"type": "string"},
    "names": {"type": "array", "items": TEXT},
    "list": {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0, "maximum": 4294967295}},
    "list of mappings": {"type": "array", "minItems": 1, "items": {"type": "object"}},
}
INTEGERS = {"seconds", "milliseconds", "port", "tokens", "pages", "priority", "engines"}
PLAIN_TEXT = {"address", "directory", "file", "pattern", "name", "name or path", "address:port"}


class Key:
    """One row of the table."""

    def __init__(self, section, cells):
        self.section = section
        self.name, self.unit, self.range, self.default, self.reload, self.meaning, self.why = cells
        self.path = f"{section}.{self.name}" if section else self.name

    def inner(self):
        """The section that the value is, or each value below a name; None where it is no mapping of the table."""
        if self.reload != "see below":
            return None
        return self.path + ".ID" if self.unit == "mapping by id" else self.path


def keys():
    """Sections of the table by path, each with its keys in their order."""
    text = PAGE.read_text()
    table = text[text.index("<!-- keys: begin -->"):]
    sections = {}
    for heading, rows in re.findall(r"^### (.+)\n((?:\n|\|.*\n)+)", table, re.M):
        section = "" if heading == "The whole" else heading.strip("`")
        cells = [[cell.strip().strip("`") for cell in row.strip("|").split(" | ")]
                 for row in rows.splitlines() if row.startswith("| `")]
        sections[section] = [Key(section, row) for row in cells]
    return sections


def numbers(key, kind):
    """A number's schema by the words of its range."""
    schema = {"type": kind}
    bounds = re.match(r"above (\S+) and at most ([0-9.]+)|([0-9.]+) (?:to ([0-9.]+)|or more)", key.range)
    if bounds:
        above, most, least, to = (json.loads(each) if each else None for each in bounds.groups())
        for name, value in (("exclusiveMinimum", above), ("maximum", most or to), ("minimum", least)):
            if value is not None:
                schema[name] = value
    other = re.search(r", or (\S+)$", key.range)
    if not other:
        return schema
    word = other[1]
    return {"anyOf": [schema, {"const": int(word) if re.fullmatch("-?[0-9]+", word) else word}]}


def value(key):
    """The schema of a key's value."""
    if key.inner():
        inner = {"$ref": "#/$defs/" + definition(key.inner())}
        if key.unit == "mapping":
            return inner
        return {"type": "object", "propertyNames": {"pattern": ID}, "additionalProperties": inner}
    if key.range == "keys of an engine":
        return {"$ref": "#/$defs/foundEngine"}
    if key.unit == "word":
        words = key.range.split(", ")
        if len(words) < 2:
            return TEXT
        return {"enum": words + [word == "true" for word in words if word in ("true", "false")]}
    if key.unit in KINDS:
        return KINDS[key.unit]
    if key.unit in PLAIN_TEXT:
        return TEXT
    if key.unit in INTEGERS:
        return numbers(key, "integer")
    if key.unit.startswith("part"):
        return numbers(key, "number")
    raise ValueError(f"{key.path}: chart.py knows no unit {key.unit!r}; add it there.")


def definition(section):
    """The name of a section in the schema."""
    return "config" if not section else "config." + section


def mapping(section, rows, required):
    return {
        "type": "object",
        "additionalProperties": False,
        **({"required": required} if required else {}),
        "properties": {key.name: {"description": key.meaning, **value(key)} for key in rows},
    }


def schema():
    """The text of values.schema.json."""
    base = json.loads((HERE / "values.base.json").read_text())
    sections = keys()
    for section, rows in sections.items():
        base["$defs"][definition(section)] = mapping(section, rows, REQUIRED.get(section, []))
    found = [key for key in sections["engines.ID"] if key.name not in ("type", "url")]
    base["$defs"]["foundEngine"] = mapping("engines.ID", found, [])
    return json.dumps(base, indent=2) + "\n"


def version():
    """The project's version, without what says that it is not released yet."""
    return re.search(r"<version>([^<]+)</version>", (ROOT / "pom.xml").read_text())[1].removesuffix("-SNAPSHOT")


def chart_file():
    """The text of Chart.yaml with the project's version."""
    text = (CHART / "Chart.yaml").read_text()
    text = re.sub(r"^version: .*$", f"version: {version()}", text, flags=re.M)
    return re.sub(r"^appVersion: .*$", f'appVersion: "{version()}"', text, flags=re.M)


def helm(*arguments, fails=False):
    """What helm prints; its error where it fails, which is expected where fails is True."""
    run = subprocess.run(["helm", *map(str, arguments)], capture_output=True, text=True, check=False)
    # Helm says that it follows the links to the alerts and dashboards.
    said = "\n".join(line for line in run.stderr.splitlines() if not line.startswith("level=INFO"))
    if (run.returncode != 0) != fails:
        raise RuntimeError(f"helm {' '.join(map(str, arguments))}: {said or 'was accepted'}")
    return said if fails else run.stdout


def template(values, *more, fails=False):
    """What the chart makes of a set of values, under the name that the plain files have."""
    return helm("template", "holdfast", CHART, "--namespace", "default", "--values", values, *more, fails=fails)


def plain(name):
    """The text of a plain file: without what is Helm's own."""
    text = template(VALUES / f"{name}.yaml")
    text = re.sub(r"^ +annotations:\n( +#.*\n)* +helm\.sh/resource-policy: .*\n", "", text, flags=re.M)
    text = re.sub(r"^ +(helm\.sh/chart|app\.kubernetes\.io/managed-by): .*\n", "", text, flags=re.M)
    text = re.sub(r"^# Source: .*\n", "", text, flags=re.M)
    return (f"# Made by deploy/helm/render from the chart with deploy/helm/values/{name}.yaml; change these, not this file.\n"
            f"# Put your images in the place of those that stand here.\n{text}")


def block(text, start, end):
    """The lines of a rendered text between two, without their common indentation."""
    lines = text.split(start + "\n", 1)[1]
    lines = re.split(end, lines, maxsplit=1, flags=re.M)[0].rstrip("\n").split("\n")
    indentation = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return [line[indentation:].rstrip() for line in lines]


def snippet(name):
    """The text of a snippet, with what the chart makes in the place of @sidecar@, @volumes@, @config@ and @values@."""
    values = VALUES / f"{name}.yaml"
    text = (SNIPPETS / f"{name}.yaml").read_text()
    parts = {"values": [line for line in values.read_text().splitlines() if not line.startswith("#")]}
    if "@sidecar@" in text:
        made = template(values, "--set", "sidecar.pod.enabled=true", "--set", "sidecar.pod.container.name=engine",
                        "--set", "sidecar.pod.container.image=engine", "--set-json", "sidecar.pod.container.ports=[]")
        pod = made[made.index("kind: StatefulSet"):]
        parts["sidecar"] = block(pod, "      initContainers:", "^      containers:")
        parts["volumes"] = block(pod, "      volumes:", "^(?! {8})")
        parts["config"] = block(made, "\ndata:", "^---")
    text = re.sub(r"^( *)@(\w+)@$", lambda found: "\n".join(
        found[1] + line if line else "" for line in parts[found[2]]), text, flags=re.M)
    return f"# Made by deploy/helm/render from deploy/helm/snippets/{name}.yaml; change that, not this file.\n{text}"


def written():
    """Text by file, of all that render writes."""
    files = {CHART / "Chart.yaml": chart_file(), CHART / "values.schema.json": schema()}
    for name in ("sidecar", "fleet"):
        files[PLAIN / f"{name}.yaml"] = plain(name)
    for file in sorted(SNIPPETS.glob("*.yaml")):
        files[PLAIN / "snippets" / file.name] = snippet(file.stem)
    return files
