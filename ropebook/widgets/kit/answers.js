// Says whether an answer is right, and if not, what it may rest on: pure functions of an exercise
// as its definition in Python tells it. ropebook/exercises/judging.py says the same in the same
// words. Texts may hold <b> <i> <code> <sub> <sup>; what a reader typed is repeated without < and >.
import { freeNames, LanguageError, oneNumber, quoted, readExpression, splitAtCommas } from "./language.js";
import {
  fromJson,
  isConstant,
  isNear,
  isNumber,
  isTrue,
  needNumber,
  showValue,
  valueOfTree,
  withDecimals,
} from "./meaning.js";
import { readFunction, resultOf } from "./program.js";

const OPEN = "Not answered yet.";
const COUNTS = ["no numbers", "one number", "two numbers", "three numbers", "four numbers"];
const MAY_WRITE = {
  number: "Write a number: 0.4, 2/5 or 2*pi/3.",
  numbers: "Write a number: 0.4, 2/5 or 2*pi/3.",
  set: "Write numbers with commas between them, such as 1, 2.",
  expression: "You may use {names}, numbers, + - * / ** and functions such as cos and sqrt.",
  "fill-in": "You may use {names}, numbers, + - * / ** and functions such as cos and sqrt.",
};

// { ok, message } for an answer as the page has it: a text (number, set, expression), a list of
// texts (numbers, the gaps of a fill-in), the index of an option (choice, bet), a list of indices
// (order), the state of a widget (task). It never throws.
export function judge(exercise, answer) {
  try {
    const [ok, message] = JUDGES[exercise.kind](exercise, answer);
    return { ok, message };
  } catch (error) {
    if (error instanceof LanguageError) return { ok: false, message: error.message };
    return { ok: false, message: `This cannot be judged: ${error.message}` };
  }
}

// The right answer with its value, and why.
export function solutionOf(exercise) {
  return [answerShown(exercise), exercise.solution].filter(Boolean).join(" ");
}

function answerShown(exercise) {
  if (exercise.options) return exercise.options.find(({ right }) => right).text;
  if (exercise.kind === "fill-in") return exercise.shown;
  return exercise.shown === undefined ? "" : `${exercise.shown}.`; // a task says nothing more
}

// The code of a fill-in with these texts in its gaps, as a reader sees it.
export function filledCode({ pieces }, gaps) {
  return pieces.map((piece, i) => (i ? gaps[i - 1] : "") + piece).join("");
}

function mayWrite(exercise) {
  const names = exercise.variables ?? exercise.names ?? [];
  return MAY_WRITE[exercise.kind].replace("{names}", () => names.join(", "));
}

function agree(left, right, tolerance) {
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length && left.every((item, i) => agree(item, right[i], tolerance));
  const apart = (value) => Array.isArray(value) || typeof value === "string";
  if (apart(left) || apart(right)) return left === right;
  return isNear(left, right, tolerance);
}

// A text with the values of what stands in braces, `{a}` or `{cos(a):.4f}`.
export function filledText(text, names) {
  return text.replace(/\{\{|\}\}|\{([^{}]*?)(?::(,?)\.(\d)f)?\}/g, (all, tree, comma, places) => {
    if (all === "{{" || all === "}}") return all[0];
    try {
      const found = valueOfTree(readExpression(tree), names);
      if (places === undefined) return showValue(found);
      const said = withDecimals(needNumber(found), Number(places));
      return comma ? said.replace(/(?<=\d)(?=(?:\d{3})+(?:\.|$))/g, ",") : said;
    } catch (error) {
      if (error instanceof LanguageError) return "?";
      throw error;
    }
  });
}

// Whether a rule is true of these values of the language; one that has no value is not.
export function ruleHolds(rule, names) {
  try {
    return isTrue(valueOfTree(readExpression(rule), names));
  } catch (error) {
    if (error instanceof LanguageError) return false;
    throw error;
  }
}

