import { readConfig } from "./reader.js";

// A table of the shape of ropelib/config/keys.py, small enough to see what a test depends on.
const number = (rule) => ({ of: "number", ...rule });
const whole = (least, most) => ({ of: "integer", least, ...(most ? { most } : {}) });
const list = (each) => ({ of: "list", each });
const only = (optional, required = {}, defaults = {}) => ({ required, optional, defaults });
const stretch = { factor: "at_least_one" };
const length = { original_max_position_embeddings: "count" };
const positives = (...names) => Object.fromEntries(names.map((name) => [name, "positive"]));

export const table = {
  most: { characters: 1e6, nesting: 100, kinds_of_layers: 4, number: 1e15, dimensions: 4096, layers: 100 },
  smallest: 1e-15,
  rules: {
    ...{ text: { of: "text" }, boolean: { of: "boolean" }, mapping: { of: "mapping" }, any: { of: "any" } },
    ...{ positive: number({ above: 0 }), at_least_one: number({ least: 1 }), not_negative: number({ least: 0 }) },
    ...{ share: number({ above: 0, most: 1 }), count: whole(1), count_or_zero: whole(0), switch: whole(0, 1) },
    ...{ dimensions: whole(1, 4096), layers: whole(1, 100), pattern: { of: "pattern", shape: "[LG]{1,100}" } },
    ...{
      positives: list("positive"),
      bases: list("not_negative"),
      switches: list("switch"),
      indices: list("count_or_zero"),
      names: list("text"),
    },
  },
  keys: {
    ...{ model_type: "text", alibi: "boolean", position_embedding_type: "text" },
    ...{ rope_scaling: "mapping", rope_parameters: "mapping", rope_theta: "positive", layer_rope_theta: "bases" },
    ...{ rope_local_base_freq: "positive", local_rope_theta: "positive", global_rope_theta: "positive" },
    ...{ rope_ratio: "positive", head_dim: "dimensions", kv_channels: "dimensions", qk_rope_head_dim: "dimensions" },
    ...{ qk_nope_head_dim: "count_or_zero", hidden_size: "count", num_attention_heads: "count" },
    ...{ rotary_dim: "dimensions", partial_rotary_factor: "share", max_position_embeddings: "count" },
    ...{ original_max_position_embeddings: "count", rope_interleave: "boolean", num_hidden_layers: "layers" },
    ...{ layers_block_type: "names", block_types: "names", attn_layer_indices: "indices", use_mem_rope: "boolean" },
    ...{ layer_types: "names", no_rope_layers: "switches", no_rope_layer_interval: "count" },
    cross_attention_layers: "indices",
    ...{ sliding_window_pattern: "pattern", sliding_window: "any", per_layer_config: "mapping" },
    ...{ mlp_layer_types: "any", first_k_dense_replace: "any", prefix_dense_sliding_window_pattern: "any" },
  },
  dense: {
    ...{ mlp_layer_types: "names", first_k_dense_replace: "count_or_zero" },
    prefix_dense_sliding_window_pattern: "count",
  },
  defaults: {
    rope_theta: 10000,
    rope_ratio: 1,
    no_rope_layer_interval: 4,
    global_attn_every_n_layers: 3,
    cross_attention_layers: [1],
    ...{ first_k_dense_replace: 0, prefix_dense_sliding_window_pattern: 1 },
  },
  spellings: {
    ...{ hidden_size: ["hidden_size"], num_attention_heads: ["num_attention_heads"], base: ["rope_theta"] },
    ...{ num_hidden_layers: ["num_hidden_layers"], max_position_embeddings: ["max_position_embeddings"] },
    ...{ head_dim: ["head_dim", "kv_channels"], share: ["partial_rotary_factor"] },
    layer_types: ["layer_types", "layers_block_type"],
    sliding_window_pattern: ["sliding_window_pattern", "_sliding_window_pattern"],
  },
  read_by: { no_rope_layers: ["smollm3"], rope_interleave: ["deepseek_v3"], rope_ratio: ["chatglm"] },
  about_rotation: "rope|rotary|alibi",
  text_parts: ["text_config"],
  parts_of_the_text: ["attn_config"],
  not_rotating: ["position_embedding_type"],
  rotating_embeddings: ["rotary"],
  without_attention: ["conv", "mamba"],
  common: { rope_type: "text", rope_theta: "positive", partial_rotary_factor: "share" },
  rope_types: {
    default: only({}),
    linear: only({}, stretch),
    dynamic: only({}, stretch),
    yarn: only(
      { truncate: "boolean", ...positives("attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim") },
      { ...stretch, ...length },
      { truncate: true, beta_fast: 32, beta_slow: 1 },
    ),
    longrope: only(positives("factor", "attention_factor"), {
      short_factor: "positives",
      long_factor: "positives",
      ...length,
    }),
    llama3: only({}, { ...stretch, ...positives("low_freq_factor", "high_freq_factor"), ...length }),
    proportional: only(stretch, {}, { factor: 1, partial_rotary_factor: 1 }),
    ntk_alpha: only({}, { alpha: "at_least_one" }),
  },
  aliases: { su: "longrope" },
  unsupported_types: { axial: "it rotates by two coordinates" },
  ratio_of_lengths: ["yarn", "longrope"],
  not_of_the_tables: { finetuned: "says how the model was trained" },
  read_elsewhere: { attn_factor: "another engine reads it" },
  model_types: {
    ...{
      interleaved: ["deepseek_v3", "cohere2", "cohere2_moe", "chatglm"],
      half: ["llama", "gemma3_text", "smollm3", "gpt_oss", "zamba2", "muse", "hybrid", "bamba", "m3"],
    },
    ...{ unsupported: { nanochat: "it rotates clockwise" }, without_rotation: ["bert"] },
    ...{ text_types: { two_towers: "llama" }, needs: { zamba2: ["use_mem_rope", true] } },
    ...{ counted_back: ["muse"], crossing: ["mllama"], double_heads: ["zamba2"] },
    ...{ scaled_by_default: ["gpt_oss"], bases: {}, two_bases: { gemma3_text: [1e6, 1e4] }, shares: {} },
    ...{ rotary_dims: {}, head_dims: {}, global_head_dims: {}, sliding_only: ["cohere2", "cohere2_moe"] },
    ...{ sliding_only_always: ["cohere2", "cohere2_moe"], dense_first: ["cohere2_moe"] },
    ...{ patterns: { cohere2: 4, cohere2_moe: 4 }, softmax: ["deepseek_v3"] },
    ...{ one_base_scaled: [], half_a_head: ["chatglm"], alternating: [] },
    ...{ hybrids: ["hybrid"], names_attention: ["bamba"], ignores_rotary_dim: ["m3"] },
  },
};

export const llama = {
  ...{ model_type: "llama", head_dim: 8, num_hidden_layers: 4, max_position_embeddings: 4096, rope_theta: 10000 },
};

export const read = (changes, kind = "") => readConfig(JSON.stringify({ ...llama, ...changes }), kind, table);
export const codes = (list) => list.map((found) => found.code);
