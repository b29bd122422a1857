"""What a config.json leaves to its model type: read from the source of transformers 5.23.

`tests/config/test_looked_up.py` measures every layout in the transformers that is installed, and
`tests/config/test_model_types.py` compares every other row with it.
"""

# Pairs are dimensions (2i, 2i + 1). In the DeepSeek family the code sorts them into halves first,
# queries and keys alike, so the scores are those of the interleaved rotation.
INTERLEAVED = frozenset(
    """
    axk1 axk2 bailing_hybrid blt_global_transformer blt_local_decoder blt_local_encoder
    blt_patcher chatglm codegen cohere cohere2 cohere2_moe deepseek_v2 deepseek_v3 deepseek_v32
    ernie4_5 ernie4_5_moe ernie4_5_vl_moe_text glm glm4 glm4_moe_lite glm4v_text glm_moe_dsa
    glm_ocr_text gptj helium llama4_text longcat_flash mistral4 moonshine
    moonshine_streaming openai_privacy_filter pe_audio_encoder pe_audio_video_encoder
    pe_video_encoder roformer youtu
    """.split()
)

# Pairs are dimensions (i, i + rotary_dim / 2).
HALF = frozenset(
    """
    afmoe apertus arcee aria_text bamba beam bitnet chameleon cohere_compass_text
    cosmos3_edge_text csm csm_depth_decoder_model cwm dbrx deepseek_ocr2_encoder
    deepseek_ocr2_text dia_decoder dia_encoder diffllama diffusion_gemma_text doge dots1
    dots3_note_audio_encoder embedding_gemma2_text emu3_text_model esm esmc eurobert evolla
    exaone4 exaone_moe falcon falcon_h1 flex_olmo flint gemma gemma2 gemma3_text gemma3n_text
    gemma4_text gemma4_unified_text glm4_moe glm4v_moe_text glm_image_text glmasr_encoder
    gpt_neox gpt_neox_japanese gpt_oss gradium_phonon_tts granite granite4_vision_text
    granite_docling_text granite_swa granitemoe granitemoe_swa granitemoehybrid granitemoeshared
    gte higgs_audio_v2 hrm_text hunyuan_v1_dense hunyuan_v1_moe hunyuan_vl_text hy_v3 hy_v4
    hyperclovax idefics internlm3 iquestcoder jais2 jetmoe jina_embeddings_v3 kolibri1
    kyutai_speech_to_text laguna lasr_encoder lfm2 lfm2_moe lfm3 llama mellum mimi mimi_decoder
    mimi_encoder mimo_v2_flash minicpm3 minimax minimax_m2 minimax_m3_vl_text ministral
    ministral3 mistral mixtral mllama_text_model modernbert modernbert-decoder molmo2_text moshi
    muse_glimmer_assistant muse_glimmer_text muse_spark_text nemotron
    nemotron3_5_transcribe_asr_audio nemotron3_5_transcribe_word_timestamp
    nemotron3_diarization_audio neomme neucodec nomic_bert olmo olmo2 olmo3 olmo_hybrid olmoe
    paddleocr_vl_text persimmon phi phi3 phi4_multimodal phimoe pocket_tts
    pocket_tts_audio_tokenizer pocket_tts_audio_tokenizer_decoder
    pocket_tts_audio_tokenizer_encoder qwen2 qwen2_5_omni_talker
    qwen2_5_omni_text qwen2_5_vl_text qwen2_moe qwen2_vl_text qwen3 qwen3_5_moe_text
    qwen3_5_text qwen3_moe qwen3_next qwen3_omni_moe_talker_code_predictor
    qwen3_omni_moe_talker_text qwen3_omni_moe_text qwen3_vl_moe_text qwen3_vl_text
    qwen4_exp_text recurrent_gemma seed_oss smollm3 solar_open stablelm starcoder2 step3p5
    t5_gemma_module t5gemma2_decoder t5gemma2_text timesfm2_5 ultrabert unlimited_ocr_text
    vaultgemma voxtral_realtime_encoder voxtral_realtime_text
    xcodec2 zamba2 zaya
    """.split()
)

