"""What a config.json leaves to its model type: read from the source of transformers 5.23.

`tests/config/test_model_types.py` compares every row with the transformers that is installed.
"""

# Pairs are dimensions (2i, 2i + 1). In the DeepSeek family the code sorts them into halves first,
# queries and keys alike, so the scores are those of the interleaved rotation.
INTERLEAVED = frozenset(
    """
    axk1 axk2 bailing_hybrid chatglm codegen cohere cohere2 deepseek_v2 deepseek_v3 deepseek_v32
    ernie4_5 ernie4_5_moe glm glm4 glm4_moe_lite glm4v_text glm_moe_dsa
    glm_ocr_text gptj helium llama4_text longcat_flash mistral4 mistral_large4_text roformer
    youtu
    """.split()
)

# Pairs are dimensions (i, i + rotary_dim / 2).
HALF = frozenset(
    """
    afmoe arcee cwm diffllama dots1 exaone4 exaone_moe falcon flex_olmo gemma gemma2 gemma3_text
    gemma3n_text gemma4_text glm4_moe glm4v_moe_text gpt_neox gpt_neox_japanese gpt_oss granite
    granite_swa granitemoe granitemoe_swa granitemoeshared hunyuan_v1_dense hunyuan_v1_moe hy_v3
    hyperclovax jetmoe lfm2 lfm2_moe llama mimo_v2_flash minicpm3 minimax minimax_m2
    ministral ministral3 mistral mixtral mllama_text_model modernbert modernbert-decoder nemotron
    olmo olmo2 olmo3 olmoe persimmon phi phi3 phi4_multimodal phimoe qwen2 qwen2_5_omni_text
    qwen2_5_vl_text qwen2_moe qwen2_vl_text qwen3 qwen3_5_moe_text qwen3_5_text qwen3_moe
    qwen3_next qwen3_omni_moe_text qwen3_vl_moe_text qwen3_vl_text seed_oss smollm3 solar_open
    stablelm starcoder2 step3p5 t5gemma2_text vaultgemma
    """.split()
)

# `rope_interleave: false` in the config turns these to halves.
HAS_INTERLEAVE_FLAG = frozenset("axk1 deepseek_v3 glm4_moe_lite mistral4 youtu".split())

# What is computed for these is not the rotation of this library.
UNSUPPORTED = {
    "deepseek_v4": "it rotates the trailing dimensions of a head, and rotates its output back",
    "kimi_linear": "none of its layers rotates",
    "nanochat": "it rotates clockwise",
}

# Whose code in transformers rotates nothing, whatever else a file says.
WITHOUT_ROTATION = frozenset(
    """
    albert bert bert-generation big_bird biogpt bloom camembert convbert cpmant ctrl distilbert
    electra ernie fnet gpt2 gpt_bigcode gpt_neo ibert layoutlm longformer luke m2m_100 megatron-bert
    mobilebert mpnet mpt mra nllb-moe nystromformer openai-gpt opt pegasus pegasus_x plbart rembert
    roberta roberta-prelayernorm roc_bert rwkv squeezebert switch_transformers whisper xglm
    xlm-roberta xlm-roberta-xl xmod yoso zamba
    """.split()
)

# Without a rope part in the file these would be scaled, or rotated by layer type.
SCALED_BY_DEFAULT = frozenset(
    """
    cwm gemma4_text gpt_oss mimo_v2_flash ministral3 mistral4 mistral_large4_text step3p5
    """.split()
)

