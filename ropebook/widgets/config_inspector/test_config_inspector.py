"""The config inspector: its JavaScript against RopeConfig and transformers, its words, its page."""

import json
import math
import random
import re
import warnings
from pathlib import Path

import pytest
import traitlets

pytest.importorskip("anywidget")

import javascript
from browser import accessibility_faults
from oracles import Oracle

from ropebook.widgets import ConfigInspector
from ropebook.widgets.config_inspector.widget import EXAMPLES
from ropelib import inv_freq
from ropelib.config import RopeConfig, keys, layer_types
from ropelib.config.gallery import GALLERY
from ropelib.frequencies import turns, wavelength

SOURCE = Path(__file__).with_name("widget.js").read_text("utf-8")
TABLE, CODE = re.fullmatch(r"(.*?^};\n)(.*)", SOURCE, re.DOTALL | re.MULTILINE).groups()
READER = "".join(
    Path(__file__).with_name(f"{name}.js").read_text("utf-8")
    for name in (
        "rules",
        "rotating",
        "values",
        "rope_part",
        "layers",
        "widths",
        "json_places",
        "reader",
    )
)
PLACES = Path(__file__).with_name("json_places.js").read_text("utf-8")
LLAMA = {
    "model_type": "llama",
    "hidden_size": 512,
    "num_attention_heads": 8,
    "num_hidden_layers": 4,
    "max_position_embeddings": 4096,
    "rope_theta": 10_000.0,
}
YARN = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 512}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 512,
}
LONGROPE = {
    "rope_type": "longrope",
    "short_factor": [1.0 + i / 50 for i in range(32)],
    "long_factor": [1.0 + i for i in range(32)],
    "original_max_position_embeddings": 512,
}

_PROGRAM = """
const { cases, table } = given;
const { inspect, tell, WORDS } = await import("./config_inspector/widget.js");
const names = (_, v) => (typeof v === "number" && !Number.isFinite(v) ? String(v) : v);
const look = (given) => {
  const seen = inspect(...given, table);
  const hints = seen.warnings.map((warning) => ({ ...warning, table: "warnings" }));
  return { ...seen, said: [...seen.problems, ...hints].map((found) => tell(WORDS.en, found)) };
};
process.stdout.write(JSON.stringify(cases.map(look), names));
"""


def inspect(cases):
    """What the picture finds in each (text, layer_type, seq_len)."""
    return javascript.run(_PROGRAM, {"cases": cases, "table": keys.table()})


def from_hf(config, layer_type):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return RopeConfig.from_hf(config, layer_type=layer_type)


def compare(configs, lengths):
    """Every number of the picture equals RopeConfig's."""
    asked = [(c, kind, n) for c in configs for kind in layer_types(c) for n in lengths]
    found = inspect([(json.dumps(c), kind or "", n) for c, kind, n in asked])
    assert len(found) == len(asked) > 0
    for (config, kind, seq_len), seen in zip(asked, found, strict=True):
        assert seen["problems"] == [], config
        rope, spec = from_hf(config, kind), seen["spec"]
        length = seq_len or rope.max_seq_len
        assert (spec["type"], spec["layout"], spec["base"], spec["headDim"], spec["rotaryDim"]) == (
            rope.rope_type,
            rope.layout,
            rope.base,
            rope.head_dim,
            rope.rotary_dim,
        ), config
        assert spec["maxSeqLen"] == rope.max_seq_len
        assert seen["inverse"] == pytest.approx(rope.inv_freq(length).tolist(), rel=1e-12), config
        assert seen["attentionFactor"] == pytest.approx(rope.attention_factor(length), rel=1e-12)
        rotating = spec["layers"]["rotating"]
        assert rotating == (rope.rotating_layers and list(rope.rotating_layers)), config


# ---- arithmetic ----


@pytest.mark.parametrize("name", GALLERY)
def test_the_picture_equals_rope_config_over_the_gallery(name):
    compare([GALLERY[name].config], [0, 1000, 4096, 4097, 300_000])


