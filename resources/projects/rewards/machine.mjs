// Generated from src/host/sandbox/machine.ts by scripts/projects/generated.ts. Not to be edited by hand.
/*
quickjs-emscripten:
The MIT License

quickjs-emscripten copyright (c) 2019-2024 Jake Teton-Landis

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.


quickjs:
QuickJS Javascript Engine

Copyright (c) 2017-2021 Fabrice Bellard
Copyright (c) 2017-2021 Charlie Gordon

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in
all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL
THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN
THE SOFTWARE.
*/
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
// \0rolldown/runtime.js
var __defProp$1 = Object.defineProperty;
var __esmMin = (fn, res, err) => () => {
	if (err) throw err[0];
	try {
		return fn && (res = fn(fn = 0)), res;
	} catch (e) {
		throw err = [e], e;
	}
};
var __exportAll = (all, no_symbols) => {
	let target = {};
	for (var name in all) __defProp$1(target, name, {
		get: all[name],
		enumerable: true
	});
	if (!no_symbols) __defProp$1(target, Symbol.toStringTag, { value: "Module" });
	return target;
};
// node_modules/@jitl/quickjs-wasmfile-release-sync/dist/ffi.mjs
var ffi_exports = /* @__PURE__ */ __exportAll({ QuickJSFFI: () => QuickJSFFI });
var QuickJSFFI;
var init_ffi = __esmMin((() => {
	QuickJSFFI = class {
		constructor(module) {
			this.module = module;
			this.DEBUG = !1;
			this.QTS_Throw = this.module.cwrap("QTS_Throw", "number", ["number", "number"]);
			this.QTS_NewError = this.module.cwrap("QTS_NewError", "number", ["number"]);
			this.QTS_RuntimeSetMemoryLimit = this.module.cwrap("QTS_RuntimeSetMemoryLimit", null, ["number", "number"]);
			this.QTS_RuntimeComputeMemoryUsage = this.module.cwrap("QTS_RuntimeComputeMemoryUsage", "number", ["number", "number"]);
			this.QTS_RuntimeDumpMemoryUsage = this.module.cwrap("QTS_RuntimeDumpMemoryUsage", "number", ["number"]);
			this.QTS_RecoverableLeakCheck = this.module.cwrap("QTS_RecoverableLeakCheck", "number", []);
			this.QTS_BuildIsSanitizeLeak = this.module.cwrap("QTS_BuildIsSanitizeLeak", "number", []);
			this.QTS_RuntimeSetMaxStackSize = this.module.cwrap("QTS_RuntimeSetMaxStackSize", null, ["number", "number"]);
			this.QTS_GetUndefined = this.module.cwrap("QTS_GetUndefined", "number", []);
			this.QTS_GetNull = this.module.cwrap("QTS_GetNull", "number", []);
			this.QTS_GetFalse = this.module.cwrap("QTS_GetFalse", "number", []);
			this.QTS_GetTrue = this.module.cwrap("QTS_GetTrue", "number", []);
			this.QTS_NewHostRef = this.module.cwrap("QTS_NewHostRef", "number", ["number", "number"]);
			this.QTS_GetHostRefId = this.module.cwrap("QTS_GetHostRefId", "number", ["number"]);
			this.QTS_NewRuntime = this.module.cwrap("QTS_NewRuntime", "number", []);
			this.QTS_FreeRuntime = this.module.cwrap("QTS_FreeRuntime", null, ["number"]);
			this.QTS_NewContext = this.module.cwrap("QTS_NewContext", "number", ["number", "number"]);
			this.QTS_FreeContext = this.module.cwrap("QTS_FreeContext", null, ["number"]);
			this.QTS_FreeValuePointer = this.module.cwrap("QTS_FreeValuePointer", null, ["number", "number"]);
			this.QTS_FreeValuePointerRuntime = this.module.cwrap("QTS_FreeValuePointerRuntime", null, ["number", "number"]);
			this.QTS_FreeVoidPointer = this.module.cwrap("QTS_FreeVoidPointer", null, ["number", "number"]);
			this.QTS_FreeCString = this.module.cwrap("QTS_FreeCString", null, ["number", "number"]);
			this.QTS_DupValuePointer = this.module.cwrap("QTS_DupValuePointer", "number", ["number", "number"]);
			this.QTS_NewObject = this.module.cwrap("QTS_NewObject", "number", ["number"]);
			this.QTS_NewObjectProto = this.module.cwrap("QTS_NewObjectProto", "number", ["number", "number"]);
			this.QTS_NewArray = this.module.cwrap("QTS_NewArray", "number", ["number"]);
			this.QTS_NewArrayBuffer = this.module.cwrap("QTS_NewArrayBuffer", "number", [
				"number",
				"number",
				"number"
			]);
			this.QTS_NewFloat64 = this.module.cwrap("QTS_NewFloat64", "number", ["number", "number"]);
			this.QTS_GetFloat64 = this.module.cwrap("QTS_GetFloat64", "number", ["number", "number"]);
			this.QTS_NewString = this.module.cwrap("QTS_NewString", "number", ["number", "number"]);
			this.QTS_GetString = this.module.cwrap("QTS_GetString", "number", ["number", "number"]);
			this.QTS_GetArrayBuffer = this.module.cwrap("QTS_GetArrayBuffer", "number", ["number", "number"]);
			this.QTS_GetArrayBufferLength = this.module.cwrap("QTS_GetArrayBufferLength", "number", ["number", "number"]);
			this.QTS_NewSymbol = this.module.cwrap("QTS_NewSymbol", "number", [
				"number",
				"number",
				"number"
			]);
			this.QTS_GetSymbolDescriptionOrKey = this.module.cwrap("QTS_GetSymbolDescriptionOrKey", "number", ["number", "number"]);
			this.QTS_IsGlobalSymbol = this.module.cwrap("QTS_IsGlobalSymbol", "number", ["number", "number"]);
			this.QTS_IsJobPending = this.module.cwrap("QTS_IsJobPending", "number", ["number"]);
			this.QTS_ExecutePendingJob = this.module.cwrap("QTS_ExecutePendingJob", "number", [
				"number",
				"number",
				"number"
			]);
			this.QTS_GetProp = this.module.cwrap("QTS_GetProp", "number", [
				"number",
				"number",
				"number"
			]);
			this.QTS_GetPropNumber = this.module.cwrap("QTS_GetPropNumber", "number", [
				"number",
				"number",
				"number"
			]);
			this.QTS_SetProp = this.module.cwrap("QTS_SetProp", null, [
				"number",
				"number",
				"number",
				"number"
			]);
			this.QTS_DefineProp = this.module.cwrap("QTS_DefineProp", null, [
				"number",
				"number",
				"number",
				"number",
				"number",
				"number",
				"boolean",
				"boolean",
				"boolean"
			]);
			this.QTS_GetOwnPropertyNames = this.module.cwrap("QTS_GetOwnPropertyNames", "number", [
				"number",
				"number",
				"number",
				"number",
				"number"
			]);
			this.QTS_Call = this.module.cwrap("QTS_Call", "number", [
				"number",
				"number",
				"number",
				"number",
				"number"
			]);
			this.QTS_ResolveException = this.module.cwrap("QTS_ResolveException", "number", ["number", "number"]);
			this.QTS_Dump = this.module.cwrap("QTS_Dump", "number", ["number", "number"]);
			this.QTS_Eval = this.module.cwrap("QTS_Eval", "number", [
				"number",
				"number",
				"number",
				"string",
				"number",
				"number"
			]);
			this.QTS_GetModuleNamespace = this.module.cwrap("QTS_GetModuleNamespace", "number", ["number", "number"]);
			this.QTS_Typeof = this.module.cwrap("QTS_Typeof", "number", ["number", "number"]);
			this.QTS_GetLength = this.module.cwrap("QTS_GetLength", "number", [
				"number",
				"number",
				"number"
			]);
			this.QTS_IsEqual = this.module.cwrap("QTS_IsEqual", "number", [
				"number",
				"number",
				"number",
				"number"
			]);
			this.QTS_GetGlobalObject = this.module.cwrap("QTS_GetGlobalObject", "number", ["number"]);
			this.QTS_NewPromiseCapability = this.module.cwrap("QTS_NewPromiseCapability", "number", ["number", "number"]);
			this.QTS_PromiseState = this.module.cwrap("QTS_PromiseState", "number", ["number", "number"]);
			this.QTS_PromiseResult = this.module.cwrap("QTS_PromiseResult", "number", ["number", "number"]);
			this.QTS_TestStringArg = this.module.cwrap("QTS_TestStringArg", null, ["string"]);
			this.QTS_GetDebugLogEnabled = this.module.cwrap("QTS_GetDebugLogEnabled", "number", ["number"]);
			this.QTS_SetDebugLogEnabled = this.module.cwrap("QTS_SetDebugLogEnabled", null, ["number", "number"]);
			this.QTS_BuildIsDebug = this.module.cwrap("QTS_BuildIsDebug", "number", []);
			this.QTS_BuildIsAsyncify = this.module.cwrap("QTS_BuildIsAsyncify", "number", []);
			this.QTS_NewFunction = this.module.cwrap("QTS_NewFunction", "number", [
				"number",
				"string",
				"number",
				"boolean",
				"number"
			]);
			this.QTS_ArgvGetJSValueConstPointer = this.module.cwrap("QTS_ArgvGetJSValueConstPointer", "number", ["number", "number"]);
			this.QTS_RuntimeEnableInterruptHandler = this.module.cwrap("QTS_RuntimeEnableInterruptHandler", null, ["number"]);
			this.QTS_RuntimeDisableInterruptHandler = this.module.cwrap("QTS_RuntimeDisableInterruptHandler", null, ["number"]);
			this.QTS_RuntimeEnableModuleLoader = this.module.cwrap("QTS_RuntimeEnableModuleLoader", null, ["number", "number"]);
			this.QTS_RuntimeDisableModuleLoader = this.module.cwrap("QTS_RuntimeDisableModuleLoader", null, ["number"]);
			this.QTS_bjson_encode = this.module.cwrap("QTS_bjson_encode", "number", ["number", "number"]);
			this.QTS_bjson_decode = this.module.cwrap("QTS_bjson_decode", "number", ["number", "number"]);
		}
	};
}));
// node_modules/@jitl/quickjs-wasmfile-release-sync/dist/emscripten-module.browser.mjs
var emscripten_module_browser_exports = /* @__PURE__ */ __exportAll({ default: () => QuickJSRaw });
async function QuickJSRaw(moduleArg = {}) {
	var moduleRtn;
	var c = moduleArg, aa = !!globalThis.window, n = !!globalThis.WorkerGlobalScope;
	function q(a) {
		a = { log: a || function() {} };
		for (const d of q.Pa) d(a);
		return c.quickJSEmscriptenExtensions = a;
	}
	q.Pa = [];
	c.quickjsEmscriptenInit = q;
	q.Pa.push((a) => {
		a.getWasmMemory = function() {
			return r;
		};
	});
	var t = "./this.program", ba = import.meta.url, u = "", v, w;
	if (aa || n) {
		try {
			u = new URL(".", ba).href;
		} catch {}
		n && (w = (a) => {
			var d = new XMLHttpRequest();
			d.open("GET", a, !1);
			d.responseType = "arraybuffer";
			d.send(null);
			return new Uint8Array(d.response);
		});
		v = async (a) => {
			a = await fetch(a, { credentials: "same-origin" });
			if (a.ok) return a.arrayBuffer();
			throw Error(a.status + " : " + a.url);
		};
	}
	var y = console.log.bind(console), z = console.error.bind(console), A, B = !1, C, D, E, F, G, H, I, J = !1;
	function K() {
		var a = r.buffer;
		c.HEAP8 = F = new Int8Array(a);
		new Int16Array(a);
		c.HEAPU8 = G = new Uint8Array(a);
		new Uint16Array(a);
		H = new Int32Array(a);
		I = new Uint32Array(a);
		new Float32Array(a);
		new Float64Array(a);
		new BigInt64Array(a);
		new BigUint64Array(a);
	}
	function L(a) {
		c.onAbort?.(a);
		a = "Aborted(" + a + ")";
		z(a);
		B = !0;
		a = new WebAssembly.RuntimeError(a + ". Build with -sASSERTIONS for more info.");
		E?.(a);
		throw a;
	}
	var M;
	async function ca(a) {
		if (!A) try {
			var d = await v(a);
			return new Uint8Array(d);
		} catch {}
		if (a == M && A) a = new Uint8Array(A);
		else if (w) a = w(a);
		else throw "both async and sync fetching of the wasm failed";
		return a;
	}
	async function da(a, d) {
		try {
			var b = await ca(a);
			return await WebAssembly.instantiate(b, d);
		} catch (e) {
			z(`failed to asynchronously prepare wasm: ${e}`), L(e);
		}
	}
	async function ea(a) {
		var d = M;
		if (!A) try {
			var b = fetch(d, { credentials: "same-origin" });
			return await WebAssembly.instantiateStreaming(b, a);
		} catch (e) {
			z(`wasm streaming compile failed: ${e}`), z("falling back to ArrayBuffer instantiation");
		}
		return da(d, a);
	}
	class N {
		name = "ExitStatus";
		constructor(a) {
			this.message = `Program terminated with exit(${a})`;
			this.status = a;
		}
	}
	var O = (a) => {
		for (; 0 < a.length;) a.shift()(c);
	}, P = [], fa = [], ha = () => {
		var a = c.preRun.shift();
		fa.push(a);
	}, Q = !0, r, ia = new TextDecoder(), ja = (a, d, b, e) => {
		b = d + b;
		if (e) return b;
		for (; a[d] && !(d >= b);) ++d;
		return d;
	}, R = (a, d, b) => a ? ia.decode(G.subarray(a, ja(G, a, d, b))) : "", S = 0, ka = [
		0,
		31,
		60,
		91,
		121,
		152,
		182,
		213,
		244,
		274,
		305,
		335
	], la = [
		0,
		31,
		59,
		90,
		120,
		151,
		181,
		212,
		243,
		273,
		304,
		334
	], T = {}, ma = (a) => {
		if (!(a instanceof N || "unwind" == a)) throw a;
	}, na = (a) => {
		C = a;
		Q || 0 < S || (c.onExit?.(a), B = !0);
		throw new N(a);
	}, oa = (a) => {
		if (!B) try {
			a();
		} catch (d) {
			ma(d);
		} finally {
			if (!(Q || 0 < S)) try {
				C = a = C, na(a);
			} catch (d) {
				ma(d);
			}
		}
	}, U = (a, d, b) => {
		var e = G;
		if (!(0 < b)) return 0;
		var f = d;
		b = d + b - 1;
		for (var g = 0; g < a.length; ++g) {
			var h = a.codePointAt(g);
			if (127 >= h) {
				if (d >= b) break;
				e[d++] = h;
			} else if (2047 >= h) {
				if (d + 1 >= b) break;
				e[d++] = 192 | h >> 6;
				e[d++] = 128 | h & 63;
			} else if (65535 >= h) {
				if (d + 2 >= b) break;
				e[d++] = 224 | h >> 12;
				e[d++] = 128 | h >> 6 & 63;
				e[d++] = 128 | h & 63;
			} else {
				if (d + 3 >= b) break;
				e[d++] = 240 | h >> 18;
				e[d++] = 128 | h >> 12 & 63;
				e[d++] = 128 | h >> 6 & 63;
				e[d++] = 128 | h & 63;
				g++;
			}
		}
		e[d] = 0;
		return d - f;
	}, V = {}, pa = () => {
		if (!W) {
			var a = {
				USER: "web_user",
				LOGNAME: "web_user",
				PATH: "/",
				PWD: "/",
				HOME: "/home/web_user",
				LANG: (globalThis.navigator?.language ?? "C").replace("-", "_") + ".UTF-8",
				_: t || "./this.program"
			}, d;
			for (d in V) void 0 === V[d] ? delete a[d] : a[d] = V[d];
			var b = [];
			for (d in a) b.push(`${d}=${a[d]}`);
			W = b;
		}
		return W;
	}, W, X = (a) => {
		for (var d = 0, b = 0; b < a.length; ++b) {
			var e = a.charCodeAt(b);
			127 >= e ? d++ : 2047 >= e ? d += 2 : 55296 <= e && 57343 >= e ? (d += 4, ++b) : d += 3;
		}
		return d;
	}, qa = [
		null,
		[],
		[]
	], ta = (a, d, b, e) => {
		var f = {
			string: (k) => {
				var l = 0;
				if (null !== k && void 0 !== k && 0 !== k) {
					l = X(k) + 1;
					var p = Y(l);
					U(k, p, l);
					l = p;
				}
				return l;
			},
			array: (k) => {
				var l = Y(k.length);
				F.set(k, l);
				return l;
			}
		};
		a = c["_" + a];
		var g = [], h = 0;
		if (e) for (var m = 0; m < e.length; m++) {
			var x = f[b[m]];
			x ? (0 === h && (h = ra()), g[m] = x(e[m])) : g[m] = e[m];
		}
		b = a(...g);
		return b = function(k) {
			0 !== h && sa(h);
			return "string" === d ? R(k) : "boolean" === d ? !!k : k;
		}(b);
	};
	c.wasmMemory ? r = c.wasmMemory : r = new WebAssembly.Memory({
		initial: (c.INITIAL_MEMORY || 16777216) / 65536,
		maximum: 32768
	});
	K();
	c.noExitRuntime && (Q = c.noExitRuntime);
	c.print && (y = c.print);
	c.printErr && (z = c.printErr);
	c.wasmBinary && (A = c.wasmBinary);
	c.thisProgram && (t = c.thisProgram);
	if (c.preInit) for ("function" == typeof c.preInit && (c.preInit = [c.preInit]); 0 < c.preInit.length;) c.preInit.shift()();
	c.cwrap = (a, d, b, e) => {
		var f = !b || b.every((g) => "number" === g || "boolean" === g);
		return "string" !== d && f && !e ? c["_" + a] : (...g) => ta(a, d, b, g);
	};
	c.UTF8ToString = R;
	c.stringToUTF8 = (a, d, b) => U(a, d, b);
	c.lengthBytesUTF8 = X;
	var ua, sa, Y, ra, va = {
		b: (a, d, b, e) => L(`Assertion failed: ${R(a)}, at: ` + [
			d ? R(d) : "unknown filename",
			b,
			e ? R(e) : "unknown function"
		]),
		q: () => L(""),
		l: () => {
			Q = !1;
			S = 0;
		},
		m: function(a, d) {
			a = -9007199254740992 > a || 9007199254740992 < a ? NaN : Number(a);
			a = /* @__PURE__ */ new Date(1e3 * a);
			H[d >> 2] = a.getSeconds();
			H[d + 4 >> 2] = a.getMinutes();
			H[d + 8 >> 2] = a.getHours();
			H[d + 12 >> 2] = a.getDate();
			H[d + 16 >> 2] = a.getMonth();
			H[d + 20 >> 2] = a.getFullYear() - 1900;
			H[d + 24 >> 2] = a.getDay();
			var b = a.getFullYear();
			H[d + 28 >> 2] = (0 !== b % 4 || 0 === b % 100 && 0 !== b % 400 ? la : ka)[a.getMonth()] + a.getDate() - 1 | 0;
			H[d + 36 >> 2] = -(60 * a.getTimezoneOffset());
			b = new Date(a.getFullYear(), 6, 1).getTimezoneOffset();
			var e = new Date(a.getFullYear(), 0, 1).getTimezoneOffset();
			H[d + 32 >> 2] = (b != e && a.getTimezoneOffset() == Math.min(e, b)) | 0;
		},
		j: (a, d) => {
			T[a] && (clearTimeout(T[a].id), delete T[a]);
			if (!d) return 0;
			T[a] = {
				id: setTimeout(() => {
					delete T[a];
					oa(() => ua(a, performance.now()));
				}, d),
				Qa: d
			};
			return 0;
		},
		n: (a, d, b, e) => {
			var f = (/* @__PURE__ */ new Date()).getFullYear(), g = new Date(f, 0, 1).getTimezoneOffset();
			f = new Date(f, 6, 1).getTimezoneOffset();
			I[a >> 2] = 60 * Math.max(g, f);
			H[d >> 2] = Number(g != f);
			d = (h) => {
				var m = Math.abs(h);
				return `UTC${0 <= h ? "-" : "+"}${String(Math.floor(m / 60)).padStart(2, "0")}${String(m % 60).padStart(2, "0")}`;
			};
			a = d(g);
			d = d(f);
			f < g ? (U(a, b, 17), U(d, e, 17)) : (U(a, e, 17), U(d, b, 17));
		},
		p: () => Date.now(),
		k: (a) => {
			var d = G.length;
			a >>>= 0;
			if (2147483648 < a) return !1;
			for (var b = 1; 4 >= b; b *= 2) {
				var e = d * (1 + .2 / b);
				e = Math.min(e, a + 100663296);
				a: {
					e = (Math.min(2147483648, 65536 * Math.ceil(Math.max(a, e) / 65536)) - r.buffer.byteLength + 65535) / 65536 | 0;
					try {
						r.grow(e);
						K();
						var f = 1;
						break a;
					} catch (g) {}
					f = void 0;
				}
				if (f) return !0;
			}
			return !1;
		},
		e: (a, d) => {
			var b = 0, e = 0, f;
			for (f of pa()) {
				var g = d + b;
				I[a + e >> 2] = g;
				b += U(f, g, Infinity) + 1;
				e += 4;
			}
			return 0;
		},
		f: (a, d) => {
			var b = pa();
			I[a >> 2] = b.length;
			a = 0;
			for (var e of b) a += X(e) + 1;
			I[d >> 2] = a;
			return 0;
		},
		d: () => 52,
		o: function() {
			return 70;
		},
		c: (a, d, b, e) => {
			for (var f = 0, g = 0; g < b; g++) {
				var h = I[d >> 2], m = I[d + 4 >> 2];
				d += 8;
				for (var x = 0; x < m; x++) {
					var k = a, l = G[h + x], p = qa[k];
					0 === l || 10 === l ? (k = 1 === k ? y : z, l = ja(p, 0), l = ia.decode(p.buffer ? p.subarray(0, l) : new Uint8Array(p.slice(0, l))), k(l), p.length = 0) : p.push(l);
				}
				f += m;
			}
			I[e >> 2] = f;
			return 0;
		},
		a: r,
		r: na,
		s: function(a, d, b, e, f) {
			return c.callbacks.callFunction(void 0, a, d, b, e, f);
		},
		i: function(a) {
			return c.callbacks.shouldInterrupt(void 0, a);
		},
		h: function(a, d, b) {
			b = R(b);
			return c.callbacks.loadModuleSource(void 0, a, d, b);
		},
		g: function(a, d, b, e) {
			b = R(b);
			e = R(e);
			return c.callbacks.normalizeModule(void 0, a, d, b, e);
		},
		t: function(a, d) {
			c.callbacks.freeHostRef(void 0, a, d);
		}
	}, Z = await async function() {
		function a(b) {
			b = Z = b.exports;
			c._malloc = b.v;
			c._QTS_Throw = b.w;
			c._QTS_NewError = b.x;
			c._QTS_RuntimeSetMemoryLimit = b.y;
			c._QTS_RuntimeComputeMemoryUsage = b.z;
			c._QTS_RuntimeDumpMemoryUsage = b.A;
			c._QTS_RecoverableLeakCheck = b.B;
			c._QTS_BuildIsSanitizeLeak = b.C;
			c._QTS_RuntimeSetMaxStackSize = b.D;
			c._QTS_GetUndefined = b.E;
			c._QTS_GetNull = b.F;
			c._QTS_GetFalse = b.G;
			c._QTS_GetTrue = b.H;
			c._QTS_NewHostRef = b.I;
			c._QTS_GetHostRefId = b.J;
			c._QTS_NewRuntime = b.K;
			c._QTS_FreeRuntime = b.L;
			c._free = b.M;
			c._QTS_NewContext = b.N;
			c._QTS_FreeContext = b.O;
			c._QTS_FreeValuePointer = b.P;
			c._QTS_FreeValuePointerRuntime = b.Q;
			c._QTS_FreeVoidPointer = b.R;
			c._QTS_FreeCString = b.S;
			c._QTS_DupValuePointer = b.T;
			c._QTS_NewObject = b.U;
			c._QTS_NewObjectProto = b.V;
			c._QTS_NewArray = b.W;
			c._QTS_NewArrayBuffer = b.X;
			c._QTS_NewFloat64 = b.Y;
			c._QTS_GetFloat64 = b.Z;
			c._QTS_NewString = b._;
			c._QTS_GetString = b.$;
			c._QTS_GetArrayBuffer = b.aa;
			c._QTS_GetArrayBufferLength = b.ba;
			c._QTS_NewSymbol = b.ca;
			c._QTS_GetSymbolDescriptionOrKey = b.da;
			c._QTS_IsGlobalSymbol = b.ea;
			c._QTS_IsJobPending = b.fa;
			c._QTS_ExecutePendingJob = b.ga;
			c._QTS_GetProp = b.ha;
			c._QTS_GetPropNumber = b.ia;
			c._QTS_SetProp = b.ja;
			c._QTS_DefineProp = b.ka;
			c._QTS_GetOwnPropertyNames = b.la;
			c._QTS_Call = b.ma;
			c._QTS_ResolveException = b.na;
			c._QTS_Dump = b.oa;
			c._QTS_Eval = b.pa;
			c._QTS_GetModuleNamespace = b.qa;
			c._QTS_Typeof = b.ra;
			c._QTS_GetLength = b.sa;
			c._QTS_IsEqual = b.ta;
			c._QTS_GetGlobalObject = b.ua;
			c._QTS_NewPromiseCapability = b.va;
			c._QTS_PromiseState = b.wa;
			c._QTS_PromiseResult = b.xa;
			c._QTS_TestStringArg = b.ya;
			c._QTS_GetDebugLogEnabled = b.za;
			c._QTS_SetDebugLogEnabled = b.Aa;
			c._QTS_BuildIsDebug = b.Ba;
			c._QTS_BuildIsAsyncify = b.Ca;
			c._QTS_NewFunction = b.Da;
			c._QTS_ArgvGetJSValueConstPointer = b.Ea;
			c._QTS_RuntimeEnableInterruptHandler = b.Fa;
			c._QTS_RuntimeDisableInterruptHandler = b.Ga;
			c._QTS_RuntimeEnableModuleLoader = b.Ha;
			c._QTS_RuntimeDisableModuleLoader = b.Ia;
			c._QTS_bjson_encode = b.Ja;
			c._QTS_bjson_decode = b.Ka;
			ua = b.La;
			sa = b.Ma;
			Y = b.Na;
			ra = b.Oa;
			return Z;
		}
		var d = { a: va };
		if (c.instantiateWasm) return new Promise((b) => {
			c.instantiateWasm(d, (e, f) => {
				b(a(e, f));
			});
		});
		M ??= c.locateFile ? c.locateFile ? c.locateFile("emscripten-module.wasm", u) : u + "emscripten-module.wasm" : "".href;
		return a((await ea(d)).instance);
	}();
	(function() {
		function a() {
			c.calledRun = !0;
			if (!B) {
				J = !0;
				Z.u();
				D?.(c);
				c.onRuntimeInitialized?.();
				if (c.postRun) for ("function" == typeof c.postRun && (c.postRun = [c.postRun]); c.postRun.length;) {
					var d = c.postRun.shift();
					P.push(d);
				}
				O(P);
			}
		}
		if (c.preRun) for ("function" == typeof c.preRun && (c.preRun = [c.preRun]); c.preRun.length;) ha();
		O(fa);
		c.setStatus ? (c.setStatus("Running..."), setTimeout(() => {
			setTimeout(() => c.setStatus(""), 1);
			a();
		}, 1)) : a();
	})();
	J ? moduleRtn = c : moduleRtn = new Promise((a, d) => {
		D = a;
		E = d;
	});
	return moduleRtn;
}
var init_emscripten_module_browser = __esmMin((() => {}));
// node_modules/@jitl/quickjs-wasmfile-release-sync/dist/index.mjs
var src_default = {
	type: "sync",
	importFFI: () => Promise.resolve().then(() => (init_ffi(), ffi_exports)).then((mod) => mod.QuickJSFFI),
	importModuleLoader: () => Promise.resolve().then(() => (init_emscripten_module_browser(), emscripten_module_browser_exports)).then((mod) => mod.default)
};
// node_modules/@jitl/quickjs-ffi-types/dist/index.mjs
var EvalFlags, IntrinsicsFlags, JSPromiseStateEnum, GetOwnPropertyNamesFlags, IsEqualOp;
var init_dist = __esmMin((() => {
	EvalFlags = {
		JS_EVAL_TYPE_GLOBAL: 0,
		JS_EVAL_TYPE_MODULE: 1,
		JS_EVAL_TYPE_DIRECT: 2,
		JS_EVAL_TYPE_INDIRECT: 3,
		JS_EVAL_TYPE_MASK: 3,
		JS_EVAL_FLAG_STRICT: 8,
		JS_EVAL_FLAG_STRIP: 16,
		JS_EVAL_FLAG_COMPILE_ONLY: 32,
		JS_EVAL_FLAG_BACKTRACE_BARRIER: 64
	};
	IntrinsicsFlags = {
		BaseObjects: 1,
		Date: 2,
		Eval: 4,
		StringNormalize: 8,
		RegExp: 16,
		RegExpCompiler: 32,
		JSON: 64,
		Proxy: 128,
		MapSet: 256,
		TypedArrays: 512,
		Promise: 1024,
		BigInt: 2048,
		BigFloat: 4096,
		BigDecimal: 8192,
		OperatorOverloading: 16384,
		BignumExt: 32768
	};
	JSPromiseStateEnum = {
		Pending: 0,
		Fulfilled: 1,
		Rejected: 2
	};
	GetOwnPropertyNamesFlags = {
		JS_GPN_STRING_MASK: 1,
		JS_GPN_SYMBOL_MASK: 2,
		JS_GPN_PRIVATE_MASK: 4,
		JS_GPN_ENUM_ONLY: 16,
		JS_GPN_SET_ENUM: 32,
		QTS_GPN_NUMBER_MASK: 64,
		QTS_STANDARD_COMPLIANT_NUMBER: 128
	};
	IsEqualOp = {
		IsStrictlyEqual: 0,
		IsSameValue: 1,
		IsSameValueZero: 2
	};
}));
// node_modules/quickjs-emscripten-core/dist/chunk-V2S4ZYJR.mjs
function debugLog(...args) {
	QTS_DEBUG && console.log("quickjs-emscripten:", ...args);
}
function* awaitYield(value) {
	return yield value;
}
function awaitYieldOf(generator) {
	return awaitYield(awaitEachYieldedPromise(generator));
}
function maybeAsyncFn(that, fn) {
	return (...args) => {
		return awaitEachYieldedPromise(fn.call(that, AwaitYield, ...args));
	};
}
function maybeAsync(that, startGenerator) {
	return awaitEachYieldedPromise(startGenerator.call(that, AwaitYield));
}
function awaitEachYieldedPromise(gen) {
	function handleNextStep(step) {
		return step.done ? step.value : step.value instanceof Promise ? step.value.then((value) => handleNextStep(gen.next(value)), (error) => handleNextStep(gen.throw(error))) : handleNextStep(gen.next(step.value));
	}
	return handleNextStep(gen.next());
}
function scopeFinally(scope, blockError) {
	let disposeError;
	try {
		scope.dispose();
	} catch (error) {
		disposeError = error;
	}
	if (blockError && disposeError) throw Object.assign(blockError, {
		message: `${blockError.message}
 Then, failed to dispose scope: ${disposeError.message}`,
		disposeError
	}), blockError;
	if (blockError || disposeError) throw blockError || disposeError;
}
function createDisposableArray(items) {
	let array = items ? Array.from(items) : [];
	function disposeAlive() {
		return array.forEach((disposable) => disposable.alive ? disposable.dispose() : void 0);
	}
	function someIsAlive() {
		return array.some((disposable) => disposable.alive);
	}
	return Object.defineProperty(array, SymbolDispose, {
		configurable: !0,
		enumerable: !1,
		value: disposeAlive
	}), Object.defineProperty(array, "dispose", {
		configurable: !0,
		enumerable: !1,
		value: disposeAlive
	}), Object.defineProperty(array, "alive", {
		configurable: !0,
		enumerable: !1,
		get: someIsAlive
	}), array;
}
function isDisposable(value) {
	return !!(value && (typeof value == "object" || typeof value == "function") && "alive" in value && typeof value.alive == "boolean" && "dispose" in value && typeof value.dispose == "function");
}
function intrinsicsToFlags(intrinsics) {
	if (!intrinsics) return 0;
	let result = 0;
	for (let [maybeIntrinsicName, enabled] of Object.entries(intrinsics)) {
		if (!(maybeIntrinsicName in IntrinsicsFlags)) throw new QuickJSUnknownIntrinsic(maybeIntrinsicName);
		enabled && (result |= IntrinsicsFlags[maybeIntrinsicName]);
	}
	return result;
}
function evalOptionsToFlags(evalOptions) {
	if (typeof evalOptions == "number") return evalOptions;
	if (evalOptions === void 0) return 0;
	let { type, strict, strip, compileOnly, backtraceBarrier } = evalOptions, flags = 0;
	return type === "global" && (flags |= EvalFlags.JS_EVAL_TYPE_GLOBAL), type === "module" && (flags |= EvalFlags.JS_EVAL_TYPE_MODULE), strict && (flags |= EvalFlags.JS_EVAL_FLAG_STRICT), strip && (flags |= EvalFlags.JS_EVAL_FLAG_STRIP), compileOnly && (flags |= EvalFlags.JS_EVAL_FLAG_COMPILE_ONLY), backtraceBarrier && (flags |= EvalFlags.JS_EVAL_FLAG_BACKTRACE_BARRIER), flags;
}
function getOwnPropertyNamesOptionsToFlags(options) {
	if (typeof options == "number") return options;
	if (options === void 0) return 0;
	let { strings: includeStrings, symbols: includeSymbols, quickjsPrivate: includePrivate, onlyEnumerable, numbers: includeNumbers, numbersAsStrings } = options, flags = 0;
	return includeStrings && (flags |= GetOwnPropertyNamesFlags.JS_GPN_STRING_MASK), includeSymbols && (flags |= GetOwnPropertyNamesFlags.JS_GPN_SYMBOL_MASK), includePrivate && (flags |= GetOwnPropertyNamesFlags.JS_GPN_PRIVATE_MASK), onlyEnumerable && (flags |= GetOwnPropertyNamesFlags.JS_GPN_ENUM_ONLY), includeNumbers && (flags |= GetOwnPropertyNamesFlags.QTS_GPN_NUMBER_MASK), numbersAsStrings && (flags |= GetOwnPropertyNamesFlags.QTS_STANDARD_COMPLIANT_NUMBER), flags;
}
function concat(...values) {
	let result = [];
	for (let value of values) value !== void 0 && (result = result.concat(value));
	return result;
}
function getGroupId(id) {
	return id >> 8;
}
function applyBaseRuntimeOptions(runtime, options) {
	options.interruptHandler && runtime.setInterruptHandler(options.interruptHandler), options.maxStackSizeBytes !== void 0 && runtime.setMaxStackSize(options.maxStackSizeBytes), options.memoryLimitBytes !== void 0 && runtime.setMemoryLimit(options.memoryLimitBytes);
}
function applyModuleEvalRuntimeOptions(runtime, options) {
	options.moduleLoader && runtime.setModuleLoader(options.moduleLoader), options.shouldInterrupt && runtime.setInterruptHandler(options.shouldInterrupt), options.memoryLimitBytes !== void 0 && runtime.setMemoryLimit(options.memoryLimitBytes), options.maxStackSizeBytes !== void 0 && runtime.setMaxStackSize(options.maxStackSizeBytes);
}
var __defProp, __export, QTS_DEBUG, errors_exports, QuickJSUnwrapError, QuickJSWrongOwner, QuickJSUseAfterFree, QuickJSNotImplemented, QuickJSAsyncifyError, QuickJSAsyncifySuspended, QuickJSMemoryLeakDetected, QuickJSEmscriptenModuleError, QuickJSUnknownIntrinsic, QuickJSPromisePending, QuickJSEmptyGetOwnPropertyNames, QuickJSHostRefRangeExceeded, QuickJSHostRefInvalid, AwaitYield, UsingDisposable, SymbolDispose, prototypeAsAny, Lifetime, StaticLifetime, WeakLifetime, Scope, AbstractDisposableResult, DisposableSuccess, DisposableFail, DisposableResult, QuickJSDeferredPromise, ModuleMemory, QuickJSIterator, INT32_MIN, INT32_MAX, INVALID_HOST_REF_ID, HostRefMap, HostRef, ContextMemory, QuickJSContext, QuickJSRuntime, QuickJSEmscriptenModuleCallbacks, QuickJSModuleCallbacks, QuickJSWASMModule;
var init_chunk_V2S4ZYJR = __esmMin((() => {
	init_dist();
	__defProp = Object.defineProperty;
	__export = (target, all) => {
		for (var name in all) __defProp(target, name, {
			get: all[name],
			enumerable: !0
		});
	};
	QTS_DEBUG = !1;
	errors_exports = {};
	__export(errors_exports, {
		QuickJSAsyncifyError: () => QuickJSAsyncifyError,
		QuickJSAsyncifySuspended: () => QuickJSAsyncifySuspended,
		QuickJSEmptyGetOwnPropertyNames: () => QuickJSEmptyGetOwnPropertyNames,
		QuickJSEmscriptenModuleError: () => QuickJSEmscriptenModuleError,
		QuickJSHostRefInvalid: () => QuickJSHostRefInvalid,
		QuickJSHostRefRangeExceeded: () => QuickJSHostRefRangeExceeded,
		QuickJSMemoryLeakDetected: () => QuickJSMemoryLeakDetected,
		QuickJSNotImplemented: () => QuickJSNotImplemented,
		QuickJSPromisePending: () => QuickJSPromisePending,
		QuickJSUnknownIntrinsic: () => QuickJSUnknownIntrinsic,
		QuickJSUnwrapError: () => QuickJSUnwrapError,
		QuickJSUseAfterFree: () => QuickJSUseAfterFree,
		QuickJSWrongOwner: () => QuickJSWrongOwner
	});
	QuickJSUnwrapError = class extends Error {
		constructor(cause, context) {
			let message = typeof cause == "object" && cause && "message" in cause ? String(cause.message) : String(cause);
			super(message);
			this.cause = cause;
			this.context = context;
			this.name = "QuickJSUnwrapError";
		}
	};
	QuickJSWrongOwner = class extends Error {
		constructor() {
			super(...arguments);
			this.name = "QuickJSWrongOwner";
		}
	};
	QuickJSUseAfterFree = class extends Error {
		constructor() {
			super(...arguments);
			this.name = "QuickJSUseAfterFree";
		}
	};
	QuickJSNotImplemented = class extends Error {
		constructor() {
			super(...arguments);
			this.name = "QuickJSNotImplemented";
		}
	};
	QuickJSAsyncifyError = class extends Error {
		constructor() {
			super(...arguments);
			this.name = "QuickJSAsyncifyError";
		}
	};
	QuickJSAsyncifySuspended = class extends Error {
		constructor() {
			super(...arguments);
			this.name = "QuickJSAsyncifySuspended";
		}
	};
	QuickJSMemoryLeakDetected = class extends Error {
		constructor() {
			super(...arguments);
			this.name = "QuickJSMemoryLeakDetected";
		}
	};
	QuickJSEmscriptenModuleError = class extends Error {
		constructor() {
			super(...arguments);
			this.name = "QuickJSEmscriptenModuleError";
		}
	};
	QuickJSUnknownIntrinsic = class extends TypeError {
		constructor() {
			super(...arguments);
			this.name = "QuickJSUnknownIntrinsic";
		}
	};
	QuickJSPromisePending = class extends Error {
		constructor() {
			super(...arguments);
			this.name = "QuickJSPromisePending";
		}
	};
	QuickJSEmptyGetOwnPropertyNames = class extends Error {
		constructor() {
			super(...arguments);
			this.name = "QuickJSEmptyGetOwnPropertyNames";
		}
	};
	QuickJSHostRefRangeExceeded = class extends Error {
		constructor() {
			super(...arguments);
			this.name = "QuickJSHostRefRangeExceeded";
		}
	};
	QuickJSHostRefInvalid = class extends Error {
		constructor() {
			super(...arguments);
			this.name = "QuickJSHostRefInvalid";
		}
	};
	AwaitYield = awaitYield;
	AwaitYield.of = awaitYieldOf;
	UsingDisposable = class {
		[Symbol.dispose]() {
			return this.dispose();
		}
	};
	SymbolDispose = Symbol.dispose ?? Symbol.for("Symbol.dispose");
	prototypeAsAny = UsingDisposable.prototype;
	prototypeAsAny[SymbolDispose] || (prototypeAsAny[SymbolDispose] = function() {
		return this.dispose();
	});
	Lifetime = class _Lifetime extends UsingDisposable {
		constructor(_value, copier, disposer, _owner) {
			super();
			this._value = _value;
			this.copier = copier;
			this.disposer = disposer;
			this._owner = _owner;
			this._alive = !0;
			this._constructorStack = QTS_DEBUG ? (/* @__PURE__ */ new Error("Lifetime constructed")).stack : void 0;
		}
		get alive() {
			return this._alive;
		}
		get value() {
			return this.assertAlive(), this._value;
		}
		get owner() {
			return this._owner;
		}
		get dupable() {
			return !!this.copier;
		}
		dup() {
			if (this.assertAlive(), !this.copier) throw new Error("Non-dupable lifetime");
			return new _Lifetime(this.copier(this._value), this.copier, this.disposer, this._owner);
		}
		consume(map) {
			this.assertAlive();
			let result = map(this);
			return this.dispose(), result;
		}
		map(map) {
			return this.assertAlive(), map(this);
		}
		tap(fn) {
			return fn(this), this;
		}
		dispose() {
			this.assertAlive(), this.disposer && this.disposer(this._value), this._alive = !1;
		}
		assertAlive() {
			if (!this.alive) throw this._constructorStack ? new QuickJSUseAfterFree(`Lifetime not alive
${this._constructorStack}
Lifetime used`) : new QuickJSUseAfterFree("Lifetime not alive");
		}
	};
	StaticLifetime = class extends Lifetime {
		constructor(value, owner) {
			super(value, void 0, void 0, owner);
		}
		get dupable() {
			return !0;
		}
		dup() {
			return this;
		}
		dispose() {}
	};
	WeakLifetime = class extends Lifetime {
		constructor(value, copier, disposer, owner) {
			super(value, copier, disposer, owner);
		}
		dispose() {
			this._alive = !1;
		}
	};
	Scope = class _Scope extends UsingDisposable {
		constructor() {
			super(...arguments);
			this._disposables = new Lifetime(/* @__PURE__ */ new Set());
			this.manage = (lifetime) => (this._disposables.value.add(lifetime), lifetime);
		}
		static withScope(block) {
			let scope = new _Scope(), blockError;
			try {
				return block(scope);
			} catch (error) {
				throw blockError = error, error;
			} finally {
				scopeFinally(scope, blockError);
			}
		}
		static withScopeMaybeAsync(_this, block) {
			return maybeAsync(void 0, function* (awaited) {
				let scope = new _Scope(), blockError;
				try {
					return yield* awaited.of(block.call(_this, awaited, scope));
				} catch (error) {
					throw blockError = error, error;
				} finally {
					scopeFinally(scope, blockError);
				}
			});
		}
		static async withScopeAsync(block) {
			let scope = new _Scope(), blockError;
			try {
				return await block(scope);
			} catch (error) {
				throw blockError = error, error;
			} finally {
				scopeFinally(scope, blockError);
			}
		}
		get alive() {
			return this._disposables.alive;
		}
		dispose() {
			let lifetimes = Array.from(this._disposables.value.values()).reverse();
			for (let lifetime of lifetimes) lifetime.alive && lifetime.dispose();
			this._disposables.dispose();
		}
	};
	AbstractDisposableResult = class _AbstractDisposableResult extends UsingDisposable {
		static success(value) {
			return new DisposableSuccess(value);
		}
		static fail(error, onUnwrap) {
			return new DisposableFail(error, onUnwrap);
		}
		static is(result) {
			return result instanceof _AbstractDisposableResult;
		}
	};
	DisposableSuccess = class extends AbstractDisposableResult {
		constructor(value) {
			super();
			this.value = value;
		}
		get alive() {
			return isDisposable(this.value) ? this.value.alive : !0;
		}
		dispose() {
			isDisposable(this.value) && this.value.dispose();
		}
		unwrap() {
			return this.value;
		}
		unwrapOr(_fallback) {
			return this.value;
		}
	};
	DisposableFail = class extends AbstractDisposableResult {
		constructor(error, onUnwrap) {
			super();
			this.error = error;
			this.onUnwrap = onUnwrap;
		}
		get alive() {
			return isDisposable(this.error) ? this.error.alive : !0;
		}
		dispose() {
			isDisposable(this.error) && this.error.dispose();
		}
		unwrap() {
			throw this.onUnwrap(this), this.error;
		}
		unwrapOr(fallback) {
			return fallback;
		}
	};
	DisposableResult = AbstractDisposableResult;
	QuickJSDeferredPromise = class extends UsingDisposable {
		constructor(args) {
			super();
			this.resolve = (value) => {
				this.resolveHandle.alive && (this.context.unwrapResult(this.context.callFunction(this.resolveHandle, this.context.undefined, value || this.context.undefined)).dispose(), this.disposeResolvers(), this.onSettled());
			};
			this.reject = (value) => {
				this.rejectHandle.alive && (this.context.unwrapResult(this.context.callFunction(this.rejectHandle, this.context.undefined, value || this.context.undefined)).dispose(), this.disposeResolvers(), this.onSettled());
			};
			this.dispose = () => {
				this.handle.alive && this.handle.dispose(), this.disposeResolvers();
			};
			this.context = args.context, this.owner = args.context.runtime, this.handle = args.promiseHandle, this.settled = new Promise((resolve) => {
				this.onSettled = resolve;
			}), this.resolveHandle = args.resolveHandle, this.rejectHandle = args.rejectHandle;
		}
		get alive() {
			return this.handle.alive || this.resolveHandle.alive || this.rejectHandle.alive;
		}
		disposeResolvers() {
			this.resolveHandle.alive && this.resolveHandle.dispose(), this.rejectHandle.alive && this.rejectHandle.dispose();
		}
	};
	ModuleMemory = class {
		constructor(module) {
			this.module = module;
		}
		toPointerArray(handleArray) {
			let typedArray = new Int32Array(handleArray.map((handle) => handle.value)), numBytes = typedArray.length * typedArray.BYTES_PER_ELEMENT, ptr = this.module._malloc(numBytes);
			return new Uint8Array(this.module.HEAPU8.buffer, ptr, numBytes).set(new Uint8Array(typedArray.buffer)), new Lifetime(ptr, void 0, (ptr2) => this.module._free(ptr2));
		}
		newTypedArray(kind, length) {
			let zeros = new kind(new Array(length).fill(0)), numBytes = zeros.length * zeros.BYTES_PER_ELEMENT, ptr = this.module._malloc(numBytes), typedArray = new kind(this.module.HEAPU8.buffer, ptr, length);
			return typedArray.set(zeros), new Lifetime({
				typedArray,
				ptr
			}, void 0, (value) => this.module._free(value.ptr));
		}
		newMutablePointerArray(length) {
			return this.newTypedArray(Int32Array, length);
		}
		newHeapCharPointer(string) {
			let strlen = this.module.lengthBytesUTF8(string), dataBytes = strlen + 1, ptr = this.module._malloc(dataBytes);
			return this.module.stringToUTF8(string, ptr, dataBytes), new Lifetime({
				ptr,
				strlen
			}, void 0, (value) => this.module._free(value.ptr));
		}
		newHeapBufferPointer(buffer) {
			let numBytes = buffer.byteLength, ptr = this.module._malloc(numBytes);
			return this.module.HEAPU8.set(buffer, ptr), new Lifetime({
				pointer: ptr,
				numBytes
			}, void 0, (value) => this.module._free(value.pointer));
		}
		consumeHeapCharPointer(ptr) {
			let str = this.module.UTF8ToString(ptr);
			return this.module._free(ptr), str;
		}
	};
	Object.freeze({
		BaseObjects: !0,
		Date: !0,
		Eval: !0,
		StringNormalize: !0,
		RegExp: !0,
		JSON: !0,
		Proxy: !0,
		MapSet: !0,
		TypedArrays: !0,
		Promise: !0
	});
	QuickJSIterator = class extends UsingDisposable {
		constructor(handle, context) {
			super();
			this.handle = handle;
			this.context = context;
			this._isDone = !1;
			this.owner = context.runtime;
		}
		[Symbol.iterator]() {
			return this;
		}
		next(value) {
			if (!this.alive || this._isDone) return {
				done: !0,
				value: void 0
			};
			let nextMethod = this._next ?? (this._next = this.context.getProp(this.handle, "next"));
			return this.callIteratorMethod(nextMethod, value);
		}
		return(value) {
			if (!this.alive) return {
				done: !0,
				value: void 0
			};
			let returnMethod = this.context.getProp(this.handle, "return");
			if (returnMethod === this.context.undefined && value === void 0) return this.dispose(), {
				done: !0,
				value: void 0
			};
			let result = this.callIteratorMethod(returnMethod, value);
			return returnMethod.dispose(), this.dispose(), result;
		}
		throw(e) {
			if (!this.alive) return {
				done: !0,
				value: void 0
			};
			let errorHandle = e instanceof Lifetime ? e : this.context.newError(e), throwMethod = this.context.getProp(this.handle, "throw"), result = this.callIteratorMethod(throwMethod, e);
			return errorHandle.alive && errorHandle.dispose(), throwMethod.dispose(), this.dispose(), result;
		}
		get alive() {
			return this.handle.alive;
		}
		dispose() {
			this._isDone = !0, this.handle.dispose(), this._next?.dispose();
		}
		callIteratorMethod(method, input) {
			let callResult = input ? this.context.callFunction(method, this.handle, input) : this.context.callFunction(method, this.handle);
			if (callResult.error) return this.dispose(), { value: callResult };
			let done = this.context.getProp(callResult.value, "done").consume((v) => this.context.dump(v)), value = this.context.getProp(callResult.value, "value");
			return callResult.value.dispose(), done && this.dispose(), {
				value: DisposableResult.success(value),
				done
			};
		}
	};
	INT32_MIN = -2147483648;
	INT32_MAX = 2147483647;
	INVALID_HOST_REF_ID = 0;
	HostRefMap = class {
		constructor() {
			this.nextId = INT32_MIN;
			this.freelist = [];
			this.groups = /* @__PURE__ */ new Map();
		}
		put(value) {
			let id = this.allocateId(), groupId = getGroupId(id), group = this.groups.get(groupId);
			return group || (group = /* @__PURE__ */ new Map(), this.groups.set(groupId, group)), group.set(id, value), id;
		}
		get(id) {
			if (id === INVALID_HOST_REF_ID) throw new QuickJSHostRefInvalid("no host reference id defined");
			let groupId = getGroupId(id), group = this.groups.get(groupId);
			if (!group) throw new QuickJSHostRefInvalid(`host reference id ${id} is not defined`);
			let value = group.get(id);
			if (!value) throw new QuickJSHostRefInvalid(`host reference id ${id} is not defined`);
			return value;
		}
		delete(id) {
			if (id === INVALID_HOST_REF_ID) throw new QuickJSHostRefInvalid("no host reference id defined");
			let groupId = getGroupId(id), group = this.groups.get(groupId);
			if (!group) throw new QuickJSHostRefInvalid(`host reference id ${id} is not defined`);
			group.delete(id), group.size === 0 && this.groups.delete(groupId), this.freelist.push(id);
		}
		allocateId() {
			if (this.freelist.length > 0) return this.freelist.shift();
			if (this.nextId === INVALID_HOST_REF_ID && this.nextId++, this.nextId > INT32_MAX) throw new QuickJSHostRefRangeExceeded(`HostRefMap: too many host refs created without disposing. Max simultaneous host refs: ${INT32_MAX - INT32_MIN}`);
			return this.nextId++;
		}
	};
	HostRef = class extends UsingDisposable {
		constructor(runtime, handle, id) {
			if (id === INVALID_HOST_REF_ID) throw new QuickJSHostRefInvalid("cannot create HostRef with undefined id");
			super();
			this.runtime = runtime;
			this.handle = handle;
			this.id = id;
		}
		get alive() {
			return this.handle.alive;
		}
		dispose() {
			this.handle.dispose();
		}
		get value() {
			return this.runtime.hostRefs.get(this.id);
		}
	};
	ContextMemory = class extends ModuleMemory {
		constructor(args) {
			super(args.module);
			this.scope = new Scope();
			this.copyJSValue = (ptr) => this.ffi.QTS_DupValuePointer(this.ctx.value, ptr);
			this.freeJSValue = (ptr) => {
				this.ffi.QTS_FreeValuePointer(this.ctx.value, ptr);
			};
			args.ownedLifetimes?.forEach((lifetime) => this.scope.manage(lifetime)), this.owner = args.owner, this.module = args.module, this.ffi = args.ffi, this.rt = args.rt, this.ctx = this.scope.manage(args.ctx);
		}
		get alive() {
			return this.scope.alive;
		}
		dispose() {
			return this.scope.dispose();
		}
		[Symbol.dispose]() {
			return this.dispose();
		}
		manage(lifetime) {
			return this.scope.manage(lifetime);
		}
		consumeJSCharPointer(ptr) {
			let str = this.module.UTF8ToString(ptr);
			return this.ffi.QTS_FreeCString(this.ctx.value, ptr), str;
		}
		heapValueHandle(ptr, extraDispose) {
			let dispose = extraDispose ? (val) => {
				extraDispose(), this.freeJSValue(val);
			} : this.freeJSValue;
			return new Lifetime(ptr, this.copyJSValue, dispose, this.owner);
		}
		staticHeapValueHandle(ptr) {
			return this.manage(this.heapValueHandle(ptr)), new StaticLifetime(ptr, this.owner);
		}
	};
	QuickJSContext = class extends UsingDisposable {
		constructor(args) {
			super();
			this._undefined = void 0;
			this._null = void 0;
			this._false = void 0;
			this._true = void 0;
			this._global = void 0;
			this._BigInt = void 0;
			this._Symbol = void 0;
			this._SymbolIterator = void 0;
			this._SymbolAsyncIterator = void 0;
			this.cToHostCallbacks = { callFunction: (ctx, this_ptr, argc, argv, fn_id) => {
				if (ctx !== this.ctx.value) throw new Error("QuickJSContext instance received C -> JS call with mismatched ctx");
				let fn = this.getFunction(fn_id);
				return Scope.withScopeMaybeAsync(this, function* (awaited, scope) {
					let thisHandle = scope.manage(new WeakLifetime(this_ptr, this.memory.copyJSValue, this.memory.freeJSValue, this.runtime)), argHandles = new Array(argc);
					for (let i = 0; i < argc; i++) {
						let ptr = this.ffi.QTS_ArgvGetJSValueConstPointer(argv, i);
						argHandles[i] = scope.manage(new WeakLifetime(ptr, this.memory.copyJSValue, this.memory.freeJSValue, this.runtime));
					}
					try {
						let result = yield* awaited(fn.apply(thisHandle, argHandles));
						if (result) {
							if ("error" in result && result.error) throw this.runtime.debugLog("throw error", result.error), result.error;
							let handle = scope.manage(result instanceof Lifetime ? result : result.value);
							return this.ffi.QTS_DupValuePointer(this.ctx.value, handle.value);
						}
						return 0;
					} catch (error) {
						return this.errorToHandle(error).consume((errorHandle) => this.ffi.QTS_Throw(this.ctx.value, errorHandle.value));
					}
				});
			} };
			this.runtime = args.runtime, this.module = args.module, this.ffi = args.ffi, this.rt = args.rt, this.ctx = args.ctx, this.memory = new ContextMemory({
				...args,
				owner: this.runtime
			}), args.callbacks.setContextCallbacks(this.ctx.value, this.cToHostCallbacks), this.dump = this.dump.bind(this), this.getString = this.getString.bind(this), this.getNumber = this.getNumber.bind(this), this.resolvePromise = this.resolvePromise.bind(this), this.uint32Out = this.memory.manage(this.memory.newTypedArray(Uint32Array, 1));
		}
		get alive() {
			return this.memory.alive;
		}
		dispose() {
			this.memory.dispose();
		}
		get undefined() {
			if (this._undefined) return this._undefined;
			let ptr = this.ffi.QTS_GetUndefined();
			return this._undefined = new StaticLifetime(ptr);
		}
		get null() {
			if (this._null) return this._null;
			let ptr = this.ffi.QTS_GetNull();
			return this._null = new StaticLifetime(ptr);
		}
		get true() {
			if (this._true) return this._true;
			let ptr = this.ffi.QTS_GetTrue();
			return this._true = new StaticLifetime(ptr);
		}
		get false() {
			if (this._false) return this._false;
			let ptr = this.ffi.QTS_GetFalse();
			return this._false = new StaticLifetime(ptr);
		}
		get global() {
			if (this._global) return this._global;
			let ptr = this.ffi.QTS_GetGlobalObject(this.ctx.value);
			return this._global = this.memory.staticHeapValueHandle(ptr), this._global;
		}
		newNumber(num) {
			return this.memory.heapValueHandle(this.ffi.QTS_NewFloat64(this.ctx.value, num));
		}
		newString(str) {
			let ptr = this.memory.newHeapCharPointer(str).consume((charHandle) => this.ffi.QTS_NewString(this.ctx.value, charHandle.value.ptr));
			return this.memory.heapValueHandle(ptr);
		}
		newUniqueSymbol(description) {
			let key = (typeof description == "symbol" ? description.description : description) ?? "", ptr = this.memory.newHeapCharPointer(key).consume((charHandle) => this.ffi.QTS_NewSymbol(this.ctx.value, charHandle.value.ptr, 0));
			return this.memory.heapValueHandle(ptr);
		}
		newSymbolFor(key) {
			let description = (typeof key == "symbol" ? key.description : key) ?? "", ptr = this.memory.newHeapCharPointer(description).consume((charHandle) => this.ffi.QTS_NewSymbol(this.ctx.value, charHandle.value.ptr, 1));
			return this.memory.heapValueHandle(ptr);
		}
		getWellKnownSymbol(name) {
			return this._Symbol ?? (this._Symbol = this.memory.manage(this.getProp(this.global, "Symbol"))), this.getProp(this._Symbol, name);
		}
		newBigInt(num) {
			if (!this._BigInt) {
				let bigIntHandle2 = this.getProp(this.global, "BigInt");
				this.memory.manage(bigIntHandle2), this._BigInt = new StaticLifetime(bigIntHandle2.value, this.runtime);
			}
			let bigIntHandle = this._BigInt, asString = String(num);
			return this.newString(asString).consume((handle) => this.unwrapResult(this.callFunction(bigIntHandle, this.undefined, handle)));
		}
		newObject(prototype) {
			prototype && this.runtime.assertOwned(prototype);
			let ptr = prototype ? this.ffi.QTS_NewObjectProto(this.ctx.value, prototype.value) : this.ffi.QTS_NewObject(this.ctx.value);
			return this.memory.heapValueHandle(ptr);
		}
		newArray() {
			let ptr = this.ffi.QTS_NewArray(this.ctx.value);
			return this.memory.heapValueHandle(ptr);
		}
		newArrayBuffer(buffer) {
			let array = new Uint8Array(buffer), handle = this.memory.newHeapBufferPointer(array), ptr = this.ffi.QTS_NewArrayBuffer(this.ctx.value, handle.value.pointer, array.length);
			return this.memory.heapValueHandle(ptr);
		}
		newPromise(value) {
			let deferredPromise = Scope.withScope((scope) => {
				let mutablePointerArray = scope.manage(this.memory.newMutablePointerArray(2)), promisePtr = this.ffi.QTS_NewPromiseCapability(this.ctx.value, mutablePointerArray.value.ptr), promiseHandle = this.memory.heapValueHandle(promisePtr), [resolveHandle, rejectHandle] = Array.from(mutablePointerArray.value.typedArray).map((jsvaluePtr) => this.memory.heapValueHandle(jsvaluePtr));
				return new QuickJSDeferredPromise({
					context: this,
					promiseHandle,
					resolveHandle,
					rejectHandle
				});
			});
			return value && typeof value == "function" && (value = new Promise(value)), value && Promise.resolve(value).then(deferredPromise.resolve, (error) => error instanceof Lifetime ? deferredPromise.reject(error) : this.newError(error).consume(deferredPromise.reject)), deferredPromise;
		}
		newFunction(nameOrFn, maybeFn) {
			let fn = typeof nameOrFn == "function" ? nameOrFn : maybeFn;
			if (!fn) throw new TypeError("Expected a function");
			return this.newFunctionWithOptions({
				name: typeof nameOrFn == "string" ? nameOrFn : void 0,
				length: fn.length,
				isConstructor: !1,
				fn
			});
		}
		newConstructorFunction(nameOrFn, maybeFn) {
			let fn = typeof nameOrFn == "function" ? nameOrFn : maybeFn;
			if (!fn) throw new TypeError("Expected a function");
			return this.newFunctionWithOptions({
				name: typeof nameOrFn == "string" ? nameOrFn : void 0,
				length: fn.length,
				isConstructor: !0,
				fn
			});
		}
		newFunctionWithOptions(args) {
			let { name, length, isConstructor, fn } = args, refId = this.runtime.hostRefs.put(fn);
			try {
				return this.memory.heapValueHandle(this.ffi.QTS_NewFunction(this.ctx.value, name ?? "", length, isConstructor, refId));
			} catch (error) {
				throw this.runtime.hostRefs.delete(refId), error;
			}
		}
		newError(error) {
			let errorHandle = this.memory.heapValueHandle(this.ffi.QTS_NewError(this.ctx.value));
			return error && typeof error == "object" ? (error.name !== void 0 && this.newString(error.name).consume((handle) => this.setProp(errorHandle, "name", handle)), error.message !== void 0 && this.newString(error.message).consume((handle) => this.setProp(errorHandle, "message", handle))) : typeof error == "string" ? this.newString(error).consume((handle) => this.setProp(errorHandle, "message", handle)) : error !== void 0 && this.newString(String(error)).consume((handle) => this.setProp(errorHandle, "message", handle)), errorHandle;
		}
		newHostRef(value) {
			let id = this.runtime.hostRefs.put(value);
			try {
				let handle = this.memory.heapValueHandle(this.ffi.QTS_NewHostRef(this.ctx.value, id));
				return new HostRef(this.runtime, handle, id);
			} catch (error) {
				throw this.runtime.hostRefs.delete(id), error;
			}
		}
		toHostRef(handle) {
			let id = this.ffi.QTS_GetHostRefId(handle.value);
			if (id !== 0) return this.runtime.hostRefs.get(id), new HostRef(this.runtime, handle.dup(), id);
		}
		unwrapHostRef(handle) {
			let id = this.ffi.QTS_GetHostRefId(handle.value);
			if (id === 0) throw new QuickJSHostRefInvalid("handle is not a HostRef");
			return this.runtime.hostRefs.get(id);
		}
		typeof(handle) {
			return this.runtime.assertOwned(handle), this.memory.consumeHeapCharPointer(this.ffi.QTS_Typeof(this.ctx.value, handle.value));
		}
		getNumber(handle) {
			return this.runtime.assertOwned(handle), this.ffi.QTS_GetFloat64(this.ctx.value, handle.value);
		}
		getString(handle) {
			return this.runtime.assertOwned(handle), this.memory.consumeJSCharPointer(this.ffi.QTS_GetString(this.ctx.value, handle.value));
		}
		getSymbol(handle) {
			this.runtime.assertOwned(handle);
			let key = this.memory.consumeJSCharPointer(this.ffi.QTS_GetSymbolDescriptionOrKey(this.ctx.value, handle.value));
			return this.ffi.QTS_IsGlobalSymbol(this.ctx.value, handle.value) ? Symbol.for(key) : Symbol(key);
		}
		getBigInt(handle) {
			this.runtime.assertOwned(handle);
			let asString = this.getString(handle);
			return BigInt(asString);
		}
		getArrayBuffer(handle) {
			this.runtime.assertOwned(handle);
			let len = this.ffi.QTS_GetArrayBufferLength(this.ctx.value, handle.value), ptr = this.ffi.QTS_GetArrayBuffer(this.ctx.value, handle.value);
			if (!ptr) throw new Error("Couldn't allocate memory to get ArrayBuffer");
			return new Lifetime(this.module.HEAPU8.subarray(ptr, ptr + len), void 0, () => this.module._free(ptr));
		}
		getPromiseState(handle) {
			this.runtime.assertOwned(handle);
			let state = this.ffi.QTS_PromiseState(this.ctx.value, handle.value);
			if (state < 0) return {
				type: "fulfilled",
				value: handle,
				notAPromise: !0
			};
			if (state === JSPromiseStateEnum.Pending) return {
				type: "pending",
				get error() {
					return new QuickJSPromisePending("Cannot unwrap a pending promise");
				}
			};
			let ptr = this.ffi.QTS_PromiseResult(this.ctx.value, handle.value), result = this.memory.heapValueHandle(ptr);
			if (state === JSPromiseStateEnum.Fulfilled) return {
				type: "fulfilled",
				value: result
			};
			if (state === JSPromiseStateEnum.Rejected) return {
				type: "rejected",
				error: result
			};
			throw result.dispose(), /* @__PURE__ */ new Error(`Unknown JSPromiseStateEnum: ${state}`);
		}
		resolvePromise(promiseLikeHandle) {
			this.runtime.assertOwned(promiseLikeHandle);
			let vmResolveResult = Scope.withScope((scope) => {
				let vmPromise = scope.manage(this.getProp(this.global, "Promise")), vmPromiseResolve = scope.manage(this.getProp(vmPromise, "resolve"));
				return this.callFunction(vmPromiseResolve, vmPromise, promiseLikeHandle);
			});
			return vmResolveResult.error ? Promise.resolve(vmResolveResult) : new Promise((resolve) => {
				Scope.withScope((scope) => {
					let resolveHandle = scope.manage(this.newFunction("resolve", (value) => {
						resolve(this.success(value && value.dup()));
					})), rejectHandle = scope.manage(this.newFunction("reject", (error) => {
						resolve(this.fail(error && error.dup()));
					})), promiseHandle = scope.manage(vmResolveResult.value), promiseThenHandle = scope.manage(this.getProp(promiseHandle, "then"));
					this.callFunction(promiseThenHandle, promiseHandle, resolveHandle, rejectHandle).unwrap().dispose();
				});
			});
		}
		isEqual(a, b, equalityType = IsEqualOp.IsStrictlyEqual) {
			if (a === b) return !0;
			this.runtime.assertOwned(a), this.runtime.assertOwned(b);
			let result = this.ffi.QTS_IsEqual(this.ctx.value, a.value, b.value, equalityType);
			if (result === -1) throw new QuickJSNotImplemented("WASM variant does not expose equality");
			return !!result;
		}
		eq(handle, other) {
			return this.isEqual(handle, other, IsEqualOp.IsStrictlyEqual);
		}
		sameValue(handle, other) {
			return this.isEqual(handle, other, IsEqualOp.IsSameValue);
		}
		sameValueZero(handle, other) {
			return this.isEqual(handle, other, IsEqualOp.IsSameValueZero);
		}
		getProp(handle, key) {
			this.runtime.assertOwned(handle);
			let ptr;
			return typeof key == "number" && key >= 0 ? ptr = this.ffi.QTS_GetPropNumber(this.ctx.value, handle.value, key) : ptr = this.borrowPropertyKey(key).consume((quickJSKey) => this.ffi.QTS_GetProp(this.ctx.value, handle.value, quickJSKey.value)), this.memory.heapValueHandle(ptr);
		}
		getLength(handle) {
			if (this.runtime.assertOwned(handle), !(this.ffi.QTS_GetLength(this.ctx.value, this.uint32Out.value.ptr, handle.value) < 0)) return this.uint32Out.value.typedArray[0];
		}
		getOwnPropertyNames(handle, options = {
			strings: !0,
			numbersAsStrings: !0
		}) {
			this.runtime.assertOwned(handle), handle.value;
			let flags = getOwnPropertyNamesOptionsToFlags(options);
			if (flags === 0) throw new QuickJSEmptyGetOwnPropertyNames("No options set, will return an empty array");
			return Scope.withScope((scope) => {
				let outPtr = scope.manage(this.memory.newMutablePointerArray(1)), errorPtr = this.ffi.QTS_GetOwnPropertyNames(this.ctx.value, outPtr.value.ptr, this.uint32Out.value.ptr, handle.value, flags);
				if (errorPtr) return this.fail(this.memory.heapValueHandle(errorPtr));
				let len = this.uint32Out.value.typedArray[0], ptr = outPtr.value.typedArray[0], pointerArray = new Uint32Array(this.module.HEAP8.buffer, ptr, len), handles = Array.from(pointerArray).map((ptr2) => this.memory.heapValueHandle(ptr2));
				return this.ffi.QTS_FreeVoidPointer(this.ctx.value, ptr), this.success(createDisposableArray(handles));
			});
		}
		getIterator(iterableHandle) {
			let SymbolIterator = this._SymbolIterator ?? (this._SymbolIterator = this.memory.manage(this.getWellKnownSymbol("iterator")));
			return Scope.withScope((scope) => {
				let methodHandle = scope.manage(this.getProp(iterableHandle, SymbolIterator)), iteratorCallResult = this.callFunction(methodHandle, iterableHandle);
				return iteratorCallResult.error ? iteratorCallResult : this.success(new QuickJSIterator(iteratorCallResult.value, this));
			});
		}
		setProp(handle, key, value) {
			this.runtime.assertOwned(handle), this.borrowPropertyKey(key).consume((quickJSKey) => this.ffi.QTS_SetProp(this.ctx.value, handle.value, quickJSKey.value, value.value));
		}
		defineProp(handle, key, descriptor) {
			this.runtime.assertOwned(handle), Scope.withScope((scope) => {
				let quickJSKey = scope.manage(this.borrowPropertyKey(key)), value = descriptor.value || this.undefined, configurable = !!descriptor.configurable, enumerable = !!descriptor.enumerable, hasValue = !!descriptor.value, get = descriptor.get ? scope.manage(this.newFunction(descriptor.get.name, descriptor.get)) : this.undefined, set = descriptor.set ? scope.manage(this.newFunction(descriptor.set.name, descriptor.set)) : this.undefined;
				this.ffi.QTS_DefineProp(this.ctx.value, handle.value, quickJSKey.value, value.value, get.value, set.value, configurable, enumerable, hasValue);
			});
		}
		callFunction(func, thisVal, ...restArgs) {
			this.runtime.assertOwned(func);
			let args, firstArg = restArgs[0];
			firstArg === void 0 || Array.isArray(firstArg) ? args = firstArg ?? [] : args = restArgs;
			let resultPtr = this.memory.toPointerArray(args).consume((argsArrayPtr) => this.ffi.QTS_Call(this.ctx.value, func.value, thisVal.value, args.length, argsArrayPtr.value)), errorPtr = this.ffi.QTS_ResolveException(this.ctx.value, resultPtr);
			return errorPtr ? (this.ffi.QTS_FreeValuePointer(this.ctx.value, resultPtr), this.fail(this.memory.heapValueHandle(errorPtr))) : this.success(this.memory.heapValueHandle(resultPtr));
		}
		callMethod(thisHandle, key, args = []) {
			return this.getProp(thisHandle, key).consume((func) => this.callFunction(func, thisHandle, args));
		}
		evalCode(code, filename = "eval.js", options) {
			let detectModule = options === void 0 ? 1 : 0, flags = evalOptionsToFlags(options), resultPtr = this.memory.newHeapCharPointer(code).consume((charHandle) => this.ffi.QTS_Eval(this.ctx.value, charHandle.value.ptr, charHandle.value.strlen, filename, detectModule, flags)), errorPtr = this.ffi.QTS_ResolveException(this.ctx.value, resultPtr);
			return errorPtr ? (this.ffi.QTS_FreeValuePointer(this.ctx.value, resultPtr), this.fail(this.memory.heapValueHandle(errorPtr))) : this.success(this.memory.heapValueHandle(resultPtr));
		}
		throw(error) {
			return this.errorToHandle(error).consume((handle) => this.ffi.QTS_Throw(this.ctx.value, handle.value));
		}
		borrowPropertyKey(key) {
			return typeof key == "number" ? this.newNumber(key) : typeof key == "string" ? this.newString(key) : new StaticLifetime(key.value, this.runtime);
		}
		getMemory(rt) {
			if (rt === this.rt.value) return this.memory;
			throw new Error("Private API. Cannot get memory from a different runtime");
		}
		dump(handle) {
			this.runtime.assertOwned(handle);
			let type = this.typeof(handle);
			if (type === "string") return this.getString(handle);
			if (type === "number") return this.getNumber(handle);
			if (type === "bigint") return this.getBigInt(handle);
			if (type === "undefined") return;
			if (type === "symbol") return this.getSymbol(handle);
			let asPromiseState = this.getPromiseState(handle);
			if (asPromiseState.type === "fulfilled" && !asPromiseState.notAPromise) return handle.dispose(), {
				type: asPromiseState.type,
				value: asPromiseState.value.consume(this.dump)
			};
			if (asPromiseState.type === "pending") return handle.dispose(), { type: asPromiseState.type };
			if (asPromiseState.type === "rejected") return handle.dispose(), {
				type: asPromiseState.type,
				error: asPromiseState.error.consume(this.dump)
			};
			let str = this.memory.consumeJSCharPointer(this.ffi.QTS_Dump(this.ctx.value, handle.value));
			try {
				return JSON.parse(str);
			} catch {
				return str;
			}
		}
		unwrapResult(result) {
			if (result.error) {
				let context = "context" in result.error ? result.error.context : this, cause = result.error.consume((error) => this.dump(error));
				if (cause && typeof cause == "object" && typeof cause.message == "string") {
					let { message, name, stack, ...rest } = cause, exception = new QuickJSUnwrapError(cause, context);
					typeof name == "string" && (exception.name = cause.name), exception.message = message;
					let hostStack = exception.stack;
					throw typeof stack == "string" && (exception.stack = `${name}: ${message}
${cause.stack}Host: ${hostStack}`), Object.assign(exception, rest), exception;
				}
				throw new QuickJSUnwrapError(cause);
			}
			return result.value;
		}
		[Symbol.for("nodejs.util.inspect.custom")]() {
			return this.alive ? `${this.constructor.name} { ctx: ${this.ctx.value} rt: ${this.rt.value} }` : `${this.constructor.name} { disposed }`;
		}
		getFunction(fn_id) {
			let fn = this.runtime.hostRefs.get(fn_id);
			if (typeof fn != "function") throw new Error(`Host reference ${fn_id} is not a function`);
			return fn;
		}
		errorToHandle(error) {
			return error instanceof Lifetime ? error : this.newError(error);
		}
		encodeBinaryJSON(handle) {
			let ptr = this.ffi.QTS_bjson_encode(this.ctx.value, handle.value);
			return this.memory.heapValueHandle(ptr);
		}
		decodeBinaryJSON(handle) {
			let ptr = this.ffi.QTS_bjson_decode(this.ctx.value, handle.value);
			return this.memory.heapValueHandle(ptr);
		}
		success(value) {
			return DisposableResult.success(value);
		}
		fail(error) {
			return DisposableResult.fail(error, (error2) => this.unwrapResult(error2));
		}
	};
	QuickJSRuntime = class extends UsingDisposable {
		constructor(args) {
			super();
			this.scope = new Scope();
			this.contextMap = /* @__PURE__ */ new Map();
			this.hostRefs = new HostRefMap();
			this._debugMode = !1;
			this.cToHostCallbacks = {
				freeHostRef: (rt, host_ref_id) => {
					if (rt !== this.rt.value) throw new Error("Runtime pointer mismatch");
					this.hostRefs.delete(host_ref_id);
				},
				shouldInterrupt: (rt) => {
					if (rt !== this.rt.value) throw new Error("QuickJSContext instance received C -> JS interrupt with mismatched rt");
					let fn = this.interruptHandler;
					if (!fn) throw new Error("QuickJSContext had no interrupt handler");
					return fn(this) ? 1 : 0;
				},
				loadModuleSource: maybeAsyncFn(this, function* (awaited, rt, ctx, moduleName) {
					let moduleLoader = this.moduleLoader;
					if (!moduleLoader) throw new Error("Runtime has no module loader");
					if (rt !== this.rt.value) throw new Error("Runtime pointer mismatch");
					let context = this.contextMap.get(ctx) ?? this.newContext({ contextPointer: ctx });
					try {
						let result = yield* awaited(moduleLoader(moduleName, context));
						if (typeof result == "object" && "error" in result && result.error) throw this.debugLog("cToHostLoadModule: loader returned error", result.error), result.error;
						let moduleSource = typeof result == "string" ? result : "value" in result ? result.value : result;
						return this.memory.newHeapCharPointer(moduleSource).value.ptr;
					} catch (error) {
						return this.debugLog("cToHostLoadModule: caught error", error), context.throw(error), 0;
					}
				}),
				normalizeModule: maybeAsyncFn(this, function* (awaited, rt, ctx, baseModuleName, moduleNameRequest) {
					let moduleNormalizer = this.moduleNormalizer;
					if (!moduleNormalizer) throw new Error("Runtime has no module normalizer");
					if (rt !== this.rt.value) throw new Error("Runtime pointer mismatch");
					let context = this.contextMap.get(ctx) ?? this.newContext({ contextPointer: ctx });
					try {
						let result = yield* awaited(moduleNormalizer(baseModuleName, moduleNameRequest, context));
						if (typeof result == "object" && "error" in result && result.error) throw this.debugLog("cToHostNormalizeModule: normalizer returned error", result.error), result.error;
						let name = typeof result == "string" ? result : result.value;
						return context.getMemory(this.rt.value).newHeapCharPointer(name).value.ptr;
					} catch (error) {
						return this.debugLog("normalizeModule: caught error", error), context.throw(error), 0;
					}
				})
			};
			args.ownedLifetimes?.forEach((lifetime) => this.scope.manage(lifetime)), this.module = args.module, this.memory = new ModuleMemory(this.module), this.ffi = args.ffi, this.rt = args.rt, this.callbacks = args.callbacks, this.scope.manage(this.rt), this.callbacks.setRuntimeCallbacks(this.rt.value, this.cToHostCallbacks), this.executePendingJobs = this.executePendingJobs.bind(this), QTS_DEBUG && this.setDebugMode(!0);
		}
		get alive() {
			return this.scope.alive;
		}
		dispose() {
			return this.scope.dispose();
		}
		newContext(options = {}) {
			let intrinsics = intrinsicsToFlags(options.intrinsics), ctx = new Lifetime(options.contextPointer || this.ffi.QTS_NewContext(this.rt.value, intrinsics), void 0, (ctx_ptr) => {
				this.contextMap.delete(ctx_ptr), this.callbacks.deleteContext(ctx_ptr), this.ffi.QTS_FreeContext(ctx_ptr);
			}), context = new QuickJSContext({
				module: this.module,
				ctx,
				ffi: this.ffi,
				rt: this.rt,
				ownedLifetimes: options.ownedLifetimes,
				runtime: this,
				callbacks: this.callbacks
			});
			return this.contextMap.set(ctx.value, context), context;
		}
		setModuleLoader(moduleLoader, moduleNormalizer) {
			this.moduleLoader = moduleLoader, this.moduleNormalizer = moduleNormalizer, this.ffi.QTS_RuntimeEnableModuleLoader(this.rt.value, this.moduleNormalizer ? 1 : 0);
		}
		removeModuleLoader() {
			this.moduleLoader = void 0, this.ffi.QTS_RuntimeDisableModuleLoader(this.rt.value);
		}
		hasPendingJob() {
			return !!this.ffi.QTS_IsJobPending(this.rt.value);
		}
		setInterruptHandler(cb) {
			let prevInterruptHandler = this.interruptHandler;
			this.interruptHandler = cb, prevInterruptHandler || this.ffi.QTS_RuntimeEnableInterruptHandler(this.rt.value);
		}
		removeInterruptHandler() {
			this.interruptHandler && (this.ffi.QTS_RuntimeDisableInterruptHandler(this.rt.value), this.interruptHandler = void 0);
		}
		executePendingJobs(maxJobsToExecute = -1) {
			let ctxPtrOut = this.memory.newMutablePointerArray(1), valuePtr = this.ffi.QTS_ExecutePendingJob(this.rt.value, maxJobsToExecute ?? -1, ctxPtrOut.value.ptr), ctxPtr = ctxPtrOut.value.typedArray[0];
			if (ctxPtrOut.dispose(), ctxPtr === 0) return this.ffi.QTS_FreeValuePointerRuntime(this.rt.value, valuePtr), DisposableResult.success(0);
			let context = this.contextMap.get(ctxPtr) ?? this.newContext({ contextPointer: ctxPtr }), resultValue = context.getMemory(this.rt.value).heapValueHandle(valuePtr);
			if (context.typeof(resultValue) === "number") {
				let executedJobs = context.getNumber(resultValue);
				return resultValue.dispose(), DisposableResult.success(executedJobs);
			} else {
				let error = Object.assign(resultValue, { context });
				return DisposableResult.fail(error, (error2) => context.unwrapResult(error2));
			}
		}
		setMemoryLimit(limitBytes) {
			if (limitBytes < 0 && limitBytes !== -1) throw new Error("Cannot set memory limit to negative number. To unset, pass -1");
			this.ffi.QTS_RuntimeSetMemoryLimit(this.rt.value, limitBytes);
		}
		computeMemoryUsage() {
			let serviceContextMemory = this.getSystemContext().getMemory(this.rt.value);
			return serviceContextMemory.heapValueHandle(this.ffi.QTS_RuntimeComputeMemoryUsage(this.rt.value, serviceContextMemory.ctx.value));
		}
		dumpMemoryUsage() {
			return this.memory.consumeHeapCharPointer(this.ffi.QTS_RuntimeDumpMemoryUsage(this.rt.value));
		}
		setMaxStackSize(stackSize) {
			if (stackSize < 0) throw new Error("Cannot set memory limit to negative number. To unset, pass 0.");
			this.ffi.QTS_RuntimeSetMaxStackSize(this.rt.value, stackSize);
		}
		assertOwned(handle) {
			if (handle.owner && handle.owner.rt !== this.rt) throw new QuickJSWrongOwner(`Handle is not owned by this runtime: ${handle.owner.rt.value} != ${this.rt.value}`);
		}
		setDebugMode(enabled) {
			this._debugMode = enabled, this.ffi.DEBUG && this.rt.alive && this.ffi.QTS_SetDebugLogEnabled(this.rt.value, enabled ? 1 : 0);
		}
		isDebugMode() {
			return this._debugMode;
		}
		debugLog(...msg) {
			this._debugMode && console.log("quickjs-emscripten:", ...msg);
		}
		[Symbol.for("nodejs.util.inspect.custom")]() {
			return this.alive ? `${this.constructor.name} { rt: ${this.rt.value} }` : `${this.constructor.name} { disposed }`;
		}
		getSystemContext() {
			return this.context || (this.context = this.scope.manage(this.newContext())), this.context;
		}
	};
	QuickJSEmscriptenModuleCallbacks = class {
		constructor(args) {
			this.freeHostRef = args.freeHostRef, this.callFunction = args.callFunction, this.shouldInterrupt = args.shouldInterrupt, this.loadModuleSource = args.loadModuleSource, this.normalizeModule = args.normalizeModule;
		}
	};
	QuickJSModuleCallbacks = class {
		constructor(module) {
			this.contextCallbacks = /* @__PURE__ */ new Map();
			this.runtimeCallbacks = /* @__PURE__ */ new Map();
			this.suspendedCount = 0;
			this.cToHostCallbacks = new QuickJSEmscriptenModuleCallbacks({
				freeHostRef: (_asyncify, rt, host_ref_id) => {
					let runtimeCallbacks = this.runtimeCallbacks.get(rt);
					if (!runtimeCallbacks) throw new Error(`QuickJSRuntime(rt = ${rt}) not found when trying to free HostRef(id = ${host_ref_id})`);
					runtimeCallbacks.freeHostRef(rt, host_ref_id);
				},
				callFunction: (asyncify, ctx, this_ptr, argc, argv, fn_id) => this.handleAsyncify(asyncify, () => {
					try {
						let vm = this.contextCallbacks.get(ctx);
						if (!vm) throw new Error(`QuickJSContext(ctx = ${ctx}) not found for C function call "${fn_id}"`);
						return vm.callFunction(ctx, this_ptr, argc, argv, fn_id);
					} catch (error) {
						return console.error("[C to host error: returning null]", error), 0;
					}
				}),
				shouldInterrupt: (asyncify, rt) => this.handleAsyncify(asyncify, () => {
					try {
						let vm = this.runtimeCallbacks.get(rt);
						if (!vm) throw new Error(`QuickJSRuntime(rt = ${rt}) not found for C interrupt`);
						return vm.shouldInterrupt(rt);
					} catch (error) {
						return console.error("[C to host interrupt: returning error]", error), 1;
					}
				}),
				loadModuleSource: (asyncify, rt, ctx, moduleName) => this.handleAsyncify(asyncify, () => {
					try {
						let runtimeCallbacks = this.runtimeCallbacks.get(rt);
						if (!runtimeCallbacks) throw new Error(`QuickJSRuntime(rt = ${rt}) not found for C module loader`);
						let loadModule = runtimeCallbacks.loadModuleSource;
						if (!loadModule) throw new Error(`QuickJSRuntime(rt = ${rt}) does not support module loading`);
						return loadModule(rt, ctx, moduleName);
					} catch (error) {
						return console.error("[C to host module loader error: returning null]", error), 0;
					}
				}),
				normalizeModule: (asyncify, rt, ctx, moduleBaseName, moduleName) => this.handleAsyncify(asyncify, () => {
					try {
						let runtimeCallbacks = this.runtimeCallbacks.get(rt);
						if (!runtimeCallbacks) throw new Error(`QuickJSRuntime(rt = ${rt}) not found for C module loader`);
						let normalizeModule = runtimeCallbacks.normalizeModule;
						if (!normalizeModule) throw new Error(`QuickJSRuntime(rt = ${rt}) does not support module loading`);
						return normalizeModule(rt, ctx, moduleBaseName, moduleName);
					} catch (error) {
						return console.error("[C to host module loader error: returning null]", error), 0;
					}
				})
			});
			this.module = module, this.module.callbacks = this.cToHostCallbacks;
		}
		setRuntimeCallbacks(rt, callbacks) {
			this.runtimeCallbacks.set(rt, callbacks);
		}
		deleteRuntime(rt) {
			this.runtimeCallbacks.delete(rt);
		}
		setContextCallbacks(ctx, callbacks) {
			this.contextCallbacks.set(ctx, callbacks);
		}
		deleteContext(ctx) {
			this.contextCallbacks.delete(ctx);
		}
		handleAsyncify(asyncify, fn) {
			if (asyncify) return asyncify.handleSleep((done) => {
				try {
					let result = fn();
					if (!(result instanceof Promise)) {
						debugLog("asyncify.handleSleep: not suspending:", result), done(result);
						return;
					}
					if (this.suspended) throw new QuickJSAsyncifyError(`Already suspended at: ${this.suspended.stack}
Attempted to suspend at:`);
					this.suspended = new QuickJSAsyncifySuspended(`(${this.suspendedCount++})`), debugLog("asyncify.handleSleep: suspending:", this.suspended), result.then((resolvedResult) => {
						this.suspended = void 0, debugLog("asyncify.handleSleep: resolved:", resolvedResult), done(resolvedResult);
					}, (error) => {
						debugLog("asyncify.handleSleep: rejected:", error), console.error("QuickJS: cannot handle error in suspended function", error), this.suspended = void 0;
					});
				} catch (error) {
					throw debugLog("asyncify.handleSleep: error:", error), this.suspended = void 0, error;
				}
			});
			let value = fn();
			if (value instanceof Promise) throw new Error("Promise return value not supported in non-asyncify context.");
			return value;
		}
	};
	QuickJSWASMModule = class {
		constructor(module, ffi) {
			this.module = module, this.ffi = ffi, this.callbacks = new QuickJSModuleCallbacks(module);
		}
		newRuntime(options = {}) {
			let rt = new Lifetime(this.ffi.QTS_NewRuntime(), void 0, (rt_ptr) => {
				this.ffi.QTS_FreeRuntime(rt_ptr), this.callbacks.deleteRuntime(rt_ptr);
			}), runtime = new QuickJSRuntime({
				module: this.module,
				callbacks: this.callbacks,
				ffi: this.ffi,
				rt
			});
			return applyBaseRuntimeOptions(runtime, options), options.moduleLoader && runtime.setModuleLoader(options.moduleLoader), runtime;
		}
		newContext(options = {}) {
			let runtime = this.newRuntime(), context = runtime.newContext({
				...options,
				ownedLifetimes: concat(runtime, options.ownedLifetimes)
			});
			return runtime.context = context, context;
		}
		evalCode(code, options = {}) {
			return Scope.withScope((scope) => {
				let vm = scope.manage(this.newContext());
				applyModuleEvalRuntimeOptions(vm.runtime, options);
				let result = vm.evalCode(code, "eval.js");
				if (options.memoryLimitBytes !== void 0 && vm.runtime.setMemoryLimit(-1), result.error) throw vm.dump(scope.manage(result.error));
				return vm.dump(scope.manage(result.value));
			});
		}
		getWasmMemory() {
			let memory = this.module.quickjsEmscriptenInit?.(() => {})?.getWasmMemory?.();
			if (!memory) throw new Error("Variant does not support getting WebAssembly.Memory");
			return memory;
		}
		getFFI() {
			return this.ffi;
		}
	};
}));
// node_modules/quickjs-emscripten-core/dist/module-ES6BEMUI.mjs
var module_ES6BEMUI_exports = /* @__PURE__ */ __exportAll({
	QuickJSModuleCallbacks: () => QuickJSModuleCallbacks,
	QuickJSWASMModule: () => QuickJSWASMModule,
	applyBaseRuntimeOptions: () => applyBaseRuntimeOptions,
	applyModuleEvalRuntimeOptions: () => applyModuleEvalRuntimeOptions
});
var init_module_ES6BEMUI = __esmMin((() => {
	init_chunk_V2S4ZYJR();
}));
// node_modules/quickjs-emscripten-core/dist/index.mjs
init_chunk_V2S4ZYJR();
init_dist();
async function newQuickJSWASMModuleFromVariant(variantOrPromise) {
	let variant = smartUnwrap(await variantOrPromise), [wasmModuleLoader, QuickJSFFI, { QuickJSWASMModule: QuickJSWASMModule2 }] = await Promise.all([
		variant.importModuleLoader().then(smartUnwrap),
		variant.importFFI(),
		Promise.resolve().then(() => (init_module_ES6BEMUI(), module_ES6BEMUI_exports)).then(smartUnwrap)
	]), wasmModule = await wasmModuleLoader();
	wasmModule.type = "sync";
	return new QuickJSWASMModule2(wasmModule, new QuickJSFFI(wasmModule));
}
function smartUnwrap(val) {
	return val && "default" in val && val.default ? val.default && "default" in val.default && val.default.default ? val.default.default : val.default : val;
}
function newVariant(baseVariant, options) {
	return {
		...baseVariant,
		async importModuleLoader() {
			let moduleLoader = smartUnwrap(await baseVariant.importModuleLoader());
			return async function() {
				let moduleLoaderArg = options.emscriptenModule ? { ...options.emscriptenModule } : {}, log = options.log ?? ((...args) => debugLog("newVariant moduleLoader:", ...args)), tapValue = (message, val) => (log(...message, val), val), force = (val) => typeof val == "function" ? val() : val;
				(options.wasmLocation || options.wasmSourceMapLocation || options.locateFile) && (moduleLoaderArg.locateFile = (fileName, relativeTo) => {
					let args = {
						fileName,
						relativeTo
					};
					if (fileName.endsWith(".wasm") && options.wasmLocation !== void 0) return tapValue(["locateFile .wasm: provide wasmLocation", args], options.wasmLocation);
					if (fileName.endsWith(".map")) {
						if (options.wasmSourceMapLocation !== void 0) return tapValue(["locateFile .map: provide wasmSourceMapLocation", args], options.wasmSourceMapLocation);
						if (options.wasmLocation && !options.locateFile) return tapValue(["locateFile .map: infer from wasmLocation", args], options.wasmLocation + ".map");
					}
					return options.locateFile ? tapValue(["locateFile: use provided fn", args], options.locateFile(fileName, relativeTo)) : tapValue(["locateFile: unhandled, passthrough", args], fileName);
				}), options.wasmBinary && (moduleLoaderArg.wasmBinary = await force(options.wasmBinary)), options.wasmMemory && (moduleLoaderArg.wasmMemory = await force(options.wasmMemory));
				let optionsWasmModule = options.wasmModule, modulePromise;
				optionsWasmModule && (moduleLoaderArg.instantiateWasm = async (imports, onSuccess) => {
					modulePromise ?? (modulePromise = Promise.resolve(force(optionsWasmModule)));
					let wasmModule = await modulePromise;
					if (!wasmModule) throw new QuickJSEmscriptenModuleError(`options.wasmModule returned ${String(wasmModule)}`);
					let instance = await WebAssembly.instantiate(wasmModule, imports);
					return onSuccess(instance), instance.exports;
				}), moduleLoaderArg.monitorRunDependencies = (left) => {
					log("monitorRunDependencies:", left);
				}, moduleLoaderArg.quickjsEmscriptenInit = () => newMockExtensions(log);
				let resultPromise = moduleLoader(moduleLoaderArg), extensions = moduleLoaderArg.quickjsEmscriptenInit?.(log);
				if (optionsWasmModule && extensions?.receiveWasmOffsetConverter && !extensions.existingWasmOffsetConverter) {
					let wasmBinary = await force(options.wasmBinary) ?? /* @__PURE__ */ new ArrayBuffer(0);
					modulePromise ?? (modulePromise = Promise.resolve(force(optionsWasmModule)));
					let wasmModule = await modulePromise;
					if (!wasmModule) throw new QuickJSEmscriptenModuleError(`options.wasmModule returned ${String(wasmModule)}`);
					extensions.receiveWasmOffsetConverter(wasmBinary, wasmModule);
				}
				if (extensions?.receiveSourceMapJSON) {
					let loadedSourceMapData = await force(options.wasmSourceMapData);
					typeof loadedSourceMapData == "string" ? extensions.receiveSourceMapJSON(JSON.parse(loadedSourceMapData)) : loadedSourceMapData ? extensions.receiveSourceMapJSON(loadedSourceMapData) : extensions.receiveSourceMapJSON({
						version: 3,
						names: [],
						sources: [],
						mappings: ""
					});
				}
				return resultPromise;
			};
		}
	};
}
function newMockExtensions(log) {
	let mockMessage = "mock called, emscripten module may not be initialized yet";
	return {
		mock: !0,
		removeRunDependency(name) {
			log(`${mockMessage}: removeRunDependency called:`, name);
		},
		receiveSourceMapJSON(data) {
			log(`${mockMessage}: receiveSourceMapJSON called:`, data);
		},
		WasmOffsetConverter: void 0,
		receiveWasmOffsetConverter(bytes, mod) {
			log(`${mockMessage}: receiveWasmOffsetConverter called:`, bytes, mod);
		}
	};
}
// src/host/sandbox/deadline.ts
/**
* A limit on processor time of this thread, not on the time of day: a machine that is busy with something else fails no
* sample. Nothing in the sandbox can sleep, so a call that hangs uses up its time all the same.
*
* Reading the processor time costs more than a short call, so it is read only where the time of day says it may be over:
* the readings before are up to `staleMs` old, and what earlier calls used since then is given away.
*/
var staleMs = 20;
var Deadline = class {
	#budgetMs = Infinity;
	#startedAt = 0;
	#readAt = -Infinity;
	#processorMsThen = 0;
	start(budgetMs) {
		this.#budgetMs = budgetMs;
		this.#startedAt = performance.now();
		if (this.#startedAt - this.#readAt < staleMs) return;
		this.#readAt = this.#startedAt;
		this.#processorMsThen = processorMs();
	}
	hasPassed() {
		if (performance.now() - this.#startedAt <= this.#budgetMs) return false;
		const usedBefore = this.#startedAt - this.#readAt;
		return processorMs() - this.#processorMsThen - usedBefore > this.#budgetMs;
	}
};
function processorMs() {
	const { user, system } = process.threadCpuUsage();
	return (user + system) / 1e3;
}
// src/host/sandbox/protocol.ts
var stopped = (callMs) => `Stopped after ${callMs} ms of processor time.`;
var loadedTooLong = (loadMs) => `Loading the code took more than ${loadMs / 1e3} s of processor time.`;
var beyondMemory = "The code needs more memory than it may use (`rewardLimits.memoryMb` for rewards, environments and workflows)";
var outOfMemory = `${beyondMemory}.`;
/** Message for a thrown null: the machine throws it when no memory is left to make an error of. */
var threwNull = `${beyondMemory}, or threw null.`;
var failureJson = (kind, message, stack = "") => JSON.stringify({ failure: {
	kind,
	message,
	stack
} });
/** Statements of the harness: `listRewards` offers the functions of a module and adds their names. */
var rewardHarness = `
  const listRewards = (module, names) => {
    const main = module.default
    const reward = (name, action, self) => {
      if (action.length > 1)
        throw new KindOfError(
          'The reward function "' + name + '" has ' + action.length + ' parameters, but it is called with one object. Write: ' +
            ${JSON.stringify("export default function reward({ prompt, completion, row }) { return completion === row.answer ? 1 : 0 }")},
        )
      names[names.length] = offer(name, action, self, scored)
    }
    const group = module.rewards
    const isGroup = typeof group === 'object' && group !== noObject
    // Beside rewards that are marked as such, a function of several parameters is one they are made of.
    const hasMarked = typeof main === 'function' || isGroup
    const list = (holder, self) => {
      const keys = ownKeys(holder)
      for (let i = 0; i < keys.length; i++) {
        const name = keys[i]
        const action = holder[name]
        if (typeof name !== 'string' || typeof action !== 'function' || targets[name] !== undefined) continue
        if (holder !== module || !hasMarked || action.length <= 1) reward(name, action, self)
      }
    }
    if (typeof main === 'function') reward('default', main, undefined)
    list(module, undefined)
    if (isGroup) list(group, group)
  }
`;
// src/host/sandbox/toolsHarness.ts
/**
* `defineTools`, as source text inside the harness (harness.ts), whose names it uses: an environment that plays functions which the
* policy may call. Its reset offers their descriptions, its steps run what was called, and a turn without a call ends the episode.
*/
var toolsHarness = `
  const endOfName = /\\.\\.\\.|[^A-Za-z0-9_$,\\s]/
  // The parameters of a function that is given without a description, by their names.
  const parameterNames = (name, action) => {
    const source = text(action)
    const list = /^(?:async\\s*)?(?:function\\s*[\\w$]*\\s*)?(?:[\\w$]+\\s*)?\\(([^)]*)\\)|^(?:async\\s+)?([\\w$]+)\\s*=>/.exec(source)
    const given = list === noObject ? '' : (list[1] ?? list[2]).trim()
    if (endOfName.test(given))
      throw new KindOfError('Describe the parameters of the tool "' + name + '": { description, parameters, run }.')
    return given === '' ? [] : given.split(/\\s*,\\s*/)
  }
  const describedTool = (name, tool) => {
    if (typeof tool === 'function') {
      const names = parameterNames(name, tool)
      const properties = { __proto__: null }
      for (let i = 0; i < names.length; i++) properties[names[i]] = {}
      const parameters = { type: 'object', properties, required: names }
      const run = (given) => {
        const values = []
        for (let i = 0; i < names.length; i++) values[i] = given[names[i]]
        return apply(tool, undefined, values)
      }
      return { described: { name, description: '', parameters }, run, required: names }
    }
    const { description, parameters, run } = plainObject(tool, 'The tool "' + name + '" is a function or { description, parameters, run }: it')
    if (typeof run !== 'function') throw new KindOfError('The tool "' + name + '" needs a function "run".')
    const schema = parameters ?? { type: 'object', properties: {} }
    return { described: { name, description: description ?? '', parameters: schema }, run: (given) => apply(run, tool, [given]), required: schema.required ?? [] }
  }
  const resultText = (value) => {
    const written = typeof value === 'string' ? value : stringify(value)
    return written === undefined ? 'null' : written
  }
  const plainWords = (value) => ' ' + text(value).toLowerCase().replace(/[^\\p{L}\\p{N}.-]+/gu, ' ').replace(/\\.+(?= |$)/g, '').trim() + ' '
  const saysAnswer = ({ row, answer }) => {
    if (row.answer === undefined || row.answer === null)
      throw new KindOfError('The row has no column "answer": give defineTools a function "reward".')
    return plainWords(answer).includes(plainWords(row.answer)) ? 1 : 0
  }
  const questionOf = ({ row }) => {
    const asked = row.prompt ?? row.question
    if (isMissing(asked)) throw new KindOfError('The row has no column "prompt" or "question": give defineTools a function "prompt".')
    return asked
  }
  const errorText = (error) => 'Error: ' + cut(described(error).message, 500)

  const defineTools = (functions, options = {}) => {
    const table = { __proto__: null }
    const offered = []
    for (const name of ownKeys(plainObject(functions, 'defineTools'))) {
      table[name] = describedTool(name, functions[name])
      offered[offered.length] = { type: 'function', function: table[name].described }
    }
    if (offered.length === 0) throw new KindOfError('defineTools needs at least one function.')
    const { prompt = questionOf, reward = saysAnswer, maxTurns = 8, maxCalls = 16, resultCharacters = 2000, settings = {} } = options
    const runOne = async ({ name, arguments: written }) => {
      const tool = table[name]
      if (tool === undefined) return { name, isError: true, result: 'Error: there is no tool "' + name + '".' }
      try {
        const given = parse(written)
        for (const key of tool.required)
          if (given[key] === undefined) throw new KindOfError('the argument "' + key + '" is missing')
        const result = cut(resultText(await tool.run(given)), resultCharacters)
        return { name, arguments: given, isError: false, result }
      } catch (error) {
        return { name, isError: true, result: errorText(error) }
      }
    }
    return {
      settings: { maxTurns, ...settings },
      async reset(input) {
        return { state: { calls: [] }, observation: await prompt(input), tools: offered }
      },
      async step(input) {
        const { state, action, calls } = input
        const before = state.calls
        if (calls === undefined || calls.length === 0) {
          const earned = await reward({ ...input, answer: action, calls: before })
          const solved = typeof earned === 'number' && earned > 0
          return { reward: earned, terminated: true, info: { correct: solved, 'tool calls': before.length } }
        }
        const made = [...before]
        const messages = []
        for (const call of calls) {
          if (made.length >= maxCalls) break
          const done = await runOne(call)
          made[made.length] = done
          // Nine letters and digits, as Mistral's templates want them.
          const id = 'call' + ('0000' + made.length).slice(-5)
          messages[messages.length] = { role: 'tool', name: call.name, tool_call_id: id, content: done.result }
        }
        let errors = 0
        for (const each of made) errors += each.isError ? 1 : 0
        const info = { 'tool calls': made.length, 'tool errors': errors }
        return { state: { calls: made }, observation: messages, terminated: false, truncated: messages.length < calls.length, info }
      },
    }
  }
  replace(globalThis, 'defineTools', defineTools)
`;
// src/host/sandbox/workflowHarness.ts
/**
* Surroundings of a workflow's episode, as source text inside the harness (harness.ts), whose names it uses.
*
* An episode is run from its beginning with the answers to its requests so far. Requests get numbers in the order in which
* they are made. When nothing is left to run, all that were made and have a recorded answer are answered together, in order
* of their numbers, as they were the first time; so every run repeats the one before, and then goes on.
*
* Calls of the tokenizer are not requests: its answers depend on the input alone. A run that needs one that is not known ends
* there, whatever its code does about that, and is repeated with the answer.
*/
/** Requests of one episode, of all kinds. */
var maxRequests = 512;
var workflowHarness = `
  // JSON would make {} of what a workflow did not wait for.
  const refuseJson = (key) => {
    throw new KindOfError('“' + text(key) + '” is a promise, not its value: write await before the call that gave it.')
  }
  replace(globalThis, 'defineWorkflow', (workflow) => {
    replace(PlainPromise.prototype, 'toJSON', refuseJson)
    return workflow
  })

  const episode = { __proto__: null, asked: [], answers: [], texts: noObject, resolvers: noObject, count: 0, released: 0, known: noObject, missing: undefined }
  let ending
  const ask = (request) => {
    const number = episode.count++
    if (number >= ${maxRequests}) throw new KindOfError('An episode may make ${maxRequests} requests.')
    episode.texts[number] = stringify(request)
    return new PlainPromise((yes) => {
      episode.resolvers[number] = yes
    })
  }
  const askText = (question) => {
    const key = stringify(question)
    const known = episode.known[key]
    if (known !== undefined) return isArray(known) ? apply(copy, known, []) : known
    // What is asked after that is asked for want of an answer.
    if (episode.missing === undefined) episode.missing = key
    throw new KindOfError('The tokenizer is asked.')
  }
  const takeMissing = () => (episode.missing === undefined ? undefined : answer('"asksText":' + stringify(episode.missing)))
  const { concat, fill, slice: copy } = Array.prototype
  const List = Array
  const repeated = (value, length) => apply(fill, new List(length), [value])
  const settled = (promise, make) => apply(then, promise, [make])
  const plainObject = (value, name) => {
    if (typeof value !== 'object' || value === noObject || isArray(value))
      throw new KindOfError(name + ' expects an object, got ' + article(value) + '.')
    return value
  }

  // A completion with the prompt before it: what is learned from, and which of it was generated.
  const completed = (given, promptIds) => {
    given.promptIds = promptIds
    given.allIds = apply(concat, promptIds, [given.ids])
    given.actionMask = apply(concat, repeated(0, promptIds.length), [repeated(1, given.ids.length)])
    return given
  }
  const engine = {
    generate(options) {
      const request = { ...plainObject(options, 'engine.generate'), kind: 'generate' }
      // Its own copy: what is pushed to the list afterwards is no part of the prompt.
      const ids = request.ids === undefined ? undefined : apply(copy, request.ids, [])
      return settled(ask({ ...request, ids }), ({ completions, isList, promptIds = ids }) => {
        const list = []
        for (let i = 0; i < completions.length; i++) list[i] = completed(completions[i], promptIds)
        return isList ? list : list[0]
      })
    },
  }
  const toolsOf = (environment) => ({
    rewards: (list) => ask({ kind: 'rewards', of: list }),
    prompt: (messages) => ask({ kind: 'prompt', messages }),
    reply: (ids, message) => ask({ kind: 'reply', ids, message }),
    encode: (words) => askText({ kind: 'encode', text: words }),
    decode: (ids) => askText({ kind: 'decode', ids }),
    environment: environment && {
      maxTurns: environment.maxTurns,
      reset: () => ask({ kind: 'reset' }),
      step: (given) => {
        const { state, action, ids } = plainObject(given, 'tools.environment.step')
        return ask({ kind: 'step', state, action, ids })
      },
    },
  })

  const beginEpisode = (sample) => {
    const { asked, answers, environment, textAnswers } = sample
    delete sample.asked
    delete sample.textAnswers
    delete sample.answers
    delete sample.environment
    episode.asked = asked
    episode.answers = answers
    episode.known = { __proto__: null, ...textAnswers }
    episode.missing = undefined
    episode.texts = { __proto__: null }
    episode.resolvers = { __proto__: null }
    ending = undefined
    seed = sample.seed | 0
    sample.engine = engine
    sample.tools = toolsOf(environment)
  }

  // JSON would make null of a number that is none.
  const exact = (name, value) => {
    if (typeof value === 'number' && !isFinite(value))
      throw new KindOfError('The trajectory holds ' + text(value) + ' (as "' + text(name) + '"), which is not a finite number.')
    return value
  }
  const returned = (value) => {
    if (value === null) return answer('"trajectories":null')
    const list = isArray(value) ? value : [value]
    let trajectories = ''
    for (let i = 0; i < list.length; i++) {
      const { ids, actions, ...rest } = plainObject(list[i], 'A workflow returns a trajectory { ids, actions, reward }, a list of them or null: it')
      const json = stringify({ ids, actions })
      trajectories += (i === 0 ? '' : ',') + '{"tokens":' + json + ',"rest":' + stringify(rest, exact) + '}'
    }
    return answer('"trajectories":[' + trajectories + ']')
  }

  // JSON text of what the episode came to or asks for; undefined: answers were given, so that there is more to run.
  const takeEpisode = () => {
    if (episode.missing !== undefined) return takeMissing()
    const { asked, answers, texts, resolvers, count, released } = episode
    if (count > ${maxRequests})
      return wrong('exception', 'The episode makes more than ${maxRequests} requests.')
    for (let i = released; i < count && i < asked.length; i++) {
      if (texts[i] !== asked[i])
        return wrong('exception', 'Request ' + (i + 1) + ' of the episode is another than before: an episode may depend on its input and the answers alone.')
    }
    if (ending !== undefined && (ending.isFailure || released === count)) return ending.text
    if (ending !== undefined) {
      const open = count - released
      return wrong('exception', 'The episode returned before ' + (open === 1 ? 'a request was' : open + ' requests were') + ' answered: await every request.')
    }
    if (released === count)
      return wrong('exception', 'The episode waits for something that is not a request, so that it never ends.')
    const known = count < answers.length ? count : answers.length
    if (released < known) {
      for (let i = released; i < known; i++) resolvers[i](answers[i])
      episode.released = known
      return undefined
    }
    let requests = ''
    for (let i = released; i < count; i++) requests += (i === released ? '' : ',') + stringify(text(texts[i]))
    return answer('"requests":[' + requests + ']')
  }
`;
// src/host/sandbox/harness.ts
/**
* Code that runs inside the virtual machine before and around user code. It gives it a world without time, chance, imports
* and devices, hands it one sample and turns whatever comes back into one line of JSON.
*
* User code shares this realm and may have changed any global by the time it is called, so everything used later is
* captured first, and answers are put together from primitive strings only.
*/
/** Bounds on what a call may say; anything beyond is cut or refused, so that an answer stays small. */
var answerLimits = {
	/** Length of an answer as JSON text. */
	characters: 1e6,
	/** Length of an environment's state as JSON text. */
	stateCharacters: 5e5,
	columns: 32,
	metrics: 32,
	lines: 100,
	/** Length of one logged value, line or message. */
	valueCharacters: 4e3,
	nameCharacters: 100
};
/** An expression whose value is `{ describe, call, take }`. */
var harnessSource = `(() => {
  'use strict'
  const limits = ${JSON.stringify(answerLimits)}
  const { parse, stringify } = JSON
  const { apply, ownKeys, getOwnPropertyDescriptor, defineProperty, construct } = Reflect
  const { isFinite } = Number
  const { isArray } = Array
  const text = String
  const slice = String.prototype.slice
  const resolve = Promise.resolve
  const then = Promise.prototype.then
  const PlainPromise = Promise
  const KindOfError = TypeError
  const noObject = null

  const cut = (value, length) => (value.length > length ? apply(slice, value, [0, length]) + '…' : value)
  const replace = (holder, name, value) =>
    defineProperty(holder, name, { value, writable: true, enumerable: false, configurable: true })

  // A generator of its own per sample (mulberry32, two draws for 53 bits).
  let seed = 1
  const draw = () => {
    seed = (seed + 0x6d2b79f5) | 0
    let mixed = imul(seed ^ (seed >>> 15), 1 | seed)
    mixed = (mixed + imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  const { imul } = Math
  const random = () => ((draw() >>> 5) * 0x4000000 + (draw() >>> 6)) / 0x20000000000000
  replace(Math, 'random', random)

  const ClockDate = Date
  const frozen = 946684800000
  const FrozenDate = function Date(...parts) {
    const date = construct(ClockDate, parts.length === 0 ? [frozen] : parts, new.target ?? ClockDate)
    return new.target === undefined ? text(date) : date
  }
  for (const name of ownKeys(ClockDate))
    if (name !== 'prototype') defineProperty(FrozenDate, name, getOwnPropertyDescriptor(ClockDate, name))
  defineProperty(FrozenDate, 'prototype', { value: ClockDate.prototype, writable: false })
  replace(FrozenDate, 'now', () => frozen)
  replace(ClockDate.prototype, 'constructor', FrozenDate)
  replace(globalThis, 'Date', FrozenDate)
  // When garbage is collected is nobody's business.
  delete globalThis.WeakRef
  delete globalThis.FinalizationRegistry

  // What the call has logged so far: JSON text, so that nothing can change it afterwards.
  let columns = ''
  let metrics = ''
  let lines = ''
  const count = { __proto__: null, columns: 0, metrics: 0, lines: 0 }

  const shown = (value) => {
    let json
    try {
      json = stringify(value)
    } catch (error) {
      return stringify('(cannot be shown: ' + cut(described(error).message, 200) + ')')
    }
    if (typeof json !== 'string') return stringify(typeof value === 'bigint' ? text(value) : '(' + typeof value + ')')
    return json.length > limits.valueCharacters ? stringify(cut(json, limits.valueCharacters)) : json
  }
  const entry = (list, name, json) => (list === '' ? '' : list + ',') + stringify(name) + ':' + json
  const nameOf = (name) => {
    if (typeof name !== 'string' || name === '') throw new KindOfError('A logged name must be text.')
    return cut(name, limits.nameCharacters)
  }
  const log = {
    column(name, value) {
      const key = nameOf(name)
      if (count.columns++ < limits.columns) columns = entry(columns, key, shown(value))
    },
    metric(name, value) {
      const key = nameOf(name)
      if (typeof value !== 'number') throw new KindOfError('A metric must be a number, got ' + typeof value + '.')
      if (isFinite(value) && count.metrics++ < limits.metrics) metrics = entry(metrics, key, text(value))
    },
  }
  const print = (...parts) => {
    if (count.lines++ >= limits.lines) return
    let line = ''
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i]
      line += (i === 0 ? '' : ' ') + (typeof part === 'string' ? part : shown(part))
    }
    lines += (lines === '' ? '' : ',') + stringify(cut(line, limits.valueCharacters))
  }
  replace(globalThis, 'console', { log: print, info: print, warn: print, error: print, debug: print })

  // Anything can be thrown, also things that throw when looked at.
  const described = (error) => {
    const plain = { __proto__: null, name: '', message: '', stack: '' }
    try {
      if (typeof error === 'object' && error !== noObject) {
        plain.name = cut(text(error.name ?? ''), 100)
        plain.message = cut(text(error.message ?? 'an object without a message'), limits.valueCharacters)
        plain.stack = cut(text(error.stack ?? ''), limits.valueCharacters)
      } else plain.message = cut('threw ' + text(error), limits.valueCharacters)
    } catch {
      plain.message = 'threw something that cannot be read'
    }
    return plain
  }
  const kindOf = ({ name, message }) => {
    if (message === 'out of memory') return 'memory'
    if (message === 'stack overflow' || message === 'Maximum call stack size exceeded') return 'stack'
    return 'exception'
  }
  const failure = (kind, { name, message, stack }) => {
    const said = name === '' || kind !== 'exception' ? message : name + ': ' + message
    const sentence = message === 'out of memory' ? ${JSON.stringify(outOfMemory)} : said
    const logged = lines === '' ? '' : ',"lines":[' + lines + ']'
    return (
      '{"failure":{"kind":"' + kind + '","message":' + stringify(sentence) + ',"stack":' + stringify(stack) + '}' +
      logged + '}'
    )
  }
  const failed = (error) => {
    if (error === null) return wrong('memory', ${JSON.stringify(threwNull)})
    const plain = described(error)
    return failure(kindOf(plain), plain)
  }
  const wrong = (kind, message) => failure(kind, { name: '', message, stack: '' })
  const answer = (fields) =>
    '{' + fields + ',"columns":{' + columns + '},"metrics":{' + metrics + '},"lines":[' + lines + ']}'

  const article = (value) => (value === undefined ? 'nothing' : value === null ? 'null' : isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : 'a ' + typeof value)
  // Rewards of single tokens or turns; the sum is the host's affair.
  const places = ['perToken', 'perTurn']
  const placed = (value) => {
    const names = isArray(value) ? [] : ownKeys(value)
    const name = names[0]
    if (names.length !== 1 || (name !== places[0] && name !== places[1])) {
      const forms = 'For a reward of each token or turn, write: return { perToken: […] } or { perTurn: […] }'
      return wrong('wrong-type', 'Expected a number or null, got ' + article(value) + '. ' + forms)
    }
    const list = value[name]
    if (!isArray(list)) return wrong('wrong-type', '"' + name + '" must be a list of numbers, got ' + article(list) + '.')
    let json = ''
    const { length } = list
    for (let i = 0; i < length; i++) {
      const reward = list[i]
      const what = 'Number ' + (i + 1) + ' of "' + name + '" must be '
      if (typeof reward !== 'number') return wrong('wrong-type', what + 'a number, got ' + article(reward) + '.')
      if (!isFinite(reward)) return wrong('not-a-number', what + 'finite, got ' + text(reward) + '.')
      json += (i === 0 ? '' : ',') + text(reward)
    }
    return answer('"' + name + '":[' + json + ']')
  }
  const scored = (value) => {
    if (value === null) return answer('"value":null')
    if (typeof value === 'object') return placed(value)
    if (typeof value !== 'number') {
      const form = 'The reward of a completion is one number; write: return isRight ? 1 : 0'
      return wrong('wrong-type', 'Expected a number or null, got ' + article(value) + '. ' + form)
    }
    if (!isFinite(value)) return wrong('not-a-number', 'Expected a finite number, got ' + text(value) + '.')
    return answer('"value":' + text(value))
  }

  // What is wrong with a part of an environment's answer, as it was given: JSON would make null of NaN, and a number of
  // whatever has toJSON. undefined: nothing.
  const isMissing = (value) => value === undefined || value === null
  const boolean = (value) => (typeof value === 'boolean' ? undefined : 'must be true or false, got ' + article(value))
  const faults = {
    __proto__: null,
    state: (value) =>
      typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint'
        ? 'must be plain JSON, got ' + article(value)
        : undefined,
    observation: (value) =>
      isMissing(value) || typeof value === 'string' || isArray(value)
        ? undefined
        : 'must be text or a list of {role, content} messages, got ' + article(value),
    reward(value) {
      if (isMissing(value)) return undefined
      if (typeof value !== 'number') return 'must be a number or null, got ' + article(value)
      return isFinite(value) ? undefined : 'must be a finite number, got ' + text(value)
    },
    tools: (value) => (isMissing(value) || isArray(value) ? undefined : 'must be a list of descriptions of functions, got ' + article(value)),
    terminated: boolean,
    truncated: boolean,
    done: boolean,
    info: (value) =>
      isMissing(value) || (typeof value === 'object' && !isArray(value))
        ? undefined
        : 'must be an object, got ' + article(value),
  }
  const parts = ['state', 'observation', 'tools', 'reward', 'terminated', 'truncated', 'done', 'info']
  // Shown beside the sample; what can be charted is charted too.
  const noteInfo = (info) => {
    const names = ownKeys(info)
    for (let i = 0; i < names.length; i++) {
      if (typeof names[i] !== 'string' || names[i] === '') continue
      const value = info[names[i]]
      log.column(names[i], value)
      if (typeof value === 'number') log.metric(names[i], value)
      if (typeof value === 'boolean') log.metric(names[i], value ? 1 : 0)
    }
  }
  // How an episode goes on, as JSON fields, or a sentence on what is wrong with it. 'done' is an older word for both ends.
  const ended = ({ terminated, truncated, done }, isStep) => {
    if (terminated !== undefined && done !== undefined)
      return { fault: 'The answer says "done" beside "terminated": write "terminated" alone.' }
    if (done === false && truncated === true)
      return { fault: '"truncated" is true and "done" false: an episode that is broken off is over.' }
    if (isStep && terminated === undefined && done === undefined && truncated !== true)
      return { fault: '"terminated" must be true or false, got nothing: it says whether the task is over.' }
    const isCut = truncated === true
    return { fields: ',"terminated":' + (terminated ?? (done === true && !isCut)) + ',"truncated":' + isCut }
  }
  const finiteOnly = (name, value) => {
    if (typeof value === 'number' && !isFinite(value))
      throw new KindOfError('The state holds ' + text(value) + ' (as "' + name + '"), which JSON cannot represent.')
    return value
  }
  const told = (isStep) => (result, sample) => {
    if (typeof result !== 'object' || result === noObject || isArray(result)) {
      const form = isStep ? '{ state, observation, reward, terminated, truncated, info }' : '{ state, observation }'
      const got = isArray(result) ? 'a list of ' + result.length + ', as Gymnasium has it' : article(result)
      return wrong('wrong-type', 'Expected an object, got ' + got + '. Write: return ' + form)
    }
    const names = ownKeys(result)
    for (let i = 0; i < names.length; i++) {
      let isPart = false
      for (let k = 0; k < parts.length; k++) isPart = isPart || parts[k] === names[i]
      if (isPart) continue
      const name = cut(text(names[i]), limits.nameCharacters)
      return wrong(
        'wrong-type',
        'The answer has "' + name + '", which is not a field of one. The fields are state, observation, reward, terminated, truncated and info, and tools of a reset; numbers to chart go to info or log.metric.',
      )
    }
    let fields = ''
    const end = { __proto__: null }
    let hasState = false
    for (let i = 0; i < parts.length; i++) {
      const name = parts[i]
      // A step that says nothing of the state leaves it as it is.
      const given = result[name]
      const value = isStep && name === 'state' && given === undefined ? sample.state : given
      if (value === undefined) continue
      const fault = faults[name](value)
      if (fault !== undefined) {
        const kind = typeof value === 'number' && name === 'reward' ? 'not-a-number' : 'wrong-type'
        return wrong(kind, '"' + name + '" ' + fault + '.')
      }
      if (name === 'terminated' || name === 'truncated' || name === 'done') {
        end[name] = value
        continue
      }
      if (name === 'info') {
        if (value !== noObject) noteInfo(value)
        continue
      }
      const json = name === 'state' ? stringify(value, finiteOnly) : stringify(value)
      if (json === undefined) continue
      if (json.length > limits.stateCharacters) {
        return wrong('too-large', 'The ' + name + ' is longer than ' + limits.stateCharacters + ' characters as JSON.')
      }
      if (name === 'state') hasState = true
      fields += (fields === '' ? '' : ',') + '"' + name + '":' + json
    }
    const going = ended(end, isStep)
    if (going.fault !== undefined) return wrong('wrong-type', going.fault)
    return answer((hasState ? '' : '"state":null' + (fields === '' ? '' : ',')) + fields + going.fields)
  }

${workflowHarness}
${toolsHarness}
  const targets = { __proto__: null }
  const offer = (name, action, holder, finish) => {
    targets[name] = { __proto__: null, action, holder, finish }
    return name
  }
  // JSON knows no NaN, and a loss must not learn from one.
  const finiteAdvantage = (name, value) => {
    if (typeof value === 'number' && !isFinite(value))
      throw new KindOfError('An advantage or return is ' + text(value) + '.')
    return value
  }
  const compared = (result) => {
    if (!isArray(result)) return wrong('wrong-type', 'Expected a list with one entry for each row, got ' + article(result) + '.')
    return answer('"rows":' + stringify(result, finiteAdvantage))
  }

${rewardHarness}
  // What a module offers, as JSON text; throws a sentence where that is nothing. tracer: of code of a loss.
  const describe = (module, tracer) => {
    const main = module.default
    const names = []
    if (tracer !== undefined && typeof main === 'object' && main !== noObject && typeof main.loss === 'function') {
      offer('trace', ({ settings }) => tracer.trace(main, settings), undefined, (json) => json)
      if (typeof main.advantages === 'function') offer('advantages', main.advantages, main, compared)
      return tracer.describe(main)
    }
    if (typeof main === 'object' && main !== noObject && typeof main.reset === 'function') {
      if (typeof main.step !== 'function') throw new KindOfError('An environment needs reset and step.')
      offer('reset', main.reset, main, told(false))
      offer('step', main.step, main, told(true))
      return stringify({ kind: 'environment', functions: [], settings: module.settings ?? main.settings ?? {} })
    }
    if (typeof main === 'object' && main !== noObject && typeof main.episode === 'function') {
      offer('episode', main.episode, main, returned)
      return stringify({ kind: 'workflow', functions: [], settings: main.settings ?? module.settings ?? {} })
    }
    listRewards(module, names)
    if (names.length === 0)
      throw new KindOfError('The code exports no reward function, no environment, no loss and no workflow.')
    const needs = module.needs ?? []
    if (!isArray(needs) || needs.length > 1 || (needs.length === 1 && needs[0] !== 'tokens'))
      throw new KindOfError("There is one thing rewards may need: export const needs = ['tokens']")
    return stringify({ kind: 'reward', functions: names, settings: module.settings ?? {}, needs })
  }

  let late
  let isEpisode = false
  // JSON text of the answer, or undefined while a promise is under way: then run the jobs and take().
  const call = (name, input, start) => {
    seed = start
    const { action, holder, finish } = targets[name]
    isEpisode = finish === returned
    try {
      const sample = parse(input)
      if (isEpisode) beginEpisode(sample)
      sample.log = log
      sample.random = random
      if (finish === scored && sample.tokens === undefined) sample.tokens = null
      const result = apply(action, holder, [sample])
      if (isEpisode) {
        const end = (settle, isFailure) => (value) => {
          try {
            ending = { __proto__: null, text: settle(value), isFailure }
          } catch (error) {
            ending = { __proto__: null, text: failed(error), isFailure: true }
          }
        }
        apply(then, apply(resolve, PlainPromise, [result]), [end(finish, false), end(failed, true)])
        return undefined
      }
      if (typeof result !== 'object' || result === noObject || typeof result.then !== 'function')
        return finish(result, sample)
      late = wrong('exception', 'The promise was never settled: nothing can be waited for in here.')
      const settle = (value) => {
        try {
          late = finish(value, sample)
        } catch (error) {
          late = failed(error)
        }
      }
      apply(then, apply(resolve, PlainPromise, [result]), [settle, (error) => void (late = failed(error))])
      return undefined
    } catch (error) {
      return (isEpisode && takeMissing()) || failed(error)
    }
  }
  return { describe, call, take: () => (isEpisode ? takeEpisode() : late) }
})()`;
// src/host/sandbox/memoryImage.ts
/**
* A photograph of a virtual machine's memory. Every call of user code begins from the same photograph: whatever the
* call before it changed (globals, prototypes, module variables, the heap itself) is gone, at the price of copying some
* hundred kilobytes.
*
* A WebAssembly instance has no state besides its linear memory and, between calls, a stack pointer that is back at the
* top. Its memory is laid out as [data][stack][heap]; the stack holds nothing between calls and is left out.
*/
var pageBytes = 65536;
/** `firstHeapByte` is the address of the instance's very first allocation. */
function photograph(memory, firstHeapByte) {
	let view = new Uint8Array(memory.buffer);
	const used = usedPages(view);
	const heapPage = Math.floor(firstHeapByte / pageBytes);
	const dataEnd = endOfData(used, heapPage) * pageBytes;
	const heapStart = heapPage * pageBytes;
	const heapEnd = (used.lastIndexOf(true) + 1) * pageBytes;
	const data = view.slice(0, dataEnd);
	const heap = view.slice(heapStart, heapEnd);
	return {
		sizeBytes: data.length + heap.length,
		restore() {
			if (view.length === 0) view = new Uint8Array(memory.buffer);
			view.set(data, 0);
			view.set(heap, heapStart);
		}
	};
}
/** Marks the pages that hold anything but zeros. */
function usedPages(bytes) {
	const zeros = new Uint8Array(pageBytes);
	return Array.from({ length: bytes.length / pageBytes }, (_, page) => {
		const start = page * pageBytes;
		return Buffer.compare(bytes.subarray(start, start + pageBytes), zeros) !== 0;
	});
}
/** The data ends where the part of the stack that was never reached begins: the longest run of zero pages. */
function endOfData(used, heapPage) {
	let [end, longest, start] = [
		heapPage,
		0,
		0
	];
	for (let page = 0; page < heapPage; page++) if (used[page] === true) start = page + 1;
	else if (page + 1 - start > longest) [end, longest] = [start, page + 1 - start];
	return end;
}
var allocatorOf = (instance) => instance.module;
/** The address of a first allocation, freed again. */
function firstAllocation(instance) {
	const allocator = allocatorOf(instance);
	const address = allocator._malloc(16);
	allocator._free(address);
	return address;
}
/** Makes a string as `context.newString` does, whose loop over characters takes longer than a typical reward function. */
function newText(instance, context, text) {
	const allocator = allocatorOf(instance);
	const sizeBytes = Buffer.byteLength(text);
	const address = allocator._malloc(sizeBytes + 1);
	if (address === 0) throw new RangeError("Out of memory.");
	const bytes = Buffer.from(allocator.HEAPU8.buffer, address, sizeBytes + 1);
	bytes.write(text, "utf8");
	bytes[sizeBytes] = 0;
	const { ctx, rt } = context;
	const pointer = instance.getFFI().QTS_NewString(ctx.value, address);
	allocator._free(address);
	return context.getMemory(rt.value).heapValueHandle(pointer);
}
// src/host/sandbox/wasmFile.ts
/** The virtual machine itself: QuickJS in WebAssembly, under the MIT licence. */
var wasmFile = () => fileURLToPath(new URL("quickjs.wasm", "" + import.meta.url));
// src/host/sandbox/machine.ts
/** One virtual machine with one piece of user code in it: QuickJS compiled to WebAssembly, under limits. */
/** Name of user code in error positions. */
var codeName = "code";
/**
* QuickJS refuses deeper recursion with an error of its own. With twice as much the stack of the process itself
* overflows first, and the instance is lost.
*/
var stackBytes = 262144;
/** Jobs run between two looks at the clock. */
var jobsAtOnce = 1e3;
/** Thrown where the code does not even load. */
var LoadFailure = class extends Error {
	kind;
	guestStack;
	constructor(kind, message, guestStack) {
		super(message);
		this.name = "LoadFailure";
		this.kind = kind;
		this.guestStack = guestStack;
	}
};
/** Neither TypeScript's ES library nor Node's types know WebAssembly. */
var { WebAssembly: WebAssembly$1 } = globalThis;
/** Memory that the instance was built for: its data, 5 MiB of stack and the beginning of the heap. */
var initialPages = 256;
var stackMb = 6;
/**
* The limit on memory is the size the linear memory may reach. QuickJS has a limit of its own, but in this build it
* does not know the sizes of its blocks and so bounds single allocations only.
*/
var limitedMemory = (memoryMb) => new WebAssembly$1.Memory({
	initial: initialPages,
	maximum: Math.max(initialPages, Math.ceil((stackMb + memoryMb) * 16))
});
/** The package's types are written for CommonJS; imported as a module, its default export is the variant itself. */
var variant = src_default;
var compiled;
/** Compiled once per process; every instance is fresh. */
function newInstance(wasmMemory) {
	compiled ??= new WebAssembly$1.Module(readFileSync(wasmFile()));
	return newQuickJSWASMModuleFromVariant(newVariant(variant, {
		wasmModule: compiled,
		wasmMemory
	}));
}
var Machine = class Machine {
	/** Description of the module as JSON text, made in user code's realm and not to be trusted. */
	description;
	#instance;
	#runtime;
	#context;
	#entrances;
	#image;
	#limits;
	#clock;
	#isSpoiled = false;
	constructor(parts) {
		this.description = parts.description;
		this.#instance = parts.instance;
		this.#runtime = parts.runtime;
		this.#context = parts.context;
		this.#entrances = parts.entrances;
		this.#image = parts.image;
		this.#limits = parts.limits;
		this.#clock = parts.clock;
	}
	/** Evaluates plain JavaScript as a module; `tracer` is what code of a loss is traced by. Throws LoadFailure. */
	static async load(code, limits, tracer) {
		const memory = limitedMemory(limits.memoryMb);
		const instance = await newInstance(memory);
		const firstHeapByte = firstAllocation(instance);
		const runtime = instance.newRuntime();
		runtime.setMemoryLimit(limits.memoryMb * 1024 * 1024);
		runtime.setMaxStackSize(stackBytes);
		runtime.setModuleLoader((name) => name === "turnwise" ? ownModule(tracer?.names ?? ["defineWorkflow", "defineTools"]) : { error: /* @__PURE__ */ new Error(`Cannot import “${name}”: sandboxed code imports from 'turnwise' alone.`) });
		const clock = new Deadline();
		runtime.setInterruptHandler(() => clock.hasPassed());
		const context = runtime.newContext();
		clock.start(limits.loadMs);
		try {
			const harness = context.unwrapResult(context.evalCode(harnessSource, "harness"));
			const trace = tracer === null ? context.undefined : context.unwrapResult(context.evalCode(tracer.source, "harness"));
			const module = loadedModule(runtime, context, code);
			const describe = context.getProp(harness, "describe");
			const description = stringOf(context, context.callFunction(describe, context.undefined, module, trace));
			const entrances = {
				call: context.getProp(harness, "call"),
				take: context.getProp(harness, "take"),
				length: context.newString("length")
			};
			const image = photograph(memory, firstHeapByte);
			return new Machine({
				description,
				instance,
				runtime,
				context,
				entrances,
				image,
				limits,
				clock
			});
		} catch (error) {
			if (error instanceof LoadFailure && !clock.hasPassed()) throw error;
			throw clock.hasPassed() ? new LoadFailure("timeout", loadedTooLong(limits.loadMs), "") : hostFailure(error);
		}
	}
	/** True after a call that left the machine in doubt; it must not be used again. */
	get isSpoiled() {
		return this.#isSpoiled;
	}
	/** Calls one of the module's functions with a sample given as JSON text; the answer is JSON text too. `callMs`: processor time. */
	call({ target, input, seed, callMs }) {
		this.#image.restore();
		this.#clock.start(callMs);
		try {
			const answer = this.#answer(target, input, seed);
			if (!this.#clock.hasPassed()) return answer;
		} catch (error) {
			this.#isSpoiled = true;
			if (!this.#clock.hasPassed()) return failureText(hostFailure(error));
		}
		this.#isSpoiled = true;
		return failureText(new LoadFailure("timeout", stopped(callMs), ""));
	}
	#answer(target, input, seed) {
		const context = this.#context;
		if (input.length * 2 > this.#limits.memoryMb * 1024 * 1024) return failureText(new LoadFailure("memory", "The sample alone needs more than the memory limit.", ""));
		const called = context.callFunction(this.#entrances.call, context.undefined, newText(this.#instance, context, target), newText(this.#instance, context, input), context.newNumber(seed));
		if (called.error) throw errorOf(context, called.error);
		const limit = this.#limits.answerCharacters;
		if (context.typeof(called.value) === "string") return textOf(context, called.value, this.#entrances.length, limit);
		for (;;) {
			runJobs(this.#runtime, this.#clock);
			const taken = context.callFunction(this.#entrances.take, context.undefined);
			if (!(!taken.error && context.typeof(taken.value) === "undefined" && !this.#clock.hasPassed())) return stringOf(context, taken, limit);
		}
	}
};
/** Source of the module that `import … from 'turnwise'` loads: it exports names that exist without it. */
var ownModule = (names) => names.map((name) => `export const ${name} = globalThis.${name}\n`).join("");
/** The namespace of the evaluated module. */
function loadedModule(runtime, context, code) {
	const result = context.evalCode(code, codeName, { type: "module" });
	if (result.error) throw errorOf(context, result.error);
	const state = (runtime.executePendingJobs(jobsAtOnce), context.getPromiseState(result.value));
	if (state.type === "fulfilled") return state.value;
	if (state.type === "rejected") throw errorOf(context, state.error);
	throw new LoadFailure("exception", "The code awaits something at its top level that never resolves.", "");
}
/** Runs promise callbacks until none is left or the time is over. */
function runJobs(runtime, clock) {
	while (runtime.hasPendingJob() && !clock.hasPassed()) {
		const result = runtime.executePendingJobs(jobsAtOnce);
		if (result.error) throw errorOf(result.error.context, result.error);
	}
}
function stringOf(context, result, limit = answerLimits.characters) {
	if (result.error) throw errorOf(context, result.error);
	if (context.typeof(result.value) === "string") return textOf(context, result.value, "length", limit);
	throw new LoadFailure("exception", "The call returned nothing.", "");
}
/** The length is looked at before anything is copied out. */
function textOf(context, text, lengthName, limit) {
	if (context.getNumber(context.getProp(text, lengthName)) <= limit) return context.getString(text);
	throw new LoadFailure("too-large", `The answer is longer than ${limit} characters.`, "");
}
/** Reads an error that came out of the machine itself. Its properties are user code's, hence the care. */
function errorOf(context, error) {
	const read = (name) => {
		const value = context.getProp(error, name);
		if (context.typeof(value) !== "string") return "";
		return context.getNumber(context.getProp(value, "length")) < 1e4 ? context.getString(value) : "";
	};
	if (context.typeof(error) !== "object") return new LoadFailure("memory", outOfMemory, "");
	const [name, message, stack] = [
		read("name"),
		read("message"),
		read("stack")
	];
	if (message === "out of memory" || (name === "" || name === "InternalError") && message === "") return new LoadFailure("memory", outOfMemory, stack);
	if (message === "stack overflow") return new LoadFailure("stack", message, stack);
	return new LoadFailure("exception", name === "" ? message : `${name}: ${message}`, stack);
}
/** Converts an error of the machine itself, not of the code: its stack or memory ran out, usually. */
function hostFailure(error) {
	if (error instanceof LoadFailure) return error;
	if (error instanceof RangeError) return new LoadFailure("stack", "stack overflow", "");
	const message = error instanceof Error ? error.message : String(error);
	if (/memory|allocat/i.test(message)) return new LoadFailure("memory", outOfMemory, "");
	return new LoadFailure("exception", `The virtual machine failed: ${message}`, "");
}
var failureText = ({ kind, message, guestStack }) => failureJson(kind, message, guestStack);
export { LoadFailure, Machine, codeName, failureText };
