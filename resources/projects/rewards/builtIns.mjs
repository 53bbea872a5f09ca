// Generated from src/rl/environments/registry.ts by scripts/projects/generated.ts. Not to be edited by hand.
globalThis.process?.platform;
// src/shared/errors.ts
/** An error that a person can cause and fix; `message` says in a sentence what is wrong, `hint` what to do. */
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
var errorWith = (code) => (...told) => new AppError(code, ...told);
/** The errors that are made in most places. */
var invalidConfig = errorWith("config/invalid");
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
// node_modules/zod/v4/core/util.js
function joinValues(array, separator = "|") {
	return array.map((val) => stringifyPrimitive(val)).join(separator);
}
function jsonStringifyReplacer(_, value) {
	if (typeof value === "bigint") return value.toString();
	return value;
}
function nullish(input) {
	return input === null || input === void 0;
}
function cleanRegex(source) {
	const start = source.startsWith("^") ? 1 : 0;
	const end = source.endsWith("$") ? source.length - 1 : source.length;
	return source.slice(start, end);
}
function floatSafeRemainder(val, step) {
	const ratio = val / step;
	const roundedRatio = Math.round(ratio);
	const tolerance = 4 * Number.EPSILON * Math.max(Math.abs(ratio), 1);
	if (Math.abs(ratio - roundedRatio) < tolerance) return 0;
	return ratio - roundedRatio;
}
function assignProp(target, prop, value) {
	Object.defineProperty(target, prop, {
		value,
		writable: true,
		enumerable: true,
		configurable: true
	});
}
/**
* Whichever object a def's `shape` currently answers from: the one the caller passed until the first read, the frozen copy after it.
*
* Its keys and descriptors read without invoking anything, which is what lets a discriminated union check its discriminator, and the cycle walk read a shape, without resolving a getter that references the schema being constructed. A def that answers `shape` from an accessor of its own has none.
*/
function rawShape(def) {
	const desc = Object.getOwnPropertyDescriptor(def, "shape");
	return desc?.get ? desc.get.raw : desc?.value;
}
function mergeDefs(...defs) {
	const mergedDescriptors = {};
	for (const def of defs) {
		const descriptors = Object.getOwnPropertyDescriptors(def);
		Object.assign(mergedDescriptors, descriptors);
	}
	return Object.defineProperties({}, mergedDescriptors);
}
function slugify(input) {
	return input.toLowerCase().trim().replace(/[^\w\s-]/g, "").replace(/[\s_-]+/g, "-").replace(/^-+|-+$/g, "");
}
var captureStackTrace = "captureStackTrace" in Error ? Error.captureStackTrace : (..._args) => {};
function isObject(data) {
	return typeof data === "object" && data !== null && !Array.isArray(data);
}
function isPlainObject(o) {
	if (isObject(o) === false) return false;
	const ctor = o.constructor;
	if (ctor === void 0) return true;
	if (typeof ctor !== "function") return true;
	const prot = ctor.prototype;
	if (isObject(prot) === false) return false;
	if (Object.prototype.hasOwnProperty.call(prot, "isPrototypeOf") === false) return false;
	return true;
}
function shallowClone(o) {
	if (isPlainObject(o)) return { ...o };
	if (Array.isArray(o)) return [...o];
	if (o instanceof Map) return new Map(o);
	if (o instanceof Set) return new Set(o);
	return o;
}
function escapeRegex(str) {
	return str.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
function clone(inst, def, params) {
	const cl = new inst._zod.constr(def ?? inst._zod.def);
	if (!def || params?.parent) cl._zod.parent = inst;
	return cl;
}
function normalizeParams(_params) {
	const params = _params;
	if (!params) return {};
	if (typeof params === "string") return { error: () => params };
	if (params?.message !== void 0) {
		if (params?.error !== void 0) throw new Error("Cannot specify both `message` and `error` params");
		params.error = params.message;
	}
	delete params.message;
	if (typeof params.error === "string") return {
		...params,
		error: () => params.error
	};
	return params;
}
function stringifyPrimitive(value) {
	if (typeof value === "bigint") return value.toString() + "n";
	if (typeof value === "string") return `"${value}"`;
	return `${value}`;
}
var NUMBER_FORMAT_RANGES = /*@__PURE__*/ (() => ({
	safeint: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
	int32: [-2147483648, 2147483647],
	uint32: [0, 4294967295],
	float32: [-34028234663852886e22, 34028234663852886e22],
	float64: [-Number.MAX_VALUE, Number.MAX_VALUE]
}))();
var BIGINT_FORMAT_RANGES = {
	int64: [/* @__PURE__*/ BigInt("-9223372036854775808"), /* @__PURE__*/ BigInt("9223372036854775807")],
	uint64: [/* @__PURE__*/ BigInt(0), /* @__PURE__*/ BigInt("18446744073709551615")]
};
function aborted(x, startIndex = 0) {
	if (x.aborted === true) return true;
	for (let i = startIndex; i < x.issues.length; i++) if (x.issues[i]?.continue !== true) return true;
	return false;
}
function explicitlyAborted(x, startIndex = 0) {
	if (x.aborted === true) return true;
	for (let i = startIndex; i < x.issues.length; i++) if (x.issues[i]?.continue === false) return true;
	return false;
}
function prefixIssues(path, issues) {
	return issues.map((iss) => {
		var _a;
		(_a = iss).path ?? (_a.path = []);
		iss.path.unshift(path);
		return iss;
	});
}
function unwrapMessage(message) {
	return typeof message === "string" ? message : message?.message;
}
/** The leading size checks of `defChecks` that set an upper bound, each paired with it. */
function sizeCaps(defChecks) {
	const caps = [];
	for (const ch of defChecks ?? []) {
		const d = ch._zod.def;
		if (!/_(length|size)$|_equals$/.test(d.check)) break;
		const max = d.maximum ?? d.length ?? d.size;
		if (max >= 0) caps.push([max, ch]);
	}
	return caps;
}
function attachSchema(issues, start, inst) {
	var _a;
	for (let i = start; i < issues.length; i++) (_a = issues[i]).schema ?? (_a.schema = inst);
}
function finalizeIssue(iss, ctx, config) {
	var _a;
	const traits = iss.inst?._zod?.traits;
	if (traits?.has("$ZodType")) {
		if (traits.has("$ZodCheck")) (_a = iss).schema ?? (_a.schema = iss.inst);
		else iss.schema = iss.inst;
	}
	const schemaError = iss.schema !== iss.inst ? iss.schema?._zod.def?.error : void 0;
	const message = iss.message ? iss.message : unwrapMessage(iss.inst?._zod.def?.error?.(iss)) ?? unwrapMessage(schemaError?.(iss)) ?? unwrapMessage(ctx?.error?.(iss)) ?? unwrapMessage(config.customError?.(iss)) ?? unwrapMessage(config.localeError?.(iss)) ?? "Invalid input";
	const full = {};
	for (const k of Object.keys(iss)) {
		if (k === "inst" || k === "schema" || k === "continue" || k === "input" || k === "__proto__") continue;
		full[k] = iss[k];
	}
	full.path ?? (full.path = []);
	full.message = message;
	if (ctx?.reportInput) full.input = iss.input;
	return full;
}
var highSurrogate = /[\uD800-\uDBFF]/;
function codePointLength(str) {
	const units = str.length;
	if (!highSurrogate.test(str)) return units;
	let count = units;
	for (let i = 0; i < units - 1; i++) if ((str.charCodeAt(i) & 64512) === 55296 && (str.charCodeAt(i + 1) & 64512) === 56320) {
		count--;
		i++;
	}
	return count;
}
function getLengthableOrigin(input) {
	if (Array.isArray(input)) return "array";
	if (typeof input === "string") return "string";
	return "unknown";
}
function parsedType(data) {
	const t = typeof data;
	switch (t) {
		case "number": return Number.isNaN(data) ? "nan" : "number";
		case "object": {
			if (data === null) return "null";
			if (Array.isArray(data)) return "array";
			const obj = data;
			if (obj && Object.getPrototypeOf(obj) !== Object.prototype && "constructor" in obj && obj.constructor) return obj.constructor.name;
		}
	}
	return t;
}
function issue(...args) {
	const [iss, input, inst] = args;
	if (typeof iss === "string") return {
		message: iss,
		code: "custom",
		input,
		inst
	};
	return { ...iss };
}
/**
* Installs a trait's members on its prototype. Each value builds that member for the instance on first read; the built value shadows the accessor as an own property, so a detached `const { parse } = schema` keeps working.
*
* Call this from a `proto` initializer, which runs once per prototype — never per instance.
*/
function members(proto, table) {
	for (const key in table) {
		const desc = Object.getOwnPropertyDescriptor(table, key);
		if (desc.get) Object.defineProperty(proto, key, {
			...desc,
			enumerable: false
		});
		else defineBound(proto, key, desc.value);
	}
}
/** Shadows a prototype member with an own value, so a getter that builds from the instance runs once. */
function own(inst, key, value, enumerable = true) {
	Object.defineProperty(inst, key, {
		configurable: true,
		writable: true,
		enumerable,
		value
	});
	return value;
}
/** Like {@link own}, for a member that was never an own data property and has to stay out of `Object.keys`. */
function hide(inst, key, value) {
	return own(inst, key, value, false);
}
/** Adds members a table derives from the instance: each builds on first read and shadows as own data, and assignment shadows the same way, as when these were own properties. */
/* @__NO_SIDE_EFFECTS__ */
function derived(computes, table) {
	for (const key in computes) {
		const compute = computes[key];
		Object.defineProperty(table, key, {
			configurable: true,
			enumerable: true,
			get() {
				return own(this, key, compute(this));
			},
			set(value) {
				own(this, key, value);
			}
		});
	}
	return table;
}
function defineBound(proto, key, fn) {
	Object.defineProperty(proto, key, {
		configurable: true,
		get() {
			return this == null ? fn : own(this, key, fn.bind(this));
		},
		set(value) {
			own(this, key, value);
		}
	});
}
var installing;
var broke = false;
var breaker = {
	configurable: true,
	get() {
		broke = true;
	}
};
/**
* Installs a lazily-derived internal on the `_zod` prototype of `inst`'s
* constructor, computed from the internals object itself and cached there on
* first read. One accessor per constructor rather than one per instance.
*/
function defineLazyInternal(inst, key, compute) {
	const proto = Object.getPrototypeOf(inst._zod);
	if (key in proto && installing !== inst._zod) {
		installing = void 0;
		return;
	}
	installing = inst._zod;
	Object.defineProperty(proto, key, {
		configurable: true,
		get() {
			Object.defineProperty(this, key, breaker);
			const outer = broke;
			broke = false;
			try {
				const value = compute(this);
				if (broke) delete this[key];
				else Object.defineProperty(this, key, {
					configurable: true,
					writable: true,
					value
				});
				broke = broke || outer;
				return value;
			} catch (err) {
				delete this[key];
				broke = broke || outer;
				throw err;
			}
		},
		set(value) {
			Object.defineProperty(this, key, {
				configurable: true,
				writable: true,
				value
			});
		}
	});
}
/** Marks the thunk `_catch` synthesises for a constant catch value. `Function.length` cannot tell that thunk from a user callback — rest and defaulted parameters both report arity 0 — and a user callback reads `ctx.error`, whose issues only finalize correctly against the caller's per-parse error map. Provenance can say what arity cannot. A plain string key rather than `Symbol.for`, whose call at module scope no bundler can prove pure — the same shape that anchored `urlCanParse` into every build. */
var CONSTANT_CATCH = "~constantCatch";
/** Wraps a constant catch value in a thunk tagged with {@link CONSTANT_CATCH}. */
function constantCatch(value) {
	const fn = () => value;
	fn[CONSTANT_CATCH] = true;
	return fn;
}
// node_modules/zod/v4/core/core.js
var _a$1;
var _zodDesc = {
	value: void 0,
	enumerable: false
};
var _E = "captureStackTrace" in Error ? Error : null;
function newError(Definition) {
	const E = _E;
	if (E) {
		const saved = E.stackTraceLimit;
		if (typeof saved === "number") {
			try {
				E.stackTraceLimit = 0;
			} catch {
				_E = null;
				return new Definition();
			}
			try {
				return new Definition();
			} finally {
				E.stackTraceLimit = saved;
			}
		}
	}
	return new Definition();
}
/* @__NO_SIDE_EFFECTS__ */
function $constructor(name, initializer, proto, params) {
	const zodProto = {};
	function Internals(def) {
		this.def = def;
		this.constr = _;
		this.traits = /* @__PURE__ */ new Set();
	}
	Internals.prototype = zodProto;
	const protoMembers = proto;
	const initialized = protoMembers && /* @__PURE__ */ new WeakSet();
	function init(inst, def) {
		if (!inst._zod) {
			_zodDesc.value = new Internals(def);
			try {
				Object.defineProperty(inst, "_zod", _zodDesc);
			} finally {
				_zodDesc.value = void 0;
			}
		} else if (inst._zod.traits.has(name)) return;
		inst._zod.traits.add(name);
		initializer(inst, def);
		if (initialized) {
			const own = Object.getPrototypeOf(inst);
			const ctorProto = inst._zod.constr.prototype;
			let up = own;
			while (up && up !== ctorProto) up = Object.getPrototypeOf(up);
			const target = up ?? own;
			if (!initialized.has(target)) {
				initialized.add(target);
				members(target, protoMembers);
			}
		}
		const proto = _.prototype;
		for (const k in proto) {
			if (!Object.prototype.hasOwnProperty.call(proto, k)) continue;
			if (!(k in inst)) inst[k] = proto[k].bind(inst);
		}
	}
	const Parent = params?.Parent ?? Object;
	class Definition extends Parent {}
	Object.defineProperty(Definition, "name", { value: name });
	function _(def) {
		const inst = params?.Parent ? newError(Definition) : this;
		init(inst, def);
		const deferred = inst._zod.deferred;
		if (deferred) {
			for (const fn of deferred) fn();
			inst._zod.deferred = void 0;
		}
		const pp = globalThis.__zod_globalConfig?.postProcessor;
		if (pp) pp(inst);
		return inst;
	}
	Object.defineProperty(_, "init", { value: init });
	Object.defineProperty(_, Symbol.hasInstance, { value: (inst) => {
		if (params?.Parent && inst instanceof params.Parent) return true;
		return inst?._zod?.traits?.has(name);
	} });
	Object.defineProperty(_, "name", { value: name });
	return _;
}
var $ZodAsyncError = class extends Error {
	constructor() {
		super(`Encountered Promise during synchronous parse. Use .parseAsync() instead.`);
	}
};
var $ZodEncodeError = class extends Error {
	constructor(name) {
		super(`Encountered unidirectional transform during encode: ${name}`);
		this.name = "ZodEncodeError";
	}
};
(_a$1 = globalThis).__zod_globalConfig ?? (_a$1.__zod_globalConfig = {});
var globalConfig = globalThis.__zod_globalConfig;
function config(newConfig) {
	if (newConfig) Object.assign(globalConfig, newConfig);
	return globalConfig;
}
// node_modules/zod/v4/core/errors.js
function _getMessage() {
	const internals = this._zod;
	internals.message ?? (internals.message = JSON.stringify(internals.def, jsonStringifyReplacer, 2));
	return internals.message;
}
function _setMessage(value) {
	this._zod.message = value;
}
var _messageDesc = {
	get: _getMessage,
	set: _setMessage,
	enumerable: true,
	configurable: true
};
var _issuesDesc = {
	value: void 0,
	enumerable: false
};
var _installedToString = /* @__PURE__ */ new WeakSet([Object.prototype, Error.prototype]);
var initializer$1 = (inst, def) => {
	inst.name = "$ZodError";
	_issuesDesc.value = def;
	Object.defineProperty(inst, "issues", _issuesDesc);
	_issuesDesc.value = void 0;
	Object.defineProperty(inst, "message", _messageDesc);
	const proto = Object.getPrototypeOf(inst);
	if (!_installedToString.has(proto)) {
		_installedToString.add(proto);
		Object.defineProperty(proto, "toString", {
			configurable: true,
			enumerable: false,
			get() {
				const value = () => this.message;
				Object.defineProperty(this, "toString", {
					value,
					configurable: true,
					writable: true
				});
				return value;
			},
			set(value) {
				Object.defineProperty(this, "toString", {
					value,
					configurable: true,
					writable: true
				});
			}
		});
	}
};
var $ZodError = /* @__PURE__ */ $constructor("$ZodError", initializer$1);
/** Get-or-create `obj[key]` as an own data property. A path segment naming an inherited member
* ("toString", "constructor") would otherwise read through to the prototype, and assigning
* "__proto__" would hit the setter instead of creating a key. */
function node(obj, key, make) {
	if (!Object.prototype.hasOwnProperty.call(obj, key)) {
		if (key === "__proto__") Object.defineProperty(obj, key, {
			value: make(),
			writable: true,
			enumerable: true,
			configurable: true
		});
		else obj[key] = make();
	}
	return obj[key];
}
function flattenError(error, mapper = (issue) => issue.message) {
	const fieldErrors = {};
	const formErrors = [];
	for (const sub of error.issues) if (sub.path.length > 0) node(fieldErrors, sub.path[0], () => []).push(mapper(sub));
	else formErrors.push(mapper(sub));
	return {
		formErrors,
		fieldErrors
	};
}
function formatError(error, mapper = (issue) => issue.message) {
	const fieldErrors = { _errors: [] };
	const processError = (error, path = []) => {
		for (const issue of error.issues) if (issue.code === "invalid_union" && issue.errors.length) issue.errors.map((issues) => processError({ issues }, [...path, ...issue.path]));
		else if (issue.code === "invalid_key") processError({ issues: issue.issues }, [...path, ...issue.path]);
		else if (issue.code === "invalid_element") processError({ issues: issue.issues }, [...path, ...issue.path]);
		else {
			const fullpath = [...path, ...issue.path];
			if (fullpath.length === 0) fieldErrors._errors.push(mapper(issue));
			else {
				let curr = fieldErrors;
				let i = 0;
				while (i < fullpath.length) {
					const el = fullpath[i];
					const terminal = i === fullpath.length - 1;
					if (el === "_errors") {
						if (terminal) curr._errors.push(mapper(issue));
						i++;
						continue;
					}
					if (!Object.prototype.hasOwnProperty.call(curr, el)) Object.defineProperty(curr, el, {
						value: { _errors: [] },
						enumerable: true,
						writable: true,
						configurable: true
					});
					const node = curr[el];
					if (terminal) node._errors.push(mapper(issue));
					curr = node;
					i++;
				}
			}
		}
	};
	processError(error);
	return fieldErrors;
}
// node_modules/zod/v4/core/parse.js
function finalizeParams(callee, params) {
	return {
		callee: params?.callee ?? callee,
		Err: params?.Err
	};
}
var _parse = (_Err) => {
	const fn = (schema, value, _ctx, _params) => {
		const ctx = _ctx ? {
			..._ctx,
			async: false
		} : { async: false };
		const result = schema._zod.run({
			value,
			issues: []
		}, ctx);
		if (result instanceof Promise) throw new $ZodAsyncError();
		if (result.issues.length) {
			const e = new ((_params?.Err) ?? _Err)(result.issues.map((iss) => finalizeIssue(iss, ctx, config())));
			captureStackTrace(e, _params?.callee ?? fn);
			throw e;
		}
		return result.value;
	};
	return fn;
};
var _parseAsync = (_Err) => {
	const fn = async (schema, value, _ctx, params) => {
		const ctx = _ctx ? {
			..._ctx,
			async: true
		} : { async: true };
		let result = schema._zod.run({
			value,
			issues: []
		}, ctx);
		if (result instanceof Promise) result = await result;
		if (result.issues.length) {
			const e = new ((params?.Err) ?? _Err)(result.issues.map((iss) => finalizeIssue(iss, ctx, config())));
			captureStackTrace(e, params?.callee ?? fn);
			throw e;
		}
		return result.value;
	};
	return fn;
};
var _safeParse = (_Err) => (schema, value, _ctx) => {
	const ctx = _ctx ? {
		..._ctx,
		async: false
	} : { async: false };
	const result = schema._zod.run({
		value,
		issues: []
	}, ctx);
	if (result instanceof Promise) throw new $ZodAsyncError();
	return result.issues.length ? failure(_Err, result.issues, ctx) : {
		success: true,
		data: result.value
	};
};
function failure(Err, issues, ctx) {
	let error;
	return {
		success: false,
		get error() {
			if (!error) {
				error = new Err(issues.map((iss) => finalizeIssue(iss, ctx, config())));
				issues = void 0;
				ctx = void 0;
			}
			return error;
		},
		set error(e) {
			error = e;
			issues = void 0;
			ctx = void 0;
		}
	};
}
var _safeParseAsync = (_Err) => async (schema, value, _ctx) => {
	const ctx = _ctx ? {
		..._ctx,
		async: true
	} : { async: true };
	let result = schema._zod.run({
		value,
		issues: []
	}, ctx);
	if (result instanceof Promise) result = await result;
	return result.issues.length ? failure(_Err, result.issues, ctx) : {
		success: true,
		data: result.value
	};
};
var COMPILE_INVALID = /* @__PURE__ */ Symbol.for("zod.compile.invalid");
var COMPILE_FALLBACK = /* @__PURE__ */ Symbol.for("zod.compile.fallback");
var validate = ((schema, value, _ctx) => {
	const validator = schema._zod.bag.validator;
	if (validator !== void 0) {
		if (validator(value) !== COMPILE_INVALID) return true;
		if (validator.definite === true && _ctx === void 0) return false;
	}
	return validateFallback(schema, value, _ctx);
});
function validateFallback(schema, value, _ctx) {
	const ctx = _ctx ? {
		..._ctx,
		async: false,
		abortEarly: true
	} : {
		async: false,
		abortEarly: true
	};
	const fallbackRun = schema._zod.bag.fallbackRun;
	let result;
	if (fallbackRun) {
		ctx[COMPILE_FALLBACK] = true;
		result = fallbackRun({
			value,
			issues: []
		}, ctx);
	} else result = schema._zod.run({
		value,
		issues: []
	}, ctx);
	if (result instanceof Promise) throw new $ZodAsyncError();
	return result.issues.length === 0;
}
var validateAsync$1 = async (schema, value, _ctx) => {
	const ctx = _ctx ? {
		..._ctx,
		async: true,
		abortEarly: true
	} : {
		async: true,
		abortEarly: true
	};
	let result = schema._zod.run({
		value,
		issues: []
	}, ctx);
	if (result instanceof Promise) result = await result;
	return result.issues.length === 0;
};
var _encode = (_Err) => {
	const parse = _parse(_Err);
	const fn = (schema, value, _ctx, _params) => {
		const ctx = _ctx ? {
			..._ctx,
			direction: "backward"
		} : { direction: "backward" };
		return parse(schema, value, ctx, finalizeParams(fn, _params));
	};
	return fn;
};
var _decode = (_Err) => {
	const parse = _parse(_Err);
	const fn = (schema, value, _ctx, _params) => {
		return parse(schema, value, _ctx, finalizeParams(fn, _params));
	};
	return fn;
};
var _encodeAsync = (_Err) => {
	const parseAsync = _parseAsync(_Err);
	const fn = async (schema, value, _ctx, _params) => {
		const ctx = _ctx ? {
			..._ctx,
			direction: "backward"
		} : { direction: "backward" };
		return await parseAsync(schema, value, ctx, finalizeParams(fn, _params));
	};
	return fn;
};
var _decodeAsync = (_Err) => {
	const parseAsync = _parseAsync(_Err);
	const fn = async (schema, value, _ctx, _params) => {
		return await parseAsync(schema, value, _ctx, finalizeParams(fn, _params));
	};
	return fn;
};
var _safeEncode = (_Err) => (schema, value, _ctx) => {
	const ctx = _ctx ? {
		..._ctx,
		direction: "backward"
	} : { direction: "backward" };
	return _safeParse(_Err)(schema, value, ctx);
};
var _safeDecode = (_Err) => (schema, value, _ctx) => {
	return _safeParse(_Err)(schema, value, _ctx);
};
var _safeEncodeAsync = (_Err) => async (schema, value, _ctx) => {
	const ctx = _ctx ? {
		..._ctx,
		direction: "backward"
	} : { direction: "backward" };
	return _safeParseAsync(_Err)(schema, value, ctx);
};
var _safeDecodeAsync = (_Err) => async (schema, value, _ctx) => {
	return _safeParseAsync(_Err)(schema, value, _ctx);
};
// node_modules/zod/v4/core/regexes.js
/**
* @deprecated CUID v1 is deprecated by its authors due to information leakage
* (timestamps embedded in the id). Use {@link cuid2} instead.
* See https://github.com/paralleldrive/cuid.
*/
var cuid = /^[cC][0-9a-z]{6,}$/;
var cuid2 = /^[0-9a-z]+$/;
var ulid = /^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$/;
var xid = /^[0-9a-vA-V]{20}$/;
var ksuid = /^[A-Za-z0-9]{27}$/;
var nanoid = /^[a-zA-Z0-9_-]{21}$/;
function nanoidOfLength(length) {
	return new RegExp(`^[a-zA-Z0-9_-]{${length}}$`);
}
/** ISO 8601-1 duration regex. Does not support the 8601-2 extensions like negative durations or fractional/negative components. */
var duration = /^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$/;
/** A regex for any UUID-like identifier: 8-4-4-4-12 hex pattern */
var guid = /^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})$/;
/** Returns a regex for validating an RFC 9562/4122 UUID.
*
* @param version Optionally specify a version 1-8. If no version is specified, all versions are supported. */
var uuid = (version) => {
	if (!version) return /^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|00000000-0000-0000-0000-000000000000|ffffffff-ffff-ffff-ffff-ffffffffffff)$/;
	return new RegExp(`^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-${version}[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12})$`);
};
/** Practical email validation */
var email = /^(?:[A-Za-z0-9_'+\-]+\.)*[A-Za-z0-9_'+\-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$/;
var _emoji$1 = `^(?=[\\s\\S]*[\\p{Extended_Pictographic}\\p{Regional_Indicator}\\u20E3])[\\p{Extended_Pictographic}\\p{Emoji_Component}]+$`;
function emoji() {
	return new RegExp(_emoji$1, "u");
}
var ipv4 = /^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])$/;
var ipv6 = /^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))$/;
var cidrv4 = /^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\/([0-9]|[1-2][0-9]|3[0-2])$/;
var cidrv6 = /^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))\/(12[0-8]|1[01][0-9]|[1-9]?[0-9])$/;
var base64 = /^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$/;
var base64url = /^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2,3})?$/;
var httpProtocol = /^https?$/;
var e164 = /^\+[1-9]\d{6,14}$/;
var dateSource = `(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|(?:02)-(?:0[1-9]|1\\d|2[0-8])))`;
/** Anchors a pattern source. The interpolation lives here rather than at the call site because
* esbuild will not drop a `@__PURE__` call whose own argument interpolates a variable, but it
* will drop `anchor(dateSource)`. Keeping it inline pinned `date` into every bundle. */
function anchor(source) {
	return new RegExp(`^${source}$`);
}
var date$1 = /*@__PURE__*/ anchor(dateSource);
function timeSource(args) {
	const hhmm = `(?:[01]\\d|2[0-3]):[0-5]\\d`;
	return typeof args.precision === "number" ? args.precision === -1 ? `${hhmm}` : args.precision === 0 ? `${hhmm}:[0-5]\\d` : `${hhmm}:[0-5]\\d\\.\\d{${args.precision}}` : args.seconds ? `${hhmm}:[0-5]\\d(?:\\.\\d+)?` : `${hhmm}(?::[0-5]\\d(?:\\.\\d+)?)?`;
}
function time(args) {
	return new RegExp(`^${timeSource(args)}$`);
}
function datetime(args) {
	const opts = ["Z"];
	if (args.offset) opts.push(`([+-](?:[01]\\d|2[0-3]):[0-5]\\d)`);
	const qualified = `${timeSource({
		precision: args.precision,
		seconds: true
	})}(?:${opts.join("|")})`;
	const timeRegex = args.local ? `${qualified}|${timeSource({ precision: args.precision })}` : qualified;
	return new RegExp(`^${dateSource}T(?:${timeRegex})$`);
}
var anyString = /^[\s\S]{0,}$/;
var number$2 = /^-?\d+(?:\.\d+)?$/;
var lowercase = /^[^A-Z]*$/;
var uppercase = /^[^a-z]*$/;
// node_modules/zod/v4/core/checks.js
var $ZodCheck = /*@__PURE__*/ $constructor("$ZodCheck", (inst, def) => {
	var _a;
	inst._zod ?? (inst._zod = {});
	inst._zod.def = def;
	(_a = inst._zod).onattach ?? (_a.onattach = []);
});
/** Default `when` for length-based checks: run only on non-nullish values with a `length`. */
var _whenHasLength = (payload) => {
	const val = payload.value;
	return !nullish(val) && val.length !== void 0;
};
var numericOriginMap = {
	number: "number",
	bigint: "bigint",
	object: "date"
};
var $ZodCheckLessThan = /*@__PURE__*/ $constructor("$ZodCheckLessThan", (inst, def) => {
	$ZodCheck.init(inst, def);
	const origin = numericOriginMap[typeof def.value];
	inst._zod.check = (payload) => {
		if (def.inclusive ? payload.value <= def.value : payload.value < def.value) return;
		payload.issues.push({
			origin: numericOriginMap[typeof payload.value] ?? origin,
			code: "too_big",
			maximum: typeof def.value === "object" ? def.value.getTime() : def.value,
			input: payload.value,
			inclusive: def.inclusive,
			inst,
			continue: !def.abort
		});
	};
});
var $ZodCheckGreaterThan = /*@__PURE__*/ $constructor("$ZodCheckGreaterThan", (inst, def) => {
	$ZodCheck.init(inst, def);
	const origin = numericOriginMap[typeof def.value];
	inst._zod.check = (payload) => {
		if (def.inclusive ? payload.value >= def.value : payload.value > def.value) return;
		payload.issues.push({
			origin: numericOriginMap[typeof payload.value] ?? origin,
			code: "too_small",
			minimum: typeof def.value === "object" ? def.value.getTime() : def.value,
			input: payload.value,
			inclusive: def.inclusive,
			inst,
			continue: !def.abort
		});
	};
});
var $ZodCheckMultipleOf = /*@__PURE__*/ $constructor("$ZodCheckMultipleOf", (inst, def) => {
	$ZodCheck.init(inst, def);
	inst._zod.check = (payload) => {
		if (typeof payload.value !== typeof def.value) throw new Error("Cannot mix number and bigint in multiple_of check.");
		if (typeof payload.value === "bigint" ? def.value !== BigInt(0) && payload.value % def.value === BigInt(0) : floatSafeRemainder(payload.value, def.value) === 0) return;
		payload.issues.push({
			origin: typeof payload.value,
			code: "not_multiple_of",
			divisor: def.value,
			input: payload.value,
			inst,
			continue: !def.abort
		});
	};
});
var $ZodCheckNumberFormat = /*@__PURE__*/ $constructor("$ZodCheckNumberFormat", (inst, def) => {
	$ZodCheck.init(inst, def);
	def.format = def.format || "float64";
	const isInt = def.format?.includes("int");
	const origin = isInt ? "int" : "number";
	const [minimum, maximum] = NUMBER_FORMAT_RANGES[def.format];
	inst._zod.check = (payload) => {
		const input = payload.value;
		if (isInt) {
			if (!Number.isInteger(input)) {
				payload.issues.push({
					expected: origin,
					format: def.format,
					code: "invalid_type",
					continue: false,
					input,
					inst
				});
				return;
			}
			if (!Number.isSafeInteger(input)) {
				if (input > 0) payload.issues.push({
					input,
					code: "too_big",
					maximum: Number.MAX_SAFE_INTEGER,
					note: "Integers must be within the safe integer range.",
					inst,
					origin,
					inclusive: true,
					continue: !def.abort
				});
				else payload.issues.push({
					input,
					code: "too_small",
					minimum: Number.MIN_SAFE_INTEGER,
					note: "Integers must be within the safe integer range.",
					inst,
					origin,
					inclusive: true,
					continue: !def.abort
				});
				return;
			}
		}
		if (input < minimum) payload.issues.push({
			origin: "number",
			input,
			code: "too_small",
			minimum,
			inclusive: true,
			inst,
			continue: !def.abort
		});
		if (input > maximum) payload.issues.push({
			origin: "number",
			input,
			code: "too_big",
			maximum,
			inclusive: true,
			inst,
			continue: !def.abort
		});
	};
});
var $ZodCheckMaxLength = /*@__PURE__*/ $constructor("$ZodCheckMaxLength", (inst, def) => {
	var _a;
	$ZodCheck.init(inst, def);
	(_a = inst._zod.def).when ?? (_a.when = _whenHasLength);
	inst._zod.check = (payload) => {
		const input = payload.value;
		const units = input.length;
		if ((typeof input === "string" && units > def.maximum ? codePointLength(input) : units) <= def.maximum) return;
		const origin = getLengthableOrigin(input);
		payload.issues.push({
			origin,
			code: "too_big",
			maximum: def.maximum,
			inclusive: true,
			input,
			inst,
			continue: !def.abort
		});
	};
});
var $ZodCheckMinLength = /*@__PURE__*/ $constructor("$ZodCheckMinLength", (inst, def) => {
	var _a;
	$ZodCheck.init(inst, def);
	(_a = inst._zod.def).when ?? (_a.when = _whenHasLength);
	inst._zod.check = (payload) => {
		const input = payload.value;
		const units = input.length;
		if ((typeof input === "string" && units >= def.minimum && units < def.minimum * 2 ? codePointLength(input) : units) >= def.minimum) return;
		const origin = getLengthableOrigin(input);
		payload.issues.push({
			origin,
			code: "too_small",
			minimum: def.minimum,
			inclusive: true,
			input,
			inst,
			continue: !def.abort
		});
	};
});
var $ZodCheckLengthEquals = /*@__PURE__*/ $constructor("$ZodCheckLengthEquals", (inst, def) => {
	var _a;
	$ZodCheck.init(inst, def);
	(_a = inst._zod.def).when ?? (_a.when = _whenHasLength);
	inst._zod.check = (payload) => {
		const input = payload.value;
		const units = input.length;
		const length = typeof input === "string" && units >= def.length && units <= def.length * 2 ? codePointLength(input) : units;
		if (length === def.length) return;
		const origin = getLengthableOrigin(input);
		const tooBig = length > def.length;
		payload.issues.push({
			origin,
			...tooBig ? {
				code: "too_big",
				maximum: def.length
			} : {
				code: "too_small",
				minimum: def.length
			},
			inclusive: true,
			exact: true,
			input: payload.value,
			inst,
			continue: !def.abort
		});
	};
});
var $ZodCheckStringFormat = /*@__PURE__*/ $constructor("$ZodCheckStringFormat", (inst, def) => {
	var _a, _b;
	$ZodCheck.init(inst, def);
	if (def.pattern) (_a = inst._zod).check ?? (_a.check = (payload) => {
		def.pattern.lastIndex = 0;
		if (def.pattern.test(payload.value)) return;
		payload.issues.push({
			origin: "string",
			code: "invalid_format",
			format: def.format,
			input: payload.value,
			...def.pattern ? { pattern: def.pattern.toString() } : {},
			inst,
			continue: !def.abort
		});
	});
	else (_b = inst._zod).check ?? (_b.check = () => {});
});
var $ZodCheckRegex = /*@__PURE__*/ $constructor("$ZodCheckRegex", (inst, def) => {
	$ZodCheckStringFormat.init(inst, def);
	inst._zod.check = (payload) => {
		def.pattern.lastIndex = 0;
		if (def.pattern.test(payload.value)) return;
		payload.issues.push({
			origin: "string",
			code: "invalid_format",
			format: "regex",
			input: payload.value,
			pattern: def.pattern.toString(),
			inst,
			continue: !def.abort
		});
	};
});
var $ZodCheckLowerCase = /*@__PURE__*/ $constructor("$ZodCheckLowerCase", (inst, def) => {
	def.pattern ?? (def.pattern = lowercase);
	$ZodCheckStringFormat.init(inst, def);
});
var $ZodCheckUpperCase = /*@__PURE__*/ $constructor("$ZodCheckUpperCase", (inst, def) => {
	def.pattern ?? (def.pattern = uppercase);
	$ZodCheckStringFormat.init(inst, def);
});
var $ZodCheckIncludes = /*@__PURE__*/ $constructor("$ZodCheckIncludes", (inst, def) => {
	$ZodCheck.init(inst, def);
	const escapedRegex = escapeRegex(def.includes);
	def.pattern = new RegExp(typeof def.position === "number" ? `^.{${def.position},}${escapedRegex}` : escapedRegex);
	inst._zod.check = (payload) => {
		if (payload.value.includes(def.includes, def.position)) return;
		payload.issues.push({
			origin: "string",
			code: "invalid_format",
			format: "includes",
			includes: def.includes,
			input: payload.value,
			inst,
			continue: !def.abort
		});
	};
});
var $ZodCheckStartsWith = /*@__PURE__*/ $constructor("$ZodCheckStartsWith", (inst, def) => {
	$ZodCheck.init(inst, def);
	const pattern = new RegExp(`^${escapeRegex(def.prefix)}.*`);
	def.pattern ?? (def.pattern = pattern);
	inst._zod.check = (payload) => {
		if (payload.value.startsWith(def.prefix)) return;
		payload.issues.push({
			origin: "string",
			code: "invalid_format",
			format: "starts_with",
			prefix: def.prefix,
			input: payload.value,
			inst,
			continue: !def.abort
		});
	};
});
var $ZodCheckEndsWith = /*@__PURE__*/ $constructor("$ZodCheckEndsWith", (inst, def) => {
	$ZodCheck.init(inst, def);
	const pattern = new RegExp(`.*${escapeRegex(def.suffix)}$`);
	def.pattern ?? (def.pattern = pattern);
	inst._zod.check = (payload) => {
		if (payload.value.endsWith(def.suffix)) return;
		payload.issues.push({
			origin: "string",
			code: "invalid_format",
			format: "ends_with",
			suffix: def.suffix,
			input: payload.value,
			inst,
			continue: !def.abort
		});
	};
});
var $ZodCheckOverwrite = /*@__PURE__*/ $constructor("$ZodCheckOverwrite", (inst, def) => {
	$ZodCheck.init(inst, def);
	inst._zod.check = (payload) => {
		payload.value = def.tx(payload.value);
	};
});
// node_modules/zod/v4/core/versions.js
var version = {
	major: 4,
	minor: 6,
	patch: 7
};
// node_modules/zod/v4/core/schemas.js
var $ZodType = /*@__PURE__*/ $constructor("$ZodType", (inst, def) => {
	var _a;
	inst ?? (inst = {});
	inst._zod.def = def;
	inst._zod.bag = inst._zod.bag || {};
	inst._zod.version = version;
	const defChecks = inst._zod.def.checks;
	const checks = inst._zod.traits.has("$ZodCheck") ? [inst, ...defChecks ?? []] : defChecks?.length ? [...defChecks] : [];
	for (const ch of checks) for (const fn of ch._zod.onattach) fn(inst);
	if (checks.length === 0) {
		(_a = inst._zod).deferred ?? (_a.deferred = []);
		inst._zod.deferred?.push(() => {
			inst._zod.run = inst._zod.parse;
		});
	} else {
		const runChecks = (payload, checks, ctx) => {
			if (payload.memo) return payload;
			let isAborted = aborted(payload);
			let asyncResult;
			for (const ch of checks) {
				if (ch._zod.def.when) {
					if (explicitlyAborted(payload)) continue;
					if (!ch._zod.def.when(payload)) continue;
				} else if (isAborted) continue;
				const currLen = payload.issues.length;
				const _ = ch._zod.check(payload);
				if (_ instanceof Promise && ctx?.async === false) throw new $ZodAsyncError();
				if (asyncResult || _ instanceof Promise) asyncResult = (asyncResult ?? Promise.resolve()).then(async () => {
					await _;
					if (payload.issues.length === currLen) return;
					attachSchema(payload.issues, currLen, inst);
					if (!isAborted) isAborted = aborted(payload, currLen);
				});
				else {
					if (payload.issues.length === currLen) continue;
					attachSchema(payload.issues, currLen, inst);
					if (!isAborted) isAborted = aborted(payload, currLen);
				}
			}
			if (asyncResult) return asyncResult.then(() => {
				return payload;
			});
			return payload;
		};
		const handleCanaryResult = (canary, payload, ctx) => {
			if (aborted(canary)) {
				canary.aborted = true;
				return canary;
			}
			const checkResult = runChecks(payload, checks, ctx);
			if (checkResult instanceof Promise) {
				if (ctx.async === false) throw new $ZodAsyncError();
				return checkResult.then((checkResult) => inst._zod.parse(checkResult, ctx));
			}
			return inst._zod.parse(checkResult, ctx);
		};
		inst._zod.run = (payload, ctx) => {
			if (ctx.skipChecks) return inst._zod.parse(payload, ctx);
			if (ctx.direction === "backward") {
				const canary = inst._zod.parse({
					value: payload.value,
					issues: []
				}, {
					...ctx,
					skipChecks: true
				});
				if (canary instanceof Promise) return canary.then((canary) => {
					return handleCanaryResult(canary, payload, ctx);
				});
				return handleCanaryResult(canary, payload, ctx);
			}
			const result = inst._zod.parse(payload, ctx);
			if (result instanceof Promise) {
				if (ctx.async === false) throw new $ZodAsyncError();
				return result.then((result) => runChecks(result, checks, ctx));
			}
			return runChecks(result, checks, ctx);
		};
	}
}, {
	get "~standard"() {
		return hide(this, "~standard", standardProps(this));
	},
	set "~standard"(value) {
		own(this, "~standard", value);
	}
});
/** The Standard Schema surface for `inst`. Shared so wrappers can extend it without forcing it. */
var toStandardResult = (r, ctx) => r.issues.length ? { issues: r.issues.map((iss) => finalizeIssue(iss, ctx, config())) } : { value: r.value };
async function validateAsync(inst, value) {
	const ctx = { async: true };
	return toStandardResult(await inst._zod.run({
		value,
		issues: []
	}, ctx), ctx);
}
function standardProps(inst) {
	return {
		validate: (value) => {
			const ctx = { async: false };
			try {
				const r = inst._zod.run({
					value,
					issues: []
				}, ctx);
				if (!(r instanceof Promise)) return toStandardResult(r, ctx);
			} catch (_) {}
			return validateAsync(inst, value);
		},
		vendor: "zod",
		version: 1
	};
}
var $ZodString = /*@__PURE__*/ $constructor("$ZodString", (inst, def) => {
	$ZodType.init(inst, def);
	inst._zod.pattern = def.pattern ?? anyString;
	inst._zod.parse = (payload, _) => {
		if (def.coerce) try {
			payload.value = String(payload.value);
		} catch (_) {}
		if (typeof payload.value === "string") return payload;
		payload.issues.push({
			expected: "string",
			code: "invalid_type",
			input: payload.value,
			inst
		});
		return payload;
	};
});
var $ZodStringFormat = /*@__PURE__*/ $constructor("$ZodStringFormat", (inst, def) => {
	$ZodCheckStringFormat.init(inst, def);
	$ZodString.init(inst, def);
});
var $ZodGUID = /*@__PURE__*/ $constructor("$ZodGUID", (inst, def) => {
	def.pattern ?? (def.pattern = guid);
	$ZodStringFormat.init(inst, def);
});
var $ZodUUID = /*@__PURE__*/ $constructor("$ZodUUID", (inst, def) => {
	if (def.version) {
		const v = {
			v1: 1,
			v2: 2,
			v3: 3,
			v4: 4,
			v5: 5,
			v6: 6,
			v7: 7,
			v8: 8
		}[def.version];
		if (v === void 0) throw new Error(`Invalid UUID version: "${def.version}"`);
		def.pattern ?? (def.pattern = uuid(v));
	} else def.pattern ?? (def.pattern = uuid());
	$ZodStringFormat.init(inst, def);
});
var $ZodEmail = /*@__PURE__*/ $constructor("$ZodEmail", (inst, def) => {
	def.pattern ?? (def.pattern = email);
	$ZodStringFormat.init(inst, def);
});
function canParseURL(input) {
	try {
		if (typeof URL !== "undefined" && typeof URL.canParse === "function") return URL.canParse(input);
		new URL(input);
		return true;
	} catch {
		return false;
	}
}
function validateURL(trimmed, def) {
	if (!("normalize" in def) && !("hostname" in def) && !("protocol" in def)) return canParseURL(trimmed) || 2;
	return parseURLObject(trimmed, def);
}
/** Parses a URL while preserving the non-normalizing HTTP guard. */
function parseURLObject(trimmed, def) {
	if (!def.normalize && def.protocol?.source === httpProtocol.source && !/^https?:\/\//i.test(trimmed)) return 1;
	try {
		if (typeof URL !== "undefined") {
			const URLStatic = URL;
			if (typeof URLStatic.parse === "function") return URLStatic.parse(trimmed) ?? 2;
		}
		return new URL(trimmed);
	} catch {
		return 2;
	}
}
var asciiTabOrNewline = /[\t\n\r]/g;
/** The URL parser deletes every ASCII tab, LF and CR from its input before it parses, so `new URL("https://exa\nmple.com")` reports on `example.com`. Applying the same deletion to the returned value closes the half of that divergence which can move the host; the parser's other rewrite, stripping C0 controls at the edges, cannot. */
function stripTabAndNewline(value) {
	return value.replace(asciiTabOrNewline, "");
}
function urlHostnameOk(url, hostname) {
	hostname.lastIndex = 0;
	return hostname.test(url.hostname);
}
function urlProtocolOk(url, protocol) {
	protocol.lastIndex = 0;
	return protocol.test(url.protocol.endsWith(":") ? url.protocol.slice(0, -1) : url.protocol);
}
var $ZodURL = /*@__PURE__*/ $constructor("$ZodURL", (inst, def) => {
	$ZodStringFormat.init(inst, def);
	inst._zod.check = (payload) => {
		try {
			const trimmed = payload.value.trim();
			const url = validateURL(trimmed, def);
			if (url === 1) {
				payload.issues.push({
					code: "invalid_format",
					format: "url",
					note: "Invalid URL format",
					input: payload.value,
					inst,
					continue: !def.abort
				});
				return;
			}
			if (url === 2) {
				payload.issues.push({
					code: "invalid_format",
					format: "url",
					input: payload.value,
					inst,
					continue: !def.abort
				});
				return;
			}
			if (url === true) {
				payload.value = stripTabAndNewline(trimmed);
				return;
			}
			if (def.hostname && !urlHostnameOk(url, def.hostname)) payload.issues.push({
				code: "invalid_format",
				format: "url",
				note: "Invalid hostname",
				pattern: def.hostname.source,
				input: payload.value,
				inst,
				continue: !def.abort
			});
			if (def.protocol && !urlProtocolOk(url, def.protocol)) payload.issues.push({
				code: "invalid_format",
				format: "url",
				note: "Invalid protocol",
				pattern: def.protocol.source,
				input: payload.value,
				inst,
				continue: !def.abort
			});
			payload.value = def.normalize ? url.href : stripTabAndNewline(trimmed);
			return;
		} catch (_) {
			payload.issues.push({
				code: "invalid_format",
				format: "url",
				input: payload.value,
				inst,
				continue: !def.abort
			});
		}
	};
});
var $ZodEmoji = /*@__PURE__*/ $constructor("$ZodEmoji", (inst, def) => {
	def.pattern ?? (def.pattern = emoji());
	$ZodStringFormat.init(inst, def);
});
var $ZodNanoID = /*@__PURE__*/ $constructor("$ZodNanoID", (inst, def) => {
	if (def.length !== void 0 && (!Number.isInteger(def.length) || def.length < 1)) throw new Error(`Invalid nanoid length: ${def.length}`);
	def.pattern ?? (def.pattern = def.length === void 0 ? nanoid : nanoidOfLength(def.length));
	$ZodStringFormat.init(inst, def);
});
/**
* @deprecated CUID v1 is deprecated by its authors due to information leakage
* (timestamps embedded in the id). Use {@link $ZodCUID2} instead.
* See https://github.com/paralleldrive/cuid.
*/
var $ZodCUID = /*@__PURE__*/ $constructor("$ZodCUID", (inst, def) => {
	def.pattern ?? (def.pattern = cuid);
	$ZodStringFormat.init(inst, def);
});
var $ZodCUID2 = /*@__PURE__*/ $constructor("$ZodCUID2", (inst, def) => {
	def.pattern ?? (def.pattern = cuid2);
	$ZodStringFormat.init(inst, def);
});
var $ZodULID = /*@__PURE__*/ $constructor("$ZodULID", (inst, def) => {
	def.pattern ?? (def.pattern = ulid);
	$ZodStringFormat.init(inst, def);
});
var $ZodXID = /*@__PURE__*/ $constructor("$ZodXID", (inst, def) => {
	def.pattern ?? (def.pattern = xid);
	$ZodStringFormat.init(inst, def);
});
var $ZodKSUID = /*@__PURE__*/ $constructor("$ZodKSUID", (inst, def) => {
	def.pattern ?? (def.pattern = ksuid);
	$ZodStringFormat.init(inst, def);
});
var $ZodISODateTime = /*@__PURE__*/ $constructor("$ZodISODateTime", (inst, def) => {
	def.pattern ?? (def.pattern = datetime(def));
	$ZodStringFormat.init(inst, def);
});
var $ZodISODate = /*@__PURE__*/ $constructor("$ZodISODate", (inst, def) => {
	def.pattern ?? (def.pattern = date$1);
	$ZodStringFormat.init(inst, def);
});
var $ZodISOTime = /*@__PURE__*/ $constructor("$ZodISOTime", (inst, def) => {
	def.pattern ?? (def.pattern = time(def));
	$ZodStringFormat.init(inst, def);
});
var $ZodISODuration = /*@__PURE__*/ $constructor("$ZodISODuration", (inst, def) => {
	def.pattern ?? (def.pattern = duration);
	$ZodStringFormat.init(inst, def);
});
var $ZodIPv4 = /*@__PURE__*/ $constructor("$ZodIPv4", (inst, def) => {
	def.pattern ?? (def.pattern = ipv4);
	$ZodStringFormat.init(inst, def);
});
/** An IPv6 address is written with hex digits, colons and dots, and nothing else. The guard is what makes the check below an IPv6 check: `new URL("http://[...]")` parses an authority, not an address, so `@` and `\` re-delimit it and `"::@1\\"` validates against the host `0.0.0.1`. The URL parser also deletes ASCII tab, LF and CR rather than failing, which is how `"::1\n"` validated as `::1`. */
var ipv6Alphabet = /^[0-9a-fA-F:.]+$/;
function isValidIPv6(value) {
	if (!ipv6Alphabet.test(value)) return false;
	return canParseURL(`http://[${value}]`);
}
var $ZodIPv6 = /*@__PURE__*/ $constructor("$ZodIPv6", (inst, def) => {
	def.pattern ?? (def.pattern = ipv6);
	$ZodStringFormat.init(inst, def);
	inst._zod.check = (payload) => {
		if (!isValidIPv6(payload.value)) payload.issues.push({
			code: "invalid_format",
			format: "ipv6",
			input: payload.value,
			inst,
			continue: !def.abort
		});
	};
});
var $ZodCIDRv4 = /*@__PURE__*/ $constructor("$ZodCIDRv4", (inst, def) => {
	def.pattern ?? (def.pattern = cidrv4);
	$ZodStringFormat.init(inst, def);
});
function isValidCIDRv6(value) {
	const parts = value.split("/");
	if (parts.length !== 2) return false;
	const [address, prefix] = parts;
	if (!prefix) return false;
	const prefixNum = Number(prefix);
	if (`${prefixNum}` !== prefix) return false;
	if (prefixNum < 0 || prefixNum > 128) return false;
	return isValidIPv6(address);
}
var $ZodCIDRv6 = /*@__PURE__*/ $constructor("$ZodCIDRv6", (inst, def) => {
	def.pattern ?? (def.pattern = cidrv6);
	$ZodStringFormat.init(inst, def);
	inst._zod.check = (payload) => {
		if (!isValidCIDRv6(payload.value)) payload.issues.push({
			code: "invalid_format",
			format: "cidrv6",
			input: payload.value,
			inst,
			continue: !def.abort
		});
	};
});
function isValidBase64(data) {
	if (data === "") return true;
	if (/\s/.test(data)) return false;
	if (data.length % 4 !== 0) return false;
	try {
		atob(data);
		return true;
	} catch {
		return false;
	}
}
var base64Charset = /^[0-9a-zA-Z+/]*={0,2}$/;
var $ZodBase64 = /*@__PURE__*/ $constructor("$ZodBase64", (inst, def) => {
	def.pattern ?? (def.pattern = base64Charset);
	$ZodStringFormat.init(inst, def);
	inst._zod.check = (payload) => {
		if (isValidBase64(payload.value)) return;
		payload.issues.push({
			code: "invalid_format",
			format: "base64",
			input: payload.value,
			inst,
			continue: !def.abort
		});
	};
});
var base64urlCharset = /^[A-Za-z0-9_-]*$/;
function isValidBase64URL(data) {
	if (!base64urlCharset.test(data)) return false;
	const base64 = data.replace(/[-_]/g, (c) => c === "-" ? "+" : "/");
	return isValidBase64(base64.padEnd(Math.ceil(base64.length / 4) * 4, "="));
}
var $ZodBase64URL = /*@__PURE__*/ $constructor("$ZodBase64URL", (inst, def) => {
	def.pattern ?? (def.pattern = base64urlCharset);
	$ZodStringFormat.init(inst, def);
	inst._zod.check = (payload) => {
		if (isValidBase64URL(payload.value)) return;
		payload.issues.push({
			code: "invalid_format",
			format: "base64url",
			input: payload.value,
			inst,
			continue: !def.abort
		});
	};
});
var $ZodE164 = /*@__PURE__*/ $constructor("$ZodE164", (inst, def) => {
	def.pattern ?? (def.pattern = e164);
	$ZodStringFormat.init(inst, def);
});
function isValidJWT(token, algorithm = null) {
	try {
		const tokensParts = token.split(".");
		if (tokensParts.length !== 3) return false;
		const [header] = tokensParts;
		if (!header) return false;
		const parsedHeader = JSON.parse(atob(header));
		if ("typ" in parsedHeader && parsedHeader?.typ !== "JWT") return false;
		if (!parsedHeader.alg) return false;
		if (algorithm && (!("alg" in parsedHeader) || parsedHeader.alg !== algorithm)) return false;
		return true;
	} catch {
		return false;
	}
}
var $ZodJWT = /*@__PURE__*/ $constructor("$ZodJWT", (inst, def) => {
	$ZodStringFormat.init(inst, def);
	inst._zod.check = (payload) => {
		if (isValidJWT(payload.value, def.alg)) return;
		payload.issues.push({
			code: "invalid_format",
			format: "jwt",
			input: payload.value,
			inst,
			continue: !def.abort
		});
	};
});
var $ZodNumber = /*@__PURE__*/ $constructor("$ZodNumber", (inst, def) => {
	$ZodType.init(inst, def);
	inst._zod.pattern = number$2;
	inst._zod.parse = (payload, _ctx) => {
		if (def.coerce) try {
			payload.value = Number(payload.value);
		} catch (_) {}
		const input = payload.value;
		if (typeof input === "number" && !Number.isNaN(input) && Number.isFinite(input)) return payload;
		const received = typeof input === "number" ? Number.isNaN(input) ? "NaN" : !Number.isFinite(input) ? String(input) : void 0 : void 0;
		payload.issues.push({
			expected: "number",
			code: "invalid_type",
			input,
			inst,
			...received ? { received } : {}
		});
		return payload;
	};
});
var $ZodNumberFormat = /*@__PURE__*/ $constructor("$ZodNumberFormat", (inst, def) => {
	$ZodCheckNumberFormat.init(inst, def);
	$ZodNumber.init(inst, def);
});
function capSize(inst, size) {
	const caps = sizeCaps(inst._zod.def.checks);
	if (!caps.length) return;
	const cap = Math.min(...caps.map((c) => c[0]));
	const parse = inst._zod.parse;
	inst._zod.parse = (payload, ctx) => {
		const n = size(payload.value);
		if (n > cap && !ctx?.skipChecks && ctx?.direction !== "backward") {
			for (const [max, ch] of sizeCaps(inst._zod.def.checks)) if (n > max && ch._zod.def.when(payload)) {
				const start = payload.issues.length;
				ch._zod.check(payload);
				payload.issues[start].continue = false;
				attachSchema(payload.issues, start, inst);
				return payload;
			}
		}
		return parse(payload, ctx);
	};
}
var arraySize = (input) => Array.isArray(input) ? input.length : -1;
function handleArrayResult(result, final, index) {
	if (result.issues.length) final.issues.push(...prefixIssues(index, result.issues));
	final.value[index] = result.value;
}
var $ZodArray = /*@__PURE__*/ $constructor("$ZodArray", (inst, def) => {
	$ZodType.init(inst, def);
	const memo = globalConfig.memoizer;
	memo?.attach(inst);
	inst._zod.parse = (payload, ctx) => {
		const input = payload.value;
		if (!Array.isArray(input)) {
			payload.issues.push({
				expected: "array",
				code: "invalid_type",
				input,
				inst
			});
			return payload;
		}
		payload.value = memo ? memo.alloc(inst, payload, Array(input.length), ctx) : Array(input.length);
		const proms = [];
		const abortEarly = ctx?.abortEarly;
		for (let i = 0; i < input.length; i++) {
			const item = input[i];
			const result = def.element._zod.run({
				value: item,
				issues: []
			}, ctx);
			if (result instanceof Promise) proms.push(result.then((result) => handleArrayResult(result, payload, i)));
			else {
				handleArrayResult(result, payload, i);
				if (abortEarly && result.issues.length !== 0 && aborted(result)) break;
			}
		}
		if (proms.length) return Promise.all(proms).then(() => payload);
		return payload;
	};
	capSize(inst, arraySize);
});
function handleUnionResults(results, final, inst, ctx) {
	for (const result of results) if (result.issues.length === 0) {
		final.value = result.value;
		return final;
	}
	const nonaborted = results.filter((r) => !aborted(r));
	if (nonaborted.length === 1) {
		final.value = nonaborted[0].value;
		return nonaborted[0];
	}
	final.issues.push({
		code: "invalid_union",
		input: final.value,
		inst,
		errors: results.map((result) => result.issues.map((iss) => finalizeIssue(iss, ctx, config())))
	});
	return final;
}
var $ZodUnion = /*@__PURE__*/ $constructor("$ZodUnion", (inst, def) => {
	$ZodType.init(inst, def);
	defineLazyInternal(inst, "optin", (zod) => zod.def.options.some((o) => o._zod.optin === "defaulted") ? "defaulted" : zod.def.options.some((o) => o._zod.optin !== void 0) ? "optional" : void 0);
	defineLazyInternal(inst, "optout", (zod) => zod.def.options.some((o) => o._zod.optout === "optional") ? "optional" : void 0);
	defineLazyInternal(inst, "values", (zod) => {
		if (zod.def.options.every((o) => o._zod.values)) return new Set(zod.def.options.flatMap((option) => Array.from(option._zod.values)));
	});
	defineLazyInternal(inst, "pattern", (zod) => {
		if (zod.def.options.every((o) => o._zod.pattern)) {
			const patterns = zod.def.options.map((o) => o._zod.pattern);
			return new RegExp(`^(${patterns.map((p) => cleanRegex(p.source)).join("|")})$`);
		}
	});
	const first = def.options.length === 1 ? def.options[0]._zod.run : null;
	inst._zod.parse = (payload, ctx) => {
		if (first) return first(payload, ctx);
		let async = false;
		const results = [];
		for (const option of def.options) {
			const result = option._zod.run({
				value: payload.value,
				issues: []
			}, ctx);
			if (result instanceof Promise) {
				results.push(result);
				async = true;
			} else {
				if (result.issues.length === 0) return result;
				results.push(result);
			}
		}
		if (!async) return handleUnionResults(results, payload, inst, ctx);
		return Promise.all(results).then((results) => {
			return handleUnionResults(results, payload, inst, ctx);
		});
	};
});
var $ZodIntersection = /*@__PURE__*/ $constructor("$ZodIntersection", (inst, def) => {
	$ZodType.init(inst, def);
	inst._zod.parse = (payload, ctx) => {
		const input = payload.value;
		const left = def.left._zod.run({
			value: input,
			issues: []
		}, ctx);
		const right = def.right._zod.run({
			value: input,
			issues: []
		}, ctx);
		if (left instanceof Promise || right instanceof Promise) return Promise.all([left, right]).then(([left, right]) => {
			return handleIntersectionResults(payload, left, right);
		});
		return handleIntersectionResults(payload, left, right);
	};
});
function mergeValues(a, b) {
	if (a === b) return {
		valid: true,
		data: a
	};
	if (a instanceof Date && b instanceof Date && +a === +b) return {
		valid: true,
		data: a
	};
	if (isPlainObject(a) && isPlainObject(b)) {
		const bKeys = Object.keys(b);
		const sharedKeys = Object.keys(a).filter((key) => bKeys.indexOf(key) !== -1);
		const newObj = {
			...a,
			...b
		};
		if (Object.prototype.hasOwnProperty.call(newObj, "__proto__")) delete newObj.__proto__;
		for (const key of sharedKeys) {
			if (key === "__proto__") continue;
			const sharedValue = mergeValues(a[key], b[key]);
			if (!sharedValue.valid) return {
				valid: false,
				mergeErrorPath: [key, ...sharedValue.mergeErrorPath]
			};
			newObj[key] = sharedValue.data;
		}
		return {
			valid: true,
			data: newObj
		};
	}
	if (Array.isArray(a) && Array.isArray(b)) {
		if (a.length !== b.length) return {
			valid: false,
			mergeErrorPath: []
		};
		const newArray = [];
		for (let index = 0; index < a.length; index++) {
			const itemA = a[index];
			const itemB = b[index];
			const sharedValue = mergeValues(itemA, itemB);
			if (!sharedValue.valid) return {
				valid: false,
				mergeErrorPath: [index, ...sharedValue.mergeErrorPath]
			};
			newArray.push(sharedValue.data);
		}
		return {
			valid: true,
			data: newArray
		};
	}
	return {
		valid: false,
		mergeErrorPath: []
	};
}
function handleIntersectionResults(result, left, right) {
	const unrecKeys = /* @__PURE__ */ new Map();
	let unrecIssue;
	const keyIssues = /* @__PURE__ */ new Map();
	const collect = (iss, side) => {
		let keys;
		if (iss.code === "unrecognized_keys" && !iss.path?.length) {
			unrecIssue ?? (unrecIssue = iss);
			keys = iss.keys;
		} else if (iss.code === "invalid_key" && iss.origin === "record" && iss.path?.length === 1) {
			const k = String(iss.path[0]);
			if (!keyIssues.has(k)) keyIssues.set(k, iss);
			keys = [k];
		} else return false;
		for (const k of keys) {
			if (!unrecKeys.has(k)) unrecKeys.set(k, {});
			unrecKeys.get(k)[side] = true;
		}
		return true;
	};
	for (const iss of left.issues) if (!collect(iss, "l")) result.issues.push(iss);
	for (const iss of right.issues) if (!collect(iss, "r")) result.issues.push(iss);
	const bothKeys = [...unrecKeys].filter(([, f]) => f.l && f.r).map(([k]) => k);
	if (bothKeys.length) {
		const aggregated = unrecIssue ? bothKeys.filter((k) => unrecIssue.keys.includes(k)) : [];
		if (aggregated.length) result.issues.push({
			...unrecIssue,
			keys: aggregated
		});
		for (const k of bothKeys) if (!aggregated.includes(k) && keyIssues.has(k)) result.issues.push(keyIssues.get(k));
	}
	const merged = mergeValues(left.value, right.value);
	if (!merged.valid) {
		if (aborted(result)) return result;
		throw new Error(`Unmergable intersection. Error path: ${JSON.stringify(merged.mergeErrorPath)}`);
	}
	result.value = merged.data;
	return result;
}
var $ZodTransform = /*@__PURE__*/ $constructor("$ZodTransform", (inst, def) => {
	$ZodType.init(inst, def);
	inst._zod.optin = "optional";
	globalConfig.memoizer?.guard(inst);
	inst._zod.parse = (payload, ctx) => {
		if (ctx.direction === "backward") throw new $ZodEncodeError(inst.constructor.name);
		const _out = def.transform(payload.value, payload);
		if (ctx.async) return (_out instanceof Promise ? _out : Promise.resolve(_out)).then((output) => {
			payload.value = output;
			return payload;
		});
		if (_out instanceof Promise) throw new $ZodAsyncError();
		payload.value = _out;
		return payload;
	};
});
function handleOptionalResult(payload, result) {
	payload.value = result.issues.length ? void 0 : result.value;
	return payload;
}
var $ZodOptional = /*@__PURE__*/ $constructor("$ZodOptional", (inst, def) => {
	$ZodType.init(inst, def);
	defineLazyInternal(inst, "optin", (zod) => zod.def.innerType._zod.optin === "defaulted" ? "defaulted" : "optional");
	inst._zod.optout = "optional";
	defineLazyInternal(inst, "values", (zod) => {
		const values = zod.def.innerType._zod.values;
		return values ? /* @__PURE__ */ new Set([...values, void 0]) : void 0;
	});
	defineLazyInternal(inst, "pattern", (zod) => {
		const pattern = zod.def.innerType._zod.pattern;
		return pattern ? new RegExp(`^(${cleanRegex(pattern.source)})?$`) : void 0;
	});
	inst._zod.parse = (payload, ctx) => {
		if (payload.value === void 0) {
			if (def.innerType._zod.optin !== "defaulted") return payload;
			const result = def.innerType._zod.run({
				value: payload.value,
				issues: []
			}, ctx);
			if (result instanceof Promise) return result.then((result) => handleOptionalResult(payload, result));
			return handleOptionalResult(payload, result);
		}
		return def.innerType._zod.run(payload, ctx);
	};
});
var $ZodExactOptional = /*@__PURE__*/ $constructor("$ZodExactOptional", (inst, def) => {
	$ZodOptional.init(inst, def);
	defineLazyInternal(inst, "values", (zod) => zod.def.innerType._zod.values);
	defineLazyInternal(inst, "pattern", (zod) => zod.def.innerType._zod.pattern);
	inst._zod.parse = (payload, ctx) => {
		return def.innerType._zod.run(payload, ctx);
	};
});
var $ZodNullable = /*@__PURE__*/ $constructor("$ZodNullable", (inst, def) => {
	$ZodType.init(inst, def);
	defineLazyInternal(inst, "optin", (zod) => zod.def.innerType._zod.optin);
	defineLazyInternal(inst, "optout", (zod) => zod.def.innerType._zod.optout);
	defineLazyInternal(inst, "pattern", (zod) => {
		const pattern = zod.def.innerType._zod.pattern;
		return pattern ? new RegExp(`^(${cleanRegex(pattern.source)}|null)$`) : void 0;
	});
	defineLazyInternal(inst, "values", (zod) => {
		return zod.def.innerType._zod.values ? /* @__PURE__ */ new Set([...zod.def.innerType._zod.values, null]) : void 0;
	});
	inst._zod.parse = (payload, ctx) => {
		if (payload.value === null) return payload;
		return def.innerType._zod.run(payload, ctx);
	};
});
var $ZodDefault = /*@__PURE__*/ $constructor("$ZodDefault", (inst, def) => {
	$ZodType.init(inst, def);
	inst._zod.optin = "defaulted";
	defineLazyInternal(inst, "values", (zod) => zod.def.innerType._zod.values);
	inst._zod.parse = (payload, ctx) => {
		if (ctx.direction === "backward") return def.innerType._zod.run(payload, ctx);
		if (payload.value === void 0) {
			payload.value = def.defaultValue;
			/**
			* $ZodDefault returns the default value immediately in forward direction.
			* It doesn't pass the default value into the validator ("prefault"). There's no reason to pass the default value through validation. The validity of the default is enforced by TypeScript statically. Otherwise, it's the responsibility of the user to ensure the default is valid. In the case of pipes with divergent in/out types, you can specify the default on the `in` schema of your ZodPipe to set a "prefault" for the pipe.   */
			return payload;
		}
		const result = def.innerType._zod.run(payload, ctx);
		if (result instanceof Promise) return result.then((result) => handleDefaultResult(result, def));
		return handleDefaultResult(result, def);
	};
});
function handleDefaultResult(payload, def) {
	if (payload.value === void 0) payload.value = def.defaultValue;
	return payload;
}
var $ZodPrefault = /*@__PURE__*/ $constructor("$ZodPrefault", (inst, def) => {
	$ZodType.init(inst, def);
	inst._zod.optin = "defaulted";
	defineLazyInternal(inst, "values", (zod) => zod.def.innerType._zod.values);
	inst._zod.parse = (payload, ctx) => {
		if (ctx.direction === "backward") return def.innerType._zod.run(payload, ctx);
		if (payload.value === void 0) payload.value = def.defaultValue;
		return def.innerType._zod.run(payload, ctx);
	};
});
var $ZodNonOptional = /*@__PURE__*/ $constructor("$ZodNonOptional", (inst, def) => {
	$ZodType.init(inst, def);
	defineLazyInternal(inst, "values", (zod) => {
		const v = zod.def.innerType._zod.values;
		return v ? new Set([...v].filter((x) => x !== void 0)) : void 0;
	});
	inst._zod.parse = (payload, ctx) => {
		const result = def.innerType._zod.run(payload, ctx);
		if (result instanceof Promise) return result.then((result) => handleNonOptionalResult(result, inst));
		return handleNonOptionalResult(result, inst);
	};
});
function handleNonOptionalResult(payload, inst) {
	if (!payload.issues.length && payload.value === void 0) payload.issues.push({
		code: "invalid_type",
		expected: "nonoptional",
		input: payload.value,
		inst
	});
	return payload;
}
function handleCatchResult(payload, result, def, ctx) {
	if (!result.issues.length) {
		payload.value = result.value;
		if (result.memo) payload.memo = true;
		return payload;
	}
	payload.value = def.catchValue({
		...result,
		value: payload.value,
		error: { issues: result.issues.map((iss) => finalizeIssue(iss, ctx, config())) },
		input: payload.value
	});
	return payload;
}
var $ZodCatch = /*@__PURE__*/ $constructor("$ZodCatch", (inst, def) => {
	$ZodType.init(inst, def);
	defineLazyInternal(inst, "optin", (zod) => zod.def.innerType._zod.optin === "defaulted" ? "defaulted" : "optional");
	defineLazyInternal(inst, "optout", (zod) => zod.def.innerType._zod.optout);
	defineLazyInternal(inst, "values", (zod) => zod.def.innerType._zod.values);
	inst._zod.parse = (payload, ctx) => {
		if (ctx.direction === "backward") return def.innerType._zod.run(payload, ctx);
		const result = def.innerType._zod.run({
			value: payload.value,
			issues: []
		}, ctx);
		if (result instanceof Promise) return result.then((result) => handleCatchResult(payload, result, def, ctx));
		return handleCatchResult(payload, result, def, ctx);
	};
});
var $ZodPipe = /*@__PURE__*/ $constructor("$ZodPipe", (inst, def) => {
	$ZodType.init(inst, def);
	defineLazyInternal(inst, "values", (zod) => zod.def.in._zod.values);
	defineLazyInternal(inst, "optin", (zod) => zod.def.in._zod.optin);
	defineLazyInternal(inst, "optout", (zod) => zod.def.out._zod.optout);
	defineLazyInternal(inst, "propValues", (zod) => zod.def.in._zod.propValues);
	inst._zod.parse = (payload, ctx) => {
		if (ctx.direction === "backward") {
			const right = def.out._zod.run(payload, ctx);
			if (right instanceof Promise) return right.then((right) => handlePipeResult(right, def.in, ctx));
			return handlePipeResult(right, def.in, ctx);
		}
		const left = def.in._zod.run(payload, ctx);
		if (left instanceof Promise) return left.then((left) => handlePipeResult(left, def.out, ctx));
		return handlePipeResult(left, def.out, ctx);
	};
});
function handlePipeResult(left, next, ctx) {
	if (left.issues.some((iss) => iss.code !== "unrecognized_keys")) {
		left.aborted = true;
		return left;
	}
	return next._zod.run({
		value: left.value,
		issues: left.issues
	}, ctx);
}
var $ZodReadonly = /*@__PURE__*/ $constructor("$ZodReadonly", (inst, def) => {
	$ZodType.init(inst, def);
	defineLazyInternal(inst, "propValues", (zod) => zod.def.innerType._zod.propValues);
	defineLazyInternal(inst, "values", (zod) => zod.def.innerType._zod.values);
	defineLazyInternal(inst, "optin", (zod) => zod.def.innerType?._zod?.optin);
	defineLazyInternal(inst, "optout", (zod) => zod.def.innerType?._zod?.optout);
	inst._zod.parse = (payload, ctx) => {
		if (ctx.direction === "backward") return def.innerType._zod.run(payload, ctx);
		const result = def.innerType._zod.run(payload, ctx);
		if (result instanceof Promise) return result.then(handleReadonlyResult);
		return handleReadonlyResult(result);
	};
});
function handleReadonlyResult(payload) {
	if (!payload.memo) payload.value = Object.freeze(payload.value);
	return payload;
}
var $ZodCustom = /*@__PURE__*/ $constructor("$ZodCustom", (inst, def) => {
	$ZodCheck.init(inst, def);
	$ZodType.init(inst, def);
	inst._zod.parse = (payload, _) => {
		return payload;
	};
	inst._zod.check = (payload) => {
		const input = payload.value;
		const r = def.fn(input);
		if (r instanceof Promise) return r.then((r) => handleRefineResult(r, payload, input, inst));
		handleRefineResult(r, payload, input, inst);
	};
});
function handleRefineResult(result, payload, input, inst) {
	if (!result) {
		const _iss = {
			code: "custom",
			input,
			inst,
			path: [...inst._zod.def.path ?? []],
			continue: !inst._zod.def.abort
		};
		if (inst._zod.def.params) _iss.params = inst._zod.def.params;
		payload.issues.push(issue(_iss));
	}
}
// node_modules/zod/v4/core/memoizer.js
var $ZodCyclicError = class extends Error {
	constructor() {
		super(`Cannot parse a reference cycle that closes through a transform`);
		this.name = "ZodCyclicError";
	}
};
/** Keyed off the context object every schema in one parse call already shares. */
var STATE = "~memo";
var NO_ISSUES = [];
function isRef(value) {
	return value !== null && typeof value === "object";
}
function cloneIssues(issues) {
	return issues.map((iss) => iss.path ? {
		...iss,
		path: iss.path.slice()
	} : { ...iss });
}
var recursive = /*@__PURE__*/ new WeakMap();
/** What the walk established, in order of certainty: ordered so the strongest answer among children wins. */
var NONE = 0;
var ASSUMED = 1;
var PROVEN = 2;
/** Whether this schema's subtree contains a cycle, so one parse can re-enter it. */
function isRecursive(inst, stack, resolve) {
	const cached = recursive.get(inst);
	if (cached !== void 0) return cached ? PROVEN : NONE;
	if (stack.has(inst)) return PROVEN;
	stack.add(inst);
	let result = NONE;
	const check = (child) => {
		if (result !== PROVEN && child?._zod) {
			const answer = isRecursive(child, stack, resolve);
			if (answer > result) result = answer;
		}
	};
	const shape = (sh, spread) => {
		let answer = NONE;
		for (const key of Reflect.ownKeys(sh)) {
			const desc = Object.getOwnPropertyDescriptor(sh, key);
			if (spread && !desc.enumerable) continue;
			const child = desc.get ? ASSUMED : desc.value?._zod ? isRecursive(desc.value, stack, resolve) : NONE;
			if (child > answer) answer = child;
		}
		return answer;
	};
	const merge = (answer) => {
		if (answer > result) result = answer;
	};
	const def = inst._zod.def;
	switch (def.type) {
		case "object": {
			const raw = rawShape(def);
			merge(raw ? shape(raw, true) : ASSUMED);
			check(def.catchall);
			break;
		}
		case "array":
			check(def.element);
			break;
		case "tuple":
			for (const el of def.items) check(el);
			check(def.rest);
			break;
		case "record":
		case "map":
			check(def.keyType);
			check(def.valueType);
			break;
		case "set":
			check(def.valueType);
			break;
		case "union":
			for (const el of def.options) check(el);
			break;
		case "intersection":
			check(def.left);
			check(def.right);
			break;
		case "optional":
		case "nullable":
		case "default":
		case "prefault":
		case "catch":
		case "readonly":
		case "nonoptional":
		case "promise":
		case "success":
			check(def.innerType);
			break;
		case "pipe":
			check(def.in);
			check(def.out);
			break;
		case "function":
			check(def.input);
			check(def.output);
			break;
		case "lazy": {
			const inner = def._cachedInner ?? (resolve ? inst._zod.innerType : void 0);
			merge(inner ? isRecursive(inner, stack, false) : ASSUMED);
			break;
		}
		case "template_literal":
		case "string":
		case "number":
		case "int":
		case "boolean":
		case "bigint":
		case "symbol":
		case "undefined":
		case "null":
		case "void":
		case "never":
		case "any":
		case "unknown":
		case "date":
		case "nan":
		case "enum":
		case "literal":
		case "file":
		case "transform":
		case "custom": break;
		default: for (const key in def) {
			const desc = Object.getOwnPropertyDescriptor(def, key);
			if (!desc || desc.get) continue;
			const value = desc.value;
			if (!value || typeof value !== "object") continue;
			if (value._zod) check(value);
			else if (Array.isArray(value)) for (const el of value) check(el);
		}
	}
	stack.delete(inst);
	return settle(inst, result);
}
/** An assumed answer must not outlive the resolution that settles it, so only a certain one is cached. */
function settle(inst, answer) {
	if (answer !== ASSUMED) recursive.set(inst, answer === PROVEN);
	return answer;
}
function bucketFor(state, inst) {
	let bucket = state.buckets.get(inst);
	if (!bucket) {
		bucket = /* @__PURE__ */ new WeakMap();
		state.buckets.set(inst, bucket);
	}
	return bucket;
}
var handoff;
var open = [];
var memo = {
	alloc(_inst, payload, empty) {
		const bucket = handoff;
		if (!bucket) return empty;
		handoff = void 0;
		const entry = {
			value: empty,
			issues: null
		};
		bucket.set(payload.value, entry);
		open.push(entry);
		return empty;
	},
	guard(inst) {
		var _a;
		(_a = inst._zod).deferred ?? (_a.deferred = []);
		inst._zod.deferred.push(() => {
			const base = inst._zod.parse;
			const wrapped = (payload, ctx) => {
				if (ctx.direction !== "backward" && isBackEdge(ctx, payload.value)) throw new $ZodCyclicError();
				return base(payload, ctx);
			};
			inst._zod.parse = wrapped;
			if (inst._zod.run === base) inst._zod.run = wrapped;
		});
	},
	attach(inst) {
		var _a;
		let isRecursiveInst;
		let rechecked = false;
		let lastCtx;
		let lastBucket;
		(_a = inst._zod).deferred ?? (_a.deferred = []);
		inst._zod.deferred.push(() => {
			const base = inst._zod.parse;
			const wrapped = (payload, ctx) => {
				if (isRecursiveInst === void 0) {
					const walked = isRecursive(inst, /* @__PURE__ */ new Set(), false);
					if (walked === NONE) {
						inst._zod.parse = base;
						if (inst._zod.run === wrapped) inst._zod.run = base;
						return base(payload, ctx);
					}
					if (walked === PROVEN || rechecked) isRecursiveInst = true;
					else rechecked = true;
				}
				const input = payload.value;
				if (!isRef(input)) return base(payload, ctx);
				let state = ctx[STATE];
				if (!state) {
					state = {
						buckets: /* @__PURE__ */ new WeakMap(),
						backEdges: void 0
					};
					ctx[STATE] = state;
				}
				let bucket;
				if (lastCtx === ctx) bucket = lastBucket;
				else {
					bucket = bucketFor(state, inst);
					lastCtx = ctx;
					lastBucket = bucket;
				}
				const hit = bucket.get(input);
				if (hit) {
					payload.value = hit.value;
					if (hit.issues) {
						if (hit.issues.length) payload.issues.push(...cloneIssues(hit.issues));
					} else {
						payload.memo = true;
						state.backEdges ?? (state.backEdges = /* @__PURE__ */ new WeakSet());
						state.backEdges.add(hit.value);
					}
					return payload;
				}
				handoff = bucket;
				const depth = open.length;
				const result = base(payload, ctx);
				handoff = void 0;
				const entry = open.length > depth ? open.pop() : void 0;
				if (result instanceof Promise) return result.then((r) => {
					if (entry) entry.issues = r.issues.length ? cloneIssues(r.issues) : NO_ISSUES;
					return r;
				});
				if (entry) entry.issues = result.issues.length ? cloneIssues(result.issues) : NO_ISSUES;
				return result;
			};
			inst._zod.parse = wrapped;
			if (inst._zod.run === base) inst._zod.run = wrapped;
		});
	}
};
/** The memoizer that gives containers cycle support. `zod` installs it by default; `zod/mini` opts in with `config({ memoizer: memoizer() })`. */
function memoizer() {
	return memo;
}
/** Whether this value is a node a back-edge resolved to before it finished. */
function isBackEdge(ctx, value) {
	const backEdges = ctx[STATE]?.backEdges;
	return backEdges !== void 0 && isRef(value) && backEdges.has(value);
}
// node_modules/zod/v4/locales/en.js
var error = () => {
	const Sizable = {
		string: {
			unit: "characters",
			verb: "to have"
		},
		file: {
			unit: "bytes",
			verb: "to have"
		},
		array: {
			unit: "items",
			verb: "to have"
		},
		set: {
			unit: "items",
			verb: "to have"
		},
		map: {
			unit: "entries",
			verb: "to have"
		}
	};
	function getSizing(origin) {
		return Sizable[origin] ?? null;
	}
	const FormatDictionary = {
		regex: "input",
		email: "email address",
		url: "URL",
		emoji: "emoji",
		uuid: "UUID",
		uuidv4: "UUIDv4",
		uuidv6: "UUIDv6",
		nanoid: "nanoid",
		guid: "GUID",
		cuid: "cuid",
		cuid2: "cuid2",
		ulid: "ULID",
		xid: "XID",
		ksuid: "KSUID",
		datetime: "ISO datetime",
		date: "ISO date",
		time: "ISO time",
		duration: "ISO duration",
		ipv4: "IPv4 address",
		ipv6: "IPv6 address",
		mac: "MAC address",
		cidrv4: "IPv4 range",
		cidrv6: "IPv6 range",
		base64: "base64-encoded string",
		base64url: "base64url-encoded string",
		json_string: "JSON string",
		e164: "E.164 number",
		currency_code: "currency code",
		credit_card: "credit card number",
		iban: "IBAN",
		jwt: "JWT",
		template_literal: "input"
	};
	const TypeDictionary = { nan: "NaN" };
	function getTypeName(type, input) {
		if (type === "number" && typeof input === "number" && !Number.isFinite(input)) return String(input);
		return TypeDictionary[type] ?? type;
	}
	return (issue) => {
		switch (issue.code) {
			case "invalid_type": return `Invalid input: expected ${getTypeName(issue.expected)}, received ${getTypeName(parsedType(issue.input), issue.input)}`;
			case "invalid_value":
				if (issue.values.length === 1) return `Invalid input: expected ${stringifyPrimitive(issue.values[0])}`;
				return `Invalid option: expected one of ${joinValues(issue.values, "|")}`;
			case "too_big": {
				const adj = issue.exact ? "exactly " : issue.inclusive ? "<=" : "<";
				const sizing = getSizing(issue.origin);
				if (sizing) return `Too big: expected ${issue.origin ?? "value"} to have ${adj}${issue.maximum.toString()} ${sizing.unit ?? "elements"}`;
				return `Too big: expected ${issue.origin ?? "value"} to be ${adj}${issue.maximum.toString()}`;
			}
			case "too_small": {
				const adj = issue.exact ? "exactly " : issue.inclusive ? ">=" : ">";
				const sizing = getSizing(issue.origin);
				if (sizing) return `Too small: expected ${issue.origin} to have ${adj}${issue.minimum.toString()} ${sizing.unit}`;
				return `Too small: expected ${issue.origin} to be ${adj}${issue.minimum.toString()}`;
			}
			case "invalid_format": {
				const _issue = issue;
				if (_issue.format === "starts_with") return `Invalid string: must start with "${_issue.prefix}"`;
				if (_issue.format === "ends_with") return `Invalid string: must end with "${_issue.suffix}"`;
				if (_issue.format === "includes") return `Invalid string: must include "${_issue.includes}"`;
				if (_issue.format === "regex") return `Invalid string: must match pattern ${_issue.pattern}`;
				return `Invalid ${FormatDictionary[_issue.format] ?? issue.format}`;
			}
			case "not_multiple_of": return `Invalid number: must be a multiple of ${issue.divisor}`;
			case "unrecognized_keys": return `Unrecognized key${issue.keys.length > 1 ? "s" : ""}: ${joinValues(issue.keys, ", ")}`;
			case "invalid_key": return `Invalid key in ${issue.origin}`;
			case "invalid_union":
				if (issue.options && Array.isArray(issue.options) && issue.options.length > 0) return `Invalid discriminator value. Expected ${issue.options.map((o) => `'${o}'`).join(" | ")}`;
				if (issue.inclusive === false) return "Invalid input: more than one option matched";
				return "Invalid input";
			case "invalid_element": return `Invalid value in ${issue.origin}`;
			default: return `Invalid input`;
		}
	};
};
function en_default() {
	return { localeError: error() };
}
// node_modules/zod/v4/core/registries.js
var _a;
var $ZodRegistry = class {
	constructor() {
		this._map = /* @__PURE__ */ new WeakMap();
		this._idmap = /* @__PURE__ */ new Map();
	}
	add(schema, ..._meta) {
		const meta = _meta[0];
		this._map.set(schema, meta);
		if (meta && typeof meta === "object" && "id" in meta) this._idmap.set(meta.id, schema);
		return this;
	}
	clear() {
		this._map = /* @__PURE__ */ new WeakMap();
		this._idmap = /* @__PURE__ */ new Map();
		return this;
	}
	remove(schema) {
		const meta = this._map.get(schema);
		if (meta && typeof meta === "object" && "id" in meta) this._idmap.delete(meta.id);
		this._map.delete(schema);
		return this;
	}
	get(schema) {
		const p = schema._zod.parent;
		if (p) {
			const pm = { ...this.get(p) ?? {} };
			delete pm.id;
			const f = {
				...pm,
				...this._map.get(schema)
			};
			return Object.keys(f).length ? f : void 0;
		}
		return this._map.get(schema);
	}
	has(schema) {
		return this._map.has(schema);
	}
};
function registry() {
	return new $ZodRegistry();
}
(_a = globalThis).__zod_globalRegistry ?? (_a.__zod_globalRegistry = registry());
var globalRegistry = globalThis.__zod_globalRegistry;
// node_modules/zod/v4/core/api.js
function snapshotChecks(def) {
	if (def.checks) def.checks = [...def.checks];
	return def;
}
// @__NO_SIDE_EFFECTS__
function _string(Class, params) {
	return new Class(snapshotChecks({
		type: "string",
		...normalizeParams(params)
	}));
}
// @__NO_SIDE_EFFECTS__
function _email(Class, params) {
	return new Class({
		type: "string",
		format: "email",
		check: "string_format",
		abort: false,
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _guid(Class, params) {
	return new Class({
		type: "string",
		format: "guid",
		check: "string_format",
		abort: false,
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _uuid(Class, params) {
	return new Class({
		type: "string",
		format: "uuid",
		check: "string_format",
		abort: false,
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _uuidv4(Class, params) {
	return new Class({
		type: "string",
		format: "uuid",
		check: "string_format",
		abort: false,
		version: "v4",
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _uuidv6(Class, params) {
	return new Class({
		type: "string",
		format: "uuid",
		check: "string_format",
		abort: false,
		version: "v6",
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _uuidv7(Class, params) {
	return new Class({
		type: "string",
		format: "uuid",
		check: "string_format",
		abort: false,
		version: "v7",
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _url(Class, params) {
	return new Class({
		type: "string",
		format: "url",
		check: "string_format",
		abort: false,
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _emoji(Class, params) {
	return new Class({
		type: "string",
		format: "emoji",
		check: "string_format",
		abort: false,
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _nanoid(Class, params) {
	return new Class({
		type: "string",
		format: "nanoid",
		check: "string_format",
		abort: false,
		...normalizeParams(params)
	});
}
/**
* @deprecated CUID v1 is deprecated by its authors due to information leakage
* (timestamps embedded in the id). Use {@link _cuid2} instead.
* See https://github.com/paralleldrive/cuid.
*/
// @__NO_SIDE_EFFECTS__
function _cuid(Class, params) {
	return new Class({
		type: "string",
		format: "cuid",
		check: "string_format",
		abort: false,
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _cuid2(Class, params) {
	return new Class({
		type: "string",
		format: "cuid2",
		check: "string_format",
		abort: false,
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _ulid(Class, params) {
	return new Class({
		type: "string",
		format: "ulid",
		check: "string_format",
		abort: false,
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _xid(Class, params) {
	return new Class({
		type: "string",
		format: "xid",
		check: "string_format",
		abort: false,
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _ksuid(Class, params) {
	return new Class({
		type: "string",
		format: "ksuid",
		check: "string_format",
		abort: false,
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _ipv4(Class, params) {
	return new Class({
		type: "string",
		format: "ipv4",
		check: "string_format",
		abort: false,
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _ipv6(Class, params) {
	return new Class({
		type: "string",
		format: "ipv6",
		check: "string_format",
		abort: false,
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _cidrv4(Class, params) {
	return new Class({
		type: "string",
		format: "cidrv4",
		check: "string_format",
		abort: false,
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _cidrv6(Class, params) {
	return new Class({
		type: "string",
		format: "cidrv6",
		check: "string_format",
		abort: false,
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _base64(Class, params) {
	return new Class({
		type: "string",
		format: "base64",
		check: "string_format",
		abort: false,
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _base64url(Class, params) {
	return new Class({
		type: "string",
		format: "base64url",
		check: "string_format",
		abort: false,
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _e164(Class, params) {
	return new Class({
		type: "string",
		format: "e164",
		check: "string_format",
		abort: false,
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _jwt(Class, params) {
	return new Class({
		type: "string",
		format: "jwt",
		check: "string_format",
		abort: false,
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _isoDateTime(Class, params) {
	return new Class({
		type: "string",
		format: "datetime",
		check: "string_format",
		offset: false,
		local: false,
		precision: null,
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _isoDate(Class, params) {
	return new Class({
		type: "string",
		format: "date",
		check: "string_format",
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _isoTime(Class, params) {
	return new Class({
		type: "string",
		format: "time",
		check: "string_format",
		precision: null,
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _isoDuration(Class, params) {
	return new Class({
		type: "string",
		format: "duration",
		check: "string_format",
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _number(Class, params) {
	return new Class(snapshotChecks({
		type: "number",
		checks: [],
		...normalizeParams(params)
	}));
}
// @__NO_SIDE_EFFECTS__
function _int(Class, params) {
	return new Class({
		type: "number",
		check: "number_format",
		abort: false,
		format: "safeint",
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _lt(value, params) {
	return new $ZodCheckLessThan({
		check: "less_than",
		...normalizeParams(params),
		value,
		inclusive: false
	});
}
// @__NO_SIDE_EFFECTS__
function _lte(value, params) {
	return new $ZodCheckLessThan({
		check: "less_than",
		...normalizeParams(params),
		value,
		inclusive: true
	});
}
// @__NO_SIDE_EFFECTS__
function _gt(value, params) {
	return new $ZodCheckGreaterThan({
		check: "greater_than",
		...normalizeParams(params),
		value,
		inclusive: false
	});
}
// @__NO_SIDE_EFFECTS__
function _gte(value, params) {
	return new $ZodCheckGreaterThan({
		check: "greater_than",
		...normalizeParams(params),
		value,
		inclusive: true
	});
}
// @__NO_SIDE_EFFECTS__
function _multipleOf(value, params) {
	return new $ZodCheckMultipleOf({
		check: "multiple_of",
		...normalizeParams(params),
		value
	});
}
// @__NO_SIDE_EFFECTS__
function _maxLength(maximum, params) {
	return new $ZodCheckMaxLength({
		check: "max_length",
		...normalizeParams(params),
		maximum
	});
}
// @__NO_SIDE_EFFECTS__
function _minLength(minimum, params) {
	return new $ZodCheckMinLength({
		check: "min_length",
		...normalizeParams(params),
		minimum
	});
}
// @__NO_SIDE_EFFECTS__
function _length(length, params) {
	return new $ZodCheckLengthEquals({
		check: "length_equals",
		...normalizeParams(params),
		length
	});
}
// @__NO_SIDE_EFFECTS__
function _regex(pattern, params) {
	return new $ZodCheckRegex({
		check: "string_format",
		format: "regex",
		...normalizeParams(params),
		pattern
	});
}
// @__NO_SIDE_EFFECTS__
function _lowercase(params) {
	return new $ZodCheckLowerCase({
		check: "string_format",
		format: "lowercase",
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _uppercase(params) {
	return new $ZodCheckUpperCase({
		check: "string_format",
		format: "uppercase",
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _includes(includes, params) {
	return new $ZodCheckIncludes({
		check: "string_format",
		format: "includes",
		...normalizeParams(params),
		includes
	});
}
// @__NO_SIDE_EFFECTS__
function _startsWith(prefix, params) {
	return new $ZodCheckStartsWith({
		check: "string_format",
		format: "starts_with",
		...normalizeParams(params),
		prefix
	});
}
// @__NO_SIDE_EFFECTS__
function _endsWith(suffix, params) {
	return new $ZodCheckEndsWith({
		check: "string_format",
		format: "ends_with",
		...normalizeParams(params),
		suffix
	});
}
// @__NO_SIDE_EFFECTS__
function _overwrite(tx) {
	return new $ZodCheckOverwrite({
		check: "overwrite",
		tx
	});
}
// @__NO_SIDE_EFFECTS__
function _normalize(form) {
	return /* @__PURE__ */ _overwrite((input) => input.normalize(form));
}
// @__NO_SIDE_EFFECTS__
function _trim() {
	return /* @__PURE__ */ _overwrite((input) => input.trim());
}
// @__NO_SIDE_EFFECTS__
function _toLowerCase() {
	return /* @__PURE__ */ _overwrite((input) => input.toLowerCase());
}
// @__NO_SIDE_EFFECTS__
function _toUpperCase() {
	return /* @__PURE__ */ _overwrite((input) => input.toUpperCase());
}
// @__NO_SIDE_EFFECTS__
function _slugify() {
	return /* @__PURE__ */ _overwrite((input) => slugify(input));
}
// @__NO_SIDE_EFFECTS__
function _array(Class, element, params) {
	return new Class({
		type: "array",
		element,
		...normalizeParams(params)
	});
}
// @__NO_SIDE_EFFECTS__
function _refine(Class, fn, _params) {
	return new Class({
		type: "custom",
		check: "custom",
		fn,
		...normalizeParams(_params)
	});
}
// @__NO_SIDE_EFFECTS__
function _superRefine(fn, params) {
	const ch = /* @__PURE__ */ _check((payload) => {
		payload.addIssue = (issue$2) => {
			if (typeof issue$2 === "string") payload.issues.push(issue(issue$2, payload.value, ch._zod.def));
			else {
				const _issue = issue$2;
				if (_issue.fatal) _issue.continue = false;
				_issue.code ?? (_issue.code = "custom");
				if (!("input" in _issue)) _issue.input = payload.value;
				_issue.inst ?? (_issue.inst = ch);
				_issue.continue ?? (_issue.continue = !ch._zod.def.abort);
				payload.issues.push(issue(_issue));
			}
		};
		return fn(payload.value, payload);
	}, params);
	return ch;
}
// @__NO_SIDE_EFFECTS__
function _check(fn, params) {
	const ch = new $ZodCheck({
		check: "custom",
		...normalizeParams(params)
	});
	ch._zod.check = fn;
	return ch;
}
// node_modules/zod/v4/core/to-json-schema.js
function assignProps(target, ...sources) {
	for (const source of sources) for (const key of Reflect.ownKeys(source)) if (Object.prototype.propertyIsEnumerable.call(source, key)) assignProp(target, key, source[key]);
	return target;
}
function initializeContext(params) {
	let target = params?.target ?? "draft-2020-12";
	if (target === "draft-4") target = "draft-04";
	if (target === "draft-7") target = "draft-07";
	return {
		processors: params.processors ?? {},
		metadataRegistry: params?.metadata ?? globalRegistry,
		target,
		unrepresentable: params?.unrepresentable ?? "throw",
		override: params?.override ?? (() => {}),
		io: params?.io ?? "output",
		counter: 0,
		seen: /* @__PURE__ */ new Map(),
		sharedDefsExtractedFor: void 0,
		sharedEmitDoneFor: void 0,
		cycles: params?.cycles ?? "ref",
		reused: params?.reused ?? "inline",
		intersections: [],
		deferred: [],
		external: params?.external ?? void 0
	};
}
/**
* Applies the `unrepresentable` setting at a site that has no JSON Schema equivalent. Throws
* `message` unless the setting (or the handler's return value) says otherwise. Returns `true` if a
* custom JSON Schema was written into `json`, in which case the caller must not write its own.
*/
function handleUnrepresentable(schema, ctx, json, params, message) {
	const result = typeof ctx.unrepresentable === "function" ? ctx.unrepresentable({
		zodSchema: schema,
		path: params.path,
		message
	}) : ctx.unrepresentable;
	if (result === "any") return false;
	if (result === void 0 || result === "throw") throw new Error(message);
	Object.assign(json, result);
	return true;
}
function processSchema(schema, ctx, _params = {
	path: [],
	schemaPath: []
}) {
	var _a;
	const def = schema._zod.def;
	const seen = ctx.seen.get(schema);
	if (seen) {
		seen.count++;
		if (_params.schemaPath.includes(schema)) seen.cycle = _params.path;
		return seen.schema;
	}
	const result = {
		schema: {},
		count: 1,
		cycle: void 0,
		path: _params.path
	};
	ctx.seen.set(schema, result);
	ctx.sharedDefsExtractedFor = void 0;
	ctx.sharedEmitDoneFor = void 0;
	const overrideSchema = schema._zod.toJSONSchema?.();
	if (overrideSchema) result.schema = overrideSchema;
	else {
		const params = {
			..._params,
			schemaPath: [..._params.schemaPath, schema],
			path: _params.path
		};
		if (schema._zod.processJSONSchema) schema._zod.processJSONSchema(ctx, result.schema, params);
		else {
			const _json = result.schema;
			const processor = ctx.processors[def.type];
			if (!processor) throw new Error(`[toJSONSchema]: Non-representable type encountered: ${def.type}`);
			processor(schema, ctx, _json, params);
		}
		const parent = schema._zod.parent;
		if (parent) {
			if (!result.ref) result.ref = parent;
			processSchema(parent, ctx, params);
			ctx.seen.get(parent).isParent = true;
		}
	}
	const meta = ctx.metadataRegistry.get(schema);
	if (meta) assignProps(result.schema, meta);
	if (ctx.io === "input" && isTransforming(schema)) {
		delete result.schema.examples;
		delete result.schema.default;
	}
	if (ctx.io === "input" && "_prefault" in result.schema) (_a = result.schema).default ?? (_a.default = result.schema._prefault);
	delete result.schema._prefault;
	return ctx.seen.get(schema).schema;
}
function encodeJSONPointerSegment(segment) {
	return segment.replace(/~/g, "~0").replace(/\//g, "~1");
}
function extractDefs(ctx, schema) {
	const root = ctx.seen.get(schema);
	if (!root) throw new Error("Unprocessed schema. This is a bug in Zod.");
	if (ctx.external && ctx.sharedDefsExtractedFor === ctx.external) return;
	const idToSchema = /* @__PURE__ */ new Map();
	for (const entry of ctx.seen.entries()) {
		const id = ctx.metadataRegistry.get(entry[0])?.id;
		if (id) {
			const existing = idToSchema.get(id);
			if (existing && existing !== entry[0]) throw new Error(`Duplicate schema id "${id}" detected during JSON Schema conversion. Two different schemas cannot share the same id when converted together.`);
			idToSchema.set(id, entry[0]);
		}
	}
	const makeURI = (entry) => {
		const defsSegment = ctx.target === "draft-2020-12" ? "$defs" : "definitions";
		if (ctx.external) {
			const externalId = ctx.external.registry.get(entry[0])?.id;
			const uriGenerator = ctx.external.uri ?? ((id) => id);
			if (externalId) return { ref: uriGenerator(externalId) };
			const id = entry[1].defId ?? entry[1].schema.id ?? `schema${ctx.counter++}`;
			entry[1].defId = id;
			return {
				defId: id,
				ref: `${uriGenerator("__shared")}#/${defsSegment}/${encodeJSONPointerSegment(id)}`
			};
		}
		const uriPrefix = `#`;
		const defUriPrefix = `${uriPrefix}/${defsSegment}/`;
		if (entry[1] === root && !entry[1].schema.id) return { ref: uriPrefix };
		const defId = entry[1].schema.id ?? `__schema${ctx.counter++}`;
		return {
			defId,
			ref: defUriPrefix + encodeJSONPointerSegment(defId)
		};
	};
	const extractToDef = (entry) => {
		if (entry[1].schema.$ref) return;
		const seen = entry[1];
		const { ref, defId } = makeURI(entry);
		seen.def = { ...seen.schema };
		if (defId) seen.defId = defId;
		const schema = seen.schema;
		for (const key in schema) delete schema[key];
		schema.$ref = ref;
	};
	if (ctx.cycles === "throw") for (const entry of ctx.seen.entries()) {
		const seen = entry[1];
		if (seen.cycle) throw new Error(`Cycle detected: #/${seen.cycle?.join("/")}/<root>

Set the \`cycles\` parameter to \`"ref"\` to resolve cyclical schemas with defs.`);
	}
	for (const entry of ctx.seen.entries()) {
		const seen = entry[1];
		if (schema === entry[0]) {
			extractToDef(entry);
			continue;
		}
		if (ctx.external) {
			const ext = ctx.external.registry.get(entry[0])?.id;
			if (schema !== entry[0] && ext) {
				extractToDef(entry);
				continue;
			}
		}
		if (ctx.metadataRegistry.get(entry[0])?.id) {
			extractToDef(entry);
			continue;
		}
		if (seen.cycle) {
			extractToDef(entry);
			continue;
		}
		if (seen.count > 1) {
			if (ctx.reused === "ref") extractToDef(entry);
		}
	}
	if (ctx.external) ctx.sharedDefsExtractedFor = ctx.external;
}
/** Rewrites `anyOf: [{type: "a"}, {type: "b"}]` to `type: ["a", "b"]`, which every JSON Schema draft treats as equivalent and most consumers render far better for the nullable case. Only branches that are a bare type assertion qualify — anything carrying a constraint, `$ref`, `const` or metadata is left alone. Runs after `flattenRef`, so a branch an override decorated or `$defs` extraction turned into a `$ref` is no longer bare and correctly stays in `anyOf`. `oneOf` is excluded: `integer` and `number` overlap, so "exactly one" and "at least one" are not the same there. OpenAPI 3.0 is excluded: its `type` must be a single string. */
function compactTypeUnion(schema) {
	const options = schema.anyOf;
	if (!Array.isArray(options) || options.length === 0 || schema.type !== void 0) return;
	const types = [];
	for (const option of options) {
		if (!option || typeof option !== "object") return;
		compactTypeUnion(option);
		const keys = Object.keys(option);
		if (keys.length !== 1 || keys[0] !== "type") return;
		const type = option.type;
		for (const member of Array.isArray(type) ? type : [type]) {
			if (typeof member !== "string") return;
			if (!types.includes(member)) types.push(member);
		}
	}
	delete schema.anyOf;
	schema.type = types.length === 1 ? types[0] : types;
}
/** Keywords `foldIntersection` knows how to combine. Anything else — `$ref`, `patternProperties`,
* an annotation like `description` — makes a member unfoldable, so a constraint this does not
* understand leaves the `allOf` alone instead of being silently dropped or misattributed. */
var FOLDABLE_KEYS = /* @__PURE__ */ new Set([
	"type",
	"properties",
	"required",
	"additionalProperties"
]);
var UNION_KEYS = ["oneOf", "anyOf"];
/** A member's constraint on a key it does not declare itself. A `catchall` states one; `false`, an absent `additionalProperties`, and the empty schema a loose object emits state nothing. */
function undeclaredConstraint(member) {
	const extra = member.additionalProperties;
	if (extra === void 0 || extra === false || typeof extra !== "object" || extra === null) return null;
	return Object.keys(extra).length ? extra : null;
}
/** Combines object members into the single object they describe together, or returns `null` if any of them carries a keyword outside {@link FOLDABLE_KEYS}. */
function foldObjects(members) {
	const objects = [];
	for (const member of members) {
		if (typeof member !== "object" || member.type !== "object") return null;
		for (const key in member) if (!FOLDABLE_KEYS.has(key)) return null;
		objects.push(member);
	}
	const properties = {};
	const required = /* @__PURE__ */ new Set();
	for (const object of objects) {
		for (const key in object.properties) {
			if (Object.prototype.hasOwnProperty.call(properties, key)) continue;
			const parts = [];
			for (const other of objects) {
				const part = other.properties?.[key] ?? undeclaredConstraint(other);
				if (part === null || part === void 0) continue;
				if (!parts.some((seen) => JSON.stringify(seen) === JSON.stringify(part))) parts.push(part);
			}
			assignProp(properties, key, parts.length === 1 ? parts[0] : foldObjects(parts) ?? { allOf: parts });
		}
		for (const key of object.required ?? []) required.add(key);
	}
	const folded = {
		type: "object",
		properties
	};
	if (required.size) folded.required = [...required];
	if (objects.every((object) => object.additionalProperties === false)) folded.additionalProperties = false;
	else {
		const constraints = [];
		for (const object of objects) {
			const constraint = undeclaredConstraint(object);
			if (constraint && !constraints.some((seen) => JSON.stringify(seen) === JSON.stringify(constraint))) constraints.push(constraint);
		}
		if (constraints.length === 1) folded.additionalProperties = constraints[0];
		else if (constraints.length > 1) folded.additionalProperties = { allOf: constraints };
	}
	return folded;
}
/** `additionalProperties` in an `allOf` member sees only that member's own `properties`, so two
* closed object members reject each other's keys and the schema validates nothing. Zod's parser
* pools the key sets instead — `handleIntersectionResults` reports a key as unrecognized only when
* *every* side rejects it — so the emitted schema has to pool them too, and folding the members
* into one object is the encoding that says so on every target.
*
* This runs from `finalize`, after `extractDefs`, which is what keeps it clear of the `$ref`
* machinery: a member extracted into `$defs` is already a `$ref` by now and declines to fold, so it
* keeps its reference and its own closedness rather than being inlined as a stale copy. */
function foldIntersection(json) {
	const allOf = json.allOf;
	if (!Array.isArray(allOf) || allOf.length < 2) return;
	for (const key of FOLDABLE_KEYS) if (key in json) return;
	const unions = allOf.filter((m) => UNION_KEYS.some((k) => Array.isArray(m[k])));
	let folded = null;
	if (!unions.length) folded = foldObjects(allOf);
	else {
		const union = unions[0];
		const keyword = UNION_KEYS.find((k) => Array.isArray(union[k]));
		if (Object.keys(union).length !== 1) return;
		const rest = allOf.filter((m) => m !== union);
		const branches = union[keyword].map((branch) => foldObjects([...rest, branch]));
		if (branches.some((b) => !b)) return;
		folded = { [keyword]: branches };
	}
	if (!folded) return;
	delete json.allOf;
	assignProps(json, folded);
}
function finalize(ctx, schema) {
	const root = ctx.seen.get(schema);
	if (!root) throw new Error("Unprocessed schema. This is a bug in Zod.");
	const flattenRef = (zodSchema) => {
		const seen = ctx.seen.get(zodSchema);
		if (seen.ref === null) return;
		const schema = seen.def ?? seen.schema;
		const _cached = { ...schema };
		const ref = seen.ref;
		seen.ref = null;
		if (ref) {
			flattenRef(ref);
			const refSeen = ctx.seen.get(ref);
			const refSchema = refSeen.schema;
			if (refSchema.$ref && (ctx.target === "draft-07" || ctx.target === "draft-04" || ctx.target === "openapi-3.0")) {
				schema.allOf = schema.allOf ?? [];
				schema.allOf.push(refSchema);
			} else assignProps(schema, refSchema);
			assignProps(schema, _cached);
			if (zodSchema._zod.parent === ref) for (const key in schema) {
				if (key === "$ref" || key === "allOf") continue;
				if (!(key in _cached)) delete schema[key];
			}
			if (refSchema.$ref && refSeen.def) for (const key in schema) {
				if (key === "$ref" || key === "allOf") continue;
				if (key in refSeen.def && JSON.stringify(schema[key]) === JSON.stringify(refSeen.def[key])) delete schema[key];
			}
		}
		const parent = zodSchema._zod.parent;
		if (parent && parent !== ref) {
			flattenRef(parent);
			const parentSeen = ctx.seen.get(parent);
			if (parentSeen?.schema.$ref) {
				schema.$ref = parentSeen.schema.$ref;
				if (parentSeen.def) for (const key in schema) {
					if (key === "$ref" || key === "allOf") continue;
					if (key in parentSeen.def && JSON.stringify(schema[key]) === JSON.stringify(parentSeen.def[key])) delete schema[key];
				}
			}
		}
		ctx.override({
			zodSchema,
			jsonSchema: schema,
			path: seen.path ?? []
		});
	};
	if (!ctx.external || ctx.sharedEmitDoneFor !== ctx.external) {
		for (const entry of [...ctx.seen.entries()].reverse()) flattenRef(entry[0]);
		if (ctx.target !== "openapi-3.0") for (const entry of ctx.seen.entries()) compactTypeUnion(entry[1].def ?? entry[1].schema);
		for (const rewrite of ctx.deferred) rewrite();
		if (ctx.intersections.length) {
			const carriers = /* @__PURE__ */ new Map();
			for (const seen of ctx.seen.values()) for (const json of [seen.schema, seen.def]) {
				const allOf = json?.allOf;
				if (!Array.isArray(allOf)) continue;
				const existing = carriers.get(allOf);
				if (existing) existing.push(json);
				else carriers.set(allOf, [json]);
			}
			for (const allOf of ctx.intersections) for (const json of carriers.get(allOf) ?? []) foldIntersection(json);
		}
	}
	const result = {};
	if (ctx.target === "draft-2020-12") result.$schema = "https://json-schema.org/draft/2020-12/schema";
	else if (ctx.target === "draft-07") result.$schema = "http://json-schema.org/draft-07/schema#";
	else if (ctx.target === "draft-04") result.$schema = "http://json-schema.org/draft-04/schema#";
	else if (ctx.target === "openapi-3.0") {}
	if (ctx.external?.uri) {
		const id = ctx.external.registry.get(schema)?.id;
		if (!id) throw new Error("Schema is missing an `id` property");
		result.$id = ctx.external.uri(id);
	}
	assignProps(result, root.defId ? root.schema : root.def ?? root.schema);
	const rootMetaId = ctx.metadataRegistry.get(schema)?.id;
	if (rootMetaId !== void 0 && result.id === rootMetaId) delete result.id;
	const defs = ctx.external?.defs ?? {};
	if (!ctx.external || ctx.sharedEmitDoneFor !== ctx.external) for (const entry of ctx.seen.entries()) {
		const seen = entry[1];
		if (seen.def && seen.defId) {
			if (seen.def.id === seen.defId) delete seen.def.id;
			assignProp(defs, seen.defId, seen.def);
		}
	}
	if (ctx.external) ctx.sharedEmitDoneFor = ctx.external;
	if (ctx.external) {} else if (Object.keys(defs).length > 0) {
		if (ctx.target === "draft-2020-12") result.$defs = defs;
		else result.definitions = defs;
	}
	try {
		const finalized = JSON.parse(JSON.stringify(result));
		Object.defineProperty(finalized, "~standard", {
			value: {
				...schema["~standard"],
				jsonSchema: {
					input: createStandardJSONSchemaMethod(schema, "input", ctx.processors),
					output: createStandardJSONSchemaMethod(schema, "output", ctx.processors)
				}
			},
			enumerable: false,
			writable: false
		});
		return finalized;
	} catch (_err) {
		throw new Error("Error converting schema to JSON.");
	}
}
function isTransforming(_schema, _ctx) {
	const ctx = _ctx ?? { seen: /* @__PURE__ */ new Set() };
	if (ctx.seen.has(_schema)) return false;
	ctx.seen.add(_schema);
	const def = _schema._zod.def;
	if (def.type === "transform") return true;
	if (def.type === "array") return isTransforming(def.element, ctx);
	if (def.type === "set") return isTransforming(def.valueType, ctx);
	if (def.type === "lazy") return isTransforming(def.getter(), ctx);
	if (def.type === "promise" || def.type === "optional" || def.type === "nonoptional" || def.type === "nullable" || def.type === "readonly" || def.type === "default" || def.type === "prefault" || def.type === "catch") return isTransforming(def.innerType, ctx);
	if (def.type === "intersection") return isTransforming(def.left, ctx) || isTransforming(def.right, ctx);
	if (def.type === "record" || def.type === "map") return isTransforming(def.keyType, ctx) || isTransforming(def.valueType, ctx);
	if (def.type === "pipe") {
		if (_schema._zod.traits.has("$ZodCodec")) return true;
		return isTransforming(def.in, ctx) || isTransforming(def.out, ctx);
	}
	if (def.type === "object") {
		for (const key in def.shape) if (isTransforming(def.shape[key], ctx)) return true;
		return false;
	}
	if (def.type === "union") {
		for (const option of def.options) if (isTransforming(option, ctx)) return true;
		return false;
	}
	if (def.type === "tuple") {
		for (const item of def.items) if (isTransforming(item, ctx)) return true;
		if (def.rest && isTransforming(def.rest, ctx)) return true;
		return false;
	}
	return false;
}
/**
* Creates a toJSONSchema method for a schema instance.
* This encapsulates the logic of initializing context, processing, extracting defs, and finalizing.
*/
var createToJSONSchemaMethod = (schema, processors = {}) => (params) => {
	const ctx = initializeContext({
		...params,
		processors
	});
	processSchema(schema, ctx);
	extractDefs(ctx, schema);
	return finalize(ctx, schema);
};
var createStandardJSONSchemaMethod = (schema, io, processors = {}) => (params) => {
	const { libraryOptions, target } = params ?? {};
	const ctx = initializeContext({
		...libraryOptions ?? {},
		target,
		io,
		processors
	});
	processSchema(schema, ctx);
	extractDefs(ctx, schema);
	return finalize(ctx, schema);
};
// node_modules/zod/v4/core/json-schema-processors.js
var narrowMin = (agg, key, value) => {
	if (agg[key] === void 0 || value > agg[key]) agg[key] = value;
};
var narrowMax = (agg, key, value) => {
	if (agg[key] === void 0 || value < agg[key]) agg[key] = value;
};
var narrowBoth = (agg, value) => {
	narrowMin(agg, "minimum", value);
	narrowMax(agg, "maximum", value);
};
var addDivisor = (agg, value) => {
	agg.multipleOf ?? (agg.multipleOf = []);
	if (!agg.multipleOf.includes(value)) agg.multipleOf.push(value);
};
var addPattern = (agg, pattern) => {
	agg.patterns ?? (agg.patterns = /* @__PURE__ */ new Set());
	agg.patterns.add(pattern);
};
var intersectMime = (agg, mime) => {
	agg.mime = agg.mime ? agg.mime.filter((m) => mime.includes(m)) : [...mime];
};
var setFormat = (agg, format) => {
	agg.format = format;
	if (format.includes("int")) agg.isInt = true;
};
var minContributor = (agg, def) => narrowMin(agg, "minimum", def.minimum);
var maxContributor = (agg, def) => narrowMax(agg, "maximum", def.maximum);
var formatContributor = (ranges) => (agg, def) => {
	setFormat(agg, def.format);
	const [minimum, maximum] = ranges[def.format];
	narrowMin(agg, "minimum", minimum);
	narrowMax(agg, "maximum", maximum);
};
var contributors = {
	greater_than: (agg, def) => narrowMin(agg, def.inclusive ? "minimum" : "exclusiveMinimum", def.value),
	less_than: (agg, def) => narrowMax(agg, def.inclusive ? "maximum" : "exclusiveMaximum", def.value),
	multiple_of: (agg, def) => addDivisor(agg, def.value),
	number_format: formatContributor(NUMBER_FORMAT_RANGES),
	bigint_format: formatContributor(BIGINT_FORMAT_RANGES),
	min_length: minContributor,
	max_length: maxContributor,
	length_equals: (agg, def) => narrowBoth(agg, def.length),
	min_size: minContributor,
	max_size: maxContributor,
	size_equals: (agg, def) => narrowBoth(agg, def.size),
	string_format: (agg, def) => {
		setFormat(agg, def.format);
		if (def.pattern) addPattern(agg, def.pattern);
		if (def.format === "base64" || def.format === "base64url") agg.contentEncoding = def.format;
		if (def.local || def.precision === -1) agg.laxFormat = true;
	},
	mime_type: (agg, def) => intersectMime(agg, def.mime)
};
function aggregateChecks(schema) {
	const agg = {};
	const def = schema._zod.def;
	const list = schema._zod.traits.has("$ZodCheck") ? [schema, ...def.checks ?? []] : def.checks ?? [];
	for (const ch of list) contributors[ch._zod.def.check]?.(agg, ch._zod.def);
	const bag = schema._zod.bag;
	if (bag.minimum !== void 0) narrowMin(agg, "minimum", bag.minimum);
	if (bag.exclusiveMinimum !== void 0) narrowMin(agg, "exclusiveMinimum", bag.exclusiveMinimum);
	if (bag.maximum !== void 0) narrowMax(agg, "maximum", bag.maximum);
	if (bag.exclusiveMaximum !== void 0) narrowMax(agg, "exclusiveMaximum", bag.exclusiveMaximum);
	if (bag.multipleOf !== void 0) addDivisor(agg, bag.multipleOf);
	if (bag.format !== void 0) {
		agg.format ?? (agg.format = bag.format);
		if (bag.format.includes("int")) agg.isInt = true;
	}
	if (bag.mime) intersectMime(agg, bag.mime);
	for (const pattern of bag.patterns ?? []) addPattern(agg, pattern);
	return agg;
}
var formatMap = {
	guid: "uuid",
	url: "uri",
	datetime: "date-time",
	json_string: "json-string",
	regex: ""
};
var exactPatterns = /* @__PURE__ */ new Map([[base64Charset, base64], [base64urlCharset, base64url]]);
var exactPattern = (p) => exactPatterns.get(p) ?? p;
var stringProcessor = (schema, ctx, _json, _params) => {
	const json = _json;
	json.type = "string";
	const { minimum, maximum, format, patterns, contentEncoding, laxFormat } = aggregateChecks(schema);
	if (typeof minimum === "number") json.minLength = minimum;
	if (typeof maximum === "number") json.maxLength = maximum;
	if (format) {
		json.format = formatMap[format] ?? format;
		if (json.format === "") delete json.format;
		if (format === "time" || laxFormat) delete json.format;
	}
	if (contentEncoding) json.contentEncoding = contentEncoding;
	if (patterns && patterns.size > 0) {
		const patternList = [...patterns].map(exactPattern);
		if (patternList.length === 1) json.pattern = patternList[0].source;
		else if (patternList.length > 1) json.allOf = [...patternList.map((regex) => ({
			...ctx.target === "draft-07" || ctx.target === "draft-04" || ctx.target === "openapi-3.0" ? { type: "string" } : {},
			pattern: regex.source
		}))];
	}
};
var numberProcessor = (schema, ctx, _json, params) => {
	const json = _json;
	const { minimum, maximum, multipleOf, exclusiveMaximum, exclusiveMinimum, isInt } = aggregateChecks(schema);
	json.type = isInt ? "integer" : "number";
	const exMin = typeof exclusiveMinimum === "number" && exclusiveMinimum >= (minimum ?? Number.NEGATIVE_INFINITY);
	const exMax = typeof exclusiveMaximum === "number" && exclusiveMaximum <= (maximum ?? Number.POSITIVE_INFINITY);
	const legacy = ctx.target === "draft-04" || ctx.target === "openapi-3.0";
	if (exMin) {
		if (legacy) {
			json.minimum = exclusiveMinimum;
			json.exclusiveMinimum = true;
		} else json.exclusiveMinimum = exclusiveMinimum;
	} else if (typeof minimum === "number") json.minimum = minimum;
	if (exMax) {
		if (legacy) {
			json.maximum = exclusiveMaximum;
			json.exclusiveMaximum = true;
		} else json.exclusiveMaximum = exclusiveMaximum;
	} else if (typeof maximum === "number") json.maximum = maximum;
	if (multipleOf) {
		const divisors = /* @__PURE__ */ new Set();
		for (const divisor of multipleOf) if (Number.isFinite(divisor) && divisor !== 0) divisors.add(Math.abs(divisor));
		else handleUnrepresentable(schema, ctx, json, params, `A multipleOf divisor of ${divisor} cannot be represented in JSON Schema`);
		const [first, ...rest] = divisors;
		if (first !== void 0) json.multipleOf = first;
		if (rest.length) json.allOf = [...json.allOf ?? [], ...rest.map((m) => ({ multipleOf: m }))];
	}
};
var customProcessor = (schema, ctx, json, params) => {
	handleUnrepresentable(schema, ctx, json, params, "Custom types cannot be represented in JSON Schema");
};
var transformProcessor = (schema, ctx, json, params) => {
	handleUnrepresentable(schema, ctx, json, params, "Transforms cannot be represented in JSON Schema");
};
var arrayProcessor = (schema, ctx, _json, params) => {
	const json = _json;
	const def = schema._zod.def;
	const { minimum, maximum } = aggregateChecks(schema);
	if (typeof minimum === "number") json.minItems = minimum;
	if (typeof maximum === "number") json.maxItems = maximum;
	json.type = "array";
	json.items = processSchema(def.element, ctx, {
		...params,
		path: [...params.path, "items"]
	});
};
var unionProcessor = (schema, ctx, json, params) => {
	const def = schema._zod.def;
	const isExclusive = def.inclusive === false;
	const options = def.options.map((x, i) => processSchema(x, ctx, {
		...params,
		path: [
			...params.path,
			isExclusive ? "oneOf" : "anyOf",
			i
		]
	}));
	if (isExclusive) json.oneOf = options;
	else json.anyOf = options;
};
var intersectionProcessor = (schema, ctx, json, params) => {
	const def = schema._zod.def;
	const a = processSchema(def.left, ctx, {
		...params,
		path: [
			...params.path,
			"allOf",
			0
		]
	});
	const b = processSchema(def.right, ctx, {
		...params,
		path: [
			...params.path,
			"allOf",
			1
		]
	});
	const isSimpleIntersection = (val) => "allOf" in val && Object.keys(val).length === 1;
	const allOf = [...isSimpleIntersection(a) ? a.allOf : [a], ...isSimpleIntersection(b) ? b.allOf : [b]];
	json.allOf = allOf;
	ctx.intersections.push(allOf);
};
var nullableProcessor = (schema, ctx, json, params) => {
	const def = schema._zod.def;
	const inner = processSchema(def.innerType, ctx, params);
	const seen = ctx.seen.get(schema);
	if (ctx.target === "openapi-3.0") {
		seen.ref = def.innerType;
		json.nullable = true;
	} else json.anyOf = [inner, { type: "null" }];
};
var nonoptionalProcessor = (schema, ctx, _json, params) => {
	const def = schema._zod.def;
	processSchema(def.innerType, ctx, params);
	const seen = ctx.seen.get(schema);
	seen.ref = def.innerType;
};
/** Round-trips a default value through JSON so the emitted schema is guaranteed to be valid JSON.
* A BigInt has no reliable encoding, so it goes through `unrepresentable` like any other
* unrepresentable value. Returns a sentinel when the caller must not write a default of its own. */
var UNREPRESENTABLE_DEFAULT = Symbol();
function serializeDefaultValue(value, schema, ctx, json, params) {
	let unrepresentable = false;
	const serialized = JSON.stringify(value, (_, val) => {
		if (typeof val !== "bigint") return val;
		unrepresentable = true;
		return null;
	});
	if (!unrepresentable) return JSON.parse(serialized);
	handleUnrepresentable(schema, ctx, json, params, "BigInt defaults cannot be represented in JSON Schema");
	return UNREPRESENTABLE_DEFAULT;
}
var defaultProcessor = (schema, ctx, json, params) => {
	const def = schema._zod.def;
	processSchema(def.innerType, ctx, params);
	const seen = ctx.seen.get(schema);
	seen.ref = def.innerType;
	const value = serializeDefaultValue(def.defaultValue, schema, ctx, json, params);
	if (value !== UNREPRESENTABLE_DEFAULT) json.default = value;
};
var prefaultProcessor = (schema, ctx, json, params) => {
	const def = schema._zod.def;
	processSchema(def.innerType, ctx, params);
	const seen = ctx.seen.get(schema);
	seen.ref = def.innerType;
	if (ctx.io !== "input") return;
	const value = serializeDefaultValue(def.defaultValue, schema, ctx, json, params);
	if (value !== UNREPRESENTABLE_DEFAULT) json._prefault = value;
};
var catchProcessor = (schema, ctx, json, params) => {
	const def = schema._zod.def;
	processSchema(def.innerType, ctx, params);
	const seen = ctx.seen.get(schema);
	seen.ref = def.innerType;
	let catchValue;
	try {
		catchValue = def.catchValue(void 0);
	} catch {
		handleUnrepresentable(schema, ctx, json, params, "Dynamic catch values are not supported in JSON Schema");
		return;
	}
	json.default = catchValue;
};
var pipeProcessor = (schema, ctx, _json, params) => {
	const def = schema._zod.def;
	const inIsTransform = def.in._zod.traits.has("$ZodTransform");
	const innerType = ctx.io === "input" ? inIsTransform ? def.out : def.in : def.out;
	processSchema(innerType, ctx, params);
	const seen = ctx.seen.get(schema);
	seen.ref = innerType;
};
var readonlyProcessor = (schema, ctx, json, params) => {
	const def = schema._zod.def;
	processSchema(def.innerType, ctx, params);
	const seen = ctx.seen.get(schema);
	seen.ref = def.innerType;
	json.readOnly = true;
};
var optionalProcessor = (schema, ctx, _json, params) => {
	const def = schema._zod.def;
	processSchema(def.innerType, ctx, params);
	const seen = ctx.seen.get(schema);
	seen.ref = def.innerType;
};
// node_modules/zod/v4/classic/errors.js
var _installedErrorProtos = /* @__PURE__ */ new WeakSet([Object.prototype, Error.prototype]);
function _lazyMethod(proto, key, make) {
	Object.defineProperty(proto, key, {
		configurable: true,
		enumerable: false,
		get() {
			const value = make(this);
			Object.defineProperty(this, key, {
				value,
				configurable: true,
				writable: true
			});
			return value;
		},
		set(value) {
			Object.defineProperty(this, key, {
				value,
				configurable: true,
				writable: true
			});
		}
	});
}
var initializer = (inst, issues) => {
	$ZodError.init(inst, issues);
	inst.name = "ZodError";
	const proto = Object.getPrototypeOf(inst);
	if (_installedErrorProtos.has(proto)) return;
	_installedErrorProtos.add(proto);
	_lazyMethod(proto, "format", (self) => (mapper) => formatError(self, mapper));
	_lazyMethod(proto, "flatten", (self) => (mapper) => flattenError(self, mapper));
	_lazyMethod(proto, "addIssue", (self) => (issue) => {
		self.issues.push(issue);
		self.message = JSON.stringify(self.issues, jsonStringifyReplacer, 2);
	});
	_lazyMethod(proto, "addIssues", (self) => (issues) => {
		self.issues.push(...issues);
		self.message = JSON.stringify(self.issues, jsonStringifyReplacer, 2);
	});
	Object.defineProperty(proto, "isEmpty", {
		configurable: true,
		enumerable: false,
		get() {
			return this.issues.length === 0;
		}
	});
};
var ZodRealError = /*@__PURE__*/ $constructor("ZodError", initializer, void 0, { Parent: Error });
// node_modules/zod/v4/classic/parse.js
var parse = /* @__PURE__ */ _parse(ZodRealError);
var parseAsync = /* @__PURE__ */ _parseAsync(ZodRealError);
var safeParse = /* @__PURE__ */ _safeParse(ZodRealError);
var safeParseAsync = /* @__PURE__ */ _safeParseAsync(ZodRealError);
var encode = /* @__PURE__ */ _encode(ZodRealError);
var decode = /* @__PURE__ */ _decode(ZodRealError);
var encodeAsync = /* @__PURE__ */ _encodeAsync(ZodRealError);
var decodeAsync = /* @__PURE__ */ _decodeAsync(ZodRealError);
var safeEncode = /* @__PURE__ */ _safeEncode(ZodRealError);
var safeDecode = /* @__PURE__ */ _safeDecode(ZodRealError);
var safeEncodeAsync = /* @__PURE__ */ _safeEncodeAsync(ZodRealError);
var safeDecodeAsync = /* @__PURE__ */ _safeDecodeAsync(ZodRealError);
// node_modules/zod/v4/classic/schemas.js
function _ensureDefaultLocale() {
	if (!globalConfig.localeError) config(en_default());
}
function _ensureDefaultMemoizer() {
	if (!globalConfig.memoizer) config({ memoizer: memoizer() });
}
var ZodType = /*@__PURE__*/ $constructor("ZodType", (inst, def) => {
	_ensureDefaultLocale();
	$ZodType.init(inst, def);
	inst.def = def;
	inst.type = def.type;
	return inst;
}, {
	check(...chks) {
		const def = this.def;
		return this.clone(mergeDefs(def, { checks: [...def.checks ?? [], ...chks.map((ch) => typeof ch === "function" ? { _zod: {
			check: ch,
			def: { check: "custom" },
			onattach: []
		} } : ch)] }), { parent: true });
	},
	with(...chks) {
		return this.check(...chks);
	},
	clone(def, params) {
		return clone(this, def, params);
	},
	brand() {
		return this;
	},
	register(reg, meta) {
		reg.add(this, meta);
		return this;
	},
	refine(check, params) {
		return this.check(refine(check, params));
	},
	superRefine(refinement, params) {
		return this.check(superRefine(refinement, params));
	},
	overwrite(fn) {
		return this.check(/* @__PURE__ */ _overwrite(fn));
	},
	optional() {
		return optional(this);
	},
	exactOptional() {
		return exactOptional(this);
	},
	nullable() {
		return nullable(this);
	},
	nullish() {
		return optional(nullable(this));
	},
	nonoptional(params) {
		return nonoptional(this, params);
	},
	array() {
		return array(this);
	},
	or(arg) {
		return union([this, arg]);
	},
	and(arg) {
		return intersection(this, arg);
	},
	transform(tx) {
		return pipe(this, transform(tx));
	},
	default(d) {
		return _default(this, d);
	},
	prefault(d) {
		return prefault(this, d);
	},
	catch(params) {
		return _catch(this, params);
	},
	pipe(target) {
		return pipe(this, target);
	},
	readonly() {
		return readonly(this);
	},
	describe(description) {
		const cl = this.clone();
		globalRegistry.add(cl, { description });
		return cl;
	},
	meta(...args) {
		if (args.length === 0) return globalRegistry.get(this);
		const cl = this.clone();
		globalRegistry.add(cl, args[0]);
		return cl;
	},
	isOptional() {
		return this.safeParse(void 0).success;
	},
	isNullable() {
		return this.safeParse(null).success;
	},
	apply(fn, ...args) {
		return args.length === 0 ? fn(this) : fn(this, ...args);
	},
	get "~standard"() {
		return hide(this, "~standard", {
			...standardProps(this),
			jsonSchema: {
				input: createStandardJSONSchemaMethod(this, "input"),
				output: createStandardJSONSchemaMethod(this, "output")
			}
		});
	},
	set "~standard"(value) {
		own(this, "~standard", value);
	},
	parse: function _parse(data, params) {
		return parse(this, data, params, { callee: _parse });
	},
	parseAsync: async function _parseAsync(data, params) {
		return await parseAsync(this, data, params, { callee: _parseAsync });
	},
	safeParse(data, params) {
		return safeParse(this, data, params);
	},
	async safeParseAsync(data, params) {
		return safeParseAsync(this, data, params);
	},
	get spa() {
		return this?.safeParseAsync;
	},
	set spa(value) {
		own(this, "spa", value);
	},
	validate(data, params) {
		return validate(this, data, params);
	},
	validateAsync(data, params) {
		return validateAsync$1(this, data, params);
	},
	encode: function _encode(data, params) {
		return encode(this, data, params, { callee: _encode });
	},
	decode: function _decode(data, params) {
		return decode(this, data, params, { callee: _decode });
	},
	encodeAsync: async function _encodeAsync(data, params) {
		return await encodeAsync(this, data, params, { callee: _encodeAsync });
	},
	decodeAsync: async function _decodeAsync(data, params) {
		return await decodeAsync(this, data, params, { callee: _decodeAsync });
	},
	safeEncode(data, params) {
		return safeEncode(this, data, params);
	},
	safeDecode(data, params) {
		return safeDecode(this, data, params);
	},
	async safeEncodeAsync(data, params) {
		return safeEncodeAsync(this, data, params);
	},
	async safeDecodeAsync(data, params) {
		return safeDecodeAsync(this, data, params);
	},
	toJSONSchema(params) {
		return createToJSONSchemaMethod(this, {})(params);
	},
	get description() {
		return globalRegistry.get(this)?.description;
	},
	get _def() {
		return this._zod.def;
	}
});
/** @internal */
var _ZodString = /*@__PURE__*/ $constructor("_ZodString", (inst, def) => {
	$ZodString.init(inst, def);
	ZodType.init(inst, def);
	inst._zod.processJSONSchema = (ctx, json, params) => stringProcessor(inst, ctx, json, params);
}, /*@__PURE__*/ derived({
	format: (inst) => aggregateChecks(inst).format ?? null,
	minLength: (inst) => aggregateChecks(inst).minimum ?? null,
	maxLength: (inst) => aggregateChecks(inst).maximum ?? null
}, {
	regex(...args) {
		return this.check(/* @__PURE__ */ _regex(...args));
	},
	includes(...args) {
		return this.check(/* @__PURE__ */ _includes(...args));
	},
	startsWith(...args) {
		return this.check(/* @__PURE__ */ _startsWith(...args));
	},
	endsWith(...args) {
		return this.check(/* @__PURE__ */ _endsWith(...args));
	},
	min(...args) {
		return this.check(/* @__PURE__ */ _minLength(...args));
	},
	max(...args) {
		return this.check(/* @__PURE__ */ _maxLength(...args));
	},
	length(...args) {
		return this.check(/* @__PURE__ */ _length(...args));
	},
	nonempty(...args) {
		return this.check(/* @__PURE__ */ _minLength(1, ...args));
	},
	lowercase(params) {
		return this.check(/* @__PURE__ */ _lowercase(params));
	},
	uppercase(params) {
		return this.check(/* @__PURE__ */ _uppercase(params));
	},
	trim() {
		return this.check(/* @__PURE__ */ _trim());
	},
	normalize(...args) {
		return this.check(/* @__PURE__ */ _normalize(...args));
	},
	toLowerCase() {
		return this.check(/* @__PURE__ */ _toLowerCase());
	},
	toUpperCase() {
		return this.check(/* @__PURE__ */ _toUpperCase());
	},
	slugify() {
		return this.check(/* @__PURE__ */ _slugify());
	}
}));
var ZodString = /*@__PURE__*/ $constructor("ZodString", (inst, def) => {
	$ZodString.init(inst, def);
	_ZodString.init(inst, def);
}, {
	email(params) {
		return this.check(/* @__PURE__ */ _email(ZodEmail, params));
	},
	url(params) {
		return this.check(/* @__PURE__ */ _url(ZodURL, params));
	},
	jwt(params) {
		return this.check(/* @__PURE__ */ _jwt(ZodJWT, params));
	},
	emoji(params) {
		return this.check(/* @__PURE__ */ _emoji(ZodEmoji, params));
	},
	guid(params) {
		return this.check(/* @__PURE__ */ _guid(ZodGUID, params));
	},
	uuid(params) {
		return this.check(/* @__PURE__ */ _uuid(ZodUUID, params));
	},
	uuidv4(params) {
		return this.check(/* @__PURE__ */ _uuidv4(ZodUUID, params));
	},
	uuidv6(params) {
		return this.check(/* @__PURE__ */ _uuidv6(ZodUUID, params));
	},
	uuidv7(params) {
		return this.check(/* @__PURE__ */ _uuidv7(ZodUUID, params));
	},
	nanoid(params) {
		return this.check(/* @__PURE__ */ _nanoid(ZodNanoID, params));
	},
	cuid(params) {
		return this.check(/* @__PURE__ */ _cuid(ZodCUID, params));
	},
	cuid2(params) {
		return this.check(/* @__PURE__ */ _cuid2(ZodCUID2, params));
	},
	ulid(params) {
		return this.check(/* @__PURE__ */ _ulid(ZodULID, params));
	},
	base64(params) {
		return this.check(/* @__PURE__ */ _base64(ZodBase64, params));
	},
	base64url(params) {
		return this.check(/* @__PURE__ */ _base64url(ZodBase64URL, params));
	},
	xid(params) {
		return this.check(/* @__PURE__ */ _xid(ZodXID, params));
	},
	ksuid(params) {
		return this.check(/* @__PURE__ */ _ksuid(ZodKSUID, params));
	},
	ipv4(params) {
		return this.check(/* @__PURE__ */ _ipv4(ZodIPv4, params));
	},
	ipv6(params) {
		return this.check(/* @__PURE__ */ _ipv6(ZodIPv6, params));
	},
	cidrv4(params) {
		return this.check(/* @__PURE__ */ _cidrv4(ZodCIDRv4, params));
	},
	cidrv6(params) {
		return this.check(/* @__PURE__ */ _cidrv6(ZodCIDRv6, params));
	},
	e164(params) {
		return this.check(/* @__PURE__ */ _e164(ZodE164, params));
	},
	datetime(params) {
		return this.check(/* @__PURE__ */ _isoDateTime(ZodISODateTime, params));
	},
	date(params) {
		return this.check(/* @__PURE__ */ _isoDate(ZodISODate, params));
	},
	time(params) {
		return this.check(/* @__PURE__ */ _isoTime(ZodISOTime, params));
	},
	duration(params) {
		return this.check(/* @__PURE__ */ _isoDuration(ZodISODuration, params));
	}
});
function string(params) {
	return /* @__PURE__ */ _string(ZodString, params);
}
var ZodStringFormat = /*@__PURE__*/ $constructor("ZodStringFormat", (inst, def) => {
	$ZodStringFormat.init(inst, def);
	_ZodString.init(inst, def);
});
var ZodISODateTime = /*@__PURE__*/ $constructor("ZodISODateTime", (inst, def) => {
	$ZodISODateTime.init(inst, def);
	ZodStringFormat.init(inst, def);
});
var ZodISODate = /*@__PURE__*/ $constructor("ZodISODate", (inst, def) => {
	$ZodISODate.init(inst, def);
	ZodStringFormat.init(inst, def);
});
var ZodISOTime = /*@__PURE__*/ $constructor("ZodISOTime", (inst, def) => {
	$ZodISOTime.init(inst, def);
	ZodStringFormat.init(inst, def);
});
var ZodISODuration = /*@__PURE__*/ $constructor("ZodISODuration", (inst, def) => {
	$ZodISODuration.init(inst, def);
	ZodStringFormat.init(inst, def);
});
var ZodEmail = /*@__PURE__*/ $constructor("ZodEmail", (inst, def) => {
	$ZodEmail.init(inst, def);
	ZodStringFormat.init(inst, def);
});
var ZodGUID = /*@__PURE__*/ $constructor("ZodGUID", (inst, def) => {
	$ZodGUID.init(inst, def);
	ZodStringFormat.init(inst, def);
});
var ZodUUID = /*@__PURE__*/ $constructor("ZodUUID", (inst, def) => {
	$ZodUUID.init(inst, def);
	ZodStringFormat.init(inst, def);
});
var ZodURL = /*@__PURE__*/ $constructor("ZodURL", (inst, def) => {
	$ZodURL.init(inst, def);
	ZodStringFormat.init(inst, def);
});
var ZodEmoji = /*@__PURE__*/ $constructor("ZodEmoji", (inst, def) => {
	$ZodEmoji.init(inst, def);
	ZodStringFormat.init(inst, def);
});
var ZodNanoID = /*@__PURE__*/ $constructor("ZodNanoID", (inst, def) => {
	$ZodNanoID.init(inst, def);
	ZodStringFormat.init(inst, def);
});
/**
* @deprecated CUID v1 is deprecated by its authors due to information leakage
* (timestamps embedded in the id). Use {@link ZodCUID2} instead.
* See https://github.com/paralleldrive/cuid.
*/
var ZodCUID = /*@__PURE__*/ $constructor("ZodCUID", (inst, def) => {
	$ZodCUID.init(inst, def);
	ZodStringFormat.init(inst, def);
});
var ZodCUID2 = /*@__PURE__*/ $constructor("ZodCUID2", (inst, def) => {
	$ZodCUID2.init(inst, def);
	ZodStringFormat.init(inst, def);
});
var ZodULID = /*@__PURE__*/ $constructor("ZodULID", (inst, def) => {
	$ZodULID.init(inst, def);
	ZodStringFormat.init(inst, def);
});
var ZodXID = /*@__PURE__*/ $constructor("ZodXID", (inst, def) => {
	$ZodXID.init(inst, def);
	ZodStringFormat.init(inst, def);
});
var ZodKSUID = /*@__PURE__*/ $constructor("ZodKSUID", (inst, def) => {
	$ZodKSUID.init(inst, def);
	ZodStringFormat.init(inst, def);
});
var ZodIPv4 = /*@__PURE__*/ $constructor("ZodIPv4", (inst, def) => {
	$ZodIPv4.init(inst, def);
	ZodStringFormat.init(inst, def);
});
var ZodIPv6 = /*@__PURE__*/ $constructor("ZodIPv6", (inst, def) => {
	$ZodIPv6.init(inst, def);
	ZodStringFormat.init(inst, def);
});
var ZodCIDRv4 = /*@__PURE__*/ $constructor("ZodCIDRv4", (inst, def) => {
	$ZodCIDRv4.init(inst, def);
	ZodStringFormat.init(inst, def);
});
var ZodCIDRv6 = /*@__PURE__*/ $constructor("ZodCIDRv6", (inst, def) => {
	$ZodCIDRv6.init(inst, def);
	ZodStringFormat.init(inst, def);
});
var ZodBase64 = /*@__PURE__*/ $constructor("ZodBase64", (inst, def) => {
	$ZodBase64.init(inst, def);
	ZodStringFormat.init(inst, def);
});
var ZodBase64URL = /*@__PURE__*/ $constructor("ZodBase64URL", (inst, def) => {
	$ZodBase64URL.init(inst, def);
	ZodStringFormat.init(inst, def);
});
var ZodE164 = /*@__PURE__*/ $constructor("ZodE164", (inst, def) => {
	$ZodE164.init(inst, def);
	ZodStringFormat.init(inst, def);
});
var ZodJWT = /*@__PURE__*/ $constructor("ZodJWT", (inst, def) => {
	$ZodJWT.init(inst, def);
	ZodStringFormat.init(inst, def);
});
var ZodNumber = /*@__PURE__*/ $constructor("ZodNumber", (inst, def) => {
	$ZodNumber.init(inst, def);
	ZodType.init(inst, def);
	inst._zod.processJSONSchema = (ctx, json, params) => numberProcessor(inst, ctx, json, params);
	inst.isFinite = true;
}, /*@__PURE__*/ derived({
	minValue: (inst) => {
		const { minimum, exclusiveMinimum } = aggregateChecks(inst);
		return Math.max(minimum ?? Number.NEGATIVE_INFINITY, exclusiveMinimum ?? Number.NEGATIVE_INFINITY);
	},
	maxValue: (inst) => {
		const { maximum, exclusiveMaximum } = aggregateChecks(inst);
		return Math.min(maximum ?? Number.POSITIVE_INFINITY, exclusiveMaximum ?? Number.POSITIVE_INFINITY);
	},
	isInt: (inst) => {
		const { isInt, multipleOf } = aggregateChecks(inst);
		return !!isInt || !!multipleOf?.some(Number.isSafeInteger);
	},
	format: (inst) => aggregateChecks(inst).format ?? null
}, {
	gt(value, params) {
		return this.check(/* @__PURE__ */ _gt(value, params));
	},
	gte(value, params) {
		return this.check(/* @__PURE__ */ _gte(value, params));
	},
	min(value, params) {
		return this.check(/* @__PURE__ */ _gte(value, params));
	},
	lt(value, params) {
		return this.check(/* @__PURE__ */ _lt(value, params));
	},
	lte(value, params) {
		return this.check(/* @__PURE__ */ _lte(value, params));
	},
	max(value, params) {
		return this.check(/* @__PURE__ */ _lte(value, params));
	},
	int(params) {
		return this.check(int(params));
	},
	safe(params) {
		return this.check(int(params));
	},
	positive(params) {
		return this.check(/* @__PURE__ */ _gt(0, params));
	},
	nonnegative(params) {
		return this.check(/* @__PURE__ */ _gte(0, params));
	},
	negative(params) {
		return this.check(/* @__PURE__ */ _lt(0, params));
	},
	nonpositive(params) {
		return this.check(/* @__PURE__ */ _lte(0, params));
	},
	multipleOf(value, params) {
		return this.check(/* @__PURE__ */ _multipleOf(value, params));
	},
	step(value, params) {
		return this.check(/* @__PURE__ */ _multipleOf(value, params));
	},
	finite() {
		return this;
	}
}));
function number$1(params) {
	return /* @__PURE__ */ _number(ZodNumber, params);
}
var ZodNumberFormat = /*@__PURE__*/ $constructor("ZodNumberFormat", (inst, def) => {
	$ZodNumberFormat.init(inst, def);
	ZodNumber.init(inst, def);
});
function int(params) {
	return /* @__PURE__ */ _int(ZodNumberFormat, params);
}
var ZodArray = /*@__PURE__*/ $constructor("ZodArray", (inst, def) => {
	_ensureDefaultMemoizer();
	$ZodArray.init(inst, def);
	ZodType.init(inst, def);
	inst._zod.processJSONSchema = (ctx, json, params) => arrayProcessor(inst, ctx, json, params);
	inst.element = def.element;
}, {
	min(n, params) {
		return this.check(/* @__PURE__ */ _minLength(n, params));
	},
	nonempty(params) {
		return this.check(/* @__PURE__ */ _minLength(1, params));
	},
	max(n, params) {
		return this.check(/* @__PURE__ */ _maxLength(n, params));
	},
	length(n, params) {
		return this.check(/* @__PURE__ */ _length(n, params));
	},
	unwrap() {
		return this.element;
	}
});
function array(element, params) {
	return /* @__PURE__ */ _array(ZodArray, element, params);
}
var ZodUnion = /*@__PURE__*/ $constructor("ZodUnion", (inst, def) => {
	$ZodUnion.init(inst, def);
	ZodType.init(inst, def);
	inst._zod.processJSONSchema = (ctx, json, params) => unionProcessor(inst, ctx, json, params);
	inst.options = def.options;
});
function union(options, params) {
	return new ZodUnion({
		type: "union",
		options,
		...normalizeParams(params)
	});
}
var ZodIntersection = /*@__PURE__*/ $constructor("ZodIntersection", (inst, def) => {
	$ZodIntersection.init(inst, def);
	ZodType.init(inst, def);
	inst._zod.processJSONSchema = (ctx, json, params) => intersectionProcessor(inst, ctx, json, params);
});
function intersection(left, right) {
	return new ZodIntersection({
		type: "intersection",
		left,
		right
	});
}
var ZodTransform = /*@__PURE__*/ $constructor("ZodTransform", (inst, def) => {
	_ensureDefaultMemoizer();
	$ZodTransform.init(inst, def);
	ZodType.init(inst, def);
	inst._zod.processJSONSchema = (ctx, json, params) => transformProcessor(inst, ctx, json, params);
	inst._zod.parse = (payload, _ctx) => {
		if (_ctx.direction === "backward") throw new $ZodEncodeError(inst.constructor.name);
		payload.addIssue = (issue$1) => {
			if (typeof issue$1 === "string") payload.issues.push(issue(issue$1, payload.value, def));
			else {
				const _issue = issue$1;
				if (_issue.fatal) _issue.continue = false;
				_issue.code ?? (_issue.code = "custom");
				if (!("input" in _issue)) _issue.input = payload.value;
				_issue.inst ?? (_issue.inst = inst);
				payload.issues.push(issue(_issue));
			}
		};
		const output = def.transform(payload.value, payload);
		if (output instanceof Promise) return output.then((output) => {
			payload.value = output;
			return payload;
		});
		payload.value = output;
		return payload;
	};
});
function transform(fn) {
	return new ZodTransform({
		type: "transform",
		transform: fn
	});
}
var ZodOptional = /*@__PURE__*/ $constructor("ZodOptional", (inst, def) => {
	$ZodOptional.init(inst, def);
	ZodType.init(inst, def);
	inst._zod.processJSONSchema = (ctx, json, params) => optionalProcessor(inst, ctx, json, params);
	inst.unwrap = () => inst._zod.def.innerType;
});
function optional(innerType) {
	return new ZodOptional({
		type: "optional",
		innerType
	});
}
var ZodExactOptional = /*@__PURE__*/ $constructor("ZodExactOptional", (inst, def) => {
	$ZodExactOptional.init(inst, def);
	ZodType.init(inst, def);
	inst._zod.processJSONSchema = (ctx, json, params) => optionalProcessor(inst, ctx, json, params);
	inst.unwrap = () => inst._zod.def.innerType;
});
function exactOptional(innerType) {
	return new ZodExactOptional({
		type: "optional",
		innerType
	});
}
var ZodNullable = /*@__PURE__*/ $constructor("ZodNullable", (inst, def) => {
	$ZodNullable.init(inst, def);
	ZodType.init(inst, def);
	inst._zod.processJSONSchema = (ctx, json, params) => nullableProcessor(inst, ctx, json, params);
	inst.unwrap = () => inst._zod.def.innerType;
});
function nullable(innerType) {
	return new ZodNullable({
		type: "nullable",
		innerType
	});
}
var ZodDefault = /*@__PURE__*/ $constructor("ZodDefault", (inst, def) => {
	$ZodDefault.init(inst, def);
	ZodType.init(inst, def);
	inst._zod.processJSONSchema = (ctx, json, params) => defaultProcessor(inst, ctx, json, params);
	inst.unwrap = () => inst._zod.def.innerType;
	inst.removeDefault = inst.unwrap;
});
function _default(innerType, defaultValue) {
	return new ZodDefault({
		type: "default",
		innerType,
		get defaultValue() {
			return typeof defaultValue === "function" ? defaultValue() : shallowClone(defaultValue);
		}
	});
}
var ZodPrefault = /*@__PURE__*/ $constructor("ZodPrefault", (inst, def) => {
	$ZodPrefault.init(inst, def);
	ZodType.init(inst, def);
	inst._zod.processJSONSchema = (ctx, json, params) => prefaultProcessor(inst, ctx, json, params);
	inst.unwrap = () => inst._zod.def.innerType;
});
function prefault(innerType, defaultValue) {
	return new ZodPrefault({
		type: "prefault",
		innerType,
		get defaultValue() {
			return typeof defaultValue === "function" ? defaultValue() : shallowClone(defaultValue);
		}
	});
}
var ZodNonOptional = /*@__PURE__*/ $constructor("ZodNonOptional", (inst, def) => {
	$ZodNonOptional.init(inst, def);
	ZodType.init(inst, def);
	inst._zod.processJSONSchema = (ctx, json, params) => nonoptionalProcessor(inst, ctx, json, params);
	inst.unwrap = () => inst._zod.def.innerType;
});
function nonoptional(innerType, params) {
	return new ZodNonOptional({
		type: "nonoptional",
		innerType,
		...normalizeParams(params)
	});
}
var ZodCatch = /*@__PURE__*/ $constructor("ZodCatch", (inst, def) => {
	$ZodCatch.init(inst, def);
	ZodType.init(inst, def);
	inst._zod.processJSONSchema = (ctx, json, params) => catchProcessor(inst, ctx, json, params);
	inst.unwrap = () => inst._zod.def.innerType;
	inst.removeCatch = inst.unwrap;
});
function _catch(innerType, catchValue) {
	return new ZodCatch({
		type: "catch",
		innerType,
		catchValue: typeof catchValue === "function" ? catchValue : constantCatch(catchValue)
	});
}
var ZodPipe = /*@__PURE__*/ $constructor("ZodPipe", (inst, def) => {
	$ZodPipe.init(inst, def);
	ZodType.init(inst, def);
	inst._zod.processJSONSchema = (ctx, json, params) => pipeProcessor(inst, ctx, json, params);
	inst.in = def.in;
	inst.out = def.out;
});
function pipe(in_, out) {
	return new ZodPipe({
		type: "pipe",
		in: in_,
		out
	});
}
var ZodReadonly = /*@__PURE__*/ $constructor("ZodReadonly", (inst, def) => {
	$ZodReadonly.init(inst, def);
	ZodType.init(inst, def);
	inst._zod.processJSONSchema = (ctx, json, params) => readonlyProcessor(inst, ctx, json, params);
	inst.unwrap = () => inst._zod.def.innerType;
});
function readonly(innerType) {
	return new ZodReadonly({
		type: "readonly",
		innerType
	});
}
var ZodCustom = /*@__PURE__*/ $constructor("ZodCustom", (inst, def) => {
	$ZodCustom.init(inst, def);
	ZodType.init(inst, def);
	inst._zod.processJSONSchema = (ctx, json, params) => customProcessor(inst, ctx, json, params);
});
function refine(fn, _params = {}) {
	return /* @__PURE__ */ _refine(ZodCustom, fn, _params);
}
function superRefine(fn, params) {
	return /* @__PURE__ */ _superRefine(fn, params);
}
number$1().min(0).max(1);
string().min(1);
/** Default bound on the magnitude of any other number. */
var maxSetting = 1e6;
function numberWithin({ minimum = -1e6, isPositive = false, maximum = maxSetting, integer }) {
	const number = integer === true ? int() : number$1();
	return (isPositive ? number.gt(0) : number.min(minimum)).max(maximum);
}
numberWithin({ minimum: 0 });
// src/rl/environments/common.ts
var doubt = (setting, message) => ({
	setting,
	message
});
/** Keeps the settings' types while the file defines its function. */
var defineReward = (reward) => reward;
/**
* Refuses settings that `what` does not have, and values of another type than the default. Errors: AppError
* 'config/invalid'.
*/
function requireSettings(what, defaults, changed) {
	for (const [name, value] of Object.entries(changed)) {
		const expected = Object.hasOwn(defaults, name) ? typeof defaults[name] : null;
		if (expected === typeof value && (typeof value !== "number" || Math.abs(value) <= 1e6)) continue;
		const names = Object.keys(defaults).join(", ") || "none";
		const limits = expected === typeof value ? ` from ${-maxSetting} to ${maxSetting}` : "";
		throw invalidConfig(`The ${what} ${expected === null ? `has no setting “${name}”` : `needs a ${expected}${limits} for “${name}”, got ${JSON.stringify(value)}`}.`, `Its settings: ${names}.`);
	}
}
/** The expected answer of a row as trimmed text; `null` where the column is missing or holds no text or number. */
function expectedText(row, column) {
	const value = row[column];
	if (typeof value === "string") return value.trim();
	return typeof value === "number" || typeof value === "boolean" ? String(value) : null;
}
/**
* Returns the same text for equal spellings: Unicode composed, runs of white space as one space, case folded if asked.
*/
function normalized(text, ignoreCase) {
	const tidy = text.normalize("NFC").trim().replaceAll(/\s+/g, " ");
	return ignoreCase ? tidy.toLowerCase() : tidy;
}
// src/rl/answers/readDate.ts
var names$3 = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
var monthOf = (name) => names$3.indexOf(name.slice(0, 3).toLowerCase()) + 1;
var month = "(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\\.?";
var weekday = "(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\\s+)?";
var numbered = /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})$/;
var slashed = /^(\d{1,2})[/.](\d{1,2})[/.](\d{4})$/;
var american = new RegExp(`^${weekday}${month}\\s+(\\d{1,2})(?:st|nd|rd|th)?(?:,?\\s+(\\d{4}))?$`, "i");
var european = new RegExp(`^${weekday}(?:the\\s+)?(\\d{1,2})(?:st|nd|rd|th)?\\.?\\s+(?:of\\s+)?${month}(?:,?\\s+(\\d{4}))?$`, "i");
/** Reads a date; null where there is none, or it could be two. */
function readDate(text) {
	const [, year, second, third] = numbered.exec(text) ?? [];
	if (year !== void 0) return date(Number(second), Number(third), year);
	const slashes = slashed.exec(text);
	if (slashes !== null) return slashedDate(Number(slashes[1]), Number(slashes[2]), slashes[3]);
	const [, name, day, of] = american.exec(text) ?? [];
	if (name !== void 0) return date(monthOf(name), Number(day), of);
	const [, first, called, when] = european.exec(text) ?? [];
	return called === void 0 ? null : date(monthOf(called), Number(first), when);
}
/** Returns a date with slashes; null where day and month cannot be told apart: both are at most 12 and differ. */
function slashedDate(first, second, year) {
	if (first > 12 || first === second) return date(second, first, year);
	return second > 12 ? date(first, second, year) : null;
}
var date = (month, day, year) => month >= 1 && month <= 12 && day >= 1 && day <= 31 ? {
	kind: "date",
	month,
	day,
	year: year === void 0 ? null : Number(year)
} : null;
var clock = /^(\d{1,2}):([0-5]\d)(?::([0-5]\d))?$/;
var half$1 = /\s*([ap])\.?\s?m\.?$/i;
/** “9:05”, “3:30 PM”, “3 p.m.”, “23:59:59”. */
function readTime(text) {
	const [named = "", letter] = half$1.exec(text) ?? [];
	const written = text.slice(0, text.length - named.length);
	const read = clock.exec(named !== "" && /^\d{1,2}$/.test(written) ? `${written}:00` : written);
	if (read === null) return null;
	const [hour, minute, second] = [
		read[1],
		read[2],
		read[3] ?? 0
	].map(Number);
	const full = hourOfDay(hour, letter?.toLowerCase());
	if (full === null) return null;
	return {
		kind: "time",
		seconds: full * 3600 + minute * 60 + second,
		isOfDay: named !== "",
		hasSeconds: read[3] !== void 0
	};
}
/** 12 a.m. is midnight. */
function hourOfDay(hour, half) {
	if (half === void 0) return hour > 24 ? null : hour;
	return hour < 1 || hour > 12 ? null : hour % 12 + (half === "p" ? 12 : 0);
}
// src/rl/answers/rational.ts
var absolute = (value) => value < 0n ? -value : value;
function greatestDivisor(a, b) {
	let [x, y] = [absolute(a), absolute(b)];
	while (y !== 0n) [x, y] = [y, x % y];
	return x;
}
/** The fraction in lowest terms; null for a denominator of 0. */
function fraction(above, below = 1n) {
	if (below === 0n) return null;
	const divisor = greatestDivisor(above, below) * (below < 0n ? -1n : 1n);
	return {
		above: above / divisor,
		below: below / divisor
	};
}
var whole = (value) => ({
	above: value,
	below: 1n
});
var isWhole = ({ below }) => below === 1n;
var negated = ({ above, below }) => ({
	above: -above,
	below
});
var size = ({ above, below }) => ({
	above: absolute(above),
	below
});
var sum = (a, b) => fraction(a.above * b.below + b.above * a.below, a.below * b.below);
var product = (a, b) => fraction(a.above * b.above, a.below * b.below);
var quotient = (a, b) => fraction(a.above * b.below, a.below * b.above);
/** Returns a number below, at or above 0 as `a` is less than, equal to or more than `b`. */
function order(a, b) {
	const difference = a.above * b.below - b.above * a.below;
	return difference < 0n ? -1 : Number(difference > 0n);
}
var isSame = (a, b) => order(a, b) === 0;
/** 10 to the power of a whole number. */
var powerOfTen = (exponent) => exponent < 0 ? {
	above: 1n,
	below: 10n ** BigInt(-exponent)
} : whole(10n ** BigInt(exponent));
var isRecurring = (digits) => digits.includes("̅");
/** Digits that stand for the same number of decimals are read exactly: “12”, “.5”, “1.50e-3”, “0.3̅”. */
function decimal(text) {
	if (isRecurring(text)) return recurring(text);
	const [digits = "", exponent = "0"] = text.toLowerCase().split("e");
	const [before = "", after = ""] = digits.split(".");
	const unsigned = product(whole(BigInt(`${before}${after}`.replace("-", "") || "0")), powerOfTen(Number(exponent) - after.length));
	return digits.startsWith("-") ? negated(unsigned) : unsigned;
}
/** Returns the value of recurring digits: a fraction of 9, 99, … behind the digits that do not recur. */
function recurring(text) {
	const start = text.search(/\d\u0305/);
	const [fixed, block] = [text.slice(0, start), text.slice(start).replaceAll("̅", "")];
	const after = fixed.split(".")[1]?.length ?? 0;
	const part = fraction(BigInt(block), 10n ** BigInt(after) * (10n ** BigInt(block.length) - 1n));
	return sum(decimal(fixed), part);
}
/** Tolerances up to this one forgive rounding only. */
var roundingOnly = 1e-6;
/**
* Returns true if two written numbers mean the same. Whole numbers and fractions do where they are equal. A decimal may
* differ by `tolerance`, relative to the larger of the two; up to 10⁻⁶ this forgives rounding only: the difference must
* also be less than one unit in the last place of the decimal with fewer of them.
*/
function isNear(a, b, tolerance) {
	if (isSame(a.value, b.value)) return true;
	const [first, second = first] = [a.place, b.place].filter((place) => place !== null);
	if (first === void 0 || second === void 0) return false;
	const difference = size(sum(a.value, negated(b.value)));
	const [x, y] = [size(a.value), size(b.value)];
	if (order(difference, product(decimal(String(tolerance)), order(x, y) < 0 ? y : x)) > 0) return false;
	return tolerance > roundingOnly || order(difference, order(first, second) < 0 ? second : first) < 0;
}
// src/rl/answers/magnitudes.ts
/** Reads magnitudes behind numbers: “3 million”, “$70K”, “8 тыс.” and “5万” are written with all of their digits. */
/** Factors, and patterns of the words for them. */
var names$2 = [
	[whole(10n), "decenas?|dizaines?|десятк(?:а|ов)"],
	[whole(12n), "dozens?|dutzend|docenas?|douzaines?"],
	[powerOfTen(2), "hundreds?|hundert|cientos|centaines?|сот(?:ен|ни)|yüz"],
	[powerOfTen(3), "thousands?|grand(?![ -]\\p{L})|tusen|tisíc|tausend|tsd|mille|mila|duizend|tys(?:i[ąę]c[ey]?)?|тыс(?:яч[аи]?)?|ezer|tuhat|nghìn|χιλιάδες|ألف|हज़ार"],
	[powerOfTen(5), "lakhs?|lacs?|लाख"],
	[powerOfTen(6), "millions?|ml?n|mio|mil|millionen|mill[oó]n(?:es)?|mili[oó]n(?:[eiyů]|ów)?|milh(?:ão|ões)|miljoen|milyon|miljoner|millioner|millió|mill|triệu|εκατομμύρια|مليون|млн|миллион(?:а|ов)?"],
	[powerOfTen(7), "crores?|करोड़"],
	[powerOfTen(9), "billions?|bl?n|bil|mia(?![ -]\\p{L})|mdr|mlrd|miljarder|milliarder|tỷ|milliarden?|milliards?|mrd|mld|miliard(?:[oiy]|ów)?|miljard|milyar|bilh(?:ão|ões)|млрд|миллиард(?:а|ов)?"],
	[powerOfTen(12), "trillions?|tr?n|tril|bio(?![ -]\\p{L})|billionen|billones|трлн|триллион(?:а|ов)?"]
];
var word = names$2.map(([, pattern]) => pattern).join("|");
var begins = (pattern) => new RegExp(`^\\s*(?:${pattern})(?!\\p{L})`, "iu");
var known$1 = names$2.map(([factor, pattern]) => [factor, begins(pattern)]);
/** Signs right behind a number, whatever follows; 千 of 千克 and 千米 is part of a unit. */
var signs$1 = {
	百: powerOfTen(2),
	백: powerOfTen(2),
	千: powerOfTen(3),
	천: powerOfTen(3),
	万: powerOfTen(4),
	萬: powerOfTen(4),
	만: powerOfTen(4),
	亿: powerOfTen(8),
	億: powerOfTen(8),
	억: powerOfTen(8)
};
/** Letters behind a number, which say this with certainty only of an amount of money. */
var letters = {
	k: powerOfTen(3),
	m: powerOfTen(6),
	b: powerOfTen(9),
	t: powerOfTen(12)
};
var number = String.raw`((?:[1-9]\d{0,2}(?:,\d{3})+(?!\d)|\d+)(?:[.,]\d+)?)`;
var start = String.raw`(?<![\p{L}\p{N}_.,^/\\])`;
var gap = String.raw`(?:[ \t~]|\\[,;: ])*`;
var wrapper = String.raw`(\\(?:text(?:rm|bf)?|mathrm|mbox|rm)\s*\{(?:[\s~]|\\ )*)?`;
var close = String.raw`(\s*\})?`;
/** The dot of an abbreviation in the middle of a sentence. */
var dot = String.raw`(?:\.(?=[ \t]+[\p{Ll}€$£\d]))?`;
var inWords = new RegExp(`${start}${number}${gap}-?${wrapper}(${word})(?![\\p{L}'’])${dot}${close}(?:[ \\t]+and[ \\t]+(\\d{1,3})(?![\\d.,/%]|${gap}(?:${word})))?`, "giu");
var inSigns = new RegExp(`${start}${number}()\\s?([${Object.keys(signs$1).join("")}])(?![克米瓦卡큼])()()`, "gu");
var suffix = String.raw`${gap}${wrapper}(mm|MM|[kKmMbBtT])(?![\p{L}\d'’^])${close}()`;
var money = new RegExp(String.raw`(?<=(?:[$€£¥₹]|\bRs\.?|\b(?:USD|EUR|GBP))[ \t]*)${number}${suffix}`, "gu");
var counted$1 = new RegExp(String.raw`${start}${number}${suffix}(?=\s*\}?[\s~]+(?:dollars?|euros?|pounds|bucks|rupees|yen|USD|EUR|GBP)\b)`, "gu");
/** Dollars around mathematics: $2m$ is no money. */
var formula = /(?<![\\$\d])\$(?=\S)[^$\n]{1,400}?(?<=[^\s\\])\$(?![\d$])/g;
/** The text with the magnitudes behind its numbers multiplied out. */
function withMagnitudes(text) {
	if (!/\d/.test(text)) return text;
	const opened = new Set([...text.matchAll(formula)].map(({ index }) => index));
	let read = text.replace(money, (all, ...found) => {
		const at = found.at(-2);
		return opened.has(text.slice(0, at).trimEnd().length - 1) ? all : multiplied(all, found);
	}).replace(counted$1, (all, ...found) => multiplied(all, found));
	for (let i = 0; i < 3; i++) for (const pattern of [inWords, inSigns]) read = read.replace(pattern, (all, ...found) => multiplied(all, found));
	return marks.reduce((changed, [pattern, as]) => changed.replace(pattern, as), read);
}
/** One spelling for parts of thousands, ordinals and letters that may be a unit as well as a magnitude. */
var marks = [
	[/(?<=\d)\s*per ?mill?e?\b/gi, "‰"],
	[/(?<=\d)\s*(?:bps|bp|basis points?)\b/gi, "‱"],
	[/(?<=\d)\s*\^\s*\{\s*(\\(?:text|mathrm)\s*\{\s*(?:st|nd|rd|th)\s*\})\s*\}/g, "$1"],
	[/(?<=\d)\s*\^?\s*\\(?:text|mathrm)\s*\{\s*(st|nd|rd|th)\s*\}/g, "$1"],
	[/(?<=\d)\\text\s*\{([kKMBT])\}/g, "$1"]
];
function multiplied(all, [digits = "", opening = "", name = "", ...behind]) {
	const factor = factorOf$1(name);
	if (factor === null) return all;
	const [closing = "", more = "0"] = behind;
	const written = writtenOut(sum(product(amountOf(digits), factor), whole(BigInt(more))));
	if (opening === "") return `${written}${closing}`;
	return closing === "" ? `${written}${opening.trimEnd()} ` : written;
}
/** 1,500 has a group of three digits, 1,5 a decimal comma. */
var amountOf = (digits) => decimal(/,\d{3}(?!\d)/.test(digits) ? digits.replaceAll(",", "") : digits.replace(",", "."));
/** MN are meganewtons. */
var factorOf$1 = (name) => signs$1[name] ?? (name === "MN" ? null : known$1.find(([, pattern]) => pattern.test(name))?.[0]) ?? letters[name.charAt(0).toLowerCase()] ?? null;
/** A number whose denominator has no factors but 2 and 5, with a decimal point. */
function writtenOut(value) {
	let places = 0;
	while (!isWhole(product(value, powerOfTen(places)))) places++;
	const digits = String(product(value, powerOfTen(places)).above).padStart(places + 1, "0");
	return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}
var parts$1 = [
	..."hal(?:f|ves?) third (?:fourth|quarter) fifth sixth seventh eighth ninth tenth".split(" ").map((name, i) => [{
		above: 1n,
		below: BigInt(i + 2)
	}, begins(`${name}s?`)]),
	[powerOfTen(-2), begins("hundredths?")],
	[powerOfTen(-3), begins("thousandths?")],
	[powerOfTen(-6), begins("millionths?")],
	[whole(10n), begins("tens?")],
	[whole(20n), begins("scores?")]
];
/** Splits the words behind a number into a factor, 1 for most, and the rest. */
function multiplierOf(words) {
	const [factor, pattern] = [...parts$1, ...known$1].find(([, begin]) => begin.test(words)) ?? [whole(1n), null];
	return {
		factor,
		rest: pattern === null ? words : words.replace(pattern, "")
	};
}
/** The end of a text that ends in a magnitude, as in “one hundred and”: what stands behind belongs to it. */
var endsInMagnitude = new RegExp(`(?<!\\p{L})(?:${word})(?:[ \\t]+and)?[ \\t]*$`, "iu");
/** The power of ten that a letter right behind a number may stand for, as K does beside kelvin; null for others. */
function suffixOf(behind) {
	const letter = /^[kKMBT](?![\p{L}\d_^'’])/u.exec(behind)?.[0];
	return letter === void 0 ? null : letters[letter.toLowerCase()];
}
// src/rl/answers/unitTable.ts
/** Lists the known units, with their dimensions and their size in base units. */
/** Names of words with spaces between are spellings of one unit; `m:2 s:-1` are m²/s. */
var rows = [
	["m meter metre", "m"],
	[
		"in inch inches",
		"m",
		254n,
		10000n
	],
	[
		"ft foot feet",
		"m",
		3048n,
		10000n
	],
	[
		"yd yard",
		"m",
		9144n,
		10000n
	],
	[
		"mi mile",
		"m",
		1609344n,
		1000n
	],
	["g gram gramme", "g"],
	[
		"tonne",
		"g",
		1000000n
	],
	[
		"lb pound lbs",
		"g",
		45359237n,
		100000n
	],
	[
		"oz ounce",
		"g",
		45359237n,
		1600000n
	],
	[
		"l liter litre L",
		"m:3",
		1n,
		1000n
	],
	["s sec second", "s"],
	[
		"min minute",
		"s",
		60n
	],
	[
		"h hr hour",
		"s",
		3600n
	],
	[
		"day",
		"s",
		86400n
	],
	[
		"week",
		"s",
		604800n
	],
	["month", "month"],
	[
		"year yr",
		"month",
		12n
	],
	[
		"ha hectare",
		"m:2",
		10000n
	],
	[
		"acre",
		"m:2",
		40468564224n,
		10000000n
	],
	[
		"mph",
		"m:1 s:-1",
		1609344n,
		3600000n
	],
	[
		"kph kmh",
		"m:1 s:-1",
		1000n,
		3600n
	],
	[
		"N newton",
		"g:1 m:1 s:-2",
		1000n
	],
	[
		"J joule",
		"g:1 m:2 s:-2",
		1000n
	],
	[
		"W watt",
		"g:1 m:2 s:-3",
		1000n
	],
	[
		"Pa pascal",
		"g:1 m:-1 s:-2",
		1000n
	],
	[
		"V volt",
		"A:-1 g:1 m:2 s:-3",
		1000n
	],
	[
		"Ω ohm",
		"A:-2 g:1 m:2 s:-3",
		1000n
	],
	["A amp ampere", "A"],
	["K kelvin", "K"],
	["Hz hertz", "s:-1"],
	["mol mole", "mol"],
	["gallon gal", "gallon"],
	[
		"quart qt",
		"gallon",
		1n,
		4n
	],
	[
		"pint",
		"gallon",
		1n,
		8n
	],
	...[
		"$ dollar USD",
		"€ euro EUR",
		"£ GBP",
		"¥ yen JPY",
		"₹ rupee INR"
	].map((names) => [names, names.split(" ")[0]]),
	[
		"¢ cent",
		"$",
		1n,
		100n
	],
	...[
		"°C celsius",
		"°F fahrenheit",
		"° degree deg",
		"rad radian",
		"eV",
		"cal calorie",
		"kcal"
	].map((names) => [names, names.split(" ")[0]]),
	...[
		"bit",
		"byte",
		"KB kB kilobyte",
		"MB megabyte",
		"GB gigabyte",
		"TB terabyte",
		"ton"
	].map((names) => [names, names.split(" ")[0]]),
	...[
		"Kb kbit kilobit",
		"Mb Mbit megabit",
		"Gb Gbit gigabit",
		"Tb Tbit terabit"
	].map((names) => [names, names.split(" ")[0]]),
	...[
		"Kb",
		"Mb",
		"Gb",
		"KB",
		"MB",
		"GB"
	].map((name) => [`${name}ps`, `${name}:1 s:-1`])
];
var prefixes$1 = [...[
	[
		"G",
		"giga",
		9
	],
	[
		"M",
		"mega",
		6
	],
	[
		"k",
		"kilo",
		3
	],
	[
		"d",
		"deci",
		-1
	],
	[
		"c",
		"centi",
		-2
	],
	[
		"m",
		"milli",
		-3
	],
	[
		"μ",
		"micro",
		-6
	],
	[
		"n",
		"nano",
		-9
	]
]];
var prefixed = /* @__PURE__ */ new Set([
	"m",
	"g",
	"l",
	"s",
	"N",
	"J",
	"W",
	"Pa",
	"V",
	"Ω",
	"A",
	"Hz",
	"mol"
]);
/**
* Prefixes accepted for lengths and the like, only those that people write: ds would be two variables, Gg a typing
* error.
*/
var smallOnly = {
	m: /[kdcmμn]/,
	g: /[kcmμn]/,
	l: /[dcmμ]/,
	s: /[mμn]/
};
var dimensionsOf = (text) => Object.fromEntries(text.split(" ").map((part) => {
	const [base = "", exponent = "1"] = part.split(":");
	return [base, Number(exponent)];
}));
function unitsOf([names, dimensions, above = 1n, below = 1n]) {
	const [symbol = "", ...others] = names.split(" ");
	const unit = {
		dimensions: dimensionsOf(dimensions),
		factor: fraction(above, below)
	};
	const own = [symbol, ...others].map((name) => [name, unit]);
	if (!prefixed.has(symbol)) return own;
	const multiples = prefixes$1.filter(([prefix]) => smallOnly[symbol]?.test(prefix) ?? /[GMkmμ]/.test(prefix));
	return [...own, ...multiples.flatMap(([prefix, word, exponent]) => {
		const multiple = {
			...unit,
			factor: product(unit.factor, powerOfTen(exponent))
		};
		return [symbol, ...others].map((name) => [`${name.length > 2 && name !== "mol" ? word : prefix}${name}`, multiple]);
	})];
}
var byName = new Map(rows.flatMap(unitsOf));
byName.set("pound", {
	...byName.get("pound"),
	alsoMeans: byName.get("£")
});
byName.set("‰", {
	...ownUnit("‰"),
	inBare: powerOfTen(-3)
});
byName.set("‱", {
	...ownUnit("‱"),
	inBare: powerOfTen(-4)
});
/** Symbols of one letter mean something else as a capital; longer ones are written as people like. */
function namedUnit(name) {
	const plain = name.replace("µ", "μ");
	const singular = plain.length > 2 ? plain.replace(/s$/, "") : plain;
	const spellings = [plain, singular];
	if (plain.length > 1) spellings.push(plain.toLowerCase(), singular.toLowerCase());
	return spellings.map((spelling) => byName.get(spelling)).find((unit) => unit !== void 0) ?? null;
}
/** A unit that is not known: equal only to itself. */
function ownUnit(name) {
	return {
		dimensions: { [name]: 1 },
		factor: whole(1n)
	};
}
// src/rl/answers/units.ts
/** Reads units: values in different units are not compared by their number alone. */
/** LaTeX of units as plain text: \frac{\text{m}}{\text{s}^{2}} becomes m/s^2. */
var plainUnits = [
	[/\\(?:text|textrm|textbf|mathrm|mathbf|operatorname|mbox|rm)(?![a-zA-Z])\s*/g, " "],
	[/\\[dt]?frac\s*((?:\{[^{}]*\}|\{(?:[^{}]|\{[^{}]*\})*\}))\s*(\{(?:[^{}]|\{[^{}]*\})*\})/g, "$1/$2"],
	[/\\(?:cdot|times)(?![a-zA-Z])|[⋅*]/g, "·"],
	[/\^?\s*\{?\s*\\(?:circ|degrees?)(?![a-zA-Z])\s*\}?/g, "°"],
	[/\\mu(?![a-zA-Z])\s*/g, "μ"],
	[/\\Omega(?![a-zA-Z])/g, "Ω"],
	[/\\[,;:! ]|~/g, " "],
	[/²/g, "^2"],
	[/³/g, "^3"],
	[/⁻¹/g, "^-1"],
	[/⁻²/g, "^-2"],
	[/[{}]/g, " "],
	[/\^\s*(-?)\s*(\d)/g, "^$1$2"],
	[/(?:\bdegrees?|\bdeg|°)\s*(?=celsius|fahrenheit)/gi, ""],
	[/°\s*(?=[CF](?!\p{L}))/gu, "°"],
	[/\s+/g, " "]
];
var power$2 = /^(?:\s?\^-?\d|[23](?![\d.])|\s?(?:squared|cubed)(?!\p{L}))/u;
var squareOrCubic = /^(?:sq\.?|square|cu\.?|cubic) /;
/** “9 in total” is not 9 inches. */
var symbol$1 = /^(?!in \p{L}(?!er\b))(?:°[CF](?!\p{L})|[°$€£¥₹¢Ω‰‱]|[μµ]?\p{L}+)/u;
var divides = /^\s?(?:\/|per(?!\p{L})|an?(?= (?:hour|minute|second|day|week|month|year)))\s?/u;
var multiplies = /^\s?·\s?|^ (?=\p{L}{1,3}(?:\^-\d|\/))/u;
/** The unit that the words behind or before a number begin with; null for none of the known. */
function readUnit(words) {
	const plain = plainUnits.reduce((text, [pattern, as]) => text.replace(pattern, as), words).trimStart();
	let read = factorOf(plain);
	if (read === null) return null;
	for (let next = furtherFactor(read); next !== null; next = furtherFactor(read)) read = next;
	return {
		unit: read.unit,
		text: plain.slice(0, plain.length - read.rest.length),
		rest: read.rest.trim()
	};
}
/** Reads a further factor of the unit; null where nothing follows. */
function furtherFactor({ unit, rest }) {
	const divisor = divides.exec(rest)?.[0];
	const joined = divisor ?? multiplies.exec(rest)?.[0];
	if (joined === void 0) return null;
	const behind = rest.slice(joined.length);
	const next = factorOf(behind) ?? (divisor === void 0 ? null : unknownFactor(behind));
	return next && {
		unit: combined(unit, next.unit, divisor === void 0 ? 1 : -1),
		rest: next.rest
	};
}
var unitOf = (words) => readUnit(words)?.unit ?? null;
/** The same right behind a number, where K may also be a thousand. */
function unitBehind(words) {
	const letter = words.charAt(0);
	const inBare = suffixOf(words);
	return inBare === null ? unitOf(words) : {
		...namedUnit(letter) ?? ownUnit(letter),
		inBare
	};
}
/** “cm^2”, “square feet”, “seconds squared”. */
function factorOf(text) {
	const prefix = squareOrCubic.exec(text)?.[0] ?? "";
	const name = symbol$1.exec(text.slice(prefix.length))?.[0] ?? "";
	const unit = name === "" ? null : namedUnit(name);
	if (unit === null) return null;
	const behind = text.slice(prefix.length + name.length);
	const exponent = power$2.exec(behind)?.[0] ?? "";
	return {
		unit: toPower(unit, exponentOf(exponent) * exponentOf(prefix)),
		rest: behind.slice(exponent.length)
	};
}
function exponentOf(words) {
	if (/sq/.test(words)) return 2;
	return /cu/.test(words) ? 3 : Number(/-?\d/.exec(words)?.[0] ?? 1);
}
/** A rate per unknown thing, as in $5 per apple, equals only a rate per the same thing. */
function unknownFactor(text) {
	const [name] = /^\p{L}+/u.exec(text) ?? [];
	if (name === void 0) return null;
	return {
		unit: ownUnit(name.toLowerCase().replace(/s$/, "")),
		rest: text.slice(name.length)
	};
}
function toPower(unit, exponent) {
	if (exponent === 1) return unit;
	const { dimensions, factor } = unit;
	const one = Array.from({ length: Math.abs(exponent) }).reduce((total) => product(total, factor), whole(1n));
	const raised = Object.entries(dimensions).map(([base, own]) => [base, own * exponent]);
	return {
		dimensions: Object.fromEntries(raised),
		factor: exponent < 0 ? quotient(whole(1n), one) : one
	};
}
function combined(a, b, sign) {
	const other = toPower(b, sign);
	const dimensions = { ...a.dimensions };
	for (const [base, exponent] of Object.entries(other.dimensions)) dimensions[base] = (dimensions[base] ?? 0) + exponent;
	return {
		dimensions,
		factor: product(a.factor, other.factor)
	};
}
var inBare = (unit) => unit?.inBare ?? whole(1n);
/** Converts one `from` to `to`; null where they measure different things. A unit that is not known could be either. */
function conversion(from, to) {
	if (from === null || to === null || from.inBare && to.inBare) return quotient(inBare(from), inBare(to));
	if ([.../* @__PURE__ */ new Set([...Object.keys(from.dimensions), ...Object.keys(to.dimensions)])].every((base) => (from.dimensions[base] ?? 0) === (to.dimensions[base] ?? 0))) return quotient(from.factor, to.factor);
	if (from.alsoMeans !== void 0) return conversion(from.alsoMeans, to);
	return to.alsoMeans === void 0 ? null : conversion(from, to.alsoMeans);
}
/** The words of a text without their plural. */
var wordsOf$1 = (text) => [...text.toLowerCase().matchAll(/\p{L}{2,}/gu)].map(([word]) => word.replace(/s$/, ""));
/**
* Returns true if the words behind two numbers name different things, as cups and teaspoons are, where one of them is
* not a known unit.
*/
function isOtherThing(a, b) {
	const [own, other] = [wordsOf$1(a), wordsOf$1(b)];
	if (own.length === 0 || other.length === 0 || unitOf(a) !== null && unitOf(b) !== null) return false;
	return !own.some((word) => other.includes(word));
}
/** The percent sign, or the unit, that stands behind a value on the same line; empty for neither. */
function measureBehind(text) {
	if (/^[ ~$)\\]{0,3}(?:\\?%|percent\b|pct\b)/.test(text)) return "\\%";
	const line = text.split("\n", 1)[0].slice(0, 60);
	const unit = /^(?: |~|\\[,;: ]|\\text|\\mathrm|\^)/.test(line) ? readUnit(line) : null;
	return unit === null ? "" : ` ${unit.text}`;
}
// src/rl/answers/literal.ts
/** Returns true if `found` says what `expected` says. Lists keep their order, except in braces. */
function isSameLiteral(expected, found, tolerance) {
	const [a, b] = withDecimals(expected, found);
	if (a.kind === "number") return b.kind === "number" && isSameNumber$1(a, b, tolerance);
	if (a.kind === "list") return b.kind === "list" && isSameList(a, b, tolerance);
	if (a.kind === "ratio") return b.kind === "ratio" && isSameRatio(a, b);
	if (a.kind === "time") return b.kind === "time" && isSameTime(a, b);
	return b.kind === "date" && isSameDate(a, b);
}
/** Reads both sides alike: 3,5 is 3.5 beside a number that is not whole, else a list. */
function withDecimals(a, b) {
	return [a.kind === "list" && b.kind === "number" && isPart$1(b) ? a.decimal ?? a : a, b.kind === "list" && a.kind === "number" && isPart$1(a) ? b.decimal ?? b : b];
}
/** A decimal, or a fraction that is not whole. */
var isPart$1 = ({ value, place }) => place !== null || !isWhole(value);
var hundredth = {
	above: 1n,
	below: 100n
};
function isSameNumber$1(a, b, tolerance) {
	const factor = conversion(a.unit, b.unit);
	if (factor === null || isOfOther(a, b)) return false;
	if (a.isPercentage === b.isPercentage) return isNear(times$1(a, factor), b, tolerance);
	const [share, plain] = a.isPercentage ? [a, b] : [b, a];
	if (plain.unit !== null) return false;
	return isNear(times$1(share, hundredth), plain, tolerance) || isUnsigned(plain) && isNear(share, plain, tolerance);
}
/** Returns true if two numbers describe different things: 5 cups and 5 teaspoons, x = 5 and y = 5, 5 and 5th. */
function isOfOther(expected, found) {
	const [own, other] = [expected.name ?? null, found.name ?? null];
	if (own !== null && other !== null && own !== other) return true;
	if (found.isOrdinal === true && expected.isOrdinal !== true) return true;
	return isOtherThing(expected.words ?? "", found.words ?? "");
}
/** Data sets write 50 for 50 %; what could be a share of 1 is taken for one. */
var isUnsigned = ({ value }) => order(size(value), whole(1n)) > 0;
var times$1 = ({ value, place }, factor) => ({
	value: product(value, factor),
	place: place && product(place, factor)
});
var areAlike$1 = (a, b) => a === b || a === "" || b === "";
function isSameList(a, b, tolerance) {
	if (a.items.length !== b.items.length) return false;
	if (a.decimal !== null && b.decimal !== null && !isSameNumber$1(a.decimal, b.decimal, tolerance)) return false;
	if (!areAlike$1(a.brackets, b.brackets)) return false;
	const isSame = (x, y) => y !== void 0 && isSameNumber$1(x, y, tolerance);
	const [own, other] = [namesIn(a), namesIn(b)];
	if (own !== null && other !== null) return a.items.every((item, i) => isSame(item, b.items[other.indexOf(own[i])]));
	return a.brackets === "{}" ? isSameInAnyOrder(a.items, b.items, isSame) : a.items.every((item, i) => isSame(item, b.items[i]));
}
function isSameInAnyOrder(a, b, isSame) {
	const left = [...b];
	return a.every((item) => {
		const at = left.findIndex((other) => isSame(item, other));
		if (at >= 0) left.splice(at, 1);
		return at >= 0;
	});
}
/**
* Returns the names of what the numbers of a list count, where each has a name of its own, as in “5 red balls, 3 blue
* balls”: words that all of them share name none. Such a list says the same in any order.
*/
function namesIn({ brackets, items }) {
	if (brackets === "()" || brackets === "[]") return null;
	const words = items.map((item) => wordsOf$1(item.words ?? ""));
	const names = words.map((own) => own.filter((word) => !words.every((each) => each.includes(word))).toSorted().join(" "));
	return names.every((name) => name !== "") && new Set(names).size === names.length ? names : null;
}
/** 6 : 2 is 3 : 1. */
function isSameRatio(a, b) {
	const [first, other] = [a.parts[0], b.parts[0]];
	return a.parts.length === b.parts.length && a.parts.every((part, i) => part * other === b.parts[i] * first);
}
var isSameTime = (a, b) => a.seconds === b.seconds && (a.hasSeconds === b.hasSeconds || a.isOfDay || b.isOfDay);
var isSameDate = (a, b) => a.month === b.month && a.day === b.day && a.year === b.year;
/** Returns a number as its digits say. `place` is that of its last digit, of a decimal or with an exponent. */
function writtenNumber(value, place) {
	return {
		kind: "number",
		value,
		place,
		isPercentage: false,
		unit: null
	};
}
/** The place of the last digit of a decimal; null for a whole number and for one whose digits recur. */
function placeOf$1(digits) {
	if (isRecurring(digits)) return null;
	const [mantissa = "", exponent] = digits.toLowerCase().split("e");
	const after = mantissa.split(".")[1]?.length ?? 0;
	return after === 0 && exponent === void 0 ? null : powerOfTen(Number(exponent ?? 0) - after);
}
// src/rl/answers/readCompound.ts
/** Reads quantities in several units, as in “5 feet 6 inches”, as a number of the last of them. */
var term = /^\s*(?:(?:,|,?\s*and\s)\s*)?(\d+(?:\.\d+)?)\s*(?=\p{L}|°)(.*)$/su;
/**
* Reads the quantities; null for fewer than two parts, for units that are not each smaller than the one before, and for
* those of different things.
*/
function readCompound(text) {
	const terms = termsOf(text.replaceAll(/[{}]/g, " ").replace(/^\$\s*(\d+)(?=\s)/, "$1 dollars"));
	const last = terms?.at(-1);
	if (terms === null || last === void 0 || terms.length < 2) return null;
	let [total, before] = [whole(0n), null];
	for (const { digits, unit } of terms) {
		const factor = conversion(unit, last.unit);
		if (factor === null || before !== null && order(factor, before) >= 0) return null;
		total = sum(total, product(decimal(digits), factor));
		before = factor;
	}
	const first = terms[0].unit;
	if ("$" in first.dimensions) return {
		...writtenNumber(product(total, conversion(last.unit, first)), null),
		unit: first
	};
	return {
		...writtenNumber(total, placeOf$1(last.digits)),
		unit: last.unit
	};
}
function termsOf(text) {
	const terms = [];
	for (let rest = text; rest.trim() !== "";) {
		const [, digits, behind = ""] = term.exec(rest) ?? [];
		const read = digits === void 0 ? null : readUnit(behind);
		if (read === null) return null;
		terms.push({
			digits,
			unit: read.unit
		});
		rest = read.rest;
	}
	return terms;
}
// src/rl/answers/plainText.ts
/** One spelling for characters that mean the same: minus signs, full-width digits, fractions of one character. */
var minusSigns = /[\u2010-\u2013\u2212\u2796\ufe63\uff0d]/g;
/** Arabic and Persian digits. */
var easternDigits = /[\u0660-\u0669\u06f0-\u06f9]/g;
var fullWidth = /[\uff01-\uff5e]/g;
var vulgarFractions = /(\d?)([\u00bc-\u00be\u2150-\u215e])/g;
var superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹";
/** Raised digits after a number or bracket are an exponent; after a unit they stay, since m² is a unit. */
var raisedExponent = /(?<=[\d)\]}])(⁻?)([⁰¹²³⁴⁵⁶⁷⁸⁹]+)/g;
var raisedLetter = /(?<=\p{L})(⁻?)([⁰¹²³⁴⁵⁶⁷⁸⁹]+)/gu;
/** x² as x^{2}; behind a unit, too. */
var withExponents = (text) => text.replace(raisedLetter, (_, minus, digits) => `^{${minus && "-"}${digitsOf(digits)}}`);
var digitsOf = (raised) => [...raised].map((digit) => superscripts.indexOf(digit)).join("");
/** Bold marks of Markdown; `2**3` is a power. */
var bold = /(?<![\w)])\*\*(?=\S)([^*\n]{1,200}?)\*\*(?![\w(])/g;
/** Digits in groups of three that are held apart by something that is no comma. */
var grouped$1 = /(?<![\d.,])\d{1,3}(?:(?:[\u00a0\u202f\u2009'’_]|\{,\}|\\[,!]|\\ |,\\!\s?|\s?\{\s?,\s?\}\s?)\d{3})+(?!\d)/g;
/** Italics and bold marks of Markdown around an answer; 2 * 3 and a_b are none. */
var emphasis = /(?<![\w)*}\\])(\*|__)(?=[\w$\\(-])([^*_\n]{1,80}?)(?<=\S)\1(?![\w(*])/g;
var overlined = /(\d\.\d{0,40})\s*\\(?:overline|bar|dot)\s*(\{\s*\d{1,40}\s*\}|\d)/g;
var dotted = /(\d\.\d{0,40})(\\dot\s*\{?\d\}?\d{0,40}\\dot\s*\{?\d\}?)/g;
var bracketed = /(?<![\w.,)\]}]|[-+*/^×·]\s)(\d{1,20}\.\d{0,20})\((\d{1,20})\)(?!\s*[-+*/^×·=(\d\p{L}]|\s*\\(?:cdot|times|frac|sqrt))/gu;
var continued = /(?<![\d.,])(\d{1,20}\.\d{0,20}?)((\d)\3{2,20}|(\d{2,20})\4{1,10})\s*(?:\.{3,4}|…|\\[lc]?dots(?![a-zA-Z]))/g;
var lined = (digits) => digits.replaceAll(/\d/g, "$&̅");
var withRecurring = (text) => text.replace(dotted, (_, fixed, block) => fixed + lined(block.replaceAll(/\D/g, ""))).replace(overlined, (_, fixed, block) => fixed + lined(block.replaceAll(/\D/g, ""))).replace(bracketed, (_, fixed, block) => fixed + lined(block)).replace(continued, (_, fixed, block) => fixed + lined(recurringBlock(block))).replace(/(?<=\d)[\u0304\u0307]/g, "̅");
/** 12 of 1212. */
var recurringBlock = (digits) => digits.replace(/^(\d+?)\1+$/, "$1");
/** A calculation that GSM8K's solutions repeat before its result. */
var calculation = /<<[^<>\n]{1,200}=[^<>\n]{1,60}>>/g;
/** White space so long that searching it for the parts of a number would take minutes. */
var longSpace = /\s{9,}/g;
/** Letters of scripts that put no spaces between words. */
var unspaced = String.raw`[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]`;
var besideLetters = new RegExp(String.raw`(?<=${unspaced})(?=[-+]?[$€£¥\\\d])|(?<=[\d%$)}\]])(?=${unspaced})`, "gu");
/** Returns true if a text holds letters of a script that is written without spaces. */
var isUnspaced = (text) => new RegExp(unspaced, "u").test(text);
/** Spaces between numbers and such letters, as between words elsewhere, and their full stop. */
var withSpaces = (text) => isUnspaced(text) ? text.replaceAll("。", ". ").replaceAll("、", ", ").replace(besideLetters, " ") : text;
var plainCharacters = (text) => withSpaces(oneSpelling(text));
var oneSpelling = (text) => withRecurring(text.replace(longSpace, (run) => run.includes("\n") ? "\n\n" : "  ").replace(calculation, "")).replace(fullWidth, (character) => String.fromCharCode(character.charCodeAt(0) - 65248)).replace(easternDigits, (digit) => String(digit.charCodeAt(0) & 15)).replaceAll("٫", ".").replace(minusSigns, "-").replace(vulgarFractions, (_, digit, one) => `${digit && `${digit} `}${one.normalize("NFKC").replace("⁄", "/")}`).replace(raisedExponent, (_, minus, digits) => `^{${minus && "-"}${digitsOf(digits)}}`).replace(bold, "$1").replace(emphasis, "$2").replace(grouped$1, (number) => number.replace(/[^\d]+/g, ",")).replace(/[\u00a0\u202f\u2009\u3000]/g, " ");
// src/rl/answers/surroundings.ts
/** Judges a number by the words and signs around it: they may make it part of something else, a bound, or deny it. */
var comparative = "(?:less|more|greater|fewer|smaller|larger|bigger|lower|higher)";
var counts = "one|two|three|four|five|six|seven|eight|nine|ten";
var large = "(?:hundred|thousand|million|billion)";
/** Words that deny, bound or compute with the value behind them. */
var changedBefore = [
	new RegExp(String.raw`\b(?:not|never|isn['’]t|wasn['’]t|can['’]t be|cannot be|(?:could|might|may) be|${comparative} than(?: or equal to)?|at most|at least|up to|between|either|neither|nor|or|no (?:answer|solution|result|value)|almost|nearly|close to|exceed(?:s|ing)?|above|below|under|beyond)\s*$`, "i"),
	/\b(?:except(?: for)?|excluding|besides|apart from|aside from|other than|different from|(?:not |un)equal to|instead of|rather than|unlike|(?:any|every|all)(?:thing)?\b[^.,;\n]{0,20} but)\s*$/i,
	/\b(?:between|from|either|neither|(?:sum|product|difference|quotient|average|mean|ratio|larger|smaller|gcd|lcm|maximum|minimum) of)\s[^.\n]{1,30}\s(?:and|to|x?or|nor)\s*$/i,
	/\b(?:(?:divisible|divided|multiplied) by|(?:up|down) from|(?:number|integer|one|value|digit|letter|prime|multiple|is|comes|right|just|immediately|directly) (?:after|before|following|preceding)|(?:half|quarter|third) an?)\s*$/i,
	new RegExp(String.raw`(?:\d|\b(?:${counts}))\s+(?:in|out of|of|per|for|by|x)(?: (?:every|each|the|all|an?))?\s*$`, "i"),
	/(?<!\p{L})(?:sqrt|sin|cos|tan|cot|sec|csc|arc(?:sin|cos|tan)|log|ln|lg|exp|det|mod(?:ulo)?|gcd|lcm|abs|floor|ceil|infinity|choose|through|thru|point|vs\.?|or (?:maybe|perhaps|possibly))[\d₀-₉_{}]*\s*$/iu,
	endsInMagnitude,
	/\b(?:over|plus|minus|times|(?:divided|multiplied) by|(?:root|square|cube|factorial|power|log|logarithm) of|(?:square|cube) root)\s*$/i,
	/\b(?:twice|thrice|double|triple|quadruple|half|(?:halve|third|quarter|fourth|fifth|sixth|seventh|eighth|ninth|tenth|percent|multiple|divisor|reciprocal|inverse|opposite|(?<!by an? )factor|negative|the (?:sum|product|difference|quotient|average|mean|ratio|larger|smaller|gcd|lcm))s? of)(?: of)?\s*$/i,
	/%\s*of\s*$/,
	/(?:[不没無非]\p{sc=Han}{0,2}|[大小多少高低]于|超[过過]|至少|至多|最多|最少|介于|除了|第|或|分之|[加减減乘除])\s*$/u
];
var before = [
	/[\p{L}\p{N})\]}]\s*[-+*/^×·÷]\s*$|[±∓]\s*$|\d\s*:\s*$|[\^_√]\{?$|\\(?!text|mathrm)[a-zA-Z]+\s*(?:\[[^\]]{1,9}\]\s*)?\{?$|\d\s*,\s*$/iu,
	/(?<![-=])[<>≤≥≠]=?\s*$|!(?:=\s*)?$/,
	/[\p{L}\p{N}'}]\(\s*[-+]?\s*$|\}\s*\{$|(?![=+~≈→⇒⟹<>|≡∴])\p{Sm}\s*$|\d[ \t]+$/u,
	/(?:∞|\\infty|infinity|\binf)\s*(?:[,;]|to|and)\s*$/i,
	/\d\S*\s*(?:[,;]\s*(?:(?:and|or)\s)?|\band\s|\bor\s)\s*\p{L}\w{0,2}\s*=\s*$/u,
	/\bor\s+\p{L}\w{0,2}\s*=\s*$/u,
	/\d\s+(?:in|out of)\s*$/,
	/\d\s*,?\s*(?:with\s)?(?:an?\s)?(?:remainder|rem\.?|r)(?:\s+of)?\s*$/i
];
/** Words that deny, bound or compute with the value before them. */
var changedAfter = [
	/^[^.,;\n\d]{0,20}\b(?:is|are|was|would be)(?:n['’]t\b|\s+(?:not|never|wrong|incorrect|false|impossible)\b)/i,
	/^\s*[-(]?\s*(?:squared|cubed|doubled|tripled|quadrupled|halved|inverted|reversed|factorial|ish|mod(?:ulo)?|choose|(?:in )?base|in (?:binary|octal|hex\w*)|(?:divided|multiplied) by|to the power|per\s?mill?e?|onwards?|to infinity)\b/i,
	/^\s*and (?:beyond|(?:an?|one|two|three)[- ](?:half|halve|third|quarter|fourth|fifth|tenth)s?)\b/i,
	/^\s*(?:over|plus|times|out of|of|per|for every|for|by|x|to the|point|through|thru)\s+(?:(?:every|each|the|all) )?(?:\d|pi\b|[b-hj-z]\b)/i,
	new RegExp(String.raw`^\s*(?:(?:out )?of (?:${counts})|in ten|(?:in|out of) an? ${large}|per ${large})\b`, "i"),
	/^\s*(?:sin|cos|tan|log|ln|sqrt|exp|root)\b/i,
	/^\s*\(?(?:wrong|incorrect|false)\b|^\s*&\s*\p{L}/iu,
	/^\s*\?/,
	new RegExp(String.raw`^[^.,;\n\d(]{0,20}\b(?:(?:or|and)\s+(?:${comparative}|above|below|up|under|over)\b|at (?:the )?(?:most|least)\b|${comparative} than\s+(?:[-$€£]*\d|(?:one|two|three|four|five|six|seven|eight|nine|ten|twice|half)\b)|give or take\b)`, "i"),
	/^\s*(?!Ω|[μµ]\p{sc=Latin})\p{sc=Greek}(?!\p{sc=Greek})|^\s*(?:\\?pi|d[xyzt])(?!\p{L})|^(?:alpha|beta|gamma|delta|theta|lambda|sigma|omega|phi|tau)(?!\p{L})/u,
	/^\s*(?:[万萬亿億兆조千百십十倍半多余余餘或到至的次乘除加减減]|分之|以[上下内內]|未満|左右|不[是对對]|是[错錯]|では|じゃ)/u
];
var after = [
	/^\s*(?:[,;]|to|and)\s*\+?\s*(?:∞|\\infty|infinity|inf\b)|^\s*(?![=|~≈→⇒])\p{Sm}/iu,
	/^\(|^\s*(?:[+*×·÷^/√<>≤≥≠±∓]|\(\s*(?:[-\d\\]|\p{L}\s*[-+*/^)\d])|-\s*(?:[\d(\\]|\p{L}(?!\p{L}))|\\(?!%|\$|\\|\)|\]|[,;!]|text|mathrm|quad|right|end)|!\s*[/*+-]|:\d|,\d|\.{1,3}\s?\d|\]\s*\{|\[\p{L}\]|\|\p{L}\||\{\s*(?:\\|\p{L}\s*\}))/u,
	/^[^.\n\d]{0,20}\bx?n?or\b[^.\n\d]{0,12}\d/i,
	/^[^.\n\d]{0,12}(?:[,;]|\band\b)\s*\p{L}\w{0,2}\s*=/u,
	/^\s*,?\s*(?:with\s)?(?:an?\s)?(?:remainder\b|rem\b|r\s*\d)/i,
	/^[^.,;\n\d]{0,20}\bbelow (?:zero\b|0)/i
];
/** Words and brackets on both sides, for the first of several values: “sum of 8 and 3”, (8, 9). */
var around = [[/\b(?:sum|product|difference|quotient|average|mean|ratio|larger|smaller|gcd|lcm|maximum|minimum) of\s*$/i, /^[^.\n\d]{0,24}(?:,|\band\b)\s*\d/i], [/[([]\s*[-+]?\s*$/, /^\s*[,;][^()[\]]*[)\]]/]];
var partBefore = /\d\s*([^\d\s,;=]+)\s*(to|,|,?\s*and)?\s*$/;
var partBehind = /^\s*([^\d\s,;=]*)\s*(to|,|,?\s*and)?\s*-?\d[\d.]*(.*)$/s;
/** Text that may separate a value from the words beside it: braces, and the marks around a formula. */
var opening = /(?:[\s{}$~]|\\[([])+$/;
var closing$1 = /^(?:[}$~]|\\[)\]])+/;
/** Returns true if words beside a value deny it, bound it or compute with it. */
var isChanged = (left, right) => changedBefore.some((pattern) => pattern.test(left.replace(opening, ""))) || changedAfter.some((pattern) => pattern.test(right.replace(closing$1, "")));
/** Returns true if a number stands for itself between `left` and `right`. */
var isBare = (left, right) => !isChanged(left, right) && !before.some((pattern) => pattern.test(left)) && !after.some((pattern) => pattern.test(right)) && !around.some(([start, end]) => start.test(left) && end.test(right)) && !isFactor(right) && !isPart(left, right);
/** Endings of ordinals, and units that are compared as words. */
var abbreviation = /^(?:st|nd|rd|th|pts?|pcs?|rpm|bpm|fps|px|dB|k?Wh|mAh|sqm|sqft|gms?|cc|tsp|mcg|pp[mb]|atm|bar|psi|hp|kn)$/i;
/** 2x is no number, 2m is one, and a letter that is a word counts something. */
function isFactor(behind) {
	if (isUnspaced(behind.trimStart().charAt(0))) return false;
	const letters = /^[\p{Lu}\p{Ll}_]{1,3}(?![\p{L}_])|^\s+[\p{Lu}\p{Ll}](?=\s*(?:[-+*/^=]|$))/u.exec(behind)?.[0] ?? "";
	return letters !== "" && unitBehind(letters) === null && !abbreviation.test(letters);
}
/** 6 in 5 feet 6 inches, 10 in 5 cm to 10 cm. */
function isPart(left, right) {
	if (/\d\s*(?:[°'′]|to\s)\s*$/.test(left) || /^\s*(?:[°'′]|to\s)\s*\d/.test(right)) return true;
	const [, first = "", join] = partBefore.exec(left) ?? [];
	if (isTogether(first, join, right)) return true;
	const [, own = "", next, other = ""] = partBehind.exec(right) ?? [];
	return isTogether(own, next, other);
}
/**
* Returns true if two quantities side by side are one; with “and” or a comma between, only those in different units.
*/
function isTogether(name, join, behind) {
	const unit = unitOf(name);
	if (unit === null) return false;
	if (join === void 0 || join === "to") return true;
	const other = readUnit(behind)?.unit;
	if (other === void 0) return false;
	const factor = conversion(unit, other);
	return factor === null || !isSame(factor, {
		above: 1n,
		below: 1n
	});
}
// src/rl/answers/readLiteral.ts
/** Reads a text that is one written answer and nothing else but its unit: “$1,200.00”, “x = 3/4”, “8 apples”, “12:30”. */
/** LaTeX that only changes how a number looks becomes plain text. */
var appearance = [
	[/(?<![\\$\d])\$(?=\S)([^$\n]{1,400}?)(?<=[^\s\\])\$(?![\d$])/g, " $1 "],
	[/\\(?:mathrm|mathbf|textbf|textrm|mbox|text|rm|bf)\s*\{([^{}]*)\}/g, " $1 "],
	[/\\(?:left|right|displaystyle|mathrm|mathbf|textbf|text|rm|bf)(?![a-zA-Z])\s*/g, " "],
	[/\\[dct]?frac\s*\{\s*(-?\d+)\s*\}\s*\{\s*(\d+)\s*\}/g, " $1/$2"],
	[/\\[dct]?frac\s*(\d)\s*(\d)(?!\d)/g, " $1/$2"],
	[/(\d)\s*(?:\\times|\\cdot|[×·*x])\s*10\s*\^\s*(?:\{\s*([-+]?\d{1,3})\s*\}|([-+]?\d{1,3}))/g, "$1e$2$3"],
	[/(?<![\w.)}])10\s*\^\s*(?:\{\s*([-+]?\d{1,3})\s*\}|([-+]?\d{1,3}))/g, "1e$1$2"],
	[/\\%/g, "%"],
	[/\\\$/g, "$$"],
	[/\\\(|\\\)|\\\[|\\\]/g, " "],
	[/\^\s*\{?\s*\\(?:circ|degree)\s*\}?|\\degree(?![a-zA-Z])/g, "°"],
	[/\\(?:,|;|!|:| |quad|qquad|ldots|dots)(?![a-zA-Z])|~/g, " "],
	[/\\([{}])/g, "$1"]
];
/** Exponent of a unit, which is not a number of its own. */
var raised = /(?<=\d[\s{]{1,4}|\d(?=\p{L}{2}))((?:\p{L}{1,12}\/)?\p{L}{1,12})[\s}]*\^\s*(?:\{\s*)?([23])(?!\d)(?:\s*\})?/gu;
/** Display, fractions of whole numbers and units as plain text. */
function plainMath(text) {
	return appearance.reduce((changed, [pattern, as]) => changed.replace(pattern, as), text).replace(raised, (all, name, exponent) => unitOf(name) === null ? all : `${name}${exponent === "2" ? "²" : "³"}`).replace(/\$(?!\s*[\d.])|(?<=[\d}°%)])\s*\$/g, " ").trim();
}
var digits = String.raw`(?:[1-9]\d{0,2}(?:,\d{3})+(?!\d)|[1-9]\d{0,2}(?:\.\d{3}){2,}(?![.\d])|\d+)(?:\.\d*(?:\d\u0305)+|\.\d+)?|\.\d+`;
var exponent = String.raw`(?:[eE][-+]?\d{1,3}(?![\d.]))?`;
var percent = String.raw`(?:\s*(?:%|percent(?:age)?\b|pct\b))?`;
/** A number as it may stand in running text, its groups: sign, currency, digits, “/ denominator”, percent. */
var numberSource = String.raw`([-+]?)\s*([$€£¥₹]?)\s*((?:${digits})${exponent})(?:\s*\/\s*(-?\d+)|\s+(\d+)\s*\/\s*(\d+))?(${percent})`;
var alone = new RegExp(`^${numberSource}(.*)$`, "s");
var spaced = /^([-+]?\d{1,3})((?: \d{3})+)(?![\d,./])/;
var leading = /^(?:about|approximately|approx\.?|roughly|exactly|≈|~|\\approx)\s*/i;
/** The literal; null where the text is something else. */
function readLiteral(text) {
	const plain = plainMath(text).replace(leading, "").replace(/[.,;]\s*$/, "").trim();
	if (plain.length > 1e3 || !/\d/.test(plain)) return null;
	const value = lastSide(plain);
	const measured = readDate(value) ?? readTime(value) ?? readRatio(value);
	if (measured !== null) return measured;
	const number = readNumber(value) ?? readCompound(value);
	const name = value === plain ? null : nameBefore(plain.slice(0, plain.indexOf("=") + 1));
	return number === null ? readList(value) : {
		...number,
		name
	};
}
/** The letter whose value stands behind its = sign. */
var nameBefore = (text) => /(?<![\p{L}\p{N}_\\]|[\p{N})\]}^+*/-]\s*|(?<!\p{L})\p{L} )(\p{L}(?:_?\d)?)\s*=\s*$/u.exec(text)?.[1]?.replace("_", "") ?? null;
/** “5th”. */
var isOrdinal = (behind) => /^(?:st|nd|rd|th)\b/i.test(behind);
/** “1990s”: ten years, and no number of seconds. */
var isDecade = (digits, behind) => /^[12]\d\d0$/.test(digits) && /^['’]?s\b/.test(behind);
/** Takes the text after the last = of “x = 3” or “2 + 1 = 3”. */
function lastSide(text) {
	const at = text.lastIndexOf("=");
	return /[,;]|\b(?:and|or)\b/.test(text.slice(0, at + 1).replaceAll(/\([^()]*\)|,(?=\d{3})/g, "")) || /[<>≤≥≠!]|\\[lgn]e/.test(text) ? text : text.slice(at + 1).trim();
}
function readRatio(text) {
	if (!/^\d{1,9}(?:\s*:\s*\d{1,9})+$/.test(text)) return null;
	return {
		kind: "ratio",
		parts: text.split(":").map((part) => BigInt(part.trim()))
	};
}
/** Commas that can be decimal points: they hold no groups of three digits apart. */
var comma = /^([-+]?\s*[$€£]?\s*(?:0|\d+(?=,(?:\d{1,2}|\d{4,})(?!\d)))),(\d+)(?![\d.,])/;
/** 1.234,56 has points between its groups. */
var pointed = /^([-+]?\s*[$€£]?\s*[1-9]\d{0,2}(?:\.\d{3})+),(\d+)(?![\d.,])/;
/** Reads a number with its unit; null where more than a unit is beside it. A decimal comma must be certain. */
function readNumber(text) {
	const plain = text.replace(spaced, (number) => number.replaceAll(" ", "")).replace(pointed, (_, before, after) => `${before.replaceAll(".", "")}.${after}`);
	const number = pointedNumber(plain);
	if (number !== null) return number;
	const measured = pointedNumber(plain.replace(comma, "$1.$2"));
	return measured !== null && (measured.unit !== null || measured.isPercentage) ? measured : null;
}
function pointedNumber(text) {
	const found = alone.exec(text);
	if (found === null) return null;
	const behind = found[8] ?? "";
	if (isDecade(found[3], behind)) return null;
	const rest = multiplierOf(behind);
	if (readUnit(rest.rest)?.rest !== "" && !(isUnit$1(rest.rest) && isBare("", rest.rest))) return null;
	const number = numberOf(found);
	if (number === null) return null;
	return {
		...number,
		value: product(number.value, rest.factor),
		unit: found[2] ? unitOf(found[2]) : unitBehind(rest.rest),
		words: rest.rest,
		isOrdinal: isOrdinal(behind)
	};
}
/** Words that change the value of the number, or make several of it. */
var changing = /(?<!\p{L})(?:is|are|was|wrong|incorrect|false|and|or|nor|plus|minus|over|to|not|if|but|of|than|below|above|remainder|rem|squared|cubed|factorial|divided|most|least|ago|later|earlier|before|after|hence|BCE?)(?!\p{L})/iu;
var isChanging = (words) => changing.test(words) || isChanged("", ` ${words}`);
/** Returns true if a text is at most four words that compute nothing; one letter counts only as a known unit. */
function isUnit$1(rest) {
	const words = rest.replaceAll(/[{}]/g, " ").trim().replace(/^\(([^()]+)\)$/, "$1");
	if (words === "" || words.length === 1 && suffixOf(rest) !== null) return true;
	if (!/^[\p{L}°²³€£¥₹$¢]/u.test(words) || !/^[\p{L}\p{M}°²³€£¥₹$¢.'’/ \d^-]+$/u.test(words)) return false;
	const list = words.split(/\s+/);
	if (list.length > 4 || /\d/.test(words)) return false;
	if (isChanging(words)) return false;
	return list[0].replaceAll(/[^\p{Lu}\p{Ll}°]/gu, "").length !== 1 || unitOf(words) !== null;
}
/** The number in a match of `numberSource`; null for a denominator of 0 or a fraction of decimals. */
function numberOf(found) {
	const [, sign, , written = "", below, above, partBelow, percentSign = ""] = found;
	const plain = written.split(".").length > 2 ? written.replaceAll(".", "") : written.replaceAll(",", "");
	const isFraction = below !== void 0 || above !== void 0;
	if (isFraction && !/^\d+$/.test(plain)) return null;
	const value = withFraction(decimal(plain), below, above, partBelow);
	if (value === null) return null;
	return {
		...writtenNumber(sign === "-" ? negated(value) : value, isFraction ? null : placeOf$1(plain)),
		isPercentage: percentSign.trim() !== ""
	};
}
/** 3/4 is divided by `below`; 1 3/4 has `above` / `partBelow` added. */
function withFraction(own, below, above, partBelow) {
	if (below !== void 0) return quotient(own, whole(BigInt(below)));
	if (above === void 0 || partBelow === void 0) return own;
	const part = fraction(BigInt(above), BigInt(partBelow));
	return part && sum(own, part);
}
var brackets = [
	"()",
	"[]",
	"{}"
];
function readList(text) {
	const around = brackets.find(([open, close]) => text.startsWith(open) && text.endsWith(close)) ?? "";
	const inside = around === "" ? text : text.slice(1, -1);
	const parts = inside.split(inside.includes(";") ? /;/ : /,(?:\s*and\s)?|\s(?:and|or)\s/);
	const spacedOut = parts.length === 1 ? inside.trim().split(/\s+/) : parts;
	if (spacedOut.length < 2 && around === "") return null;
	const items = spacedOut.map((part) => readNumber(part.trim()));
	const decimal = around === "" && comma.test(text) ? pointedNumber(text.replace(comma, "$1.$2")) : null;
	return items.every((item) => item !== null) ? {
		kind: "list",
		brackets: around,
		items,
		decimal
	} : null;
}
// src/rl/answers/compoundWords.ts
/** Writes quantities that are partly in words with digits: “3 and a half” is 3 1/2, “1 in 4” is 1/4. */
var below = {
	half: 2,
	halves: 2,
	third: 3,
	quarter: 4,
	fourth: 4,
	fifth: 5,
	tenth: 10
};
var above = {
	a: 1,
	an: 1,
	one: 1,
	two: 2,
	three: 3
};
var part = String.raw`and\s+(an?|one|two|three)[\s-](half|halves|third|quarter|fourth|fifth|tenth)s?(?!\p{L})`;
/** “One hundred and three quarters” is 100¾. */
var thing = String.raw`(?!(?:hundred|thousand)\b)\p{L}+`;
var counted = new RegExp(String.raw`(?<![\d.,/^\p{L}])(\d+)((?:\s+${thing})?)\s+${part}`, "giu");
var single = new RegExp(String.raw`(?<!\p{L})(?:an?|one)(\s+${thing})\s+${part}`, "giu");
var measured = /(?<!\p{L})(?:an?|one)\s+(?=(?:hour|minute|day|week|month|year|foot|yard|mile|pound|dollar|euro|gallon|quart|met(?:er|re)|kilomet(?:er|re)|kilogram|kilo|lit(?:er|re))(?:,?\s+and|,)?\s+\d)/giu;
/** The text with “3 and a half hours” as 3 1/2 hours and “an hour and 30 minutes” as 1 hour and 30 minutes. */
var withCompounds = (text) => text.replace(counted, (_, ...found) => mixed(found)).replace(single, (_, ...found) => mixed(["1", ...found])).replace(measured, "1 ");
var mixed = ([whole, unit, count = "", name = ""]) => `${whole} ${above[count.toLowerCase()]}/${below[name.toLowerCase()]}${unit}`;
var share = /^(?:an? |the )?([\p{L}\d-]{1,20}(?: \p{L}+)??) (?:in|of|out of)(?: (?:every|each|the|all))? ([\p{L}\d-]{1,20}(?: \p{L}+)?)$/iu;
/** “1 in 4”, “three out of five” as fractions; null for others. `numeral` reads a whole number. */
function shareIn(text, numeral) {
	const [, part = "", all = ""] = share.exec(text) ?? [];
	const [count, of] = [numeral(part), numeral(all)];
	return count === null || of === null || count > of ? null : `${count}/${of}`;
}
// src/rl/answers/numberWords.ts
/** Reads numbers in words where they are the whole answer: “twenty-one”, “three quarters”, “two and a half”. */
var listed$1 = (words, from, step) => words.split(" ").map((word, i) => [word, from + step * i]);
var small = new Map(listed$1("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen", 0, 1));
var tens = new Map(listed$1("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10));
var scales = [
	["trillion", 0xe8d4a51000],
	["billion", 1e9],
	["million", 1e6],
	["thousand", 1e3]
];
var parts = new Map([...listed$1("half third fourth fifth sixth seventh eighth ninth tenth", 2, 1), ...[
	["halve", 2],
	["quarter", 4],
	["hundredth", 100],
	["thousandth", 1e3]
]]);
/** The text with a number in words as digits; the same text where it is anything else. */
function withDigits(text) {
	const plain = text.replaceAll(/\\(?:text|textbf|mathrm|mbox)\s*\{([^{}]*)\}/g, "$1").replaceAll(/[$"“”`]|\\[()[\] ,]/g, " ").trim().replace(/[.,;!]+$/, "");
	const share = plain.length > 60 ? null : shareIn(plain, wholeIn);
	if (share !== null) return share;
	if (plain.length > 150 || !/^[A-Za-z][A-Za-z,/^²³ -]*$/.test(plain)) return text;
	const reader = new WordReader(plain.split(/[\s,]+|-(?=[a-z])/i));
	const value = reader.value();
	if (value === null || !isMeasure(reader.rest, value)) return text;
	return `${value.below === 1n ? String(value.above) : `${value.above}/${value.below}`} ${reader.rest}`.trim();
}
/** A whole number in digits or words, and nothing else. */
function wholeIn(text) {
	if (/^\d{1,9}$/.test(text)) return Number(text);
	const reader = new WordReader(text.split(/[\s-]+/));
	const value = reader.value();
	return value?.below === 1n && reader.rest === "" ? Number(value.above) : null;
}
/**
* Returns true if a number can have this text behind it: a unit, percent, or things that are counted. “One must know”
* counts nothing.
*/
var isMeasure = (rest, { above, below }) => rest === "" || /^(?:percent|per cent)$/i.test(rest) || isMagnitude(rest) || readUnit(rest)?.rest === "" || below === 1n && above !== 1n && /^[a-z]{2,}s$/i.test(rest);
/** “million”, “dozen eggs”. */
function isMagnitude(words) {
	const { rest } = multiplierOf(words);
	return rest !== words && /^(?:\s[a-z]{2,}s)?$/i.test(rest);
}
var WordReader = class {
	#at = 0;
	#words;
	constructor(words) {
		this.#words = words;
	}
	get rest() {
		return this.#words.slice(this.#at).join(" ");
	}
	get #next() {
		return this.#words[this.#at]?.toLowerCase() ?? "";
	}
	#take(...words) {
		const isNext = words.includes(this.#next);
		if (isNext) this.#at++;
		return isNext;
	}
	value() {
		const isNegative = this.#take("minus", "negative");
		const value = this.#unsigned();
		return value !== null && isNegative ? negated(value) : value;
	}
	#unsigned() {
		if (this.#next === "half") return this.#part(1);
		const count = this.#cardinal();
		if (count === null) return null;
		if (this.#take("point")) return this.#decimals(count);
		const part = this.#part(count);
		if (part !== null) return part;
		const before = this.#at;
		if (!this.#take("and")) return whole(BigInt(count));
		const above = this.#cardinal();
		const rest = above === null ? null : this.#part(above);
		if (rest !== null) return sum(whole(BigInt(count)), rest);
		this.#at = before;
		return whole(BigInt(count));
	}
	/** Thirds, quarters and the like of a count. */
	#part(count) {
		const below = parts.get(this.#next.replace(/s$/, ""));
		if (below === void 0) return null;
		this.#at++;
		const behind = this.#words.slice(this.#at).join(" ");
		const skipped = /^(of )?an? (?=(?:dozen|hundred|thousand|[mbtr]+illion)$)/i.exec(behind);
		if (skipped !== null) this.#at += skipped[1] === void 0 ? 1 : 2;
		return fraction(BigInt(count), BigInt(below));
	}
	#decimals(count) {
		let digits = "";
		for (let digit = small.get(this.#next); digit !== void 0 && digit < 10; digit = small.get(this.#next)) {
			digits += String(digit);
			this.#at++;
		}
		return digits === "" ? null : decimal(`${count}.${digits}`);
	}
	/** “a” counts only before a hundred, a thousand, a half. */
	#isArticle() {
		const behind = this.#words[this.#at + 1]?.toLowerCase() ?? "";
		return /^an?$/.test(this.#next) && !/^(?:hundred|thousand|[mbtr]+illion|dozen)$/.test(behind) && !parts.has(behind);
	}
	#cardinal() {
		if (this.#isArticle()) return null;
		let [total, isFound] = [0, false];
		for (const [name, scale] of [...scales, ["", 1]]) {
			const before = this.#at;
			const count = this.#scaled(name, isFound);
			if (count === null) this.#at = before;
			else [total, isFound] = [total + count * scale, true];
		}
		return isFound ? total : null;
	}
	/** A number before the name of its scale; the last one of several has no name and may have “and” before it. */
	#scaled(name, isFurther) {
		const before = this.#at;
		if (isFurther && name === "") this.#take("and");
		const count = this.#belowThousand();
		return (name === "" ? !this.#isPartBehindAnd(before) : this.#take(name)) ? count : null;
	}
	/** “two thousand and three quarters” is 2000¾. */
	#isPartBehindAnd(from) {
		return this.#words[from]?.toLowerCase() === "and" && parts.has(this.#next.replace(/s$/, ""));
	}
	#belowThousand() {
		const first = this.#take("a", "an") ? 1 : this.#belowHundred();
		if (first === null || first > 9 || first === 0 || !this.#take("hundred")) return first;
		const before = this.#at;
		const hasAnd = this.#take("and");
		const rest = this.#belowHundred();
		if (rest !== null && rest > 0 && !(hasAnd && this.#isPartBehindAnd(before))) return first * 100 + rest;
		this.#at = before;
		return first * 100;
	}
	#belowHundred() {
		const ten = tens.get(this.#next);
		if (ten === void 0) {
			const one = small.get(this.#next);
			if (one !== void 0) this.#at++;
			return one ?? null;
		}
		this.#at++;
		const one = small.get(this.#next);
		if (one === void 0 || one === 0 || one > 9) return ten;
		this.#at++;
		return ten + one;
	}
};
// src/rl/answers/statedAnswer.ts
/** Finds where a text states its answer: a marker, the words “the answer is”, or nowhere in particular. */
/** Finds the stated answer. `isAnswer` decides if the rest of a line behind #### is one: it could also be a heading. */
function statedAnswer(text, isAnswer) {
	const { text: stated, kind } = written(text, (line) => isAnswer(withDigits(line)));
	return {
		text: withDigits(stated),
		kind
	};
}
function written(text, isAnswer) {
	const own = withMagnitudes(withCompounds(withSigns(plainCharacters(withoutThoughts(text)))));
	const marked = tagged(own) ?? boxed(own);
	if (marked !== null) return {
		text: marked,
		kind: "marked"
	};
	const line = lineAfter(own, "####");
	if (line !== null && isAnswer(line)) return {
		text: line,
		kind: "marked"
	};
	const said = saidAnswer(own);
	return said === null ? {
		text: own.trim(),
		kind: "unmarked"
	} : {
		text: said,
		kind: "said"
	};
}
/**
* “root 5”, “the square root of (x + 1)”, of one number, letter or bracket with nothing behind it: how far a root
* reaches is not said in words. “The equation has the root 5” is no square root.
*/
var rootInWords = /(?:(?<![\p{L}\\])(?:the )?(square|cube) root(?: of)?|(?<=(?:^|[=\d*+({$-]|\bis)\s*)root(?: of)?)\s+(\d+(?:\.\d+)?|\p{L}|\([^()]{1,40}\))(?=\s*(?:$|[.,;:)\]}$\n](?!\d)))/giu;
var belowZero = /(?<![-\d.,])(\d+(?:\.\d+)?(?: ?°[CF]?| degrees?(?: celsius| fahrenheit)?)?) below (?:zero|0)\b/gi;
/** Writes “minus 5” and “5 below zero” as −5; an answer that is called wrong is removed. */
var withSigns = (text) => text.replace(/\b(?:wrong|incorrect|false)\s+(?:answer|result)\b[^.\n]*/gi, " ").replace(/\b(?:minus|negative)\s+(?=[\d.$\\])/gi, "-").replace(belowZero, "-$1").replace(rootInWords, (_, which, of) => which?.toLowerCase() === "cube" ? `\\sqrt[3]{${of}}` : `\\sqrt{${of}}`);
var labels = /\b(?:chapter|question|problem|exercise|step|page|figure|fig\.|equation|eq\.|section|table|example|line|lemma|theorem|appendix|attempt)\s*[#(]?\d+(?![\d%]|[.,]\d)[ \t]*:?/gi;
var listMarks = /^[ \t]*\(?\d{1,2}[.)][ \t]+(?=\S)/gm;
var firstListMark = /^[ \t]*\(?1[.)][ \t]+\S/m;
/** The text without numbers that only count its parts: “Step 5”, and the marks of a list that begins with 1. */
function withoutLabels(text) {
	return (firstListMark.test(text) ? text.replace(listMarks, "") : text).replace(labels, " ");
}
/** Returns true if a statement only bounds or denies what it names: “less than 10”, “either 9 or 10”, “> 10”. */
var isHedged = (text) => /^\W{0,3}(?:text\s*\{\s*)?(?:not|never|less|more|greater|fewer|smaller|larger|under|over|at (?:most|least)|between|either|neither)\b|^\s*\$?\s*(?:[<>≤≥≠]|\\(?:le|ge|leq|geq|ne|neq|lt|gt)(?![a-z]))/i.test(text);
function withoutThoughts(text) {
	const [opened, end] = [text.lastIndexOf("<think>"), text.lastIndexOf("</think>")];
	if (opened > end) return text.slice(0, opened);
	const after = end < 0 ? "" : text.slice(end + 8);
	return after.trim() === "" ? text : after;
}
function lineAfter(text, marker) {
	const at = text.lastIndexOf(marker);
	if (at < 0) return null;
	return text.slice(at + marker.length).trimStart().split("\n", 1)[0].trim();
}
/** Content of the last `<answer>`, or of a box in it. */
function tagged(text) {
	const at = text.lastIndexOf("<answer>");
	if (at < 0) return null;
	const inside = text.slice(at + 8).split("</answer>", 1)[0].trim();
	return boxed(inside) ?? inside;
}
var announcement = /\b(?:answer|result)(?:\s+(?:is|are|was|would be|should be|equals)\b)?\s*(?:[:=]|(?<=\b(?:is|are|was|be|equals)\b))\s*:?\s*/gi;
/** The same in other languages, where a colon stands behind the word or, in Chinese and Japanese, the verb. */
var announcedElsewhere = /(?<!\p{L})(?:antwort|ergebnis|lösung|réponse|résultat|respuesta|resultado|risposta|risultato|resposta|ответ|результат|정답|답)\s*[:=]\s*|(?:答案|结果|結果|答え|答)\s*(?:[是为為は]|等[于於])?\s*[:=]?\s*(?<=[是为為は于於:=]\s*)/giu;
var sentenceEnd = /[.!?;]?\s*(?:\n|$)|[.!?](?=\s)/;
/** The sentence behind the last “answer is” or “Answer:”. */
function saidAnswer(text) {
	let start = -1;
	for (const pattern of [announcement, announcedElsewhere]) for (const { index, 0: words } of text.matchAll(pattern)) start = Math.max(start, index + words.length);
	if (start < 0) return null;
	const rest = text.slice(start);
	const said = /^(?:\$\$|\\\[)[^]*?(?:\$\$|\\\])/.exec(rest)?.[0] ?? sentenceOf(rest);
	return said === "" || /^not\b/i.test(said) ? null : said;
}
/** The first sentence; empty for a question, as in “The answer is 8? No.” */
function sentenceOf(text) {
	const end = sentenceEnd.exec(text)?.index;
	return text.charAt(end ?? -1) === "?" ? "" : text.slice(0, end).trim();
}
var boxes = /\\(?:boxed|fbox)\s*\{/g;
var longestBox = 4e3;
/** The content of the last box; of several that belong together all, with commas between. */
function boxed(text) {
	const found = [...text.matchAll(boxes)].slice(-16).flatMap(({ index, 0: opening }) => {
		const end = closingBrace(text, index + opening.length);
		return end < 0 ? [] : [{
			start: index,
			end,
			inside: text.slice(index + opening.length, end)
		}];
	});
	const outer = found.filter((box) => !found.some((other) => other.start < box.start && box.end < other.end));
	const group = [];
	for (const box of outer.reverse()) {
		const [next] = group;
		if (next !== void 0 && !areTogether(text.slice(box.end + 1, next.start))) break;
		group.unshift(box);
	}
	const stated = new Set(group.map((box) => withSurroundings(text, box)));
	return group.length === 0 ? null : [...stated].join(", ");
}
/** Index of the brace that closes the one open at `from`; −1 if there is none. */
function closingBrace(text, from) {
	let depth = 1;
	for (let at = from; at < Math.min(text.length, from + longestBox); at++) if (text[at] === "\\") at++;
	else if (text[at] === "{") depth++;
	else if (text[at] === "}" && --depth === 0) return at;
	return -1;
}
/** “, ”, “ and ”, “ or ”, “Case 2:” between two boxes, with few words more; or no word at all. */
var areTogether = (between) => between.length <= 60 && /^[^\p{L}\d]*(?:\(?[a-z\d]{1,3}[).][^\p{L}\d]*)?$|,|;|\band\b|\bor\b|\b(?:case|part|solution|root|option)\s*\(?(?:\d|[a-z]|[ivx]+)\b/iu.test(between);
/** A minus before a box and a percent sign or unit behind it belong to its content. */
function withSurroundings(text, { start, end, inside }) {
	const isNegative = /(?:^|[^\w)}\]\s])\s*-\s*$/.test(text.slice(Math.max(0, start - 12), start));
	const goesOn = /^(?:\s*[/*]\s*\d+|\^\{?-?\d+\}?)/.exec(text.slice(end + 1, end + 20))?.[0] ?? "";
	return `${isNegative ? "-" : ""}${inside.trim()}${goesOn}${measureBehind(text.slice(end + 1, end + 80))}`;
}
// src/rl/answers/findLiteral.ts
/** The answer in a data set's column: what its marker holds, else the column's whole text. */
function expectedLiteral(text) {
	const { text: stated, kind } = statedAnswer(text, (line) => readLiteral(line) !== null);
	return readLiteral(stated) ?? (kind === "said" ? firstOf(stated, "number") : null);
}
/** The answer of a completion; null where none is found. */
function statedLiteral(completion, expected) {
	const { text, kind } = statedAnswer(completion, (line) => readLiteral(line) !== null);
	const whole = readLiteral(text);
	if (whole !== null) return whole;
	if (kind !== "unmarked" && isHedged(text)) return null;
	if (isFactorial(text)) return null;
	return kind === "marked" ? onlyNumber(withPoints(text, expected)) : literalIn(text, kind, expected);
}
/** Returns the only number of a box; of several numbers none is the answer. */
var onlyNumber = (text) => numbersOf(plainMath(text)).length === 1 ? lastNumber(text) : null;
function literalIn(text, kind, expected) {
	const pointed = withPoints(text, expected);
	return (kind === "said" ? firstOf(pointed, expected.kind) : lastOf(withoutLabels(pointed), expected)) ?? (mayBeDecimal(expected) ? lastNumber(withoutLabels(text)) : null);
}
var withPoints = (text, expected) => isDecimal(expected) ? text.replace(decimalComma, ".") : text;
/** “7!” alone; at the end of a sentence it is 7. */
var isFactorial = (text) => /^[^\p{L}]*\d\s*!$/u.test(text);
var isDecimal = (expected) => expected.kind === "number" && expected.place !== null;
var mayBeDecimal = (expected) => expected.kind === "list" && expected.decimal !== null;
/** A comma that cannot hold groups of three digits apart. */
var decimalComma = /(?<=(?<![\d.,])\d{1,15}),(?=(?:\d{1,2}|\d{4,15})(?![\d.,]))/g;
/** Patterns of the other kinds in running text. */
var shapes = {
	list: /[([{][^()[\]{}]{1,400}[)\]}]|(?<![\d.])-?[\d.]{1,40}(?:(?:, ?| and |, and )-?[\d.]{1,40})+/g,
	ratio: /(?<![\d:])\d{1,9}(?:\s?:\s?\d{1,9})+/g,
	time: /\d{1,2}(?::\d\d){0,2}\s?[ap]\.?m\b\.?|\d{1,2}(?::\d\d){1,2}/gi,
	date: /\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[/.]\d{1,2}[/.]\d{4}|(?:\d{1,2}(?:st|nd|rd|th)?\.? (?:of )?)?[A-Z][a-z]{2,8}\.?(?: \d{1,2}(?:st|nd|rd|th)?\b)?(?:,? \d{4})?/g
};
var candidates = (text, kind) => [...plainMath(text).matchAll(shapes[kind])].flatMap(([found]) => {
	const read = readLiteral(found);
	return read?.kind === kind ? [read] : [];
});
function firstOf(text, kind) {
	if (kind !== "number") return candidates(text, kind)[0] ?? null;
	const plain = plainMath(text);
	const first = numbersOf(plain)[0];
	return first === void 0 ? null : bareNumber(plain, first);
}
/**
* Returns the text of the last number, or the first, with its unit; null where there is none, or it is part of
* something else.
*/
function numberIn(text, which) {
	const plain = plainMath(text);
	const found = numbersOf(plain).at(which === "first" ? 0 : -1);
	if (found === void 0 || bareNumber(plain, found) === null) return null;
	const behind = plain.slice(found.index + found[0].length, found.index + 60);
	const { rest } = multiplierOf(behind);
	const scaled = `${found[0]}${behind.slice(0, behind.length - rest.length)}`;
	if (isOrdinal(behind)) return `${found[0]}th`;
	if (suffixOf(rest) !== null) return `${scaled}${rest.charAt(0)}`;
	const unit = found[2] === "" ? readUnit(rest) : null;
	return unit === null ? scaled : `${scaled} ${unit.text}`;
}
function lastOf(text, expected) {
	const { kind } = expected;
	return kind === "number" ? lastNumber(text) : candidates(text, kind).at(-1) ?? null;
}
/** A sign counts only where nothing stands before it that it could be subtracted from. */
var numbers = new RegExp(String.raw`(?<![\p{L}\p{N}_.,]|\d[eE][-+])(?:(?<=[\p{L}\p{N}_)\]}]\s{0,3})(?=[$€£¥₹\d.])|(?<![\p{L}\p{N}_)\]}]\s{0,3})|(?<=\b(?:is|are|was|were|be|equals|gets?|gives?|becomes)\s{1,3})(?=-))${numberSource}`, "gu");
var numbersOf = (text) => [...text.matchAll(numbers)];
/** The last number of a text, with its unit; null where it is part of something else, such as a sum or a root. */
function lastNumber(text) {
	const plain = plainMath(text);
	const last = numbersOf(plain).at(-1);
	return last === void 0 ? null : bareNumber(plain, last);
}
/** The number with its unit; null where it is part of something else. */
function bareNumber(text, found) {
	const before = text.slice(Math.max(0, found.index - 40), found.index);
	const after = text.slice(found.index + found[0].length, found.index + found[0].length + 40);
	if (/^\s*[)\]}]/.test(after) && /[([{][^)\]}]*,\s*$/.test(before) || !isBare(before, after) || isDecade(found[3], after)) return null;
	const { factor, rest } = multiplierOf(after);
	const number = numberOf(found);
	const unit = found[2] ? unitOf(found[2]) : unitBehind(rest);
	const of = {
		name: nameBefore(before),
		isOrdinal: isOrdinal(after)
	};
	return number && {
		...number,
		...of,
		value: product(number.value, factor),
		unit
	};
}
// src/rl/answers/mathTokens.ts
/** Most characters of an answer; a longer text is none. */
var longestText = 2e3;
var mostTokens = 600;
/** Commands without meaning for the value. */
var ignored = /\\(?:left|right|[bB]igg?[lrm]?|displaystyle|textstyle|limits|enspace|thinspace|rm|bf|it|tiny|small|large)(?![a-zA-Z])|\\q?quad|\\[,;:! ]|\\(?=\s)|~|\$|\\[()[\]]/y;
var wrappers = /\\(text|textbf|textit|textrm|textnormal|mbox|mathrm|operatorname|mathbf|mathit|mathbb|mathcal|mathsf|boldsymbol|bf|rm)\*?\s*\{/y;
var names$1 = [
	[/[1-9]\d{0,2}(?:,\d{3})+(?![\d,])(?:\.\d+)?|\d+\.\d*(?:\d\u0305)+|\d+(?:\.\d+)?|\.\d+/y, "number"],
	[/\\(?:[a-zA-Z]+|[{}|%\\])/y, "command"],
	[/(?:arcsin|arccos|arctan|sinh|cosh|tanh|sqrt|sin|cos|tan|cot|sec|csc|log|ln|exp|pi|infinity|infty|inf|and|or|union|percent(?:age)?|pct|degrees?|theta|alpha|beta|gamma|lambda)(?![a-zA-Z])/y, "command"],
	[/[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]+/uy, "words"],
	[/(?![xyz]+\b|[abc]+\b|[pqr]+\b|[mnk]+\b)(?:(?!\p{sc=Greek})\p{L}){3,}|\p{sc=Greek}{4,}/uy, "words"],
	[/(?<!\p{L})(?:no|on|up|in|at|to)(?!\p{L})/iuy, "words"],
	[/\p{L}/uy, "name"],
	[/<=|>=|!=|==|\*\*|\S/uy, "sign"]
];
var plainNumber = /\d+\.\d*(?:\d\u0305)+|\d+(?:\.\d+)?|\.\d+/y;
var greek = (letters, named) => Object.fromEntries(named.split(" ").map((name, i) => [letters.charAt(i), `\\${name}`]));
var signs = {
	"**": "^",
	"·": "*",
	"×": "*",
	"⋅": "*",
	"÷": "/",
	"−": "-",
	"≤": "<=",
	"≥": ">=",
	"≠": "!=",
	"==": "=",
	"∞": "\\infty",
	"√": "\\sqrt",
	"±": "\\pm",
	"∓": "\\mp",
	"∪": "\\cup",
	"∩": "\\cap",
	"∈": "\\in",
	"°": "\\circ",
	"∅": "\\emptyset",
	"∠": "\\angle",
	"△": "\\triangle",
	"⊂": "\\subset",
	"⊆": "\\subseteq",
	"⊥": "\\perp",
	ℝ: "R",
	ℤ: "Z",
	ℚ: "Q",
	ℕ: "N",
	ℂ: "C",
	...greek("αβγδεζηθικλμνξπρςστυφχψω", "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho varsigma sigma tau upsilon phi chi psi omega"),
	...greek("ΓΔΘΛΞΠΣΥΦΨΩµϕϑϵ", "Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega mu phi vartheta epsilon")
};
/** Splits a text into tokens; null where it is too long to be an answer. */
function mathTokens(text) {
	if (text.length > longestText) return null;
	const tokens = [];
	let isApart = false;
	/** Commas in brackets stand between values. */
	let brackets = 0;
	for (let at = 0; at < text.length && tokens.length <= mostTokens;) {
		const skipped = lengthOf(/\s+/y, text, at) || lengthOf(ignored, text, at);
		if (skipped > 0) {
			isApart = true;
			at += skipped;
			continue;
		}
		const [token, length] = tokenAt(text, at, brackets > 0);
		tokens.push({
			...token,
			isApart
		});
		if (/^(?:[([]|\\\{)$/.test(token.text)) brackets++;
		if (/^(?:[)\]]|\\\})$/.test(token.text)) brackets--;
		isApart = false;
		at += length;
	}
	return tokens.length > mostTokens ? null : tokens;
}
function lengthOf(pattern, text, at) {
	pattern.lastIndex = at;
	return pattern.exec(text)?.[0].length ?? 0;
}
function tokenAt(text, at, isInBrackets) {
	const opening = lengthOf(wrappers, text, at);
	const end = opening === 0 ? -1 : text.indexOf("}", at + opening);
	if (end >= 0) return [wordsOf(text.slice(at + opening, end)), end + 1 - at];
	const plain = isInBrackets ? lengthOf(plainNumber, text, at) : 0;
	if (plain > 0) return [{
		type: "number",
		text: text.slice(at, at + plain)
	}, plain];
	for (const [pattern, type] of names$1) {
		const length = lengthOf(pattern, text, at);
		if (length > 0) return [named(type, text.slice(at, at + length)), length];
	}
	return [{
		type: "sign",
		text: " "
	}, 1];
}
function named(type, text) {
	const own = type === "sign" || type === "name" ? signs[text] ?? text : text.startsWith("\\") || type !== "command" ? text : `\\${text}`;
	return own.startsWith("\\") && type !== "words" ? {
		type: "command",
		text: own
	} : {
		type,
		text: own
	};
}
/** A single letter in \mathrm or \text is a name; “and” and “or” hold values apart. */
function wordsOf(inside) {
	const words = inside.replaceAll("~", " ").trim();
	if (/^\p{L}$/u.test(words)) return {
		type: "name",
		text: words,
		isDeclared: true
	};
	return /^,?\s*(?:and|or)$/.test(words) ? {
		type: "command",
		text: "\\and"
	} : {
		type: "words",
		text: words
	};
}
// src/rl/answers/tokenReader.ts
/** Error for a text that is not mathematics, or not of a known kind. */
var Unreadable = class extends Error {};
var TokenReader = class {
	at = 0;
	words = [];
	tokens;
	constructor(tokens) {
		this.tokens = tokens;
	}
	get next() {
		const token = this.tokens[this.at];
		return token === void 0 || token.type === "words" ? "" : token.text;
	}
	take(...texts) {
		const isNext = this.at < this.tokens.length && texts.includes(this.next);
		if (isNext) this.at++;
		return isNext;
	}
	expect(...texts) {
		if (!this.take(...texts)) throw new Unreadable();
	}
	/** Units and other words; cm² is written with a power behind them. */
	skipWords() {
		const skipped = [];
		while (this.tokens[this.at]?.type === "words") {
			const [words, sign, power] = this.tokens.slice(this.at, this.at + 3);
			const isRaised = sign?.text === "^" && power?.type === "number";
			skipped.push(isRaised ? `${words.text}^${power.text}` : words.text);
			this.at += isRaised ? 3 : 1;
		}
		if (skipped.length > 0) this.words.push(skipped.join(" "));
	}
	/** Reads the name in {…}. */
	braced() {
		this.expect("{");
		let name = "";
		for (; !this.take("}"); this.at++) name += this.tokens[this.at]?.text ?? this.end();
		return name;
	}
	end() {
		throw new Unreadable();
	}
};
// src/rl/answers/mathCommands.ts
/** Meanings of LaTeX commands and signs. */
var ofThemselves = (names) => Object.fromEntries(names.split(" ").map((name) => [`\\${name}`, `\\${name}`]));
/** Relations whose sides may be swapped. */
var mutual = ofThemselves("perp parallel nparallel cong ncong sim simeq asymp iff Leftrightarrow leftrightarrow");
var relations = {
	...mutual,
	...ofThemselves("subset subseteq subsetneq supset supseteq notin ni mid nmid ll gg prec succ preceq succeq"),
	...ofThemselves("to mapsto rightarrow longrightarrow Rightarrow implies leftarrow Leftarrow propto"),
	"=": "=",
	"<": "<",
	">": ">",
	"<=": "<=",
	">=": ">=",
	"!=": "!=",
	"\\le": "<=",
	"\\leq": "<=",
	"\\leqslant": "<=",
	"\\ge": ">=",
	"\\geq": ">=",
	"\\geqslant": ">=",
	"\\lt": "<",
	"\\gt": ">",
	"\\ne": "!=",
	"\\neq": "!=",
	"\\in": "in",
	"\\equiv": "=",
	"\\approx": "about",
	"≈": "about"
};
/** Returns true if a relation says the same read from right to left. */
var isMutual = (operator) => operator in mutual || [
	"=",
	"!=",
	"about"
].includes(operator);
/** Operations on sets; those of the same name may be in any order. */
var setOperations = {
	"\\cup": "union",
	"\\union": "union",
	"\\cap": "intersection",
	"\\setminus": "without",
	"\\smallsetminus": "without"
};
/** Commands that are names; a command in none of these lists means that the text is not mathematics. */
var names = new Set([
	"alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi varpi rho varrho",
	"sigma varsigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega",
	"infty inf infinity emptyset varnothing ell hbar imath jmath partial nabla aleph wp prime top",
	"ldots dots cdots R Z N Q C"
].join(" ").split(" ").map((name) => `\\${name}`));
/** Commands that make one name of the letters behind them. */
var prefixes = /* @__PURE__ */ new Set([
	"\\angle",
	"\\measuredangle",
	"\\triangle",
	"\\odot",
	"\\square",
	"\\arc"
]);
var functions$1 = new Set("sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh ln log exp lg arg det dim deg ker Re Im".split(" ").map((name) => `\\${name}`));
var bigOperators = /* @__PURE__ */ new Set([
	"\\sum",
	"\\prod",
	"\\int",
	"\\lim",
	"\\max",
	"\\min",
	"\\gcd"
]);
var closers = {
	"(": [")", "]"],
	"[": ["]", ")"],
	"{": ["}"],
	"\\{": ["\\}"],
	"\\langle": ["\\rangle"]
};
var bars = {
	"|": ["|", "abs"],
	"\\lvert": ["\\rvert", "abs"],
	"\\|": ["\\|", "norm"],
	"\\lfloor": ["\\rfloor", "floor"],
	"\\lceil": ["\\rceil", "ceil"]
};
var separators = [
	",",
	"\\and",
	"\\or"
];
var closing = /* @__PURE__ */ new Set([
	...[
		"\\}",
		"\\rangle",
		"\\rvert",
		"\\rfloor",
		"\\rceil",
		"\\|",
		"\\end",
		"\\\\",
		"\\%",
		"\\pm",
		"\\mp"
	],
	...[
		"\\cdot",
		"\\times",
		"\\ast",
		"\\div",
		"\\colon",
		"\\circ",
		"\\degree"
	],
	...[
		"\\ldots",
		"\\dots",
		"\\cdots"
	]
]);
var forms = [
	[/^\\[dtc]?frac$/, "fraction"],
	[/^\\sqrt$/, "root"],
	[/^\\begin$/, "matrix"],
	[/^\\[dt]?binom$/, "binomial"],
	[/^\\(?:boxed|fbox|overline|vec|hat|widehat|overrightarrow)$/, "look"],
	[/^\\(?:d?dot|bar|tilde|widetilde|underline|check|breve)$/, "accent"]
];
// src/rl/answers/unitTokens.ts
var isEnd = (token) => token === void 0 || token.type !== "words" && (token.text in relations || [
	...separators,
	";",
	")",
	"]",
	"\\}"
].includes(token.text));
var inUnit$1 = /^(?:[\^/*{}()-]|\\(?:[dt]?frac|cdot|times|circ|degrees?|mu|Omega|text)|[°μµΩ])$/u;
var longestUnit = 24;
/** Returns the tokens with those of a unit at the end of a value joined to one token of words. */
function withUnits(read) {
	const tokens = withRemarks(read);
	const result = [];
	let start = 0;
	for (let end = 0; end <= tokens.length; end++) {
		if (!(end === tokens.length - 1 && /^[.,;:]$/.test(tokens[end].text)) && !isEnd(tokens[end])) continue;
		const values = tokens.slice(start, end);
		const from = unitStart(values);
		result.push(...values.slice(0, from));
		if (from < values.length) result.push({
			type: "words",
			text: writtenText(values.slice(from)),
			isApart: true
		});
		if (end < tokens.length) result.push(tokens[end]);
		start = end + 1;
	}
	return result;
}
/** Marks words in brackets behind a value, as in 9 (apples), which multiply nothing. */
function withRemarks(tokens) {
	const result = [];
	for (let at = 0; at < tokens.length; at++) {
		const before = result.at(-1);
		const close = tokens.findIndex(({ text }, i) => i > at && text === ")");
		const inside = tokens.slice(at + 1, Math.max(at + 1, close));
		if (!(tokens[at].text === "(" && before !== void 0 && endsValue(before)) || !isRemark(inside)) result.push(tokens[at]);
		else {
			result.push({
				type: "words",
				text: writtenText(inside),
				isApart: true
			});
			at = close;
		}
	}
	return result;
}
var isRemark = (tokens) => tokens.length > 0 && (tokens.every(({ type }) => type === "words") || isUnit(tokens) && isClear([], tokens));
/** Finds where the unit at the end of a value begins; the length where there is none. */
function unitStart(values) {
	const first = Math.max(1, values.length - longestUnit);
	for (let from = first; from < values.length; from++) {
		const unit = values.slice(from);
		if (endsValue(values[from - 1]) && isUnit(unit) && isClear(values.slice(0, from), unit)) return from;
	}
	return values.length;
}
var endsValue = ({ type, text }) => type === "number" || [
	"}",
	")",
	"\\pi",
	"%",
	"\\%"
].includes(text);
function isUnit(tokens) {
	return tokens.every(({ type, text }, i) => type === "words" || type === "name" || inUnit$1.test(text) || type === "number" && isPower(tokens, i)) && readUnit(writtenText(tokens))?.rest === "";
}
var isPower = (tokens, at) => /\^[{-]*$/.test(tokens.slice(Math.max(0, at - 3), at).map(({ text }) => text).join(""));
var writtenText = (tokens) => tokens.map(({ text, type, isApart }) => `${isApart || type === "words" ? " " : ""}${text}${type === "command" ? " " : ""}`).join("");
/** Letters that are hardly variables side by side. */
var clear = /* @__PURE__ */ new Set([
	"mm",
	"cm",
	"dm",
	"km",
	"kg",
	"in",
	"ft",
	"yd",
	"lb",
	"oz",
	"ml",
	"mL",
	"Hz"
]);
/** Returns true if plain letters are a unit and not variables: mg may be mass times gravity, 2πhr an area. */
function isClear(value, unit) {
	const isPlain = (token) => token.type === "name" && token.isDeclared !== true;
	if (!unit.some(isPlain)) return true;
	if (value.some(isPlain)) return false;
	const after = unit.findIndex((token, i) => !isPlain(token) || i > 0 && token.isApart);
	const name = unit.slice(0, after < 0 ? unit.length : after).map(({ text }) => text).join("");
	if (clear.has(name)) return true;
	return value.length > 0 && value.every(({ type, text }) => type === "number" || /^(?:[-+/{}]|\\[dt]?frac)$/.test(text)) && (unit[0].isApart || unit.some(({ text }) => text === "/" || text === "\\circ"));
}
// src/rl/answers/mathTree.ts
var apply = (name, ...of) => ({
	kind: "apply",
	name,
	of
});
var symbol = (name) => ({
	kind: "symbol",
	name
});
function childrenOf(tree) {
	if (tree.kind === "apply") return tree.of;
	if (tree.kind === "group") return tree.items;
	if (tree.kind === "relation") return tree.sides;
	return tree.kind === "matrix" ? tree.rows.flat() : [];
}
var holds = (tree, isSought) => isSought(tree) || childrenOf(tree).some((child) => holds(child, isSought));
var isApply = (tree, name) => tree.kind === "apply" && tree.name === name;
// src/rl/answers/makeTree.ts
/** Pieces of trees, as a parser puts them together. */
var numberTree = (digits) => {
	const plain = digits.replaceAll(",", "");
	return {
		kind: "number",
		value: decimal(plain),
		place: placeOf$1(plain)
	};
};
/** Relation of sides, without the approximation that follows an exact value, as in “x = 1/3 ≈ 0.33”. */
function related(operators, sides) {
	const exact = operators.indexOf("about");
	const end = exact > 0 ? exact : operators.length;
	const kept = operators.slice(0, end).map((operator) => operator === "about" ? "=" : operator);
	return end === 0 ? sides[0] : {
		kind: "relation",
		operators: kept,
		sides: sides.slice(0, end + 1)
	};
}
var bare = (items) => ({
	kind: "group",
	open: "",
	close: "",
	items
});
var isList = (tree) => tree.kind === "group" && tree.open === "";
function grouped(open, close, items) {
	if (open === "{") return bare(items);
	if (open === "\\{") return {
		kind: "group",
		open: "{",
		close: "}",
		items
	};
	if (open === "\\langle") return {
		kind: "group",
		open: "(",
		close: ")",
		items
	};
	return {
		kind: "group",
		open,
		close,
		items
	};
}
var withSign = (sign, tree) => apply({
	"-": "negate",
	"\\pm": "plus-minus",
	"\\mp": "minus-plus"
}[sign], tree);
var isCount = (tree) => tree.kind === "number" && isWhole(tree.value) && tree.place === null;
/** x_1 is a name of its own, whatever else x is. */
var indexed = (name, index) => index.kind === "number" && index.place === null ? symbol(`${name}_${index.value.above}`) : apply("index", symbol(name), index);
// src/rl/answers/parseMath.ts
/**
* Parses LaTeX and plain mathematics into a tree. Reading guide: `list` holds values with commas between, then come
* relations, sums, products, powers and what they are made of, each a method that reads as far as it can.
*/
var deepest = 60;
/**
* Parses a text; null where it is not mathematics, or not of a known kind. Letters may be `units` behind a number, or
* always variables.
*/
function parseMath(text, letters = "units") {
	const read = mathTokens(withExponents(text));
	if (read === null || read.length === 0) return null;
	const tokens = letters === "units" ? withUnits(read) : read;
	try {
		return new Parser(tokens).whole();
	} catch (error) {
		if (error instanceof Unreadable) return null;
		throw error;
	}
}
var Parser = class extends TokenReader {
	#depth = 0;
	/** Open bars: inside |…| the next bar closes. */
	#bars = [];
	whole() {
		const tree = this.#lists();
		if (this.at < this.tokens.length && !/^[.,;:]$/.test(this.next)) throw new Unreadable();
		if (this.at < this.tokens.length - 1) throw new Unreadable();
		return {
			tree,
			words: this.words
		};
	}
	#lists() {
		const lists = this.#separated(";", () => this.#list());
		return lists.length === 1 ? lists[0] : bare(lists);
	}
	#list() {
		const items = [];
		do {
			while (this.take(...separators));
			items.push(this.#relation());
		} while (this.#startsItem());
		return items.length === 1 ? items[0] : bare(items);
	}
	#startsItem() {
		return separators.includes(this.next) && this.at < this.tokens.length - 1;
	}
	#separated(separator, read) {
		const items = [read()];
		while (this.next === separator && this.at < this.tokens.length - 1) {
			this.at++;
			items.push(read());
		}
		return items;
	}
	#relation() {
		const from = this.words.length;
		const [sides, operators] = [[this.#union()], []];
		this.skipWords();
		for (let operator = relations[this.next]; operator !== void 0; operator = relations[this.next]) {
			this.at++;
			this.words.length = from;
			operators.push(operator);
			sides.push(this.#union());
			this.skipWords();
		}
		return related(operators, sides);
	}
	#union() {
		let total = this.#sum();
		for (let name = setOperations[this.next]; name !== void 0; name = setOperations[this.next]) {
			this.at++;
			total = apply(name, total, this.#sum());
		}
		return total;
	}
	#sum() {
		if (++this.#depth > deepest) throw new Unreadable();
		let total = this.#signed();
		for (;;) {
			const sign = [
				"+",
				"-",
				"\\pm",
				"\\mp"
			].find((each) => this.take(each));
			if (sign === void 0) break;
			const term = this.#ratio();
			total = sign === "+" ? apply("add", total, term) : apply("add", total, withSign(sign, term));
		}
		this.#depth--;
		return total;
	}
	#signed() {
		const sign = [
			"+",
			"-",
			"\\pm",
			"\\mp"
		].find((each) => this.take(each));
		if (sign === void 0 || sign === "+") return this.#ratio();
		if (this.next === "-") throw new Unreadable();
		return withSign(sign, this.#ratio());
	}
	/** Reads a ratio: the quotient of two values, or several values each divided by the first. */
	#ratio() {
		const first = this.#product();
		const others = [];
		while (this.take(":", "\\colon")) others.push(this.#product());
		if (others.length < 2) return others.reduce((a, b) => apply("divide", a, b), first);
		return apply("ratio", ...others.map((other) => apply("divide", other, first)));
	}
	#product() {
		let total = this.#factor();
		for (;;) if (this.take("*", "\\cdot", "\\times", "\\ast")) total = apply("multiply", total, this.#signedFactor());
		else if (this.take("/", "\\div")) total = apply("divide", total, this.#signedFactor());
		else if (this.#continuesProduct()) total = this.#joined(total);
		else return total;
	}
	#signedFactor() {
		return this.take("-") ? apply("negate", this.#factor()) : this.#factor();
	}
	/** 3\frac{1}{2} and 1 1/2 are mixed numbers; other values side by side are multiplied. */
	#joined(total) {
		const isFraction = /^\\[dtc]?frac$/.test(this.next);
		if (this.tokens[this.at]?.type === "number") return this.#mixed(total);
		const factor = this.#factor();
		return isFraction && isApply(factor, "divide") && factor.of.every(({ kind }) => kind === "number") && isCount(total) ? apply("add", total, factor) : apply("multiply", total, factor);
	}
	#mixed(total) {
		const above = this.#factor();
		if (!isCount(total) || !this.take("/")) throw new Unreadable();
		return apply("add", total, apply("divide", above, this.#factor()));
	}
	#continuesProduct() {
		const token = this.tokens[this.at];
		if (token === void 0 || token.type === "words") return false;
		if (token.type === "number" || token.type === "name") return true;
		if (token.text in bars) return this.#bars.at(-1) !== token.text;
		if (token.type === "sign") return [
			"(",
			"[",
			"{"
		].includes(token.text);
		return !(token.text in relations || token.text in setOperations) && !closing.has(token.text) && !separators.includes(token.text);
	}
	#factor() {
		let base = this.#postfixed(this.#primary());
		while (this.take("^")) {
			if (this.#degree()) continue;
			base = this.#postfixed(apply("power", base, this.#argument()));
		}
		return base;
	}
	/** A degree sign changes no number. */
	#degree() {
		const isBraced = this.next === "{" && /^\\(?:circ|degree)$/.test(this.tokens[this.at + 1]?.text ?? "");
		if (isBraced) this.at++;
		const isDegree = this.take("\\circ", "\\degree");
		if (isBraced) this.expect("}");
		return isDegree;
	}
	#postfixed(base) {
		if (this.take("!")) return this.#postfixed(apply("factorial", base));
		if (this.take("\\%", "%", "\\percent", "\\percentage", "\\pct")) return this.#postfixed(apply("percent", base));
		if (this.take("\\circ", "\\degree", "\\degrees")) return this.#postfixed(base);
		if (!(this.tokens[this.at]?.type === "words" && /^(?:percent(?:age)?|pct|%)$/.test(this.tokens[this.at].text))) return base;
		this.at++;
		return apply("percent", base);
	}
	#primary() {
		const token = this.tokens[this.at];
		if (token === void 0) throw new Unreadable();
		if (token.type === "words") return this.#declared();
		if (token.text in closers) return this.#group(token.text);
		if (token.text in bars) return this.#barred(token.text);
		this.at++;
		if (token.type === "number") return this.#inBase(numberTree(token.text));
		if (token.type === "name") return this.#named(token.text);
		if (token.type === "command") return this.#command(token.text);
		throw new Unreadable();
	}
	/** Reads a number in another base: 204_5 is written to the base 5, and differs from 204. */
	#inBase(number) {
		return this.take("_") ? apply("in-base", number, this.#argument()) : number;
	}
	/** Reads words before a value, which say what it is: \text{area} = 3; words alone are a name. */
	#declared() {
		let words = this.tokens[this.at++].text;
		if (/^no$/i.test(words) && this.tokens[this.at]?.type === "words") words = `${words} ${this.tokens[this.at++].text}`;
		if (isUnspaced(words) && this.at < this.tokens.length) throw new Unreadable();
		return symbol(words.toLowerCase());
	}
	#group(open) {
		if (++this.#depth > deepest) throw new Unreadable();
		this.at++;
		const barsBefore = this.#bars;
		this.#bars = [];
		const inside = closers[open].includes(this.next) ? bare([]) : this.#lists();
		this.skipWords();
		const close = this.next;
		this.expect(...closers[open]);
		this.#bars = barsBefore;
		this.#depth--;
		if (isList(inside)) return grouped(open, close, inside.items);
		return open === "\\{" ? grouped(open, close, [inside]) : inside;
	}
	#barred(open) {
		const [close, name] = bars[open];
		this.at++;
		this.#bars = [...this.#bars, close];
		const inside = this.#sum();
		this.#bars = this.#bars.slice(0, -1);
		this.expect(close);
		return apply(name, inside);
	}
	/** Reads a name with its index and primes; of a function, also its argument. */
	#named(name) {
		const own = this.take("_") ? indexed(name, this.#argument()) : symbol(name);
		let primes = "";
		while (this.take("'")) primes += "'";
		const primed = primes === "" ? own : apply(`prime${primes}`, own);
		if (!/^[fghFG]$/.test(name) || this.next !== "(") return primed;
		return apply("call", primed, this.#group("("));
	}
	/** Parses the argument of ^, _, \frac or \sqrt: a group in braces, else one digit or name. */
	#argument() {
		const token = this.tokens[this.at];
		if (token?.type === "number" && token.text.length > 1) return this.#firstDigit(token.text);
		if (token?.text === "{") return this.#group("{");
		if (this.take("-")) return apply("negate", this.#argument());
		return this.#primary();
	}
	/** \frac12 is a half; a power in plain text, 2^10, has all of its digits. */
	#firstDigit(digits) {
		const isPower = /^[\^_]$/.test(this.tokens[this.at - 1]?.text ?? "");
		const isRest = /^\\[dtc]?frac$/.test(this.tokens[this.at - 1]?.text ?? "") && digits.length === 2;
		if (!isPower && isRest) {
			this.at++;
			return bare([numberTree(digits[0]), numberTree(digits[1])]);
		}
		this.at++;
		return numberTree(digits);
	}
	#command(name) {
		if (functions$1.has(name)) return this.#function(name.slice(1));
		if (bigOperators.has(name)) return this.#bigOperator(name.slice(1));
		const form = forms.find(([pattern]) => pattern.test(name))?.[1];
		if (form !== void 0) return this.#form(form, name);
		if (prefixes.has(name)) return this.#prefixed(name);
		if (!names.has(name)) throw new Unreadable();
		return this.#named(name.replace(/^\\inf(?:inity)?$/, "\\infty").replace(/^\\varnothing$/, "\\emptyset"));
	}
	/** Angle ABC is another one than BAC. */
	#prefixed(prefix) {
		let name = prefix;
		for (; this.tokens[this.at]?.type === "name"; this.at++) name += ` ${this.next}`;
		if (name === prefix) throw new Unreadable();
		return this.take("_") ? indexed(name, this.#argument()) : symbol(name);
	}
	#form(form, name) {
		if (form === "fraction") return this.#fraction();
		if (form === "root") return this.#root();
		if (form === "matrix") return this.#matrix();
		if (form === "accent") return apply(`accent ${name}`, this.#argument());
		return form === "look" ? this.#argument() : apply(form, this.#argument(), this.#argument());
	}
	#fraction() {
		const above = this.#argument();
		if (above.kind === "group" && above.open === "" && above.items.length === 2) return apply("divide", above.items[0], above.items[1]);
		return apply("divide", above, this.#argument());
	}
	#root() {
		if (!this.take("[")) return apply("sqrt", this.#argument());
		const index = this.#sum();
		this.expect("]");
		return apply("root", this.#argument(), index);
	}
	#function(name) {
		const base = this.take("_") ? [this.#argument()] : [];
		const exponent = this.take("^") ? this.#argument() : null;
		const argument = this.next === "(" || this.next === "{" ? this.#factor() : this.#openArgument();
		if (exponent === null) return apply(name, argument, ...base);
		return isApply(exponent, "negate") && /^(?:sin|cos|tan)$/.test(name) ? apply(`arc${name}`, argument) : apply("power", apply(name, argument, ...base), exponent);
	}
	/** \sin 2x \cos x: up to the next function or operation. */
	#openArgument() {
		let argument = this.#factor();
		while (this.#continuesProduct() && !functions$1.has(this.next) && this.next !== "(") argument = apply("multiply", argument, this.#factor());
		return argument;
	}
	#bigOperator(name) {
		const bounds = [];
		while (this.next === "_" || this.next === "^") {
			this.at++;
			bounds.push(this.#argument());
		}
		return apply(name, ...bounds, this.#product());
	}
	#matrix() {
		const name = this.braced();
		if (!/^[pbvBV]?matrix$|^array$/.test(name)) throw new Unreadable();
		if (name === "array" && this.next === "{") this.braced();
		const rows = [[]];
		while (!this.take("\\end")) if (this.take("\\\\")) rows.push([]);
		else if (!this.take("&")) rows.at(-1).push(this.#relation());
		this.braced();
		return {
			kind: "matrix",
			isDeterminant: name === "vmatrix",
			rows: rows.filter(({ length }) => length > 0)
		};
	}
};
// src/rl/answers/fingerprint.ts
/**
* Exact comparison of expressions: each is computed at a fixed point of a prime field (Schwartz 1980, Zippel 1979). Equal
* rational functions have equal results, different ones have not, but for a chance of about their degree in 2¹²⁴. Roots,
* functions and constants such as π are computed as if they were unknowns of their own: equal results prove equality, and
* different ones prove the opposite only of expressions without them.
*/
/** The largest prime below the first 38 digits of π that is 1 modulo 4, so that −1 has a root. */
var prime = 31415926535897932384626433832795028841n;
var rootOfMinusOne = 6284416675421676223778832279132862108n;
/** Error for a value that cannot be computed, such as a division by 0, or would take too long. */
var Incomputable = class extends Error {};
var reduced = (value) => (value % prime + prime) % prime;
function power$1(base, exponent) {
	let [result, square, left] = [
		1n,
		base,
		exponent
	];
	for (; left > 0n; left >>= 1n) {
		if (left & 1n) result = result * square % prime;
		square = square * square % prime;
	}
	return result;
}
function inverse(value) {
	if (value === 0n) throw new Incomputable();
	return power$1(value, prime - 2n);
}
/** A value without any pattern for a name applied to values. */
function unknown(name, values) {
	let mixed = 0n;
	for (const character of name) mixed = (mixed * 1114113n + BigInt(character.codePointAt(0)) + 7n) % prime;
	for (const value of values) mixed = power$1(mixed + value + 11400714819323198485n, 5n);
	return power$1(mixed + 7640891576956012808n, 65537n);
}
var operations = {
	add: ([a, b]) => reduced(a + b),
	multiply: ([a, b]) => reduced(a * b),
	divide: ([a, b]) => reduced(a * inverse(b)),
	negate: ([a]) => reduced(-a),
	percent: ([a]) => reduced(a * inverse(100n)),
	power: (of, tree) => powerOf$1(of, tree),
	factorial: (of, tree) => factorialOf(of, tree)
};
var numberAt = ({ above, below }) => reduced(above * inverse(reduced(below)));
/**
* Returns the same value for the same expression, at the point of the field that belongs to its names. Errors:
* Incomputable.
*/
function fingerprint(tree) {
	if (tree.kind === "number") return numberAt(tree.value);
	if (tree.kind === "symbol") return tree.name === "i" ? rootOfMinusOne : unknown(tree.name, []);
	if (tree.kind === "apply") {
		const exact = rationalOf(tree);
		if (exact !== null) return numberAt(exact);
		const of = tree.of.map(fingerprint);
		return operations[tree.name]?.(of, tree) ?? unknown(tree.name, of);
	}
	if (tree.kind === "group") return unknown(`group ${tree.open}${tree.close}`, tree.items.map(fingerprint));
	if (tree.kind === "relation") return unknown(tree.operators.join(" "), tree.sides.map(fingerprint));
	return unknown(`matrix ${tree.rows.length}`, tree.rows.flat().map(fingerprint));
}
function powerOf$1(of, { of: [, exponentTree] }) {
	const base = of[0];
	const exponent = rationalOf(exponentTree);
	if (exponent === null || !isWhole(exponent)) return unknown("power", of);
	if (base === 0n && exponent.above <= 0n) throw new Incomputable();
	return exponent.above < 0n ? inverse(power$1(base, -exponent.above)) : power$1(base, exponent.above);
}
var largestFactorial = 2500n;
function factorialOf(of, { of: [argument] }) {
	const count = rationalOf(argument);
	if (count === null || !isWhole(count) || count.above < 0n || count.above > largestFactorial) return unknown("factorial", of);
	let result = 1n;
	for (let factor = 2n; factor <= count.above; factor++) result = result * factor % prime;
	return result;
}
/** Numbers longer than this are not written out. */
var mostBits = 4096;
var isShort = ({ above, below }) => bitsOf$1(above) <= mostBits && bitsOf$1(below) <= mostBits;
var bitsOf$1 = (value) => value.toString(16).length * 4;
var known = /* @__PURE__ */ new WeakMap();
/** The exact value of a constant without roots and functions; null for others, and for very long ones. */
function rationalOf(tree) {
	const found = known.get(tree);
	if (found !== void 0) return found;
	const value = exactValue(tree);
	known.set(tree, value);
	return value;
}
function exactValue(tree) {
	if (tree.kind === "number") return isShort(tree.value) ? tree.value : null;
	if (tree.kind !== "apply") return null;
	const of = [];
	for (const child of tree.of) {
		const value = rationalOf(child);
		if (value === null) return null;
		of.push(value);
	}
	const [a, b] = of;
	const value = a === void 0 ? null : constantOf(tree.name, a, b);
	return value !== null && isShort(value) ? value : null;
}
var ofTwo = {
	add: sum,
	multiply: product,
	divide: quotient,
	power: constantPower,
	binomial
};
var ofOne = {
	negate: negated,
	abs: size,
	factorial: constantFactorial,
	percent: (a) => product(a, {
		above: 1n,
		below: 100n
	}),
	floor: floorOf,
	ceil: (a) => negated(floorOf(negated(a)))
};
function floorOf({ above, below }) {
	const cut = above / below;
	return whole(above < 0n && cut * below !== above ? cut - 1n : cut);
}
var constantOf = (name, a, b) => (b === void 0 ? ofOne[name]?.(a) : ofTwo[name]?.(a, b)) ?? null;
function constantFactorial({ above, below }) {
	if (below !== 1n || above < 0n || above > 300n) return null;
	let result = 1n;
	for (let factor = 2n; factor <= above; factor++) result *= factor;
	return whole(result);
}
function binomial({ above: n, below }, { above: k, below: other }) {
	if (below !== 1n || other !== 1n || n < 0n || n > 1000n || k < 0n || k > n) return null;
	let result = 1n;
	for (let i = 1n; i <= k; i++) result = result * (n - k + i) / i;
	return whole(result);
}
function constantPower(base, exponent) {
	if (!isWhole(exponent)) return null;
	const times = exponent.above < 0n ? -exponent.above : exponent.above;
	const bits = Math.max(bitsOf$1(base.above), bitsOf$1(base.below));
	if (times > BigInt(mostBits) || bits * Number(times) > 4 * mostBits) return null;
	return exponent.above < 0n ? fraction(base.below ** times, base.above ** times) : {
		above: base.above ** times,
		below: base.below ** times
	};
}
/** Names whose values are found in the field exactly; whatever else a tree holds makes it more than a rational function. */
var isRationalFunction = (tree) => tree.kind === "number" || tree.kind === "symbol" && !transcendental.has(tree.name) || tree.kind === "apply" && tree.name in operations && tree.of.every(isRationalFunction) && hasWholePower(tree);
var transcendental = /* @__PURE__ */ new Set([
	"e",
	"\\pi",
	"\\infty"
]);
var hasWholePower = (tree) => {
	if (!isApply(tree, "power")) return true;
	const exponent = rationalOf(tree.of[1]);
	return exponent !== null && isWhole(exponent);
};
// src/shared/random.ts
/**
* Single source of randomness: a counter-based generator (Philox-2×32, 10 rounds; Salmon et al. 2011, "Parallel random
* numbers: as easy as 1, 2, 3"). A number depends only on (key, counter), so a trajectory's stream can be replayed
* alone, whatever else was in its batch.
*/
var MULTIPLIER = 3528905107;
var WEYL = 2654435769;
var ROUNDS = 10;
/** Returns the high and low 32 bits of a 32×32-bit product, without BigInt. */
function multiplyHigh(a, b) {
	const aHigh = a >>> 16;
	const aLow = a & 65535;
	const bHigh = b >>> 16;
	const bLow = b & 65535;
	const middle = aHigh * bLow + (aLow * bLow >>> 16);
	const carry = (middle & 65535) + aLow * bHigh;
	return aHigh * bHigh + Math.floor(middle / 65536) + Math.floor(carry / 65536) >>> 0;
}
function philox(key, low, high) {
	let [x0, x1, roundKey] = [
		low >>> 0,
		high >>> 0,
		key >>> 0
	];
	for (let round = 0; round < ROUNDS; round++) {
		const upper = multiplyHigh(MULTIPLIER, x0);
		const lower = Math.imul(MULTIPLIER, x0) >>> 0;
		x0 = (upper ^ roundKey ^ x1) >>> 0;
		x1 = lower;
		roundKey = roundKey + WEYL >>> 0;
	}
	return [x0, x1];
}
/** Mixes the parts of an address, such as (run seed, step, prompt, sample), into one independent stream. */
function randomStream(...address) {
	let [key, low] = [608135816, 2242054355];
	for (const part of address) {
		const partHigh = Math.floor(part / 4294967296) >>> 0;
		[key, low] = philox(key ^ partHigh, part >>> 0, low);
	}
	return { uniformAt(index) {
		const [a, b] = philox(key, index >>> 0, low ^ Math.floor(index / 4294967296) >>> 0);
		return ((a >>> 5) * 67108864 + (b >>> 6)) / 9007199254740992;
	} };
}
// src/rl/answers/bigFloat.ts
var precision = 256;
/** Number of bits by which a difference must be smaller than its terms to count as 0. */
var noise$1 = 200;
/** A summand this much smaller than the other would hardly be seen. */
var sight = 100;
var furthest = 1e6;
var bitsOf = (value) => (value < 0n ? -value : value).toString(16).length * 4;
function rounded(mantissa, exponent) {
	if (mantissa === 0n) return zero;
	const excess = bitsOf(mantissa) - precision;
	if (Math.abs(exponent + excess) > furthest) throw new Incomputable();
	return excess <= 0 ? {
		mantissa,
		exponent
	} : {
		mantissa: mantissa >> BigInt(excess),
		exponent: exponent + excess
	};
}
var zero = {
	mantissa: 0n,
	exponent: 0
};
var one$1 = {
	mantissa: 1n,
	exponent: 0
};
var isZero = ({ mantissa }) => mantissa === 0n;
var isNegative = ({ mantissa }) => mantissa < 0n;
var negative = ({ mantissa, exponent }) => ({
	mantissa: -mantissa,
	exponent
});
/** About the binary logarithm of the size. */
var scaleOf = ({ mantissa, exponent }) => mantissa === 0n ? -Infinity : bitsOf(mantissa) + exponent;
var realOf = ({ above, below }) => dividedBy(rounded(above, 0), rounded(below, 0));
/** Adds or subtracts without checking for lost digits. */
function plainSum(a, b) {
	if (isZero(a)) return b;
	if (isZero(b)) return a;
	const [high, low] = a.exponent >= b.exponent ? [a, b] : [b, a];
	const shift = high.exponent - low.exponent;
	if (shift > 2 * precision) return scaleOf(high) > scaleOf(low) ? high : low;
	return rounded((high.mantissa << BigInt(shift)) + low.mantissa, low.exponent);
}
/** Errors: Incomputable where one summand would be lost beside the other. */
function plus(a, b) {
	if (isZero(a) || isZero(b)) return plainSum(a, b);
	if (Math.abs(scaleOf(a) - scaleOf(b)) > sight) throw new Incomputable();
	const total = plainSum(a, b);
	return scaleOf(total) < Math.max(scaleOf(a), scaleOf(b)) - noise$1 ? zero : total;
}
var times = (a, b) => rounded(a.mantissa * b.mantissa, a.exponent + b.exponent);
function dividedBy(a, b) {
	if (isZero(b)) throw new Incomputable();
	const shift = 264 + Math.max(0, bitsOf(b.mantissa) - bitsOf(a.mantissa));
	return rounded((a.mantissa << BigInt(shift)) / b.mantissa, a.exponent - b.exponent - shift);
}
/** Square root of a number that is not negative. */
function root(a) {
	if (isZero(a)) return zero;
	const extra = 2 * precision - bitsOf(a.mantissa);
	const shift = extra + ((a.exponent - extra) % 2 === 0 ? 0 : 1);
	return rounded(wholeRoot(a.mantissa << BigInt(Math.max(0, shift))), (a.exponent - shift) / 2);
}
function wholeRoot(value) {
	let guess = 1n << BigInt(Math.ceil(bitsOf(value) / 2) + 1);
	for (;;) {
		const next = guess + value / guess >> 1n;
		if (next >= guess) return guess;
		guess = next;
	}
}
var fixedBits = 320;
var unit = 1n << BigInt(fixedBits);
function fixed({ mantissa, exponent }) {
	const shift = exponent + fixedBits;
	if (shift > 64 * precision) throw new Incomputable();
	return shift >= 0 ? mantissa << BigInt(shift) : mantissa >> BigInt(-shift);
}
var floating = (value) => bitsOf(value) < 120 ? zero : rounded(value, -320);
/** Sums terms until they vanish; `next` makes the one behind a term. */
function series(first, next) {
	let [total, term] = [0n, first];
	for (let k = 1n; term !== 0n; k++) {
		total += term;
		term = next(term, k);
	}
	return total;
}
/** Arc tangent of the reciprocal of a whole number, or of a small fixed-point number. */
function arcTangentSeries(value, sign) {
	const square = value * value >> BigInt(fixedBits);
	let [total, odd] = [0n, value];
	for (let k = 1n; odd !== 0n; k += 2n) {
		total += odd / k;
		odd = sign * odd * square / unit;
	}
	return total;
}
var fixedPi = 16n * arcTangentSeries(unit / 5n, -1n) - 4n * arcTangentSeries(unit / 239n, -1n);
var fixedLn2 = 2n * arcTangentSeries(unit / 3n, 1n);
var pi = rounded(fixedPi, -320);
function exponential$1(a) {
	if (scaleOf(a) > 20) throw new Incomputable();
	const value = fixed(a);
	const doublings = (value + (fixedLn2 >> 1n)) / fixedLn2;
	const rest = value - doublings * fixedLn2 >> 8n;
	let result = series(unit, (term, k) => term * rest / unit / k);
	for (let k = 0; k < 8; k++) result = result * result >> BigInt(fixedBits);
	return rounded(result, Number(doublings) - fixedBits);
}
/** Natural logarithm of a number above 0. */
function naturalLogarithm(a) {
	const bits = bitsOf(a.mantissa);
	const between = fixed({
		mantissa: a.mantissa,
		exponent: -bits
	});
	return floating(2n * arcTangentSeries((between - unit << BigInt(fixedBits)) / (between + unit), 1n) + BigInt(a.exponent + bits) * fixedLn2);
}
function cosineAndSine(a) {
	if (scaleOf(a) > 64) throw new Incomputable();
	const turn = 2n * fixedPi;
	const rest = (fixed(a) % turn + turn) % turn >> 8n;
	const square = rest * rest >> BigInt(fixedBits);
	const next = (offset) => (term, k) => -(term * square) / unit / ((2n * k + offset) * (2n * k + offset - 1n));
	let [cosine, sine] = [series(unit, next(0n)), series(rest, next(1n))];
	for (let k = 0; k < 8; k++) [cosine, sine] = [cosine * cosine - sine * sine >> BigInt(fixedBits), 2n * cosine * sine >> BigInt(fixedBits)];
	return [floating(cosine), floating(sine)];
}
/** The angle of the point (x, y), from −π to π. */
function angle(y, x) {
	if (isZero(y)) return isNegative(x) ? pi : zero;
	if (isZero(x)) return times(isNegative(y) ? negative(one$1) : one$1, times(pi, {
		mantissa: 1n,
		exponent: -1
	}));
	let ratio = fixed(dividedBy(y, x));
	for (let k = 0; k < 4; k++) {
		const length = wholeRoot(unit * unit + ratio * ratio);
		ratio = (ratio << BigInt(fixedBits)) / (unit + length);
	}
	const principal = floating(16n * arcTangentSeries(ratio, -1n));
	if (!isNegative(x)) return principal;
	return plainSum(principal, isNegative(y) ? negative(pi) : pi);
}
// src/rl/answers/numericValue.ts
/** Values of expressions as complex numbers with some 70 digits, for what holds roots, functions, e or π. */
/** Number of bits by which one part must be smaller than the other to count as rounding. */
var noise = 200;
function complex(re, im = zero) {
	if (scaleOf(im) < scaleOf(re) - noise) return {
		re,
		im: zero
	};
	return scaleOf(re) < scaleOf(im) - noise ? {
		re: zero,
		im
	} : {
		re,
		im
	};
}
var fromNumber = (value) => complex({
	mantissa: BigInt(Math.round(value * 2 ** 40)),
	exponent: -40
});
var one = complex(one$1);
var imaginary = complex(zero, one$1);
var half = fromNumber(.5);
var isNothing = ({ re, im }) => isZero(re) && isZero(im);
var add = (a, b) => complex(plus(a.re, b.re), plus(a.im, b.im));
var negate = ({ re, im }) => ({
	re: negative(re),
	im: negative(im)
});
var subtract = (a, b) => add(a, negate(b));
var multiply = (a, b) => complex(plus(times(a.re, b.re), negative(times(a.im, b.im))), plus(times(a.re, b.im), times(a.im, b.re)));
var squaredSize = ({ re, im }) => plainSum(times(re, re), times(im, im));
function divide(a, b) {
	const length = squaredSize(b);
	const { re, im } = multiply(a, {
		re: b.re,
		im: negative(b.im)
	});
	return complex(dividedBy(re, length), dividedBy(im, length));
}
function exponential({ re, im }) {
	const [length, [cosine, sine]] = [exponential$1(re), cosineAndSine(im)];
	return complex(times(length, cosine), times(length, sine));
}
function logarithm(a) {
	if (isNothing(a)) throw new Incomputable();
	return complex(times(naturalLogarithm(squaredSize(a)), {
		mantissa: 1n,
		exponent: -1
	}), angle(a.im, a.re));
}
function squareRoot(a) {
	if (!isZero(a.im)) return exponential(multiply(half, logarithm(a)));
	return isNegative(a.re) ? complex(zero, root(negative(a.re))) : complex(root(a.re));
}
function power(base, exponent) {
	if (!isNothing(base)) return exponential(multiply(exponent, logarithm(base)));
	if (isNegative(exponent.re) || isZero(exponent.re)) throw new Incomputable();
	return base;
}
function wholePower(base, exponent) {
	if (exponent < 0n) return divide(one, wholePower(base, -exponent));
	if (exponent > 1n << 40n || isNothing(base) && exponent === 0n) throw new Incomputable();
	let [result, square] = [one, base];
	for (let left = exponent; left > 0n; left >>= 1n) {
		if (left & 1n) result = multiply(result, square);
		if (left > 1n) square = multiply(square, square);
	}
	return result;
}
/** An odd root of a negative number is negative, as schools teach it. */
function rootOf(a, index, wholeIndex) {
	if (wholeIndex !== null && wholeIndex % 2n === 1n && !isNothing(a) && isZero(a.im) && isNegative(a.re)) return negate(rootOf(negate(a), index, wholeIndex));
	return power(a, divide(one, index));
}
var halved = (a) => multiply(half, a);
var turned = (a) => multiply(imaginary, a);
var cosine = (a) => halved(add(exponential(turned(a)), exponential(negate(turned(a)))));
var sine = (a) => divide(halved(subtract(exponential(turned(a)), exponential(negate(turned(a))))), imaginary);
var hyperbolicCosine = (a) => cosine(turned(a));
var hyperbolicSine = (a) => negate(turned(sine(turned(a))));
var arcSine = (a) => negate(turned(logarithm(add(turned(a), squareRoot(subtract(one, multiply(a, a)))))));
var arcTangent = (a) => halved(turned(subtract(logarithm(subtract(one, turned(a))), logarithm(add(one, turned(a))))));
var rightAngle = halved(complex(pi));
/** A logarithm without a base may be any: laws of logarithms hold, but it has no value of its own. */
var unknownBase = fromNumber(.73908513321516);
var functions = {
	add: (a, b) => add(a, b),
	multiply: (a, b) => multiply(a, b),
	divide: (a, b) => divide(a, b),
	negate,
	sqrt: squareRoot,
	exp: exponential,
	ln: logarithm,
	sin: sine,
	cos: cosine,
	sinh: hyperbolicSine,
	cosh: hyperbolicCosine,
	arcsin: arcSine,
	arctan: arcTangent,
	percent: (a) => divide(a, fromNumber(100)),
	abs: (a) => isZero(a.im) ? complex(isNegative(a.re) ? negative(a.re) : a.re) : complex(root(squaredSize(a))),
	tan: (a) => divide(sine(a), cosine(a)),
	cot: (a) => divide(cosine(a), sine(a)),
	sec: (a) => divide(one, cosine(a)),
	csc: (a) => divide(one, sine(a)),
	tanh: (a) => divide(hyperbolicSine(a), hyperbolicCosine(a)),
	arccos: (a) => subtract(rightAngle, arcSine(a)),
	log: (a, base) => base === void 0 ? multiply(unknownBase, logarithm(a)) : divide(logarithm(a), logarithm(base)),
	lg: (a) => divide(logarithm(a), logarithm(fromNumber(10)))
};
var constants = {
	"\\pi": complex(pi),
	e: exponential(one),
	i: imaginary
};
/** Returns the value at one of the sample points. Errors: Incomputable for a tree that has none. */
function numericValue(tree, point) {
	if (tree.kind === "symbol") return constants[tree.name] ?? sampled(tree.name, point);
	const exact = rationalOf(tree);
	if (exact !== null) return complex(realOf(exact));
	if (tree.kind !== "apply") throw new Incomputable();
	return computed(tree, tree.of.map((child) => numericValue(child, point)));
}
function computed({ name, of }, [a, b]) {
	if (a === void 0) throw new Incomputable();
	if (b === void 0) return (functions[name] ?? refuse)(a);
	const last = rationalOf(of[1]);
	if (name === "power") return powerOf(a, b, last);
	if (name === "root") return rootOf(a, b, last !== null && isWhole(last) ? last.above : null);
	return (functions[name] ?? refuse)(a, b);
}
var refuse = () => {
	throw new Incomputable();
};
/** A power whose denominator is odd is that of an odd root. */
function powerOf(base, exponent, exact) {
	if (exact === null || exact.below % 2n === 0n) return power(base, exponent);
	if (isWhole(exact)) return wholePower(base, exact.above);
	return wholePower(rootOf(base, complex(realOf(whole(exact.below))), exact.below), exact.above);
}
/** Draws a point between −2.25 and 2.25, not near 0; positive at the first point. */
function sampled(name, point) {
	if (name.startsWith("\\infty") || name.length > 1 && !name.startsWith("\\") && !name.includes("_")) throw new Incomputable();
	const stream = randomStream(point, ...Array.from(name, (character) => character.codePointAt(0)));
	const size = .25 + 2 * stream.uniformAt(0);
	return fromNumber(point > 0 && stream.uniformAt(1) < .5 ? -size : size);
}
/** Values agree in this many bits, and differ by rounding alone. */
var agreement = 150;
function isSameValue(a, b) {
	const largest = Math.max(...[
		a.re,
		a.im,
		b.re,
		b.im
	].map(scaleOf));
	return [plainSum(a.re, negative(b.re)), plainSum(a.im, negative(b.im))].map(scaleOf).every((gap) => gap <= largest - agreement);
}
// src/rl/answers/sameScalar.ts
/** Compares the values of two expressions. */
/** `tolerance` as `isNear` has it, where one of the two is a decimal. */
function isSameScalar(a, b, tolerance) {
	const isSame = isSameNumber(a, b, tolerance);
	const [hundredths, others] = [hundredthsOf(a), hundredthsOf(b)];
	if (isSame || hundredths === null === (others === null)) return isSame;
	const [share, plain] = hundredths === null ? [others, a] : [hundredths, b];
	return isAboveOne(plain) && isSameNumber(share, plain, tolerance);
}
/** The expression before a percent sign. */
var hundredthsOf = (tree) => isApply(tree, "percent") ? tree.of[0] : null;
/** Data sets write 50 for 50 %; what could be a share of 1 is taken for one. */
function isAboveOne(tree) {
	const value = rationalOf(tree);
	return value !== null && order(size(value), whole(1n)) > 0;
}
function isSameNumber(a, b, tolerance) {
	return isIdentical(a, b) || isRounded(a, b, tolerance) || !isDecided(a, b) && agree(a, b);
}
function isIdentical(a, b) {
	try {
		return fingerprint(a) === fingerprint(b);
	} catch (error) {
		if (error instanceof Incomputable) return false;
		throw error;
	}
}
var isDecided = (a, b) => isRationalFunction(a) && isRationalFunction(b);
var points = [
	0,
	1,
	2,
	3
];
/** A value at fewer points says too little. */
var fewest = 2;
/** Returns true if values agree at the sample points, of constants at one. */
function agree(a, b) {
	const isConstant = !holds(a, isVariable) && !holds(b, isVariable);
	let agreed = 0;
	for (const point of isConstant ? points.slice(0, 1) : points) try {
		if (!isSameValue(numericValue(a, point), numericValue(b, point))) return false;
		agreed++;
	} catch (error) {
		if (!(error instanceof Incomputable)) throw error;
	}
	return agreed >= (isConstant ? 1 : fewest);
}
var isVariable = (tree) => tree.kind === "symbol" && ![
	"\\pi",
	"e",
	"i"
].includes(tree.name);
/** Compares a decimal with the number that it is rounded from. */
function isRounded(a, b, tolerance) {
	const [first, second] = [writtenOf(a), writtenOf(b)];
	return first !== null && second !== null && isNear(first, second, tolerance);
}
/** A constant; its place is that of a decimal alone, with its sign and percent. */
function writtenOf(tree) {
	const exact = rationalOf(tree);
	if (exact !== null) return {
		value: exact,
		place: placeOf(tree)
	};
	if (holds(tree, isVariable)) return null;
	try {
		const { re, im } = numericValue(tree, 0);
		if (im.mantissa !== 0n || Math.abs(re.exponent) > 2e3) return null;
		const scale = 1n << BigInt(Math.abs(re.exponent));
		return {
			value: re.exponent < 0 ? {
				above: re.mantissa,
				below: scale
			} : {
				above: re.mantissa * scale,
				below: 1n
			},
			place: null
		};
	} catch (error) {
		if (error instanceof Incomputable) return null;
		throw error;
	}
}
function placeOf(tree) {
	if (tree.kind === "number") return tree.place;
	if (tree.kind !== "apply" || tree.of.length !== 1) return null;
	const place = placeOf(tree.of[0]);
	if (tree.name === "negate") return place;
	return tree.name === "percent" ? place && quotient(place, whole(100n)) : null;
}
// src/rl/answers/sameMath.ts
/** Compares two mathematical answers: values, lists and sets of them, intervals, matrices, equations. */
/** `tolerance` as `isNear` has it, where a decimal is compared. */
function isSameMath(expected, found, tolerance) {
	const [a, b] = [withoutSigns(expected), withoutSigns(found)];
	const [x, y] = unnamed(a, b);
	if (x.kind === "relation" || y.kind === "relation") return isSameRelation(x, y, tolerance);
	if (isSetOperation(x) || isSetOperation(y)) return isSameOperation(x, y, tolerance);
	if (x.kind === "group" || y.kind === "group") return isSameGroup(x, y, tolerance);
	if (x.kind === "matrix" || y.kind === "matrix") return isSameMatrix(x, y, tolerance);
	return isSameScalar(x, y, tolerance);
}
/** Returns the answer in another unit, `factor` of which are one of its own; null for anything without a value. */
function inUnit(tree, factor) {
	if (tree.kind === "number") return {
		...tree,
		value: product(tree.value, factor),
		place: tree.place && product(tree.place, factor)
	};
	if (isApply(tree, "negate")) return apply("negate", inUnit(tree.of[0], factor));
	if (isScalar(tree)) return apply("multiply", {
		kind: "number",
		value: factor,
		place: null
	}, tree);
	if (tree.kind !== "group") return isEquation(tree) ? inUnit(tree.sides.at(-1), factor) : null;
	const items = tree.items.map((item) => inUnit(item, factor));
	return items.every((item) => item !== null) ? {
		...tree,
		items
	} : null;
}
var isPlusMinus = (tree) => isApply(tree, "plus-minus") || isApply(tree, "minus-plus");
/** 2 ± √3 is two values; every ± of an expression has the same sign, and every ∓ the other. */
function withoutSigns(tree) {
	if (tree.kind === "group") return {
		...tree,
		items: tree.items.flatMap((item) => holds(item, isPlusMinus) ? bothSigns(item) : [item])
	};
	if (!holds(tree, isPlusMinus)) return tree;
	if (tree.kind === "relation" && tree.operators.join() === "=" && !holds(tree.sides[0], isPlusMinus)) return {
		...tree,
		sides: [tree.sides[0], withoutSigns(tree.sides[1])]
	};
	return {
		kind: "group",
		open: "",
		close: "",
		items: bothSigns(tree)
	};
}
var bothSigns = (tree) => [true, false].map((isUpper) => signed(tree, isUpper));
function signed(tree, isUpper) {
	if (tree.kind === "relation") return {
		...tree,
		sides: tree.sides.map((side) => signed(side, isUpper))
	};
	if (tree.kind === "group") return {
		...tree,
		items: tree.items.map((item) => signed(item, isUpper))
	};
	if (tree.kind !== "apply") return tree;
	const of = tree.of.map((child) => signed(child, isUpper));
	if (!isPlusMinus(tree)) return apply(tree.name, ...of);
	return isApply(tree, "plus-minus") === isUpper ? of[0] : apply("negate", of[0]);
}
var isEquation = (tree) => tree.kind === "relation" && tree.operators.every((operator) => operator === "=" || operator === "in");
/** “x =” is left out where one of the two only has what x is. */
function unnamed(a, b) {
	if (isEquation(a) === isEquation(b)) return [lastTwo(a), lastTwo(b)];
	return [isEquation(a) ? valueOf(a, b) : a, isEquation(b) ? valueOf(b, a) : b];
}
/** Reduces x = 1/2 = 0.5 to the name and the last value. */
function lastTwo(tree) {
	if (!isEquation(tree) || tree.sides.length < 3 || !isName(tree.sides[0])) return tree;
	return {
		kind: "relation",
		operators: ["="],
		sides: [tree.sides[0], tree.sides.at(-1)]
	};
}
function valueOf(equation, other) {
	const [first, last] = [equation.sides[0], equation.sides.at(-1)];
	if (isName(first) && other.kind !== "relation") return last;
	if (isComputed(equation) && other.kind !== "relation") return isName(last) ? equation.sides.at(-2) : last;
	return isName(first) && equation.operators.includes("in") ? last : equation;
}
/** Returns true if an equation computes a number, as 2 + 4 = 6 does; 6 = x says what x is. */
var isComputed = ({ operators, sides }) => operators.every((operator) => operator === "=") && sides.every((side, i) => !holds(side, isVariable) || i === sides.length - 1 && isName(side));
/** Returns true if a side names a quantity: x, f(x), |AB|, (x, y), A : B; it computes nothing with numbers. */
var isName = (tree) => {
	const isSum = isApply(tree, "add") || isApply(tree, "negate");
	if (isApply(tree, "call") || isApply(tree, "index")) return true;
	return tree.kind !== "number" && tree.kind !== "relation" && !isSum && childrenOf(tree).every(isName);
};
function isSameRelation(a, b, tolerance) {
	const [first, second] = [intervalOf(a), intervalOf(b)];
	if (first !== null && second !== null) return isSameUnion(first, second, tolerance);
	if (a.kind !== "relation" || b.kind !== "relation") return false;
	if (isEquation(a) && isEquation(b)) return isSameEquation(a, b, tolerance);
	if (isSameInequality(a, b, tolerance)) return true;
	return (b.operators.every((operator) => operator in mirrored || isMutual(operator)) ? [b, flipped(b)] : [b]).some(({ operators, sides }) => operators.join() === a.operators.join() && a.sides.every((side, i) => isSameMath(side, sides[i], tolerance)));
}
/** −x > −1 is x < 1. */
function isSameInequality(a, b, tolerance) {
	if (a.sides.length !== 2 || b.sides.length !== 2 || ![...a.sides, ...b.sides].every(isScalar)) return false;
	const [own, other] = [a.operators[0], b.operators[0]];
	const [x, y] = [differenceOf(a), differenceOf(b)];
	if (own === other && isSameScalar(x, y, tolerance)) return true;
	return mirrored[own] === other && isSameScalar(x, apply("negate", y), tolerance);
}
var differenceOf = ({ sides: [left, right] }) => apply("add", left, apply("negate", right));
var mirrored = {
	"<": ">",
	">": "<",
	"<=": ">=",
	">=": "<="
};
var flipped = ({ operators, sides }) => ({
	kind: "relation",
	operators: [...operators].reverse().map((operator) => mirrored[operator] ?? operator),
	sides: [...sides].reverse()
});
/** Returns true if both sides are the same, the names included, or one equation is a multiple of the other. */
function isSameEquation(a, b, tolerance) {
	const isSame = (x, y) => isSameMath(x, y, tolerance);
	if (a.sides.length !== b.sides.length) return false;
	if (a.sides.every((side, i) => isSame(side, b.sides[i]))) return true;
	const isMembership = [...a.operators, ...b.operators].includes("in");
	return a.sides.length === 2 && !isMembership && [...a.sides, ...b.sides].every(isScalar) && isMultiple(a, b);
}
var isScalar = ({ kind }) => kind === "number" || kind === "symbol" || kind === "apply";
/**
* Returns true if the quotient of the two differences is the same number everywhere, also when the names are replaced
* by others.
*/
function isMultiple(a, b) {
	const [x, y] = [differenceOf(a), differenceOf(b)];
	try {
		const [here, there] = [fingerprint(x), fingerprint(y)];
		if (here === 0n || there === 0n) return false;
		return fingerprint(apply("multiply", x, elsewhere(y))) === fingerprint(apply("multiply", elsewhere(x), y));
	} catch (error) {
		if (error instanceof Incomputable) return false;
		throw error;
	}
}
function elsewhere(tree) {
	if (tree.kind === "symbol") return /^(?:\\pi|e|i)$/.test(tree.name) ? tree : {
		...tree,
		name: `${tree.name} elsewhere`
	};
	return tree.kind === "apply" ? apply(tree.name, ...tree.of.map(elsewhere)) : tree;
}
var infinity = {
	kind: "symbol",
	name: "\\infty"
};
/**
* Returns the interval of −2 ≤ x < 7 or x > 3, or the tree itself if it is an interval or a union of them; null for
* others.
*/
function intervalOf(tree) {
	if (tree.kind === "group") return tree.items.length === 2 && isTuple(tree) ? tree : null;
	if (tree.kind !== "relation") return isApply(tree, "union") ? tree : null;
	if (tree.operators.join() === "in" && isName(tree.sides[0])) return intervalOf(tree.sides[1]);
	return rangeOf(tree.operators.every((operator) => operator.startsWith(">")) ? flipped(tree) : tree);
}
function rangeOf({ operators, sides }) {
	if (!operators.every((operator) => operator.startsWith("<")) || sides.length > 3) return null;
	const [first, second, third] = sides;
	if (third !== void 0) return isName(second) ? interval(first, operators, third) : null;
	if (isName(first)) return interval(apply("negate", infinity), ["<", operators[0]], second);
	return isName(second) ? interval(first, [operators[0], "<"], infinity) : null;
}
var interval = (from, [lower, upper], to) => ({
	kind: "group",
	items: [from, to],
	open: lower === "<" ? "(" : "[",
	close: upper === "<" ? ")" : "]"
});
var partsOf = (tree) => isApply(tree, "union") ? tree.of.flatMap(partsOf) : [tree];
var isSameUnion = (a, b, tolerance) => isSameSet(partsOf(a), partsOf(b), tolerance);
var isSetOperation = (tree) => isApply(tree, "union") || isApply(tree, "intersection") || isApply(tree, "without");
function isSameOperation(a, b, tolerance) {
	if ([a, b].some((tree) => isApply(tree, "union"))) return isSameUnion(a, b, tolerance);
	if (!isSetOperation(a) || !isSetOperation(b) || a.name !== b.name) return false;
	if (a.name === "intersection") return isSameSet(a.of, b.of, tolerance);
	return a.of.every((part, i) => isSameMath(part, b.of[i], tolerance));
}
/** The same values, in any order and however often. */
function isSameSet(a, b, tolerance) {
	if (a.length > mostItems || b.length > mostItems) return false;
	const [x, y] = [distinct(a, tolerance), distinct(b, tolerance)];
	return x.length === y.length && x.every((item) => y.some((other) => isSameMath(item, other, tolerance)));
}
var mostItems = 60;
var distinct = (items, tolerance) => items.reduce((kept, item) => kept.some((other) => isSameMath(other, item, tolerance)) ? kept : [...kept, item], []);
/** Values with commas between are a set; in round or square brackets they have an order. */
function isSameGroup(a, b, tolerance) {
	const [x, y] = [asGroup(a), asGroup(b)];
	if (x === null || y === null || !areAlike(x, y)) return false;
	if (!isTuple(x) && !isTuple(y) && namesOf(x) === namesOf(y)) return isSameSet(x.items, y.items, tolerance);
	return x.items.length === y.items.length && x.items.every((item, i) => isSameMath(item, y.items[i], tolerance));
}
var isTuple = ({ open }) => open === "(" || open === "[";
/** Returns true if brackets match; a list without brackets may be a set or a tuple. */
var areAlike = (a, b) => a.open === "" || b.open === "" || a.open === b.open && a.close === b.close;
/** 4 stands for {4}. */
var asGroup = (tree) => {
	if (tree.kind === "group") return tree;
	return isScalar(tree) ? {
		kind: "group",
		open: "{",
		close: "}",
		items: [tree]
	} : null;
};
/** Returns 2 where the values are those of different things, which a list without names must keep in order, else 1. */
function namesOf({ items }) {
	const names = items.flatMap((item) => isEquation(item) && isName(item.sides[0]) ? [JSON.stringify(item.sides[0], replaced)] : []);
	return new Set(names).size > 1 ? 2 : 1;
}
var replaced = (_, value) => typeof value === "bigint" ? String(value) : value;
function isSameMatrix(a, b, tolerance) {
	if (a.kind !== "matrix" || b.kind !== "matrix" || a.isDeterminant !== b.isDeterminant) return false;
	if (a.rows.length !== b.rows.length) return false;
	return a.rows.every((row, i) => row.length === b.rows[i].length && row.every((cell, k) => isSameMath(cell, b.rows[i][k], tolerance)));
}
// src/rl/answers/mathAnswer.ts
/** Reads a mathematical answer out of text, and compares two of them. */
/** null for a column that holds neither mathematics nor a few words. */
function expectedMath(text) {
	const answer = {
		...readAnswer(text),
		literal: expectedLiteral(text)
	};
	if (isScientific(answer)) return {
		...answer,
		...unread
	};
	if (answer.literal !== null) return answer;
	if (isNumeral(answer.text)) return {
		...answer,
		...unread
	};
	if (isOnlyWritten(answer.whole, text)) return {
		...answer,
		...unread,
		text: answer.whole
	};
	if (isOfSeveralNumbers(text)) return null;
	return !(answer.math === null || answer.math.tree.kind === "symbol") || isShortPhrase(answer.text) || answer.text.startsWith("\\") ? answer : null;
}
var unread = {
	math: null,
	product: null
};
/** 1e-3 and nothing else but a unit is a thousandth, and no multiple of Euler’s number. */
var isScientific = ({ text, literal }) => literal?.kind === "number" && /(?:^|=)[-+]?(?:\d+(?:\.\d*)?|\.\d+)[eE][-+]?\d{1,3}(?![\d.])/.test(text);
/** IV is not VI; as products of variables they would be the same. */
var isNumeral = (text) => /^(?:I[VX]|[VX]I|X[LC]|[LC]X|C[DM]|[DM]C)$/.test(text);
/** “May 2024”, “Room 5” and “7 remainder 3” are compared as they are: a number in them is not the answer. */
var isOnlyWritten = (whole, text) => spansOf(text).length === 0 && !/[\\=]/.test(text) && !isRead(whole) && /\d/.test(whole) && whole.length <= 60 && whole.split(" ").length <= 4;
/**
* Returns true for “3 hours 20 minutes” and the like: such a text is not a number, and its last one is not the answer.
*/
var isOfSeveralNumbers = (text) => spansOf(text).length === 0 && !isRead(text) && /\d[^\d]*\p{L}{2}[^\d]*\d/u.test(text) && !/[\\=]/.test(text);
/**
* Returns true for short phrases such as “odd” or “Tuesday”, which are compared as they are; a sentence could be put in
* another way.
*/
var isShortPhrase = (text) => /^[\p{L}\p{M}'’ ()-]{1,60}$/u.test(text) && text.split(" ").length <= 4;
function readAnswer(text) {
	const { text: stated, kind } = statedAnswer(repaired(text), (line) => parseMath(line) !== null);
	const hedged = kind !== "unmarked" && isHedged(stated);
	const own = kind === "marked" ? stated : kind === "said" ? saidMath(stated) : lastMath(withoutLabels(stated));
	return {
		...answerOf(own),
		isHedged: hedged,
		literal: readLiteral(own),
		whole: writtenAlike(withoutStop(stated))
	};
}
/** LaTeX out of JSON that was escaped twice. */
var repaired = (text) => text.includes("\\begin") ? text : text.replace(/\\\\(?=[a-zA-Z(){}[\],;!%$])/g, "\\");
var spans = /\$\$[^$]+\$\$|\$(?:\\\$|[^$\n])+\$|\\\((?:(?!\\[()]).)+\\\)|\\\[(?:(?!\\[[\]])[^])+\\\]/g;
var joins = /^[\s,;]*(?:and|or)?[\s,;]*$/;
/** The last formula of a text, with those it belongs together with; in plain text the last number. */
function lastMath(text) {
	const tail = text.slice(-6e3);
	const found = spansOf(tail);
	const last = found.at(-1);
	if (last === void 0) return isRead(tail) ? tail : numberIn(tail, "last") ?? multipleOfPi(tail);
	return (/\d/.test(last.text) ? null : numberIn(tail.slice(last.to), "last")) ?? together(tail, found.reverse());
}
/** “2π”, “3π/4” with nothing that computes with it on either side. */
var piTerms = /(?<![\p{L}\p{N}.,^_)}\]*/·×√+-]|[-+*/·×^<>≤≥]\s)(?:\d+(?:\.\d+)?(?:\/\d+)?\s?)?π(?:\/\d+)?(?![\p{L}\p{N}(^²³/]|\s*[-+*/·×^(√\d])/gu;
/** The multiple of π that plain text ends in, with its unit; empty where there is none. */
function multipleOfPi(text) {
	const found = [...text.matchAll(piTerms)].at(-1);
	if (found === void 0) return "";
	const [before, behind] = [text.slice(0, found.index), text.slice(found.index + found[0].length)];
	return /(?<!\^\{?)\d/.test(behind) || isChanged(before.slice(-40), behind.slice(0, 40)) ? "" : `${found[0]}${measureBehind(behind)}`;
}
/** The mathematics after “the answer is”, or at the end of that sentence. */
function saidMath(text) {
	const found = spansOf(text);
	if (found[0]?.from === 0) return together(text, found);
	return /^[-+$€£¥₹\s]*[\d.]/.test(text) && !isRead(text) ? numberIn(text, "first") ?? "" : lastMath(text);
}
/** Returns true if the whole text is one value, which no word behind it changes; “it is -5” subtracts nothing. */
var isRead = (text) => !/\b(?:is|was) -/.test(text) && parseMath(text)?.words.some(isChanging) === false || readLiteral(text) !== null;
var spansOf = (text) => [...text.matchAll(spans)].map(({ index, 0: span }) => ({
	text: span,
	from: index,
	to: index + span.length
}));
/** The first of `found` and its neighbours behind a comma or “and”, in the order of the text, with the percent sign or unit behind. */
function together(text, found) {
	const group = found.slice(0, 1);
	for (const next of found.slice(1)) {
		const [before, after] = next.from > group.at(-1).from ? [group.at(-1), next] : [next, group.at(-1)];
		const between = text.slice(before.to, after.from);
		if (!/,|;|and|or/.test(between) || !joins.test(between)) break;
		group.push(next);
	}
	group.sort((a, b) => a.from - b.from);
	const behind = text.slice(group.at(-1).to);
	if (isChanged(text.slice(0, group[0].from).slice(-40), behind.slice(0, 40))) return "";
	const measure = measureBehind(behind);
	return `${group.map((span) => span.text).join(", ")}${measure}`;
}
var withoutStop = (text) => text.trim().replace(/(?<!\\)[.,;:]+$/, "");
/** Returns true for dates and times of day, which are not quotients and differences. */
var isCalendar = (text) => ["date", "time"].includes(readLiteral(text)?.kind ?? "") || /^\s*(?:\d{1,2}\/\d{1,2}\/\d{4}|\d{4}-\d{1,2}(?:-\d{1,2})?)\s*$/.test(text);
var answerOf = (text) => {
	const trimmed = withoutStop(text);
	const [math, product] = [parseMath(trimmed), parseMath(trimmed, "variables")];
	if (isCalendar(trimmed) || math?.words.some((words) => isChanging(words) || isOrdinal(words))) return {
		text: writtenAlike(trimmed),
		...unread
	};
	const value = trimmed.replace(/^[^,=]*=/, "");
	const isDecimal = math?.tree.kind === "group" && !value.includes("=") && readLiteral(value)?.kind === "number";
	return {
		text: writtenAlike(trimmed),
		...isDecimal ? unread : {
			math,
			product
		}
	};
};
var looks = [
	[/\$|\\(?:left|right|displaystyle|quad|qquad)(?![a-zA-Z])|\\[()[\],;:! ]/g, " "],
	[/\\(?:text|textbf|textit|textnormal|mbox|mathrm|mathbf|boxed)\s*\{([^{}]*)\}/g, "$1"],
	[/\\[dtc]frac/g, "\\frac"],
	[/\s+/g, " "],
	[/(?<=[^\p{L}\d.]) | (?=[^\p{L}\d.])/gu, ""]
];
var writtenAlike = (text) => looks.reduce((changed, [pattern, as]) => changed.replace(pattern, as), text).trim();
/** Choices are compared without their brackets; words without their case. */
var choice = (text) => {
	const bare = text.replace(/^\(\s*([a-zA-Z])\s*\)$/, "$1");
	return bare.length > 1 && /^[\p{L}\p{M}'’ -]+$/u.test(bare) ? bare.toLowerCase() : bare;
};
/**
* Returns true if `completion` says what the answer does; `tolerance` as in `isNear`, where one of them is a decimal.
*/
function saysMath(expected, completion, tolerance) {
	const found = readAnswer(completion);
	if (found.isHedged && !expected.isHedged) return false;
	if ([found.text, found.whole].some((text) => choice(text) === choice(expected.text))) return true;
	const listed = namedLists(expected, found);
	if (listed !== null) return isSameLiteral(...listed, tolerance);
	if (isScaled(expected) || isScaled(found) || areThousands(expected, found)) return saysNumber(expected, completion, tolerance);
	return isSameMathematics(expected, found, tolerance) ?? saysNumber(expected, completion, tolerance);
}
/** null where the mathematics of one of them is not read, or is a list. */
function isSameMathematics(expected, found, tolerance) {
	if (areMeasured(expected, found)) return isSameLiteral(expected.literal, found.literal, tolerance);
	if (isOtherDecimal(expected, found, tolerance)) return false;
	if (["math", "product"].some((way) => isSameParsed(expected[way], found[way], tolerance))) return true;
	return [expected.math, found.math].some((math) => math === null || math.tree.kind === "group") || isScientific(found) ? null : false;
}
/**
* Returns both answers as lists where the expected one counts several things: mathematics does not tell which number is
* whose.
*/
function namedLists({ literal }, found) {
	if (literal?.kind !== "list" || namesIn(literal) === null) return null;
	const list = [found.text, found.whole].map(readLiteral).find((read) => read?.kind === "list");
	return list === void 0 ? null : [literal, list];
}
/** Returns true for numbers such as 1.5 million, told by the word that mathematics takes for a unit. */
var isScaled = ({ math }) => math !== null && !isSame(multiplierOf(math.words[0] ?? "").factor, whole(1n));
/** Returns true for 70K, a product to mathematics. */
var mayBeScaled = ({ literal }) => literal?.kind === "number" && literal.unit?.inBare !== void 0;
/** Returns true if the answer is a number, so that 70K is none with a variable. */
var areThousands = (expected, found) => mayBeScaled(found) && expected.literal?.kind === "number" && !hasUnit(expected);
/** Returns true if both have a unit that mathematics may not see; 2k and 2K are products. */
var areMeasured = (expected, found) => hasUnit(expected) && hasUnit(found) && !(mayBeScaled(expected) && mayBeScaled(found));
/** Mathematics ignores the sign of a currency before its number. */
var hasUnit = ({ literal }) => literal?.kind === "number" && literal.unit !== null;
/**
* Returns true if both are decimals with a comma and differ. As sets 5,3 would be 3,5, and 7 would be 7,7; as decimals
* they are not.
*/
function isOtherDecimal({ literal }, { text }, tolerance) {
	const found = literal?.kind === "list" && literal.decimal !== null ? readLiteral(text) : null;
	return (found?.kind === "number" || found?.kind === "list" && found.decimal !== null) && !isSameLiteral(literal, found, tolerance);
}
function saysNumber({ literal }, completion, tolerance) {
	if (literal === null || literal.kind === "ratio") return false;
	if (literal.kind === "list" && literal.decimal === null) return false;
	const found = statedLiteral(completion, literal);
	if (found === null || literal.kind === "list" && found.kind !== "number") return false;
	return isSameLiteral(literal, found, tolerance);
}
function isSameParsed(expected, found, tolerance) {
	if (expected === null || found === null) return false;
	if (isOtherThing(found.words.join(" "), expected.words.join(" "))) return false;
	const factor = factorBetween(found.words, expected.words);
	if (factor === null) return false;
	const tree = isSame(factor, whole(1n)) ? found.tree : inUnit(found.tree, factor);
	return tree !== null && isSameMath(expected.tree, tree, tolerance);
}
/** Returns how many units of the second answer one of the first is; null where they differ in more than that. */
function factorBetween(found, expected) {
	const [own, other] = [found, expected].map((words) => words.map(unitOf).filter((unit) => unit !== null));
	const factor = conversion(own[0] ?? null, other[0] ?? null);
	const isAlike = (units) => units.every((unit) => {
		const one = conversion(unit, units[0]);
		return one !== null && isSame(one, whole(1n));
	});
	if (own.length === 0 || other.length === 0 || isAlike(own) && isAlike(other)) return factor;
	return own.length === other.length && own.every((unit, i) => isAlike([unit, other[i]])) ? whole(1n) : null;
}
// src/rl/environments/answerRewards.ts
/**
* 1 when the completion states the number, list, ratio, date or time of the answer. Where it states it is found by a marker
* (`\boxed{}`, `<answer>`, ####, “the answer is”), else it is the last number, because reasoning comes before the result.
*/
var numericEquality = defineReward({
	id: "numeric-equality",
	description: "1 if the completion states the number in the answer of the row, else 0.",
	settings: {
		column: "answer",
		tolerance: 1e-6
	},
	create({ column, tolerance }) {
		requireTolerance("numeric-equality", tolerance);
		return ({ completion, row }) => {
			const expected = expectedLiteral(expectedText(row, column) ?? "");
			if (expected === null) return null;
			const found = statedLiteral(completion, expected);
			return Number(found !== null && isSameLiteral(expected, found, tolerance));
		};
	},
	doubts: ({ tolerance }) => toleranceDoubts(tolerance)
});
/** 1 when the completion states an expression that equals the answer, in LaTeX or plain text, or the same few words. */
var mathEquality = defineReward({
	id: "math-equality",
	description: "1 if the completion states an expression equal to the answer of the row (LaTeX or plain), else 0.",
	settings: {
		column: "answer",
		tolerance: 1e-6
	},
	create({ column, tolerance }) {
		requireTolerance("math-equality", tolerance);
		return ({ completion, row }) => {
			const expected = expectedMath(expectedText(row, column) ?? "");
			return expected === null ? null : Number(saysMath(expected, completion, tolerance));
		};
	},
	doubts: ({ tolerance }) => toleranceDoubts(tolerance)
});
function requireTolerance(id, tolerance) {
	if (tolerance >= 0) return;
	throw invalidConfig(`The tolerance of ${id} is at least 0, got ${tolerance}.`);
}
var toleranceDoubts = (tolerance) => tolerance > .1 ? [doubt("tolerance", `${tolerance}; numbers that are ${100 * tolerance} % off count as right.`)] : [];
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
/** Returns true if a text has the words in it, whole: 4 is not contained in 42. */
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
var formatSettings = {
	pattern: "<think>.*</think>\\s*<answer>.*</answer>",
	ignoreCase: false
};
/**
* 1 when the whole completion, without surrounding white space, has the form of a regular expression. On some texts a pattern takes
* for ever, hence the sandbox.
*/
var format = defineReward({
	id: "format",
	description: "1 if the whole completion matches a regular expression, else 0.",
	settings: formatSettings,
	code: `export const settings = ${JSON.stringify(formatSettings)}
export const format = ({ completion, settings: { pattern, ignoreCase } }) =>
  Number(new RegExp('^(?:' + pattern + ')$', ignoreCase ? 'isu' : 'su').test(completion.trim()))
`,
	create({ pattern, ignoreCase }) {
		requirePattern(pattern, ignoreCase);
		return () => {
			throw new Error("Expected a pattern to be tried in the sandbox.");
		};
	}
});
function requirePattern(pattern, ignoreCase) {
	try {
		new RegExp(`^(?:${pattern})$`, ignoreCase ? "isu" : "su");
	} catch (error) {
		throw invalidConfig(`The pattern of the format reward is not valid: ${error instanceof Error ? error.message : String(error)}.`, void 0, error);
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
		if (!(free >= 0 && limit > free)) throw invalidConfig(`The length penalty needs 0 ≤ free < limit, got ${free} and ${limit}.`);
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
* The built-in reward functions. Reading guide: the functions are in `textRewards.ts` and `answerRewards.ts`, each made with `defineReward` of
* `common.ts`, and listed here; `../rewards.ts` adds several into one reward.
*/
/** A built-in whose settings' types are known to its own file only. */
var listed = ({ id, description, settings, code, create, doubts }) => ({
	id,
	description,
	settings,
	code: code ?? null,
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
/** Built-in rewards, in the order of a picker. */
var builtInRewards = [
	listed(exactMatch),
	listed(contains),
	listed(numericEquality),
	listed(mathEquality),
	listed(format),
	listed(lengthPenalty),
	listed(starterCorrect),
	listed(starterFormat)
];
/** The code of a built-in that scores in the sandbox; null for others, and where there is none. */
var builtInCode = (id) => builtInRewards.find((reward) => reward.id === id)?.code ?? null;
/** The reward function called `id`, its defaults replaced by `settings`. Errors: `config/invalid`. */
function builtInReward(id, settings = {}) {
	const found = builtInRewards.find((reward) => reward.id === id);
	if (found !== void 0) return found.create(settings);
	const known = builtInRewards.map((reward) => reward.id).join(", ");
	throw invalidConfig(`There is no reward function called “${id}”.`, `Choose one of: ${known}.`);
}
export { builtInCode, builtInReward, builtInRewards };