# `rope_interleave: false` in the config turns these to halves.
HAS_INTERLEAVE_FLAG = frozenset("axk1 deepseek_v3 glm4_moe_lite mistral4 youtu".split())

# Whose pairs turn by the row and the column of a patch, or by where two images match.
AXIAL = frozenset(
    """
    cohere_compass_vision dinov3_vit dots3_note_vision_encoder edgetam_video efficientloftr
    eomt_dinov3 ernie4_5_vl_moe_vision exaone4_5_vision gemma4_vision glm4v_moe_vision
    glm4v_vision glm5_next_vision glm_ocr_vision inkling2_vision kimi_k25_vision lfm3_vl_vision
    lightglue llama4_vision_model minimax_m3_vl_vision mlcd_vision_model muse_glimmer_vision
    muse_spark_vision paddleocr_vl_vision pixtral qwen2_5_omni_vision_encoder qwen2_5_vl_vision
    qwen2_vl_vision qwen3_5_moe_vision qwen3_5_vision qwen3_omni_moe_vision_encoder
    qwen3_vl_moe_vision qwen3_vl_vision qwen4_exp_vision sam2_video sam3_tracker_video
    sam3_vit_model sapiens2 step3p5_vision video_llama_3_vision
    """.split()
)

# What is computed for these is not the rotation of this library.
_BEFORE_PROJECTION = "if it rotates, it turns the input of W_q and W_k, not queries and keys"
UNSUPPORTED = {
    "blt": "its parts rotate, each in its own way: read one of them, such as global_config",
    "clvp_encoder": "it rotates values too",
    "deepseek_v4": "it rotates the trailing dimensions of a head, and rotates its output back",
    "dots3_note_text": "each kind of its layers has widths of its own",
    "esmfold2": "it rotates by the coordinates of atoms",
    "glm5_next_text": "its attention has no position encoding; its other layers are linear",
    "inkling2_text": "it does not rotate; a learned bias for each distance orders its tokens",
    "inkling_text": "it does not rotate; a learned bias for each distance orders its tokens",
    "kimi_linear": "none of its layers rotates",
    "mistral_large4_text": "its frequencies are multiplied by exp(alpha), which is learned",
    "musicflamingo": "it rotates what its encoder of sound returns, not queries and keys",
    "nanochat": "it rotates clockwise",
    "qwen2_5_omni_dit": "its first head alone rotates, by pairs of neighbors",
    "seamless_m4t": "its speech encoder alone may rotate",
    "timm_backbone": "it wraps a model of timm, whose own code decides",
    "timm_wrapper": "it wraps a model of timm, whose own code decides",
    "vjepa2": "it rotates by three coordinates",
    "wav2vec2-bert": _BEFORE_PROJECTION,
    "wav2vec2-conformer": _BEFORE_PROJECTION,
} | dict.fromkeys(sorted(AXIAL), "it rotates by two coordinates")