function namesOf(exercise, a, right, more) {
  const names = { ...more, a, right };
  for (const [name, rule] of exercise.let ?? []) {
    try {
      names[name] = valueOfTree(readExpression(rule), names);
    } catch (error) {
      if (!(error instanceof LanguageError)) throw error;
    }
  }
  return names;
}

function isEmpty(answer) {
  return answer === null || answer === undefined || (typeof answer === "string" && !trimmed(answer));
}

function trimmed(text) {
  return text.replace(/^[ \t\n\r]+|[ \t\n\r]+$/g, "");
}

function readValue(text, names, exercise, where = "") {
  try {
    return typeof text === "string" ? valueOfTree(readExpression(text), names) : fromJson(text);
  } catch (error) {
    if (!(error instanceof LanguageError)) throw error;
    throw new LanguageError(`${where}${error.message} ${mayWrite(exercise)}`);
  }
}

function readNumber(exercise, text, where = "") {
  const found = readValue(text, {}, exercise, where);
  if (!isNumber(found))
    throw new LanguageError(`${where}One number is asked for, got ${showValue(found)}. ${mayWrite(exercise)}`);
  return found;
}

function judgeNumber(exercise, answer) {
  if (isEmpty(answer)) return [false, OPEN];
  const text = typeof answer === "string" ? oneNumber(answer) : answer;
  return decided(exercise, readNumber(exercise, text));
}

function judgeNumbers(exercise, answer) {
  if (isEmpty(answer) || (answer.length && answer.every(isEmpty))) return [false, OPEN];
  const count = exercise.right.length;
  if (answer.length !== count) {
    const counted = COUNTS[count] ?? `${count} numbers`;
    throw new LanguageError(`Not these: expected ${counted}, got ${answer.length}.`);
  }
  const found = answer.map((text, i) => {
    const label = exercise.labels[i];
    if (isEmpty(text)) throw new LanguageError(`${label} is empty. ${mayWrite(exercise)}`);
    return readNumber(exercise, text, `${label}: `);
  });
  return decided(exercise, found);
}

function judgeSet(exercise, answer) {
  if (isEmpty(answer)) return [false, OPEN];
  let parts = answer;
  if (typeof answer === "string") {
    let text = trimmed(answer);
    if (["{}", "[]", "()"].includes([...text][0] + [...text].at(-1))) text = text.slice(1, -1);
    parts = isEmpty(text) ? [] : splitAtCommas(text);
    if (parts.length > 100) throw new LanguageError(`These are too many numbers. ${mayWrite(exercise)}`);
  }
  const found = [];
  for (const part of parts) {
    if (isEmpty(part)) throw new LanguageError(`A number is missing beside a comma. ${mayWrite(exercise)}`);
    const value = readNumber(exercise, part);
    if (!found.some((other) => isNear(value, other))) found.push(value);
  }
  return decided(
    exercise,
    found.sort((one, other) => (one < other ? -1 : Number(one > other))),
  );
}

function judgeExpression(exercise, answer) {
  if (isEmpty(answer)) return [false, OPEN];
  const found = exercise.samples.map((sample) => {
    const value = readValue(answer, jsonNames(sample), exercise);
    if (!isNumber(value))
      throw new LanguageError(`A number is asked for, got ${showValue(value)}. ${mayWrite(exercise)}`);
    return value;
  });
  return decided(exercise, found);
}

function jsonNames(values) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, fromJson(value)]));
}

function decided(exercise, found) {
  const { accept, hints, kind, tolerance } = exercise;
  const right = fromJson(exercise.right);
  const names = namesOf(exercise, found, right, {});
  if (accept ? ruleHolds(accept, names) : agree(found, right, tolerance)) return [true, "Right."];
  const fits = ({ when, example }) => (when ? ruleHolds(when, names) : agree(found, fromJson(example), tolerance));
  const hint = hints.find(fits);
  if (hint) return [false, filledText(hint.said, names)];
  if (kind === "number" && !accept && !Number.isInteger(Number(right)) && isNear(found, right, 0.01))
    return [false, "Close: give more digits, or an expression such as 2*pi/3."];
  return [false, filledText(exercise.otherwise, names)];
}

