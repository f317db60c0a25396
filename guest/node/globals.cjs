// The globals that are needed when programs have run: cells may declare the same names in the global
// object. First part of a bootstrap.

const {
    Array, ArrayBuffer, BigInt, Boolean, DataView, Error, Function, JSON, Map, Math, Number, Object,
    Promise, RangeError, Reflect, RegExp, Set, String, Symbol, SyntaxError, Uint8Array, WeakMap,
    WebAssembly, process, queueMicrotask, setImmediate, setTimeout,
} = global;
