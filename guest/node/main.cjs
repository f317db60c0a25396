// Runs one program inside a jar and reports what only the interpreter knows. Part of a bootstrap.
//
// Descriptor 3 is the bootstrap, 4 the request (one line of JSON), 5 the report. A line break ahead
// of the report says that the request is awaited: a jar may be made before there is one. A request
// that says "session" is followed by more lines, one for each cell.
//
// If the request has an order to read the program, a line of its own comes first: what was found in it.
// Nothing of the program has run then, and nothing will if the order says so.

const Module = require('module');
const path = require('path');
const url = require('url');
const vm = require('vm');

const PROGRAM_FD = 3;
const REQUEST_FD = 4;
const WORKSPACE = process.cwd(); // the jar starts its program there

// What the program reaches by its preamble, and where its value is kept.
const hooks = { value: undefined, read: undefined, allowed: null, profile: null, refused: [] };
// The program under way: its file, its text, how to find a place in it. One at a time.
let current = null;
let report = null;

class ImportError extends Error {}
Object.defineProperty(ImportError.prototype, 'name', { value: 'ImportError' });

// --- imports -----------------------------------------------------------------------------------

// "fs" of "node:fs/promises", "@scope/name" of "@scope/name/part".
function moduleName(specifier) {
    const plain = specifier.startsWith('node:') ? specifier.slice('node:'.length) : specifier;
    if (plain.startsWith('.') || plain.startsWith('/') || plain.includes(':')) {
        return plain;
    }
    return plain.split('/').slice(0, plain.startsWith('@') ? 2 : 1).join('/');
}

// What the caller lists.
function isListed(specifier) {
    const name = moduleName(specifier);
    const [file] = path.basename(name).split('.'); // "mine" of "./mine.mjs"
    return [specifier, name, ...(name.startsWith('.') ? [file] : [])].some(
        (one) => hooks.allowed.has(one));
}

const APPROVED_PLACES = ['/servers/', '/skills/', '/tools/'];
const MOST_REFUSED = 16;

// What the profile allows: its modules, files of the program, and what the operator approved.
function isInProfile(specifier) {
    if (specifier.startsWith('.') || specifier.startsWith('/')) {
        const place = path.resolve(WORKSPACE, specifier);
        return [`${WORKSPACE}/`, ...APPROVED_PLACES].some((one) => place.startsWith(one));
    }
    const plain = specifier.startsWith('node:') ? specifier.slice('node:'.length) : specifier;
    return hooks.profile.some((one) => plain === one || plain.startsWith(`${one}/`));
}

function isControlled() {
    return hooks.allowed !== null || hooks.profile !== null;
}

// Refuses all other modules to the program itself, but not to the modules that it imports. This is
// policy for programs that mean well: one that does not gets around it, and the jar is the wall.
hooks.checked = (specifier) => {
    const text = `${specifier}`;
    const isAllowed = (hooks.allowed === null || isListed(text)) &&
                      (hooks.profile === null || isInProfile(text));
    if (!isAllowed) {
        const name = moduleName(text);
        if (hooks.refused.length < MOST_REFUSED && !hooks.refused.includes(name)) {
            hooks.refused.push(clip(name.slice(0, 256)));
        }
        throw new ImportError(`Import of '${name}' is not allowed in sandbox`);
    }
    return text;
};

hooks.guard = (require) => {
    const guarded = (specifier) => require(hooks.checked(specifier));
    return Object.assign(guarded, require);
};

function checkImports(program) {
    const sources = program.tree.body.filter((node) => node.source);
    for (const { source } of isControlled() ? sources : []) {
        try {
            hooks.checked(source.value);
        } catch (error) {
            const { line, column } = source.loc.start;
            const place = current.locateText({ line, column: column + 1 });
            error.stack = `ImportError: ${error.message}\n    at ${describePlace(place)}`;
            places.set(error, place);
            throw error;
        }
    }
}

// --- places of errors --------------------------------------------------------------------------

const places = new WeakMap(); // of errors: where in the program under way they were made
const origins = new WeakMap(); // of errors: the program that they come from, and where in it

function describePlace(place) {
    return `${place.file}:${place.line}:${place.column}`;
}

function placeOf(error) {
    if (typeof error !== 'object' || error === null) {
        return undefined;
    }
    safeMember(error, 'stack', 'string'); // is made when it is first asked for
    return places.get(error);
}

function pathOf(file) {
    return file.startsWith('file://') ? url.fileURLToPath(file) : file;
}