# A file of these may hold its text part alone, without a part of that name around it.
TEXT_TYPES = {
    "aria": "aria_text",
    "cohere_compass": "cohere_compass_text",
    "cosmos3_edge": "cosmos3_edge_text",
    "deepseek_ocr2": "deepseek_ocr2_text",
    "diffusion_gemma": "diffusion_gemma_text",
    "embedding_gemma2": "embedding_gemma2_text",
    "emu3": "emu3_text_model",
    "ernie4_5_vl_moe": "ernie4_5_vl_moe_text",
    "gemma3": "gemma3_text",
    "gemma3n": "gemma3n_text",
    "gemma4": "gemma4_text",
    "gemma4_unified": "gemma4_unified_text",
    "glm4v": "glm4v_text",
    "glm4v_moe": "glm4v_moe_text",
    "glm_image": "glm_image_text",
    "glm_ocr": "glm_ocr_text",
    "granite4_vision": "granite4_vision_text",
    "granite_docling": "granite_docling_text",
    "hunyuan_vl": "hunyuan_vl_text",
    "llama4": "llama4_text",
    "minimax_m3_vl": "minimax_m3_vl_text",
    "mistral_large4": "mistral_large4_text",
    "mllama": "mllama_text_model",
    "molmo2": "molmo2_text",
    "muse_glimmer": "muse_glimmer_text",
    "muse_spark": "muse_spark_text",
    "paddleocr_vl": "paddleocr_vl_text",
    "qwen2_5_omni_thinker": "qwen2_5_omni_text",
    "qwen2_5_vl": "qwen2_5_vl_text",
    "qwen2_vl": "qwen2_vl_text",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "qwen3_omni_moe_thinker": "qwen3_omni_moe_text",
    "qwen3_vl": "qwen3_vl_text",
    "qwen3_vl_moe": "qwen3_vl_moe_text",
    "qwen4_exp": "qwen4_exp_text",
    "step3p7": "step3p5",
    "t5gemma2_encoder": "t5gemma2_text",
    "unlimited_ocr": "unlimited_ocr_text",
}

# What must stand in the file for the model to rotate at all: a key and its value.
NEEDS = {
    "esm": ("position_embedding_type", "rotary"),
    "granitemoehybrid": ("position_embedding_type", "rope"),
    "zamba2": ("use_mem_rope", True),
}