def random_config(chance):
    width = 2 * chance.randint(2, 64)
    original = chance.choice([512, 2048, 4096, 8192])
    factor = chance.choice([1, 1.5, 2, 4.0, 32, 40])
    pairs = width // 2

    def maybe(**keys):
        return {key: value for key, value in keys.items() if chance.random() < 0.5}

    scalings = [
        {},
        {"rope_type": "linear", "factor": factor},
        {"type": "dynamic", "factor": factor},
        {
            "rope_type": "yarn",
            "factor": factor,
            "original_max_position_embeddings": original,
            **maybe(beta_fast=chance.uniform(8, 64), beta_slow=chance.uniform(0.2, 4)),
            **maybe(truncate=chance.random() < 0.5),
            **chance.choice([{}, {"mscale": 0.707, "mscale_all_dim": 1.0}]),
        },
        {"type": "yarn", "factor": None, "original_max_position_embeddings": original},
        {**YARN, "attention_factor": chance.uniform(0.5, 2)},
        {**LLAMA3, "factor": factor, "original_max_position_embeddings": original},
        {
            "type": chance.choice(["longrope", "su"]),
            "short_factor": [chance.uniform(1, 2) for _ in range(pairs)],
            "long_factor": [chance.uniform(1, 60) for _ in range(pairs)],
            **maybe(attention_factor=chance.uniform(0.5, 2), factor=factor),
            "original_max_position_embeddings": original,
        },
        {"rope_type": "proportional", **maybe(factor=factor)},
        {"rope_type": "dynamic", "alpha": chance.uniform(1, 1000), "factor": 1.0},
    ]
    scaling = chance.choice(scalings)
    base = chance.choice([500.0, 1e4, 150_000, 5e5, 1e6])
    config = {
        "model_type": chance.choice(["llama", "gptj", "cohere", "deepseek_v3", "smollm3", "glm4"]),
        "max_position_embeddings": original * chance.choice([1, 4]),
        "num_hidden_layers": 8,
        "rotary_dim": width,
        **chance.choice([{"head_dim": width}, {"hidden_size": 4 * width, "n_head": 4}]),
    }
    if chance.random() < 0.4 and scaling.get("rope_type") != "longrope":
        config.pop("rotary_dim")
        config["head_dim"] = 2 * width
        config[chance.choice(["partial_rotary_factor", "rotary_pct", "rope_pct"])] = 0.5
    if scaling.get("rope_type") == "proportional":
        config.pop("rotary_dim", None)
        config.setdefault("head_dim", width)
    if chance.random() < 0.5:
        return {**config, "rope_parameters": {"rope_theta": base, **scaling}}
    return {**config, "rope_theta": base, "rope_scaling": scaling or None}


def test_the_picture_equals_rope_config_over_random_parameters():
    chance = random.Random(20261121)
    configs, refused = [], []
    while len(configs) < 300:
        config = random_config(chance)
        try:
            from_hf(config, None)
        except ValueError:
            refused.append(config)  # such as a ramp outside of the head
        else:
            configs.append(config)
    for config, seen in zip(
        refused, inspect([(json.dumps(c), "", 0) for c in refused]), strict=True
    ):
        assert seen["problems"], config
    types = {from_hf(config, None).rope_type for config in configs}
    assert types == set(keys.ROPE_TYPES)
    compare(configs, [0, 700, 9000])


def test_the_picture_equals_rope_config_where_the_gallery_does_not_reach():
    kinds_of_layers = {
        "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25},
        "sliding_attention": {"rope_type": "default", "rope_theta": 5000.0},
    }
    gemma4 = {
        "model_type": "gemma4_text",
        "head_dim": 64,
        "global_head_dim": 128,
        "num_hidden_layers": 6,
        "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
        "max_position_embeddings": 4096,
        "rope_parameters": kinds_of_layers,
    }
    ramp_from_the_first_pair = {**YARN, "original_max_position_embeddings": 100}
    compare(
        [
            gemma4,
            {key: value for key, value in gemma4.items() if key != "global_head_dim"},
            {**LLAMA, "rope_scaling": ramp_from_the_first_pair},
            {**LLAMA, "model_type": "phi"},
            {**LLAMA, "model_type": "olmo3", "rope_scaling": YARN},
            {**LLAMA, "model_type": "modernbert", "local_rope_theta": 500.0, "rope_scaling": YARN},
            {**LLAMA, "model_type": "deepseek_v3", "rope_interleave": False},
            {**LLAMA, "model_type": "exaone4", "sliding_window": None},
        ],
        [0, 5000],
    )


