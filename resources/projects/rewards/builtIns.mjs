// Generated from src/rl/environments by scripts/projects/builtInRewards.ts. Not to be edited by hand.
// src/shared/errors.ts
/** One clear sentence in `message`. */
var AppError = class extends Error {
	code;
	hint;
	command;
	constructor(code, message, hint, cause) {
		super(message, cause === void 0 ? void 0 : { cause });
		this.name = "AppError";
		this.code = code;
		this.hint = typeof hint === "object" ? hint.text : hint;
		this.command = typeof hint === "object" ? hint.command : void 0;
	}
};
// src/rl/rewards.ts
/** Makes a batch function of one for single completions; what it throws is that completion's answer. */
var eachSample = (score) => (inputs) => inputs.map((input) => {
	try {
		return { value: score(input) };
	} catch (error) {
		return faultOf(error);
	}
});
var faultOf = (error) => ({ failure: { message: error instanceof Error ? error.message : String(error) } });
// src/shared/config/range.ts
/** What no other number is beyond, either way, where its setting does not say less. */
var mostOfASetting = 1e6;
// src/rl/environments/common.ts
var doubt = (setting, message) => ({
	setting,
	message
});
/** Keeps the settings' types while the file defines its function. */
var defineReward = (reward) => reward;
/** Only settings that `what` has, each of its default's type. Errors: AppError 'config/invalid'. */
function requireSettings(what, defaults, changed) {
	for (const [name, value] of Object.entries(changed)) {
		const expected = Object.hasOwn(defaults, name) ? typeof defaults[name] : null;
		if (expected === typeof value && (typeof value !== "number" || Math.abs(value) <= 1e6)) continue;
		const names = Object.keys(defaults).join(", ") || "none";
		const limits = expected === typeof value ? ` from ${-mostOfASetting} to ${mostOfASetting}` : "";
		throw new AppError("config/invalid", `The ${what} ${expected === null ? `has no setting “${name}”` : `needs a ${expected}${limits} for “${name}”, got ${JSON.stringify(value)}`}.`, `Its settings: ${names}.`);
	}
}
/** The expected answer of a row as trimmed text; `null` where the column is missing or holds no text or number. */
function expectedText(row, column) {
	const value = row[column];
	if (typeof value === "string") return value.trim();
	return typeof value === "number" || typeof value === "boolean" ? String(value) : null;
}
/** Equal spellings of a text: Unicode composed, runs of white space as one space, case folded if asked. */
function normalized(text, ignoreCase) {
	const tidy = text.normalize("NFC").trim().replaceAll(/\s+/g, " ");
	return ignoreCase ? tidy.toLowerCase() : tidy;
}
// src/rl/environments/textRewards.ts
/** 1 when the completion is the expected answer and nothing else, up to white space. */
var exactMatch = defineReward({
	id: "exact-match",
	description: "1 if the completion is exactly the answer of the row, else 0.",
	settings: {
		column: "answer",
		ignoreCase: false
	},
	create: ({ column, ignoreCase }) => ({ completion, row }) => {
		const expected = expectedText(row, column);
		if (expected === null) return null;
		return normalized(completion, ignoreCase) === normalized(expected, ignoreCase) ? 1 : 0;
	}
});
/** 1 when the expected answer stands somewhere in the completion as whole words: 4 is not contained in 42. */
var contains = defineReward({
	id: "contains",
	description: "1 if the answer of the row appears in the completion as whole words, else 0.",
	settings: {
		column: "answer",
		ignoreCase: true
	},
	create: ({ column, ignoreCase }) => ({ completion, row }) => {
		const expected = expectedText(row, column);
		if (expected === null || expected === "") return null;
		return holdsWords(normalized(completion, ignoreCase), normalized(expected, ignoreCase)) ? 1 : 0;
	}
});
var wordCharacter = /[\p{L}\p{N}_]/u;
function holdsWords(text, words) {
	const breaksWord = (inside, outside) => wordCharacter.test(inside) && wordCharacter.test(outside);
	for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + 1)) {
		const after = at + words.length;
		if (breaksWord(words.at(0) ?? "", text.charAt(at - 1))) continue;
		if (breaksWord(words.at(-1) ?? "", text.charAt(after))) continue;
		return true;
	}
	return false;
}
/**
* 1 when the last number of the completion equals the last number of the expected answer. The last, because reasoning
* comes before the result, in completions as in reference solutions (“… #### 42”).
*/
var numericEquality = defineReward({
	id: "numeric-equality",
	description: "1 if the last number of the completion equals the number in the answer of the row, else 0.",
	settings: {
		column: "answer",
		tolerance: 1e-6
	},
	create({ column, tolerance }) {
		if (tolerance < 0) throw new AppError("config/invalid", `The tolerance of numeric-equality is at least 0, got ${tolerance}.`);
		return ({ completion, row }) => {
			const expected = lastNumber(expectedText(row, column) ?? "");
			if (expected === null) return null;
			const found = lastNumber(completion);
			if (found === null) return 0;
			return Math.abs(found - expected) <= tolerance * Math.max(1, Math.abs(expected)) ? 1 : 0;
		};
	},
	doubts: ({ tolerance }) => tolerance > .1 ? [doubt("tolerance", `${tolerance}; numbers that are ${100 * tolerance} % off count as right.`)] : []
});
/** Digits with optional sign, thousands commas, decimals and exponent. A sign counts only where no word precedes it. */
var numberPattern = /(?:(?<![\p{L}\p{N}_)])[-−])?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:[eE][-+]?\d{1,3}(?!\d))?/gu;
function lastNumber(text) {
	const found = text.match(numberPattern)?.at(-1);
	if (found === void 0) return null;
	const value = Number(found.replaceAll(",", "").replace("−", "-"));
	return Number.isFinite(value) ? value : null;
}
/** 1 when the whole completion, without surrounding white space, has the form of a regular expression. */
var format = defineReward({
	id: "format",
	description: "1 if the whole completion matches a regular expression, else 0.",
	settings: {
		pattern: "<think>.*</think>\\s*<answer>.*</answer>",
		ignoreCase: false
	},
	create({ pattern, ignoreCase }) {
		const expression = compile(pattern, ignoreCase);
		return ({ completion }) => expression.test(completion.trim()) ? 1 : 0;
	}
});
function compile(pattern, ignoreCase) {
	try {
		return new RegExp(`^(?:${pattern})$`, ignoreCase ? "isu" : "su");
	} catch (error) {
		throw new AppError("config/invalid", `The pattern of the format reward is not valid: ${error instanceof Error ? error.message : String(error)}.`, void 0, error);
	}
}
/**
* 0 up to `free` characters, then falling evenly to −1 at `limit`, and −1 beyond. The soft overlong punishment of
* DAPO (Yu et al. 2025, arXiv:2503.14476, eq. 13), over characters instead of tokens.
*/
var lengthPenalty = defineReward({
	id: "length-penalty",
	description: "0 for short completions, falling to −1 for long ones (in characters).",
	settings: {
		free: 400,
		limit: 800
	},
	create({ free, limit }) {
		if (!(free >= 0 && limit > free)) throw new AppError("config/invalid", `The length penalty needs 0 ≤ free < limit, got ${free} and ${limit}.`);
		return ({ completion }) => {
			const excess = ([...completion].length - free) / (limit - free);
			return excess <= 0 ? 0 : -Math.min(1, excess);
		};
	}
});
/**
* The rewards of the bundled exercises (sorting, reversing, finding the largest, adding, counting). The starter model
* knows how to do them, but often answers in words, with small talk or carelessly: the bare right digits earn it all.
*/
var starterCorrect = defineReward({
	id: "starter-correct",
	description: "Starter exercises: 1 if the completion is the right answer and nothing else.",
	settings: { column: "answer" },
	create: ({ column }) => ({ completion, row }) => {
		const expected = expectedText(row, column);
		return expected === null ? null : Number(completion.trim() === expected);
	}
});
var starterFormat = defineReward({
	id: "starter-format",
	description: "Starter exercises: 1 if the completion is digits only, separated by single spaces.",
	settings: {},
	create: () => ({ completion }) => Number(/^\d+(?: \d+)*$/.test(completion.trim()))
});
// src/rl/environments/registry.ts
/**
* The built-in reward functions. Reading guide: one file per function or task, each made with `defineReward` of
* `common.ts` and listed here; `../rewards.ts` adds several into one reward.
*/
/** A built-in whose settings' types are known to its own file only. */
var listed = ({ id, description, settings, create, doubts }) => ({
	id,
	description,
	settings,
	create(changed) {
		requireSettings(`reward function “${id}”`, settings, changed);
		return {
			id,
			description,
			score: eachSample(create({
				...settings,
				...changed
			}))
		};
	},
	doubts: (changed) => doubts?.({
		...settings,
		...changed
	}) ?? []
});
/** Everything a picker needs, in its order. */
var builtInRewards = [
	listed(exactMatch),
	listed(contains),
	listed(numericEquality),
	listed(format),
	listed(lengthPenalty),
	listed(starterCorrect),
	listed(starterFormat)
];
/** The reward function called `id`, its defaults replaced by `settings`. Errors: `config/invalid`. */
function builtInReward(id, settings = {}) {
	const found = builtInRewards.find((reward) => reward.id === id);
	if (found !== void 0) return found.create(settings);
	const known = builtInRewards.map((reward) => reward.id).join(", ");
	throw new AppError("config/invalid", `There is no reward function called “${id}”.`, `Choose one of: ${known}.`);
}
export { builtInReward, builtInRewards };