# Whose code in transformers rotates nothing, whatever else a file says.
WITHOUT_ROTATION = frozenset(
    """
    aimv2_text_model aimv2_vision_model albert align_text_model align_vision_model
    altclip_text_model altclip_vision_model audio-spectrogram-transformer audioflamingo3_encoder
    autoformer bart beit bert bert-generation big_bird bigbird_pegasus biogpt bit blenderbot
    blenderbot-small blip_2_qformer blip_2_vision_model blip_text_model blip_vision_model bloom
    bridgetower_text_model bridgetower_vision_model bros camembert canary_decoder canine
    chameleon_vqgan chinese_clip_text_model chinese_clip_vision_model clap_audio_model
    clap_text_model clip_text_model clip_vision_model clipseg_text_model clipseg_vision_model
    clvp_decoder convbert convnext convnextv2 cosmos3_edge_vision cpmant ctrl cvt dac
    data2vec-audio data2vec-text data2vec-vision deberta deberta-v2 decision_transformer
    deepseek_ocr2_sam_vision_model deit dinat dinov2 dinov2_with_registers dinov3_convnext
    distilbert donut-swin dpr edgetam_mask_decoder edgetam_prompt_encoder
    edgetam_video_mask_decoder edgetam_video_prompt_encoder efficientnet electra emu3_vqgan
    encodec eomt ernie falcon_mamba fastspeech2_conformer fastspeech2_conformer_hifigan flaubert
    flava_image_codebook flava_image_model flava_multimodal_model flava_text_model
    florence_vision fnet focalnet fsmt fun_asr_nano_encoder funnel gemma3n_audio gemma3n_vision
    gemma4_audio gemma4_unified_audio gemma4_unified_vision git_vision_model glm_image_vision
    glm_image_vqmodel glpn got_ocr2_vision gpt2 gpt_bigcode gpt_neo granite_docling_vision
    granite_speech5_encoder granite_speech_encoder granite_speech_plus_encoder
    groupvit_text_model groupvit_vision_model hgnet_v2 hiera hubert hunyuan_vl_vision ibert
    idefics2_perceiver idefics2_vision idefics3_vision idefics_perciever idefics_vision ijepa
    imagegpt informer inkling_audio inkling_vision instructblip_qformer
    instructblip_vision_model instructblipvideo_qformer instructblipvideo_vision_model
    internvl_vision jamba janus_vision_model janus_vqgan kosmos_2_5_text_model
    kosmos_2_5_vision_model kosmos_2_text_model kosmos_2_vision_model layoutlm layoutlmv2
    layoutlmv3 layoutxlm led levit lilt longformer longt5 luke lw_detr_vit lxmert m2m_100 mamba
    mamba2 marian markuplm maskformer-swin mbart megatron-bert metaclip_2_text_model
    metaclip_2_vision_model mgp-str minicpm_ocr_vision minicpmv4_6_vision minicpmv4_7_vision
    mllama_vision_model mobilebert mobilenet_v1 mobilenet_v2 mobilevit mobilevitv2
    molmo2_adapter molmo2_vision moonshine_streaming_encoder moshi_depth
    moss_transcribe_diarize_audio mpnet mpt mra mt5 muse_spark_audio musicgen_decoder
    musicgen_melody_decoder mvp nemotron_asr_streaming_encoder nemotron_h nllb-moe nystromformer
    openai-gpt opt ovis2_vision owlv2_text_model owlv2_vision_model owlvit_text_model
    owlvit_vision_model parakeet_encoder patchtsmixer patchtst pegasus pegasus_x perceiver
    phi4_multimodal_audio phi4_multimodal_vision pix2struct_text_model pix2struct_vision_model
    pixio plbart poolformer pop2piano pp_chart2table_vision pp_formulanet_text
    pp_formulanet_vision pp_lcnet pp_lcnet_v3 pp_lcnet_v4 prophetnet pvt pvt_v2
    qianfan_ocr_vision qwen2_5_omni_audio_encoder qwen2_5_omni_bigvgan qwen2_audio_encoder
    qwen3_asr_encoder qwen3_omni_moe_audio_encoder radio rag reformer regnet rembert resnet
    rf_detr_dinov2 roberta roberta-prelayernorm roc_bert rt_detr_resnet rwkv
    sam2_hiera_det_model sam2_mask_decoder sam2_prompt_encoder sam2_video_mask_decoder
    sam2_video_prompt_encoder sam3_detr_decoder sam3_detr_encoder sam3_geometry_encoder
    sam3_lite_text_detr_decoder sam3_lite_text_detr_encoder sam3_lite_text_geometry_encoder
    sam3_lite_text_mask_decoder sam3_lite_text_text_model sam3_mask_decoder
    sam3_tracker_mask_decoder sam3_tracker_prompt_encoder sam3_tracker_video_mask_decoder
    sam3_tracker_video_prompt_encoder sam_hq_mask_decoder sam_hq_prompt_encoder
    sam_hq_vision_model sam_mask_decoder sam_prompt_encoder sam_vision_model sapiens2_head
    seamless_m4t_v2 segformer seggpt sew sew-d siglip2_text_model siglip2_vision_model
    siglip_text_model siglip_vision_model slanext_vision smolvlm_vision speech_to_text speecht5
    speecht5_hifigan splinter squeezebert superpoint swiftformer swin swin2sr swinv2
    switch_transformers t5 tapas textnet time_series_transformer timesfm timesformer
    tipsv2_text_model tipsv2_vision_model trocr udop umt5 unispeech
    unispeech-sat univnet unlimited_ocr_sam_vision_model unlimited_ocr_vision_encoder
    uvdoc_backbone vibevoice_acoustic_tokenizer vibevoice_acoustic_tokenizer_decoder
    vibevoice_acoustic_tokenizer_encoder vibevoice_diffusion videomae videomt
    videoprism_text_model videoprism_vision_model vilt visual_bert vit vit_mae vit_msn vitdet
    vitpose_backbone vits vivit voxtral_encoder wav2vec2 wavlm whisper xclip_text_model
    xclip_vision_model xglm xlm xlm-roberta xlm-roberta-xl xlnet xlstm xmod yolos yoso zamba
    """.split()
)

