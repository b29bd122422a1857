// Loads a widget's source as Node would see it bundled: from a string, kit.js beside it.
// The sources end in .js and no package.json says "module", so a plain import is up to Node's version.
import { readFileSync } from "node:fs";

const source = (name) =>
  readFileSync(new URL(`../../ropelib/widgets/${name}.js`, import.meta.url), "utf8");
const toUrl = (text) => `data:text/javascript,${encodeURIComponent(text)}`;
const kitUrl = toUrl(source("kit"));

export const loadKit = () => import(kitUrl);
export const loadWidget = (name) =>
  import(toUrl(source(name).replace('"./kit.js"', JSON.stringify(kitUrl))));