def test_numbers_beyond_all_measure_are_refused_and_not_drawn():
    for changes in (
        {"rope_theta": 1e300},
        {"head_dim": 10**9},
        {"max_position_embeddings": 10**18},
    ):
        assert inspect([(json.dumps({**LLAMA, **changes}), "", 0)])[0]["problems"]


@pytest.mark.parametrize(
    ("scaling", "seq_len"),
    [
        ({"rope_type": "linear", "factor": 4.0}, 4096),
        ({"rope_type": "dynamic", "factor": 4.0}, 10_000),
        (YARN, 4096),
        ({**YARN, "truncate": False, "beta_fast": 20.0, "beta_slow": 2.0}, 4096),
        ({**YARN, "mscale": 0.707, "mscale_all_dim": 1.2}, 4096),
        (LLAMA3, 4096),
        (LONGROPE, 512),
        (LONGROPE, 513),
        ({"rope_type": "proportional", "partial_rotary_factor": 0.25}, 4096),
    ],
)
def test_the_picture_equals_transformers(scaling, seq_len):
    transformers = pytest.importorskip("transformers")
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    parameters = {"rope_theta": 10_000.0, **scaling}
    old = {key: value for key, value in LLAMA.items() if key != "rope_theta"}
    compute = ROPE_INIT_FUNCTIONS[scaling["rope_type"]]
    theirs = transformers.LlamaConfig(**old, head_dim=64, rope_parameters=dict(parameters))
    expected, attention_factor = compute(theirs, "cpu", seq_len=seq_len)
    seen = inspect([(json.dumps({**old, "rope_parameters": parameters}), "", seq_len)])[0]
    # transformers computes in float32.
    assert seen["inverse"] == pytest.approx(expected.tolist(), rel=2e-6, abs=1e-12)
    assert seen["attentionFactor"] == pytest.approx(attention_factor, rel=1e-12)


def test_llama_3_1_has_25_pairs_short_of_a_turn_and_29_before_it_was_stretched():
    seen = inspect([(EXAMPLES["llama3_1"], "", 0)])[0]
    never = [math.tau / f > 131_072 for f in seen["inverse"]]
    trained = [math.tau / f > 8192 for f in seen["unscaled"]]
    assert (sum(never), sum(trained), seen["length"]) == (25, 29, 131_072)


# ---- mistakes ----