# Without a rope part in the file these would be scaled, or rotated by layer type.
SCALED_BY_DEFAULT = frozenset(
    """
    apertus beam cohere_compass_text cwm diffusion_gemma_text embedding_gemma2_text gemma4_text
    gemma4_unified_text gpt_oss higgs_audio_v2 laguna lfm3 mellum mimo_v2_flash ministral3
    mistral4 neomme openai_privacy_filter step3p5 t5gemma2_decoder ultrabert
    zaya
    """.split()
)

# Where a file gives no base; 10000 for all others.
BASES = {
    "bailing_hybrid": 6_000_000.0,
    "bitnet": 500_000.0,
    "blt_global_transformer": 500_000.0,
    "blt_local_decoder": 500_000.0,
    "blt_local_encoder": 500_000.0,
    "cohere": 500_000.0,
    "cosmos3_edge_text": 100_000_000.0,
    "csm": 500_000.0,
    "csm_depth_decoder_model": 500_000.0,
    "cwm": 1_000_000.0,
    "emu3_text_model": 1_000_000.0,
    "ernie4_5": 500_000.0,
    "ernie4_5_moe": 500_000.0,
    "ernie4_5_vl_moe_text": 500_000.0,
    "evolla": 500_000.0,
    "flex_olmo": 500_000.0,
    "gpt_oss": 150_000.0,
    "gte": 160_000.0,
    "helium": 100_000.0,
    "hy_v3": 11_158_840.0,
    "jina_embeddings_v3": 20000.0,
    "lfm2": 1_000_000.0,
    "lfm2_moe": 1_000_000.0,
    "llama4_text": 500_000.0,
    "longcat_flash": 10_000_000.0,
    "minimax": 1_000_000.0,
    "minimax_m2": 5_000_000.0,
    "minimax_m3_vl_text": 5_000_000.0,
    "mixtral": 1_000_000.0,
    "mllama_text_model": 500_000.0,
    "muse_glimmer_assistant": 500_000.0,
    "muse_spark_text": 500_000.0,
    "nomic_bert": 1000.0,
    "olmo3": 500_000.0,
    "paddleocr_vl_text": 500_000.0,
    "pe_audio_encoder": 20000.0,
    "pe_audio_video_encoder": 20000.0,
    "pe_video_encoder": 20000.0,
    "phimoe": 1_000_000.0,
    "qwen2_5_omni_talker": 1_000_000.0,
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
    "bamba": 0.5,
    "dots3_note_audio_encoder": 0.5,
    "glm": 0.5,
    "glm4": 0.5,
    "glm4_moe": 0.5,
    "glm4v_moe_text": 0.5,
    "glmasr_encoder": 0.5,
    "gpt_neox": 0.25,
    "moonshine": 0.9,
    "moonshine_streaming": 0.8,
    "nemotron": 0.5,
    "nemotron3_5_transcribe_asr_audio": 0.5,
    "nemotron3_5_transcribe_word_timestamp": 0.5,
    "persimmon": 0.5,
    "phi": 0.5,
    "qwen3_5_moe_text": 0.25,
    "qwen3_5_text": 0.25,
    "qwen3_next": 0.25,
    "recurrent_gemma": 0.5,
    "stablelm": 0.25,
}

# Dimensions that rotate where a file does not say, as a number.
ROTARY_DIMS = {"codegen": 64, "gptj": 64}

# Whose default file says `rotary_dim`, which the code beside it does not read.
IGNORES_ROTARY_DIM = frozenset({"minimax_m3_vl_text"})

