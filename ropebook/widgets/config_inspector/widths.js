import { checked, given, isObject, refuse } from "./rules.js";
import { SHARE, agreed } from "./values.js";

// How wide a head is and how much of it rotates, as ropelib/config/widths.py reads it.

// head_dim and rotary_dim.
export function widths(values, entry, type, layerType, where) {
  const { text, table, is, lookUp, note, assume } = values;
  const latent = text.qk_rope_head_dim;
  const headDim = latent ?? headWidth(values, layerType);
  if (type === "proportional") return [headDim, headDim];
  // In latent attention a share, where it is given, is one of the whole head.
  const width = given(latent) ? headDim + (text.qk_nope_head_dim ?? 0) : headDim;
  const said = {};
  for (const key of table.spellings.share) {
    for (const part of [entry, text]) {
      const [name, share] = [part === entry ? where + key : key, part[key]];
      if (given(share)) said[name] = share === 1 ? headDim : Math.trunc(width * share);
    }
  }
  const fallback = lookUp("rotary_dims");
  if (given(fallback) && text.rotary_dim === null)
    refuse("rule", { key: "rotary_dim", value: null, rule: "dimensions" });
  const isRead = !is("ignores_rotary_dim");
  said.rotary_dim = isRead ? (text.rotary_dim ?? (fallback && assume("rotary_dim", fallback))) : null;
  if (is("half_a_head")) said.half_a_head = Math.floor(headDim / 2);
  said.qk_rope_head_dim = latent;
  const found = agreed(said, "widths");
  const share = given(found) ? null : lookUp("shares");
  const rotaryDim = found ?? Math.trunc(headDim * (share ? assume(SHARE, share) : 1));
  if (!isRead && given(text.rotary_dim) && text.rotary_dim !== rotaryDim) note("unread", "rotary_dim");
  return [headDim, rotaryDim];
}

function headWidth(values, layerType) {
  const { text, table, spelled } = values;
  const own = new Map();
  for (const [i, layer] of Object.entries(text.per_layer_config ?? {})) {
    if (!/^[0-9]{1,9}$/.test(i) || !isObject(layer)) refuse("perLayer", { key: "per_layer_config", value: i });
    const wide = layer.head_dim;
    if (given(wide)) own.set(Number(i), checked(`per_layer_config.${i}.head_dim`, wide, "dimensions", table));
  }
  if (!own.size) return commonHeadWidth(values, layerType);
  const kinds = text.layer_types ?? Array(spelled("num_hidden_layers") ?? 0).fill(null);
  const asked = [...kinds.keys()].filter((i) => kinds[i] === layerType);
  const wide = new Set(asked.filter((i) => own.has(i)).map((i) => own.get(i)));
  if (asked.some((i) => !own.has(i))) wide.add(commonHeadWidth(values, layerType));
  if (wide.size !== 1) refuse("severalWidths", { key: "head_dim", value: [...wide] });
  return [...wide][0];
}

function commonHeadWidth({ text, table, is, spelled, lookUp, assume }, layerType) {
  const isGlobal = layerType === "full_attention";
  const doubled = is("double_heads");
  const wide = (isGlobal ? text.global_head_dim : null) ?? (doubled ? null : spelled("head_dim"));
  if (given(wide)) return wide;
  if (isGlobal && is("global_head_dims")) return assume("global_head_dim", lookUp("global_head_dims"));
  if (is("head_dims")) return assume("head_dim", lookUp("head_dims"));
  const [hidden, otherValue] = [spelled("hidden_size"), spelled("num_attention_heads")];
  if (!given(hidden)) refuse("headDim", { key: "hidden_size" });
  const value = doubled ? 2 * hidden : hidden;
  if (!given(otherValue)) refuse("headDim", { key: "num_attention_heads" });
  if (value % otherValue) refuse("divide", { key: "hidden_size", value, otherValue });
  return checked("head_dim", value / otherValue, "dimensions", table);
}