// Only what is in files of the program, in its own lines.
function prepareStackTrace(error, frames) {
    const lines = [];
    for (const frame of frames) {
        const name = frame.getFileName() ?? frame.getEvalOrigin?.() ?? '';
        if (name.startsWith('node:') || name === __filename || name === '') {
            continue;
        }
        const file = pathOf(name);
        const found = { file, line: frame.getLineNumber(), column: frame.getColumnNumber() };
        const program = programs.get(file);
        if (program && found.line > program.lines) {
            continue; // what was put behind the program
        }
        const place = program ? program.locate(found) : found;
        if (program?.source !== undefined && !origins.has(error)) {
            origins.set(error, { program, place });
        }
        if (program === current && current !== null && !places.has(error)) {
            places.set(error, place);
        }
        const before = `${name}:${found.line}:${found.column}`;
        lines.push(`\n    at ${`${frame}`.replace(before, () => describePlace(place))}`);
    }
    return `${errorHead(error)}${lines.join('')}`;
}

function errorHead(error) {
    try {
        return Error.prototype.toString.call(error);
    } catch {
        return 'Error';
    }
}

const programs = new Map(); // by the path that the interpreter knows

// --- reading -----------------------------------------------------------------------------------

let readAhead = null; // of a program that was read before it is run: it without types, or why not

// It stands behind this file.
function loadReader() {
    return new Function('parseText', `${module.reader}\nreturn { findIn, described };`)(parseSource);
}

const UNREADABLE = [['code.unreadable', 0, '']];
const SOURCES = /\.([cm]?js|ts)$/;

// Tells what is in the program, as far as somebody wants to know that before it runs. False: it must
// not run.
function readFirst({ code, files, reading: order, mark }) {
    if (!order) {
        return true;
    }
    const reader = loadReader();
    const modules = Object.entries(files ?? {}).filter(([name]) => SOURCES.test(name))
        .map(([, content]) => Buffer.from(content, 'base64').toString());
    const findings = reader.described([
        ...findInProgram(reader, code), ...modules.flatMap((text) => findInModule(reader, text)),
    ]);
    const runs = !findings.some(({ rule }) => order.stops.includes(rule));
    send(`${stringify({ mark, findings, runs })}\n`);
    return runs;
}

// What is no program has no findings: it says so itself when it is run.
function findInProgram(reader, code) {
    try {
        current = translate(code);
        readAhead = { program: current };
    } catch (error) {
        readAhead = { program: current, error };
        return [];
    }
    let tree;
    try {
        tree = parseSource(current.text);
    } catch {
        const problem = problemOf(current.text);
        return problem instanceof RangeError || isTaken(problem) ? UNREADABLE : [];
    }
    return reader.findIn(tree, code, (place) => readAhead.program.locateText(place));
}

function translateOnce(code) {
    if (readAhead === null) {
        return translate(code);
    }
    current = readAhead.program;
    if (readAhead.error) {
        throw readAhead.error;
    }
    return current;
}

// Where in such a file is not told.
function findInModule(reader, text) {
    try {
        const tree = parseSource(translate(text).text);
        return reader.findIn(tree, text).map(([rule, , subject]) => [rule, 0, subject]);
    } catch (error) {
        return error instanceof RangeError ? UNREADABLE : [];
    }
}

// --- running -----------------------------------------------------------------------------------

function placeFiles(files) {
    for (const [name, content] of Object.entries(files ?? {})) {
        const place = path.join(WORKSPACE, name);
        fs.mkdirSync(path.dirname(place), { recursive: true });
        fs.writeFileSync(place, Buffer.from(content, 'base64'));
    }
}

function prepare(request) {
    placeFiles(request.files);
    typedFiles.place(Object.keys(request.files ?? {}));
    Object.assign(process.env, request.env);
    hooks.allowed = isArray(request.allowed_imports) ? new Set(request.allowed_imports) : null;
    const { profile_imports: modules } = request;
    hooks.profile = typeof modules === 'string' ? modules.split(' ').filter((one) => one) : null;
    hooks.refused = [];
    controlFiles();
}

const plainRequire = Module.prototype.require;

// Files that the program brought along ask too, as far as they use require().
function controlFiles() {
    Module.prototype.require = hooks.profile === null ? plainRequire : function (specifier) {
        const isFile = `${this.filename}`.startsWith(`${WORKSPACE}/`);
        return plainRequire.call(this, isFile ? hooks.checked(specifier) : specifier);
    };
}

