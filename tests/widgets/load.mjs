// Loads a widget's source as Node would see it bundled: from a string, what it imports beside it.
// The sources end in .js and no package.json says "module", so a plain import is up to Node's version.
import { readFileSync } from "node:fs";

const source = (name) =>
  readFileSync(new URL(`../../ropelib/widgets/${name}.js`, import.meta.url), "utf8");
const toUrl = (text) => `data:text/javascript,${encodeURIComponent(text)}`;
const urls = {};
const urlOf = (name) =>
  (urls[name] ??= toUrl(source(name).replace(/(?<=^\} from |^import \{[^}\n]*\} from )"\.\/(\w+)\.js"(?=;$)/gm, (_, other) => JSON.stringify(urlOf(other)))));

export const loadWidget = (name) => import(urlOf(name));
export const loadKit = () => loadWidget("kit");