# Where a file gives no base; 10000 for all others.
BASES = {
    "bailing_hybrid": 6_000_000.0,
    "cohere": 500_000.0,
    "cwm": 1_000_000.0,
    "ernie4_5": 500_000.0,
    "ernie4_5_moe": 500_000.0,
    "flex_olmo": 500_000.0,
    "gpt_oss": 150_000.0,
    "helium": 100_000.0,
    "hy_v3": 11_158_840.0,
    "lfm2": 1_000_000.0,
    "lfm2_moe": 1_000_000.0,
    "llama4_text": 500_000.0,
    "longcat_flash": 10_000_000.0,
    "minimax": 1_000_000.0,
    "minimax_m2": 5_000_000.0,
    "mixtral": 1_000_000.0,
    "mllama_text_model": 500_000.0,
    "olmo3": 500_000.0,
    "phimoe": 1_000_000.0,
    "qwen2_5_omni_text": 1_000_000.0,
    "qwen2_5_vl_text": 1_000_000.0,
    "qwen2_vl_text": 1_000_000.0,
    "qwen3_omni_moe_text": 1_000_000.0,
    "qwen3_vl_moe_text": 500_000.0,
    "qwen3_vl_text": 500_000.0,
    "smollm3": 2_000_000.0,
    "solar_open": 1_000_000.0,
}

# The same for types that have a base for global and one for local layers.
TWO_BASES = {
    "gemma3_text": (1_000_000.0, 10_000.0),
    "gemma3n_text": (1_000_000.0, 10_000.0),
    "modernbert": (160_000.0, 10_000.0),
    "modernbert-decoder": (160_000.0, 10_000.0),
    "t5gemma2_text": (1_000_000.0, 10_000.0),
}

# Share of the head that rotates where a file does not say; 1 for all others.
PARTIAL_ROTARY_FACTORS = {
    "glm": 0.5,
    "glm4": 0.5,
    "glm4_moe": 0.5,
    "glm4v_moe_text": 0.5,
    "gpt_neox": 0.25,
    "nemotron": 0.5,
    "persimmon": 0.5,
    "phi": 0.5,
    "qwen3_5_moe_text": 0.25,
    "qwen3_5_text": 0.25,
    "qwen3_next": 0.25,
    "stablelm": 0.25,
}

# Dimensions that rotate where a file does not say, as a number.
ROTARY_DIMS = {"codegen": 64, "gptj": 64}

# Width of a head where a file does not say; hidden_size / num_attention_heads for all others.
HEAD_DIMS = {
    "afmoe": 128,
    "cwm": 128,
    "ernie4_5": 128,
    "gemma": 256,
    "gemma2": 256,
    "gemma3_text": 256,
    "gemma3n_text": 256,
    "gemma4_text": 256,
    "glm": 128,
    "glm4": 128,
    "gpt_oss": 64,
    "helium": 128,
    "jetmoe": 128,
    "hy_v3": 128,
    "llama4_text": 128,
    "mimo_v2_flash": 192,
    "minimax_m2": 128,
    "ministral3": 128,
    "qwen3": 128,
    "qwen3_5_moe_text": 256,
    "qwen3_5_text": 256,
    "qwen3_next": 256,
    "qwen3_vl_text": 128,
    "seed_oss": 128,
    "solar_open": 128,
    "step3p5": 128,
    "t5gemma2_text": 256,
    "vaultgemma": 256,
}

# The same for layers with full attention, where theirs is another.
GLOBAL_HEAD_DIMS = {"gemma4_text": 512}

# Where `no_rope_layers` lists a 1 for every layer that rotates, and defaults to all but each 4th.
HAS_NO_ROPE_LAYERS = frozenset("llama4_text mistral_large4_text smollm3".split())

# Where only layers with a sliding window rotate; EXAONE only if there are such layers at all.
ROTATES_SLIDING_ONLY = frozenset("afmoe cohere2 exaone4 exaone_moe".split())

# Every n-th layer is global where `layer_types` is missing.
SLIDING_WINDOW_PATTERNS = {
    "cohere2": 4,
    "exaone4": 4,
    "exaone_moe": 4,
    "gemma3_text": 6,
    "olmo3": 4,
}

# Whose attention multiplies its softmax scale by yarn_mscale(factor, mscale_all_dim) ** 2.
SCALES_SOFTMAX = frozenset(
    """
    axk1 axk2 bailing_hybrid deepseek_v2 deepseek_v3 deepseek_v32 glm4_moe_lite glm_moe_dsa
    longcat_flash minicpm3 mistral4 mistral_large4_text youtu
    """.split()
)