REFUSED = [
    ({"rope_scaling": {"rope_type": "linear"}}, "factor"),
    ({"rope_scaling": {"rope_type": "linear", "factor": "8.0"}}, "factor"),
    ({"rope_scaling": {"rope_type": "linear", "factor": 0.5}}, "factor"),
    ({"rope_scaling": {"rope_type": "magic", "factor": 2}}, "rope_type"),
    ({"rope_scaling": {"factor": 2.0}}, "rope type"),
    ({"rope_scaling": "yarn"}, "rope_scaling"),
    ({"rope_scaling": {"rope_type": "linear", "type": "dynamic", "factor": 2.0}}, "type"),
    ({"rope_theta": -10_000.0}, "rope_theta"),
    ({"rope_theta": "10000"}, "rope_theta"),
    ({"rope_theta": True}, "rope_theta"),
    ({"rope_parameters": {"rope_theta": 5.0}}, "rope_theta"),
    (
        {"rope_parameters": {"factor": 2.0}, "rope_scaling": {"type": "linear", "factor": 3.0}},
        "factor",
    ),
    (
        {"rope_parameters": {"rope_theta": 1e4, "full_attention": {"rope_theta": 1e4}}},
        "rope_parameters",
    ),
    ({"rope_parameters": {"full_attention": {"rope_theta": 5.0}}}, "rope_theta"),
    ({"rope_scaling": {**LLAMA3, "high_freq_factor": 0.5}}, "high_freq_factor"),
    ({"rope_theta": [1e4, 5e6]}, "one for each layer"),
    ({"model_type": "mine", "rope_theta": None}, "does not seem to rotate"),
    ({"model_type": "mine", "rope_theta": None, "decoder": {"rope_theta": 1e4}}, "decoder may"),
    ({"model_type": "zamba2", "use_mem_rope": False}, "use_mem_rope"),
    ({"model_type": "pixtral"}, "two coordinates"),
    ({"model_type": "mine", "rope_theta": None, "partial_rotary_factor": 0.5}, "rope_theta"),
    ({"rope_scaling": {**YARN, "truncate": "no"}}, "truncate"),
    ({"rope_scaling": {**YARN, "beta_fast": 1.0, "beta_slow": 2.0}}, "beta"),
    ({"rope_scaling": {**YARN, "mscale": 1.0}}, "mscale"),
    ({"rope_scaling": {**YARN, "original_max_position_embeddings": 4}}, "ramp"),
    ({"rope_scaling": {**LONGROPE, "short_factor": [1.0]}}, "short_factor"),
    (
        {"rope_scaling": {**LONGROPE, "long_factor": [0.0, *LONGROPE["long_factor"][1:]]}},
        "long_factor",
    ),
    ({"rope_scaling": LONGROPE, "original_max_position_embeddings": 256}, "original_max"),
    ({"head_dim": 7}, "rotary_dim"),
    ({"hidden_size": 513}, "hidden_size"),
    ({"hidden_size": None}, "head_dim"),
    ({"rotary_dim": 128}, "rotary_dim"),
    ({"rotary_dim": 32, "partial_rotary_factor": 0.25}, "rotary_dim"),
    ({"partial_rotary_factor": 1.5}, "partial_rotary_factor"),
    ({"model_type": "smollm3", "no_rope_layers": [1, 0]}, "no_rope_layers"),
    ({"rope_interleave": "yes"}, "rope_interleave"),
    ({"model_type": 3}, "model_type"),
    ({"model_type": "nanochat"}, "nanochat"),
    ({"alibi": True}, "alibi"),
    ({"text_config": {"rope_theta": 5.0}}, "rope_theta"),
    ({"max_position_embeddings": 4096.5}, "max_position_embeddings"),
]


@pytest.mark.parametrize(("changes", "word"), REFUSED)
def test_what_rope_config_refuses_the_picture_refuses_and_names(changes, word):
    config = {**LLAMA, **changes}
    with pytest.raises((ValueError, TypeError)):
        RopeConfig.from_hf(config, layer_types(config)[0])
    seen = inspect([(json.dumps(config), "", 0)])[0]
    assert seen["spec"] is None and seen["problems"]
    assert word in seen["said"][0]
    assert not re.search(r"undefined|NaN|\{\w", " ".join(seen["said"])), seen["said"]


def test_what_is_not_read_is_named():
    scaling = {"rope_type": "linear", "factor": 2.0, "beta_fast": 32, "beta_slow": 1}
    scaling |= {"finetuned": True, "mrope_section": [1], "mrope_interleaved": True}
    config = {**LLAMA, "rope_scaling": scaling, "rope_magic": 1, "rope_more": 2}
    assert inspect([(json.dumps(config), "", 0)])[0]["said"] == [
        "Not read: rope_magic, rope_more.",
        "No effect with rope type linear: beta_fast, beta_slow.",
        "finetuned: not read; it says how the model was trained.",
        "mrope_interleaved, mrope_section: not read; it is about images; text rotates as without "
        "it.",
    ]