function newModule(file) {
    const module = new Module(file, undefined);
    module.filename = file;
    module.paths = Module._nodeModulePaths(WORKSPACE);
    module.id = '.';
    process.mainModule = module;
    Module._cache[file] = module;
    return module;
}

// Gives the program its hooks once, and then nobody.
function offerHooks(taken) {
    Object.defineProperty(globalThis, HOOKS, {
        configurable: true,
        get() {
            delete globalThis[HOOKS];
            taken();
            return hooks;
        },
    });
}

// What the interpreter has against a text that the parser does not take; nothing if it takes it.
function problemOf(source) {
    try {
        vm.compileFunction(source, COMMON_NAMES, { filename: current.file });
        return null;
    } catch (error) {
        return error;
    }
}

// Or else it is a module.
function isTaken(error) {
    return error === null ||
           ['import', 'export', 'await'].some((word) => `${error.message}`.includes(word));
}

function runUnread(source) {
    const error = problemOf(source);
    if (error === null) {
        return runScript(source);
    }
    if (isTaken(error)) {
        return runModule(source, { ownName: false, imports: [] });
    }
    throw atPlace(error, current.problem);
}

function placeOfProblem(problem) {
    const { line, column } = problem.loc ?? {};
    const message = problem.message.replace(` (${line}:${column})`, '');
    return problem.loc && { line, column: column + 1, message };
}

// A syntax error has no frames of the program.
function atPlace(error, place) {
    if (place) {
        const found = current.locateText(place);
        if (current.source.split('\n')[found.line - 1]?.[found.column - 1] === '@') {
            error.message = 'Decorators are not supported';
        }
        error.stack = `${errorHead(error)}\n    at ${describePlace(found)}`;
        places.set(error, found);
    }
    return error;
}

// An import that failed before the program began is known by the name in the message.
function placeOfImport(program, error) {
    const message = safeMember(error ?? {}, 'message', 'string') ?? '';
    const found = (program.tree?.body ?? []).find((node) => {
        const name = node.source?.value;
        const names = name === undefined ? [] : [`'${name}'`, path.join(WORKSPACE, name),
                                                 `'${typedFiles.redirect(name, WORKSPACE)}'`];
        return names.some((one) => message.includes(one));
    });
    const { line, column } = found?.source.loc.start ?? {};
    return found && Object.hasOwn(globalThis, HOOKS) ? { line, column: column + 1 } : undefined;
}

function nameFile(extension) {
    current.path = path.join(WORKSPACE, `main${extension}`);
    current.file ??= current.path;
    process.argv[1] = current.path;
    programs.set(current.path, current);
}

function runScript(text) {
    nameFile('.cjs');
    const module = newModule(current.path);
    offerHooks(() => {});
    hooks.end(module._compile(text, current.path));
    module.loaded = true;
}

hooks.end = (value) => {
    if (value !== undefined) {
        hooks.value = value;
    }
};

// The interpreter loads modules from files only; the file is there until it has.
function runModule(text, found) {
    nameFile('.mjs');
    const file = current.path;
    const before = fs.existsSync(file) ? fs.readFileSync(file) : null;
    const module = newModule(file);
    const require = Module.createRequire(file);
    Object.assign(hooks, {
        module, exports: module.exports, __filename: file, __dirname: WORKSPACE,
        require: isControlled() ? hooks.guard(require) : require,
    });
    fs.writeFileSync(file, text);
    const restore = () => {
        if (found.imports.length === 0) {
            typedFiles.remove();
        }
        if (before !== null) {
            fs.writeFileSync(file, before);
        } else if (found.ownName) {
            fs.writeFileSync(file, current.source);
        } else {
            fs.rmSync(file, { force: true });
        }
    };
    offerHooks(restore);
    const program = current;
    program.pending = true;
    import(url.pathToFileURL(file).href).then(() => {
        program.pending = false;
    }, (reason) => {
        program.pending = false;
        const place = program.problem ?? placeOfImport(program, reason);
        const error = typedFiles.explain(reason);
        if (program.problem && error.message === 'Illegal return statement') {
            error.message = program.problem.message; // here it is legal, but something else is not
        }
        if (Object.hasOwn(globalThis, HOOKS)) {
            delete globalThis[HOOKS];
            restore();
        }
        queueMicrotask(() => { throw place && !placeOf(error) ? atPlace(error, place) : error; });
    });
}