# Width of a head where a file does not say; hidden_size / num_attention_heads for all others.
HEAD_DIMS = {
    "afmoe": 128,
    "beam": 128,
    "cwm": 128,
    "dia_encoder": 128,
    "diffusion_gemma_text": 256,
    "embedding_gemma2_text": 256,
    "ernie4_5": 128,
    "flint": 128,
    "gemma": 256,
    "gemma2": 256,
    "gemma3_text": 256,
    "gemma3n_text": 256,
    "gemma4_text": 256,
    "gemma4_unified_text": 256,
    "glm": 128,
    "glm4": 128,
    "gpt_oss": 64,
    "helium": 128,
    "hy_v3": 128,
    "jetmoe": 128,
    "kolibri1": 128,
    "laguna": 128,
    "llama4_text": 128,
    "mellum": 128,
    "mimo_v2_flash": 192,
    "minimax_m2": 128,
    "minimax_m3_vl_text": 128,
    "ministral3": 128,
    "muse_glimmer_assistant": 128,
    "muse_glimmer_text": 128,
    "openai_privacy_filter": 64,
    "paddleocr_vl_text": 128,
    "qwen3": 128,
    "qwen3_5_moe_text": 256,
    "qwen3_5_text": 256,
    "qwen3_next": 256,
    "qwen3_omni_moe_talker_code_predictor": 128,
    "qwen3_vl_text": 128,
    "qwen4_exp_text": 256,
    "seed_oss": 128,
    "solar_open": 128,
    "step3p5": 128,
    "t5_gemma_module": 256,
    "t5gemma2_decoder": 256,
    "t5gemma2_text": 256,
    "vaultgemma": 256,
    "voxtral_realtime_encoder": 64,
    "zaya": 128,
}

# The same for layers with full attention, where theirs is another.
GLOBAL_HEAD_DIMS = {
    "diffusion_gemma_text": 512,
    "embedding_gemma2_text": 512,
    "gemma4_text": 512,
    "gemma4_unified_text": 512,
}

# Some of whose layers have no attention: a file that lists no kinds does not tell which.
HYBRIDS = frozenset(
    """
    bailing_hybrid granitemoehybrid lfm2 lfm2_moe lfm3 minimax olmo_hybrid qwen3_5_moe_text
    qwen3_5_text qwen3_next qwen4_exp_text recurrent_gemma zamba2
    """.split()
)

# Where a layer has attention only if `attn_layer_indices` names it: none where it is missing.
NAMES_ATTENTION = frozenset({"bamba"})

# Where `no_rope_layers` lists a 1 for every layer that rotates, and defaults to all but each 4th.
HAS_NO_ROPE_LAYERS = frozenset("llama4_text smollm3".split())

# Whose every 4th layer, counted from the last one back, does not rotate, unless a file says else.
COUNTED_BACK = frozenset("muse_glimmer_text muse_spark_text".split())

# Where only layers with a sliding window rotate; EXAONE only if there are such layers at all.
ROTATES_SLIDING_ONLY = frozenset(
    "afmoe cohere2 cohere2_moe exaone4 exaone_moe flint kolibri1".split()
)

# Of these, whose layers without experts rotate as well, window or not, where
# `prefix_dense_sliding_window_pattern` is 1, as it is by default. `mlp_layer_types` says which they
# are, or else `first_k_dense_replace` how many; the pattern of windows begins behind them.
ROTATES_DENSE = frozenset({"cohere2_moe"})

# Every n-th layer is global where `layer_types` is missing.
SLIDING_WINDOW_PATTERNS = {
    "cohere2": 4,
    "cohere2_moe": 4,
    "exaone4": 4,
    "exaone_moe": 4,
    "gemma3_text": 6,
    "olmo3": 4,
}

# Whose attention multiplies its softmax scale by yarn_mscale(factor, mscale_all_dim) ** 2.
SCALES_SOFTMAX = frozenset(
    """
    axk1 axk2 bailing_hybrid deepseek_v2 deepseek_v3 deepseek_v32 glm4_moe_lite glm_moe_dsa hy_v4
    longcat_flash minicpm3 mistral4 youtu
    """.split()
)