function judgeChoice({ options }, answer) {
  if (isEmpty(answer)) return [false, OPEN];
  if (!isPlace(answer, options.length)) throw new LanguageError(`Choose one of the ${options.length} options.`);
  return [options[answer].right, options[answer].said];
}

function isPlace(value, count) {
  return Number.isInteger(value) && value >= 0 && value < count;
}

function judgeOrder(exercise, answer) {
  if (isEmpty(answer) || answer.length === 0) return [false, OPEN];
  const count = exercise.items.length;
  const places = [...answer];
  if (places.length !== count || new Set(places).size !== count || !places.every((place) => isPlace(place, count)))
    throw new LanguageError(`Put all ${count} items into an order, each of them once.`);
  return decided(exercise, fromJson(places));
}

function judgeTask(exercise, traits) {
  if (ruleHolds(exercise.done, jsonNames(traits))) return [true, exercise.said];
  return [false, OPEN];
}

function completed(exercise, gaps) {
  const texts = gaps.map((gap, i) => {
    const where = gaps.length > 1 ? `Gap ${i + 1}: ` : "";
    if (isEmpty(gap)) throw new LanguageError(`${where}There is nothing here yet. ${mayWrite(exercise)}`);
    try {
      const known = (name) => exercise.names.includes(name) || isConstant(name);
      const unknown = freeNames(gap).find((name) => !known(name));
      if (unknown) throw new LanguageError(`${quoted(unknown)} is not known here.`);
    } catch (error) {
      if (!(error instanceof LanguageError)) throw error;
      throw new LanguageError(`${where}${error.message} ${mayWrite(exercise)}`);
    }
    return `(${gap})`;
  });
  return readFunction(filledCode(exercise, texts));
}

function judgeFillIn(exercise, answer) {
  if (isEmpty(answer) || answer.every(isEmpty)) return [false, OPEN];
  const count = exercise.pieces.length - 1;
  if (answer.length !== count) throw new LanguageError(`There are ${count} gaps, got ${answer.length} texts.`);
  const read = completed(exercise, answer);
  const found = exercise.cases.map(({ given }) => {
    try {
      return resultOf(read, fromJson(given));
    } catch (error) {
      if (error instanceof LanguageError) return error;
      throw error;
    }
  });
  return judgedOutputs(exercise, found);
}

function judgedOutputs(exercise, found) {
  const { cases, hints, parameters, tolerance } = exercise;
  const fits = (value, wanted) => {
    const broken = value instanceof LanguageError;
    if (broken || wanted === null) return broken && wanted === null;
    return agree(value, fromJson(wanted), tolerance);
  };
  const failed = cases.findIndex(({ right }, i) => !fits(found[i], right));
  if (failed < 0) return [true, "Right."];
  const value = found[failed];
  const given = parameters.map((name, i) => [name, fromJson(cases[failed].given[i])]);
  const right = fromJson(cases[failed].right);
  const broken = value instanceof LanguageError;
  const names = namesOf(exercise, broken ? [] : value, right, Object.fromEntries(given));
  const matches = ({ when, outputs }) =>
    when ? !broken && ruleHolds(when, names) : outputs.every((output, i) => fits(found[i], output));
  const hint = hints.find(matches);
  if (hint) return [false, filledText(hint.said, names)];
  const where = given.map(([name, one]) => `${name} = ${showValue(one)}`).join(", ");
  if (broken) return [false, `For ${where}: ${value.message}`];
  if (exercise.otherwise && kindOfValue(value) === kindOfValue(right))
    return [false, filledText(exercise.otherwise, names)];
  return [false, `For ${where} it gives ${showValue(value)}, and it should give ${showValue(right)}.`];
}

function kindOfValue(value) {
  return Array.isArray(value) ? "list" : typeof value === "string" ? "text" : "number";
}

const JUDGES = {
  number: judgeNumber,
  numbers: judgeNumbers,
  set: judgeSet,
  expression: judgeExpression,
  choice: judgeChoice,
  bet: judgeChoice,
  order: judgeOrder,
  task: judgeTask,
  "fill-in": judgeFillIn,
};
