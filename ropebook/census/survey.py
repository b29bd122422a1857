"""What `RopeConfig` makes of every model type: read from defaults of transformers, and recorded."""

import json
import re
import warnings
from pathlib import Path
from typing import Any

from ropelib.config import RopeConfig, layer_types
from ropelib.config.model_types import NEEDS

WITHIN = " → "
"""Between a type and that of the text within it."""
_NAMED = re.compile(r"model_type (?:is )?[\"']([^\"']+)[\"']")
RUNS_WITH = {
    "glm4v_text": ({}, {"partial_rotary_factor": 0.5}),
    "glm_image_text": ({}, {"partial_rotary_factor": 0.5}),
    "hunyuan_vl_text": ({"head_dim": 128}, {"mrope_section": [16, 16, 16, 16]}),
}
"""What the file and its rope part must have, where transformers refuses every call by the default:
its sections are none, or not as many pairs as turn."""
RECORDED = Path(__file__).parents[2] / "book/results/census.json"


def survey() -> dict[str, Any]:
    """Return the census of the transformers that is installed.

    Returns:
        The version; under "rotating" what `RopeConfig` reads from each type's own default, or from
        that with the values without which the type does not rotate, or run ("where"), one list
        of facts for each kind of layer; under "parts" the types that are read by the text
        within, with the text's type; under "others" what is said of all other types, each sentence
        with its types; under "partial" the share of a head that turns, by types among these whose
        default gives it as `partial_rotary_factor`.
    """
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    transformers.utils.logging.set_verbosity_error()
    rotating, parts, others, partial = {}, {}, {}, {}
    for model_type in sorted(CONFIG_MAPPING.keys(), key=str.lower):
        try:
            config = CONFIG_MAPPING[model_type]().to_dict()
        except Exception:  # whatever a configuration that cannot stand alone raises
            said = "its configuration cannot be made without another's"
            others.setdefault(said, []).append(model_type)
            continue
        needs = dict([NEEDS[model_type]] if model_type in NEEDS else ())
        beside_it, in_part = RUNS_WITH.get(model_type, (needs, {}))
        added = beside_it | in_part
        config |= beside_it
        if in_part:
            config["rope_parameters"] = config["rope_parameters"] | in_part
        beside = (config.get("text_config") or config).get("qk_nope_head_dim") or 0
        try:
            kinds = _read(config, beside)
        except (TypeError, ValueError) as error:
            named = _NAMED.search(str(error))
            said = _NAMED.sub('model_type "…"', str(error))
            inner = named and named[1]
            name = model_type if inner in (None, model_type) else f"{model_type}{WITHIN}{inner}"
            others.setdefault(said, []).append(name)
            if (share := _partial(config)) is not None:
                partial[name] = share
            continue
        inner = kinds[0].pop("model_type")
        for kind in kinds[1:]:
            del kind["model_type"]
        if inner == config.get("model_type"):
            where = " and ".join(f"{key} is {json.dumps(to)}" for key, to in added.items()) or None
            rotating[model_type] = [{**facts, "where": where} for facts in kinds]
        else:
            parts[model_type] = inner
    return {
        "transformers": transformers.__version__,
        "rotating": rotating,
        "parts": parts,
        "others": others,
        "partial": partial,
    }


def _partial(config: dict[str, Any]) -> float | None:
    text = config.get("text_config") or config
    return {**text, **(text.get("rope_parameters") or {})}.get("partial_rotary_factor")


def _read(config: dict[str, Any], beside: int) -> list[dict[str, Any]]:
    """Return facts of each kind of layers; `beside` what rotates, a latent head has dimensions."""
    found = []
    # Some defaults are made from a set, whose order is that of no two runs.
    for kind in sorted(layer_types(config), key=str):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rope = RopeConfig.from_hf(config, kind)
        layers = None if rope.rotating_layers is None else len(rope.rotating_layers)
        facts = {
            "kind": kind,
            "layout": rope.layout,
            "head_dim": rope.head_dim + beside,
            "latent": beside > 0,
            "rotary_dim": rope.rotary_dim,
            "still_pairs": int((rope.inv_freq() == 0).sum()),
            "base": rope.base,
            "scaling": None if rope.rope_type == "default" else rope.rope_type,
            "layers": layers,
            "num_layers": rope.num_layers,
        }
        found.append({"model_type": rope.model_type, **facts})
    return found


def write(path: Path = RECORDED) -> None:
    """Write the census to a file.

    Args:
        path: of the file.
    """
    path.write_text(json.dumps(survey(), indent=1) + "\n", "utf-8")


def recorded(path: Path = RECORDED) -> dict[str, Any]:
    """Return the census as it was recorded.

    Args:
        path: of the file.

    Returns:
        As `survey`.
    """
    return json.loads(path.read_text("utf-8"))
