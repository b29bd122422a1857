import { checked, given, refuse } from "./rules.js";

// Which layers rotate, as ropelib/config/layers.py reads it.

const kindOf = (local) => (local ? "sliding_attention" : "full_attention");

function forEachLayer(key, values, total) {
  if (values.length !== total) refuse("layers", { key, value: values.length, wanted: total });
  return values;
}

function kindsOfLayers(values, total) {
  const { text, table, is, orDefault, lookUp, assume } = values;
  const each = (kind) => Array.from({ length: total }, (_, i) => kind(i));
  const listed = table.spellings.layer_types.find((key) => given(text[key]));
  if (listed) return forEachLayer(listed, text[listed], total);
  if (text.block_types?.length) return each((i) => text.block_types[i % text.block_types.length]);
  const named = text.attn_layer_indices;
  const indices = !given(named) && is("names_attention") && assume("attn_layer_indices", "none") ? [] : named;
  if (given(indices)) return each((i) => (indices.includes(i) ? "attention" : "mamba"));
  if (is("alternating")) return each((i) => kindOf(i % orDefault("global_attn_every_n_layers")));
  const [plain, underlined] = table.spellings.sliding_window_pattern;
  const pattern = text[plain] ?? text[underlined] ?? lookUp("patterns");
  if (!given(pattern)) return null;
  if (typeof pattern === "string") return each((i) => kindOf(pattern[i % pattern.length] === "L"));
  if (!is("dense_first")) return each((i) => kindOf((i + 1) % pattern));
  const first = ofDense(values, "first_k_dense_replace");
  const among = ofDense(values, "prefix_dense_sliding_window_pattern");
  return each((i) => kindOf(i < first ? (i + 1) % among : (i - first + 1) % pattern));
}

const ofDense = ({ table, orDefault }, key) => checked(key, orDefault(key), table.dense[key], table);

// Which layers rotate because they have no experts, whatever their window.
function denseLayers(values, total) {
  const { text, is } = values;
  if (!is("dense_first") || ofDense(values, "prefix_dense_sliding_window_pattern") !== 1)
    return Array(total).fill(false);
  if (given(text.mlp_layer_types)) {
    const listed = ofDense(values, "mlp_layer_types");
    return forEachLayer("mlp_layer_types", listed, total).map((kind) => kind === "dense");
  }
  const first = ofDense(values, "first_k_dense_replace");
  return Array.from({ length: total }, (_, i) => i < first);
}

// Which layers rotate by `no_rope_layers`; the name misleads: a 1 is a layer that rotates.
function switches({ text, table, model, known, is, orDefault }, total) {
  const [bases, listed] = [text.layer_rope_theta, text.no_rope_layers];
  if (given(bases)) return forEachLayer("layer_rope_theta", bases, total).map((value) => value !== 0);
  const each = (turns) => Array.from({ length: total }, (_, i) => turns(i));
  if (is("crossing")) return each((i) => !orDefault("cross_attention_layers").includes(i));
  if (is("counted_back")) return each((i) => (total - 1 - i) % 4 !== 0);
  if (!table.read_by.no_rope_layers.includes(model) && (!given(listed) || known)) return Array(total).fill(true);
  if (listed?.length) return forEachLayer("no_rope_layers", listed, total).map((value) => value === 1);
  return each((i) => (i + 1) % orDefault("no_rope_layer_interval") !== 0);
}

// The layers of the chosen kind that rotate, and those that rotate in no way.
export function layersOf(values, entries, layerType) {
  const { text, table, is, spelled } = values;
  const total = spelled("num_hidden_layers");
  if (!given(total)) return { total, rotating: null, still: null };
  const [kinds, on] = [kindsOfLayers(values, total), switches(values, total)];
  const dense = denseLayers(values, total);
  const slidingOnly = is("sliding_only_always") || (is("sliding_only") && text.sliding_window !== null);
  if (!kinds && (slidingOnly || layerType !== null)) refuse("missingLayers", { key: "layer_types" });
  if (!kinds && is("hybrids")) return { total, rotating: null, still: null }; // its file does not tell
  const turns = (i) =>
    on[i] &&
    !table.without_attention.includes(kinds?.[i]) &&
    (!slidingOnly || dense[i] || kinds[i] === "sliding_attention") &&
    entries.get(kinds?.[i]) !== null;
  const all = Array.from({ length: total }, (_, i) => i);
  const rotating = all.filter((i) => turns(i) && (layerType === null || kinds[i] === layerType));
  return { total, rotating, still: all.filter((i) => !turns(i)) };
}