def test_what_the_picture_adds_to_the_notes():
    deepseek = {**YARN, "factor": 4, "mscale": 1.0, "mscale_all_dim": 1.0}
    config = {**LLAMA, "model_type": "deepseek_v3", "rope_scaling": deepseek}
    assert inspect([(json.dumps(config), "", 0)])[0]["said"] == [
        "factor × original_max_position_embeddings is 2048 tokens; max_position_embeddings says "
        "4096.",
        "This model multiplies its softmax scale by 1.296 on top.",
    ]
    hunyuan = {**LLAMA, "rope_scaling": {"type": "dynamic", "alpha": 1000}}
    said = inspect([(json.dumps(hunyuan), "", 0)])[0]["said"]
    assert said == ['Rope type "dynamic" is read as ntk_alpha.']


def test_a_model_without_a_length_is_drawn_and_not_judged():
    config = {key: value for key, value in LLAMA.items() if key != "max_position_embeddings"}
    seen = inspect([(json.dumps(config), "", 0)])[0]
    assert (seen["problems"], seen["length"], len(seen["inverse"])) == ([], None, 32)
    longrope = {**config, "rope_scaling": {**LONGROPE, "factor": 4.0}}
    assert inspect([(json.dumps(longrope), "", 0)])[0]["length"] == 512


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rope_theta": 10**400}, "a number of at most 10¹⁵, got a number beyond 10³⁰⁸."),
        ({"model_type": "\u202e\x1b[31m"}, r'model_type "\u{202e}\u001b[31m" is unknown'),
        ({"model_type": None}, "No model_type is given, so the layout is not known"),
        ({"rope_theta": "x" * 100_000}, "x…."),
        ({"layer_types": [0] * 5000}, "layer_types[0] must be text, got 0."),
        ({"rope_scaling": {"\u202e" * 500: 1}}, r"rope_scaling.\u{202e}\u{202e}\u{202e}"),
    ],
)
def test_what_is_said_of_a_value_is_short_and_shows_what_it_is(change, said):
    sentences = inspect([(json.dumps({**LLAMA, **change}), "", 0)])[0]["said"]
    assert said in sentences[0] and max(map(len, sentences)) < 250, sentences


def test_a_text_too_long_to_read_is_refused_at_once():
    text = json.dumps({**LLAMA, "unread": "x" * 10**6})
    assert inspect([(text, "", 0)])[0]["said"] == [
        f"The text has {len(text)} characters; at most 1000000 are read, and no model needs so "
        "many."
    ]
    with pytest.raises(ValueError, match=f"at most 1000000 characters, got {len(text)}"):
        ConfigInspector(config=text).rope_config  # noqa: B018


def test_every_example_and_its_opposite_end():
    found = inspect([(text, "", 0) for text in EXAMPLES.values()])
    assert all(seen["problems"] == [] for seen in found)
    for text in EXAMPLES.values():
        assert json.loads(text) and max(map(len, text.splitlines())) < 2000
    cut = inspect([(EXAMPLES["llama3_1"][:-2], "", 0)])[0]["problems"][0]
    assert (cut["code"], cut["opened"]) == ("end", 1)


# ---- words ----


def entries(name):
    body = re.search(rf"^    {name}: {{\n(.*?)^    }},", TABLE, re.DOTALL | re.MULTILINE)[1]
    return set(re.findall(r"\b(\w+):\s+\"", body))


def test_every_mistake_has_its_sentence_and_every_sentence_its_mistake():
    refused = re.findall(r"\b(?:refuse\(|agreed\(said, )\"(\w+)\"", READER)
    assert set(refused) == entries("problems")
    noted = set(re.findall(r"\bnote\(\"(\w+)\"", READER))
    added = set(re.findall(r"warnings\.push\({ code: \"(\w+)\"", CODE))
    assert noted | added == entries("warnings") and len(added) == 3
    failed = re.findall(r"\b(?:fail|expected|pass)\((?:\"[,:]\", )?\"(\w+)\"", PLACES)
    assert set(failed) == entries("reasons")
    assert entries("examples") == set(EXAMPLES)
    assert entries("rules") == set(keys.RULES) - {"any"} | {"tiny", "above_one"}


