// What a program's value, its names and its error look like to those outside. Part of a bootstrap.
//
// Nobody outside trusts the report with more than that: whether the program failed, and why, is
// decided by the kernel's word.

const { Buffer } = require('buffer');
const fs = require('fs');
const util = require('util');

const REPORT_FD = 5;
const RESULT_LIMIT = 256 * 1024; // bytes of JSON
const TEXT_LIMIT = 64 * 1024; // characters of a repr or a traceback
const PATH_LIMIT = 4096;
const CHAIN_LIMIT = 8; // errors behind the one that ended the program
const NAMES_LIMIT = 1000;
const DEPTH_LIMIT = 60; // levels of a result; the reader takes 64 in all
const KEY_LIMIT = 64 * 1024; // bytes of a name in a result

// Programs may replace what they find in the global object.
const { parse, stringify } = JSON;
const { isArray } = Array;
const { inspect } = util;
const writeSync = fs.writeSync;

function clip(text) {
    const short = text.length <= TEXT_LIMIT ? text : text.slice(0, TEXT_LIMIT) + '...';
    return Buffer.from(short).toString(); // without half characters, which JSON cannot carry
}

function safeInspect(value) {
    try {
        return clip(inspect(value, { maxStringLength: TEXT_LIMIT }));
    } catch {
        return `<${typeof value}: inspect failed>`; // the program's own inspect method or getter
    }
}

// JSON has words for them that say nothing.
const OPAQUE = ['isMap', 'isSet', 'isRegExp', 'isNativeError', 'isPromise', 'isWeakMap', 'isWeakSet',
                'isProxy'].map((kind) => util.types[kind]);

function isOpaque(value) {
    return typeof value === 'object' && value !== null && OPAQUE.some((isIt) => isIt(value));
}

// The value if JSON can hold it and the other side reads it, else null.
function asJson(value) {
    let budget = RESULT_LIMIT;
    function count(key, part) {
        budget -= 1 + (isArray(this) ? 0 : key.length);
        budget -= typeof part === 'string' ? part.length : 1;
        const isLost = (typeof part === 'number' && !Number.isFinite(part)) || isOpaque(part);
        if (budget < 0 || isLost) {
            throw new RangeError('not for JSON');
        }
        return part;
    }
    try {
        const text = isOpaque(value) ? undefined : stringify(value, count);
        if (text === undefined || Buffer.byteLength(text) > RESULT_LIMIT) {
            return null;
        }
        const plain = parse(Buffer.from(text).toString());
        return isReadable(plain, DEPTH_LIMIT) ? plain : null;
    } catch {
        return null; // circular, a BigInt, the program's own toJSON
    }
}

// Whether the other side takes it: so deep, and with such names.
function isReadable(value, levels) {
    if (typeof value !== 'object' || value === null) {
        return true;
    }
    return levels > 0 && Object.entries(value).every(
        ([key, part]) => Buffer.byteLength(key) <= KEY_LIMIT && isReadable(part, levels - 1));
}

function describeResult(value) {
    if (value === undefined || value === null) {
        return {};
    }
    return { result: asJson(value), repr: safeInspect(value) };
}

function describeNames(names) {
    return [...names].filter((name) => !name.startsWith('_')).slice(0, NAMES_LIMIT).map(clip);
}

function safeMember(object, name, kind) {
    try {
        const value = object[name];
        return typeof value === kind ? value : undefined;
    } catch {
        return undefined;
    }
}

function describeError(error) {
    const described = {
        type: 'Error', message: '', traceback: traceOf(error), ...describeRefusal(error),
    };
    if (util.types.isNativeError(error) || error instanceof Error) {
        described.type = clip(safeMember(error, 'name', 'string') ?? 'Error');
        described.message = clip(safeMember(error, 'message', 'string') ?? '');
    } else {
        described.message = typeof error === 'string' ? clip(error) : safeInspect(error);
    }
    const place = placeOf(error);
    return place === undefined ? described : { ...described, line: place.line };
}

function traceOf(error) {
    const isError = util.types.isNativeError(error) || error instanceof Error;
    return (isError ? safeInspect(error) : `Uncaught ${safeInspect(error)}`) + '\n';
}

// What the system said, if that is why the program failed; libraries wrap it in their own.
function describeRefusal(error) {
    let cause = error;
    for (let count = 0; count < CHAIN_LIMIT && typeof cause === 'object' && cause; ++count) {
        const errno = safeMember(cause, 'errno', 'number');
        if (Number.isInteger(errno) && Math.abs(errno) < 4096) {
            const path = safeMember(cause, 'path', 'string');
            const described = { errno: Math.abs(errno) };
            return path === undefined ? described
                                      : { ...described, path: clip(path.slice(0, PATH_LIMIT)) };
        }
        cause = safeMember(cause, 'cause', 'object');
    }
    return {};
}

// JSON of a report. Half characters are the only ones that stringify() writes as these escapes, and
// the other side takes none.
function reportText(report) {
    return stringify(report).replace(/(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g, '$1\ufffd');
}

function send(text) {
    const data = Buffer.from(text);
    try {
        for (let at = 0; at < data.length;) {
            at += writeSync(REPORT_FD, data, at);
        }
    } catch {
        // The program closed it; what can be seen from outside is still true.
    }
}