function runProgram(request) {
    current = translateOnce(request.code);
    current.source = request.code;
    let program;
    try {
        program = readProgram(current.text, isControlled());
    } catch (problem) {
        current.problem = placeOfProblem(problem);
        current.file = path.join(WORKSPACE, current.name ?? 'main.mjs');
        return runUnread(current.text);
    }
    report.names = program.names;
    current.tree = program.tree;
    current.file = current.name && path.join(WORKSPACE, current.name);
    current.edits = rewriteProgram(program);
    if (isControlled()) {
        nameFile(program.isModuleFile ? '.mjs' : '.cjs');
        checkImports(program);
    }
    const text = current.edits.apply();
    if (program.isModuleFile) {
        return runModule(text, program.found);
    }
    if (program.found.ownName && !fs.existsSync(path.join(WORKSPACE, 'main.cjs'))) {
        fs.writeFileSync(path.join(WORKSPACE, 'main.cjs'), current.source);
    }
    return runScript(text);
}

// A program as it was written and, in `text`, without what only its language has. `locateText` finds
// a place of the text in what was written, and `locate` one of what its edits made of the text.
function newCurrent(text, name, locateOriginal) {
    return {
        text,
        lines: text.split('\n').length,
        name,
        edits: null,
        locate({ line, column }) {
            const before = this.edits === null ? column : this.edits.columnBefore(line, column);
            return this.locateText({ line, column: before });
        },
        locateText(place) {
            return { file: this.file, ...locateOriginal(place) };
        },
    };
}

// --- the end -----------------------------------------------------------------------------------

function fatal(error) {
    report.error = describeError(error);
    const { program, place } = originOf(error);
    const line = program?.source.split('\n')[place.line - 1];
    const shown = program && place.file === program.file && line !== undefined
        ? `${place.file}:${place.line}\n${line.slice(0, 200)}\n${' '.repeat(Math.min(place.column - 1, 200))}^\n\n`
        : '';
    writeError(`${shown}${report.error.traceback}\nNode.js ${process.version}\n`);
}

// Nothing for what has no frames of the program, unless a place was given to it.
function originOf(error) {
    const place = placeOf(error);
    return origins.get(error) ?? (place ? { program: current, place } : {});
}

function writeError(text) {
    try {
        writeSync(2, text);
    } catch {
        // Nobody reads it.
    }
}

function watchErrors() {
    // Is there only if nobody else takes care; programs may count the listeners.
    process.on('uncaughtExceptionMonitor', (error) => {
        if (process.listenerCount('uncaughtException') === 0) {
            process.once('uncaughtException', () => {
                fatal(error);
                process.exit(1);
            });
        }
    });
}

// A program that ends with setTimeout() has not computed a timer.
const isTimer = ((Timeout, Immediate) => (value) => value instanceof Timeout || value instanceof Immediate)(
    ...[setTimeout(() => {}), setImmediate(() => {})].map((timer) => timer.constructor));

function finalValue() {
    if (hooks.value !== undefined && !isTimer(hooks.value)) {
        return hooks.value;
    }
    try {
        return hooks.read?.();
    } catch {
        return undefined; // it was never set
    }
}

function isFulfilled(promise) {
    return !/^Promise \{\s*<(pending|rejected)>/.test(inspect(promise, { depth: 0 }));
}

function watchEnd() {
    process.once('beforeExit', () => {
        const value = finalValue();
        if (util.types.isPromise(value) && isFulfilled(value)) {
            value.then((settled) => { hooks.value = settled; });
        }
    });
    process.on('exit', (code) => {
        if (current?.pending && process.exitCode === undefined) {
            process.exitCode = 13; // as the interpreter has it for an await that never ends
            writeError('Warning: Detected unsettled top-level await\n');
        }
        sendReport();
        if (process.listenerCount('exit') === 1) {
            process.reallyExit(Number(process.exitCode ?? code) || 0); // without taking the heap apart
        }
    });
}

function describeRefusals() {
    return hooks.refused.length > 0 ? { refused_imports: hooks.refused } : {};
}

function sendReport() {
    const { names, error, mark } = report;
    try {
        send(reportText({
            mark, ...(error ? { error } : describeResult(finalValue())), variables: describeNames(names),
            ...describeRefusals(),
        }));
    } catch {
        // The program broke what this needs; what can be seen from outside is still true.
    }
}

function main() {
    const request = awaitRequest();
    report = { names: new Set(), error: undefined, mark: request.mark };
    if (request.session === true) {
        return runSession(request);
    }
    if (!readFirst(request)) {
        return process.reallyExit(0);
    }
    prepare(request);
    process.argv = [process.argv[0], '', ...(request.args ?? [])];
    watchErrors();
    watchEnd();
    return runProgram(request);
}