def test_sentences_with_a_bound_name_that_of_the_table():
    bounds = {"number": "10¹⁵", "tiny": "10⁻¹⁵", "dimensions": "4096", "layers": "10 000"}
    rules = TABLE[TABLE.index("    rules: {") :]
    for rule, bound in bounds.items():
        assert bound in re.search(rf"\b{rule}: \"([^\"]*)\"", rules)[1]
    assert keys.MOST == {
        **{"characters": 1_000_000, "nesting": 100, "kinds_of_layers": 16},
        **{"number": 1e15, "dimensions": 4096, "layers": 10_000},
    }
    assert keys.SMALLEST == 1e-15


# ---- Python ----


def test_the_inspector_starts_with_llama_3_1_and_reads_it():
    rope = ConfigInspector().rope_config
    assert (rope.rope_type, rope.max_seq_len, rope.original_max_seq_len) == (
        "llama3",
        131_072,
        8192,
    )


def test_text_that_cannot_be_read_stays_and_only_reading_it_raises():
    inspector = ConfigInspector(config="{")
    assert inspector.config == "{"
    with pytest.raises(ValueError, match="config must be JSON: Expecting"):
        inspector.rope_config  # noqa: B018
    inspector.config = "[1]"
    with pytest.raises(TypeError, match=r"config must be a JSON object, got \[1\]"):
        inspector.rope_config  # noqa: B018
    inspector.config = json.dumps({**LLAMA, "rope_theta": -1})
    with pytest.raises(ValueError, match="must be positive, got -1"):
        inspector.rope_config  # noqa: B018


def test_the_first_kind_of_layer_is_read_unless_another_is_named():
    inspector = ConfigInspector(config=EXAMPLES["gemma3"])
    assert (inspector.rope_config.layer_type, inspector.rope_config.base) == ("full_attention", 1e6)
    inspector.layer_type = "sliding_attention"
    assert inspector.rope_config.base == 1e4
    inspector.layer_type = "none"
    with pytest.raises(ValueError, match="layer_type must be one of"):
        inspector.rope_config  # noqa: B018


def test_seq_len_is_not_negative():
    with pytest.raises(traitlets.TraitError, match="seq_len must be at least 0 tokens, got -1"):
        ConfigInspector(seq_len=-1)
    assert ConfigInspector(seq_len=0).seq_len == 0


# ---- the bundle and the page ----


@pytest.fixture(params=[(1280, "light"), (390, "light"), (340, "dark")], ids=str)
def page(request, on_scratch):
    width, theme = request.param
    return on_scratch("config_inspector", (width, 844), theme).page


def report(page, name):
    return float(page.locator(f"[data-report={name}]").first.get_attribute("data-value"))


def settle(page):
    page.evaluate("() => { endPauses(); return passFrames(2); }")  # a pause in the typing


def test_every_example_reports_what_rope_config_says(page):
    for name, text in EXAMPLES.items():
        page.click(f'[data-control="example_{name}"]')
        settle(page)
        rope = ConfigInspector(config=text).rope_config
        length = rope.max_seq_len
        inv_freq = rope.inv_freq(length)
        assert report(page, "rotary_dim") == rope.rotary_dim
        assert report(page, "base") == rope.base
        assert report(page, "attention_factor") == pytest.approx(rope.attention_factor(length))
        assert report(page, "never_turn_count") == rope.describe()["incomplete_pairs"]
        waves = page.locator("[data-report=wave]")
        shown = waves.evaluate_all("(all) => all.map((node) => Number(node.dataset.value))")
        assert shown == pytest.approx(inv_freq.tolist(), rel=1e-9)
        hollow = page.locator(".rope-wave-never[data-report=wave]").count()
        assert hollow == rope.describe()["incomplete_pairs"]
        assert page.locator('[role="alert"]').count() == 0
    assert accessibility_faults(page) == []


def test_typing_a_mistake_says_so_in_place_and_mending_it_brings_the_picture_back(page):
    box = page.locator('[data-control="config"]')
    text = EXAMPLES["llama3_1"]
    for wrong, said in [
        (text[:-2], "the text ends here, inside what was opened on line 1"),
        (
            text.replace('"factor": 8.0', '"factor": "8.0"'),
            'factor must be a number of at most 10¹⁵, got "8.0"',
        ),
        (text.replace("500000.0", "-5"), "rope_theta must be a number greater than 0, got -5"),
        ('{"<img src=x>": 1}', "does not seem to rotate"),
        ('{"<img src=x>": 1, "rope_theta": 1}', "head_dim is missing"),
        ("", "there is no text yet"),
    ]:
        box.fill(wrong)
        settle(page)
        alert = page.locator('[role="alert"]')
        assert said in alert.inner_text()
        assert said in page.locator('[data-text="verdict"]').inner_text()
        assert box.input_value() == wrong and box.get_attribute("aria-invalid") == "true"
        assert not page.locator("[data-report=base]").is_visible()
        assert page.locator(".rope-widget-host img").count() == 0
    assert accessibility_faults(page) == []
    box.fill(text.replace('"factor": 8.0', '"factor": 4.0'))
    settle(page)
    assert page.locator('[role="alert"]').count() == 0
    seen = inspect([(box.input_value(), "", 0)])[0]
    assert report(page, "wavelength_slowest") == pytest.approx(math.tau / min(seen["inverse"]))
    assert page.locator("[data-report=base]").is_visible()


def test_the_keyboard_reaches_everything(page):
    page.click('[data-control="example_phi3"]')
    settle(page)
    slider = page.locator('[data-control="seq_len"]')
    before = report(page, "never_turn_count")
    slider.focus()
    page.keyboard.press("Home")
    settle(page)
    assert page.evaluate("model.get('seq_len')") == 128
    assert report(page, "never_turn_count") != before
    page.keyboard.press("End")
    settle(page)
    assert page.evaluate("model.get('seq_len')") == 131_072
    page.locator('[data-control="pair"]').focus()
    page.keyboard.press("Home")
    settle(page)
    assert (report(page, "pair_first"), report(page, "pair_second")) == (0, 48)
    page.locator('[data-control="example_gemma3"]').press("Enter")
    settle(page)
    assert report(page, "layers_rotating") == 8
    page.locator('[data-control="layer_type_sliding_attention"]').press("Enter")
    settle(page)
    assert (report(page, "base"), report(page, "layers_rotating")) == (10_000, 40)
    assert page.evaluate("model.get('layer_type')") == "sliding_attention"
    page.evaluate("model.set('config', model.get('examples').gpt_oss)")
    settle(page)
    assert "must be one of" in page.locator('[role="alert"]').inner_text()


def without(config, *names):
    return {key: value for key, value in config.items() if key not in names}


def test_of_p_rope_it_is_said_how_many_dimensions_turn_and_that_the_rest_has_frequency_0(page):
    """Full attention of Gemma 4, as its file has it: all 512 have a frequency, most of them 0."""
    config = {
        **without(LLAMA, "rope_scaling"),
        "head_dim": 512,
        "rope_scaling": {"type": "proportional", "partial_rotary_factor": 0.25},
    }
    rope = RopeConfig.from_hf(config)
    turning = 2 * int((rope.inv_freq() > 0).sum())
    assert (turning, rope.rotary_dim) == (128, 512)
    page.evaluate("(text) => model.set('config', text)", json.dumps(config))
    settle(page)
    row = page.locator("[data-report=rotary_dim]").first
    assert row.inner_text() == f"{rope.rotary_dim}; {turning} turn (p = 0.25)"
    assert report(page, "rotary_dim") == rope.rotary_dim
    said = page.locator('[data-text="verdict"]').inner_text()
    assert "Only 64 pairs turn, 128 of 512 dimensions (p = 0.25)" in said
    assert "the frequencies of the other 192 are 0" in said
    config["rope_scaling"]["partial_rotary_factor"] = 1.0
    page.evaluate("(text) => model.set('config', text)", json.dumps(config))
    settle(page)
    assert row.inner_text() == "512"


def test_what_no_model_has_is_drawn_without_nan_or_refused(page):
    shown = [
        without(LLAMA, "max_position_embeddings"),
        {**without(LLAMA, "max_position_embeddings"), "rope_scaling": {**LONGROPE, "factor": 4.0}},
        {**LLAMA, "rope_theta": 1e-15},
        {**LLAMA, "rope_theta": 1e15, "max_position_embeddings": 10**15},
        {**LLAMA, "head_dim": 2},
        {**LLAMA, "rope_scaling": {"type": "proportional", "partial_rotary_factor": 0.001}},
        {**LLAMA, "rope_scaling": {"type": "linear", "factor": 1e15}},
    ]
    for config in shown:
        page.evaluate("(text) => model.set('config', text)", json.dumps(config))
        settle(page)
        assert page.locator('[role="alert"]').count() == 0
        drawn = page.locator(".rope-config-plot").inner_html()
        assert "NaN" not in drawn and "Infinity" not in re.sub(r'data-value="\w+"', "", drawn)
        assert page.locator("[data-report=wave]").count() == (config.get("head_dim", 64) // 2)
    page.evaluate(
        "(text) => model.set('config', text)", json.dumps({**LLAMA, "rope_theta": 5e-324})
    )
    settle(page)
    alert = page.locator('[role="alert"]').inner_text()
    assert "rope_theta must be a number of at least 10⁻¹⁵, got 5e-324" in alert


def test_without_a_length_nothing_is_judged(page):
    text = json.dumps(without(LLAMA, "max_position_embeddings"))
    page.evaluate("(text) => model.set('config', text)", text)
    settle(page)
    said = page.locator('[data-text="verdict"]').inner_text()
    assert said.startswith("32 pairs turn. No length is stated, so none can be judged.")
    assert math.isnan(report(page, "never_turn_count"))
    assert page.locator(".rope-wave-never[data-report=wave]").count() == 0
    assert page.locator(".rope-context-line").get_attribute("d") == ""


def test_a_paste_too_long_to_read_is_said_and_not_taken(page):
    box = page.locator('[data-control="config"]')
    before = box.input_value()
    box.focus()
    page.keyboard.insert_text("x" * 10**6)
    alert = page.locator('[role="alert"]').inner_text()
    assert f"The text has {10**6 + len(before)} characters; at most 1000000 are read" in alert
    assert box.input_value() == before
    box.press("End")
    page.keyboard.insert_text(" ")
    settle(page)
    assert page.locator('[role="alert"]').count() == 0


# ---- what it must report ----


def _never_turn(frequencies, length):
    return int((turns(frequencies, length) < 1).sum()) if length else math.nan


def answers(inputs):
    config = RopeConfig.from_hf(json.loads(inputs["config"]))
    plain, scaled = inv_freq(config.rotary_dim, config.base), config.inv_freq()
    pair = int(inputs["pair"])
    return {
        "base": config.base,
        "head_dim": config.head_dim,
        "rotary_dim": config.rotary_dim,
        "attention_factor": config.attention_factor(),
        "wavelength_fastest": wavelength(scaled).min().item(),
        "wavelength_slowest": wavelength(scaled).max().item(),
        "never_turn_count": int((turns(scaled, config.max_seq_len) < 1).sum()),
        "never_turn_trained": _never_turn(plain, config.original_max_seq_len),
        "layers_rotating": len(config.rotating_layers),
        "layers_still": config.num_layers - len(config.rotating_layers),
        "pair_first": pair,
        "pair_second": pair + config.rotary_dim // 2,
        "pair_unscaled": wavelength(plain)[pair].item(),
        "pair_wavelength": wavelength(scaled)[pair].item(),
        "pair_stretch": (plain / scaled)[pair].item(),
        "pair_turns": turns(scaled, config.max_seq_len)[pair].item(),
        "wave": scaled.tolist(),
    }


ORACLE = Oracle(
    answers,
    held=("config",),
    wide_ranging="wave|unscaled|turns|^base$",
    untold=("wave",),
    resizing="example_|layer_type_",  # another configuration has more or less to tell
)
