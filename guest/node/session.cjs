// A program in cells, each with the names of those before it. Part of a bootstrap.
//
// The names live in the global object, where every cell finds them and may declare them anew; there
// are no checkpoints.

const net = require('net');
const { Readable, Writable } = require('stream');

const CELL_LINE_LIMIT = 64 * 1024 * 1024; // bytes
const TRACED_LIMIT = 1000; // cells whose lines a trace can tell

const sessionNames = new Set();
let isSession = false;
let outputs = []; // the streams, wherever a cell makes their names lead

// --- how a cell is run ---------------------------------------------------------------------------

function terminate(edits, node, text) {
    const isTerminated = edits.source[node.end - 1] === ';';
    edits.insert(isTerminated ? node.end - 1 : node.end, isTerminated ? text : `${text};`);
}

// `const a = 1, { b } = c` as assignments to names that are there already. A word before them, so
// that they are one statement wherever the declaration is, and no part of what is before it.
function assignVariables(edits, node) {
    const first = node.declarations[0];
    edits.replace(node.start, first.start, 'void (');
    for (const one of node.declarations.filter((declared) => declared.init === null)) {
        edits.insert(one.end, node.kind === 'var' ? ` = ${one.id.name}` : ' = undefined');
    }
    terminate(edits, node, ')');
}

// Called by its global name, even within itself, so that a later cell may replace it.
function renameFunction(edits, node) {
    edits.insert(node.id.end, '$cell');
    return `${HOOKS}.declare(${stringify(node.id.name)}, ${node.id.name}$cell);`;
}

function assignImport(edits, node) {
    const place = typedFiles.redirect(node.source.value, WORKSPACE);
    const from = `import(${HOOKS}.checked(${stringify(place)}))`;
    const parts = (node.specifiers ?? []).map((one) => {
        if (one.type === 'ImportNamespaceSpecifier') {
            return `${one.local.name} = found`;
        }
        const name = one.type === 'ImportDefaultSpecifier' ? '"default"' : stringify(
            one.imported.name ?? one.imported.value);
        return `${one.local.name} = ${HOOKS}.member(found, ${name}, ${stringify(node.source.value)})`;
    });
    edits.replace(node.start, node.end, `;{ const found = await ${from}; ${parts.join('; ')} }`);
}

// Those with `var` are the cell's own wherever they stand in it, but for its functions.
function assignInnerVariables(edits, { found, tree }) {
    const outer = new Set(tree.body.map(declarationOf));
    for (const node of found.vars.filter((one) => !outer.has(one))) {
        if (found.heads.has(node)) {
            edits.blank(node.start, node.start + node.kind.length);
        } else {
            assignVariables(edits, node);
        }
    }
}

// Returns what must happen before the cell begins.
function changeStatement(edits, node) {
    if (node.type === 'ImportDeclaration' || (node.type.startsWith('Export') && node.source)) {
        assignImport(edits, node);
        return '';
    }
    if (node.type.startsWith('Export')) {
        takeOutExport(edits, node);
    }
    const declaration = declarationOf(node);
    if (declaration.type === 'VariableDeclaration' && !declaration.kind.endsWith('using')) {
        assignVariables(edits, declaration);
    } else if (declaration.type === 'FunctionDeclaration' && declaration.id) {
        return renameFunction(edits, declaration);
    } else if (declaration.type === 'ClassDeclaration' && declaration.id) {
        edits.insert(declaration.start, `;${declaration.id.name} = `);
        edits.insert(declaration.end, ';');
    }
    return '';
}

function rewriteCell(program) {
    const { source, tree } = program;
    const edits = new Edits(source);
    if (program.isGuarded) {
        guardImports(edits, program.found.imports);
    }
    const before = tree.body.map((node) => changeStatement(edits, node)).join('');
    assignInnerVariables(edits, program);
    const guard = program.isGuarded ? `require = ${HOOKS}.guard(require); ` : '';
    edits.insertions.unshift({
        at: afterDirectives(tree),
        text: `;const ${HOOKS} = globalThis.${HOOKS}; ${guard}return (async () => {${before}`,
    });
    keepLastValue(edits, tree);
    program.found.metas.forEach((node) => edits.replace(node.start, node.end, `${HOOKS}.meta`));
    edits.insert(source.length, '\n})()');
    return edits;
}

// Data of the global object whatever was there before: some of it can only be read.
function declareGlobal(name, value) {
    Object.defineProperty(globalThis, name,
                          { value, configurable: true, enumerable: true, writable: true });
}

hooks.declare = (name, value) => {
    Object.defineProperty(value, 'name', { value: name, configurable: true });
    declareGlobal(name, value);
};

hooks.member = (module, name, specifier) => {
    if (!(name in module)) {
        throw new SyntaxError(
            `The requested module '${specifier}' does not provide an export named '${name}'`);
    }
    return module[name];
};

function declareNames(program) {
    const names = new Set([...program.names, ...program.modules, ...importedNames(program.tree)]);
    for (const name of names) {
        if (!Object.getOwnPropertyDescriptor(globalThis, name)?.writable) {
            declareGlobal(name, globalThis[name]);
        }
    }
    program.names.forEach((name) => sessionNames.add(name));
}

// What an earlier cell declared may fail in a later one.
function nameCell(number) {
    current.path = path.join(WORKSPACE, current.name ?? `cell-${number}.mjs`);
    current.file = current.path;
    programs.set(current.path, current);
    cellPaths.push(current.path);
    if (cellPaths.length > TRACED_LIMIT) {
        programs.delete(cellPaths.shift());
    }
}

const cellPaths = [];

async function runCell(request) {
    current = translate(request.code, `cell-${request.cell}.ts`);
    current.source = request.code;
    nameCell(request.cell);
    let program;
    try {
        program = readProgram(current.text, isControlled());
    } catch (problem) {
        throw atPlace(problemOf(current.text) ?? problem, placeOfProblem(problem));
    }
    current.edits = rewriteCell(program);
    checkImports(program);
    declareNames(program);
    hooks.meta = {
        dirname: WORKSPACE, filename: current.path, url: url.pathToFileURL(current.path).href,
    };
    const module = newModule(current.path);
    delete Module._cache[current.path]; // nobody asks for it, and there may be many
    offerHooks(() => {});
    hooks.end(await module._compile(current.edits.apply(), current.path));
}

// --- how cells come and go -----------------------------------------------------------------------

function offerStdin(text) {
    const content = Buffer.from(text ?? '');
    Object.defineProperty(process, 'stdin', {
        configurable: true, enumerable: true, get: () => stdin,
    });
    const stdin = Readable.from(content.length > 0 ? [content] : []);
    stdin.fd = 0;
    fs.readFileSync = (file, ...rest) => {
        if (file !== 0 && file !== '/dev/stdin') {
            return readFileSync(file, ...rest);
        }
        const encoding = typeof rest[0] === 'string' ? rest[0] : rest[0]?.encoding;
        return encoding ? content.toString(encoding) : Buffer.from(content);
    };
}

const { readFileSync } = fs;

// A cell may have put something else into the place of the stream's own write().
function flush(stream) {
    return new Promise((resolve) => {
        const end = () => {
            stream.off('error', end);
            resolve();
        };
        stream.once('error', end);
        Writable.prototype.write.call(stream, '', end);
        if (stream.destroyed || stream.writableEnded) {
            end();
        }
    });
}

// Resolves when the cell is over, or fails with what nobody caught meanwhile.
function settle(cell) {
    return new Promise((resolve, reject) => {
        failCell = reject;
        cell.then(resolve, reject);
    });
}

let failCell = null; // of the cell under way

function onStrayError(error) {
    if (failCell === null) {
        writeError(`${traceOf(error)}`); // of something that an earlier cell began
    } else {
        failCell(error);
    }
}

async function answerCell(request) {
    Object.assign(hooks, { value: undefined, read: undefined });
    report = { names: sessionNames, error: undefined };
    let exitCode = 0;
    try {
        prepare(request);
        process.argv = [process.argv[0], path.join(WORKSPACE, 'main.mjs'), ...(request.args ?? [])];
        offerStdin(request.stdin);
        await settle(runCell(request));
    } catch (error) {
        exitCode = 1;
        fatal(error);
    }
    failCell = null;
    await Promise.all(outputs.map(flush));
    const value = hooks.value === undefined ? undefined : await settledValue(hooks.value);
    send(reportText({
        mark: request.mark, cell: request.cell, done: true, exit_code: exitCode, variables: describeNames(sessionNames),
        ...(report.error ? { error: report.error } : describeResult(value)), ...describeRefusals(),
    }) + '\n');
}

async function settledValue(value) {
    return util.types.isPromise(value) && isFulfilled(value) ? await value : value;
}

async function* linesOf(stream, begun) {
    let rest = [begun];
    let size = begun.length;
    for await (const piece of stream) {
        let from = 0;
        for (let end; (end = piece.indexOf('\n', from)) >= 0; from = end + 1) {
            yield Buffer.concat([...rest, piece.subarray(from, end)]).toString();
            [rest, size] = [[], 0];
        }
        rest.push(piece.subarray(from));
        size += piece.length - from;
        if (size > CELL_LINE_LIMIT) {
            return;
        }
    }
}

async function runSession(first) {
    isSession = true;
    outputs = [process.stdout, process.stderr];
    process.on('uncaughtException', onStrayError);
    if (first.cell !== undefined) {
        await answerCell(first);
    }
    const begun = unread.lastIndexOf('\n') + 1;
    for (const line of unread.subarray(0, begun).toString().split('\n').filter(Boolean)) {
        await answerCell(parse(line));
    }
    const pipe = new net.Socket({ fd: REQUEST_FD, readable: true, writable: false });
    for await (const line of linesOf(pipe, Buffer.from(unread.subarray(begun)))) {
        await answerCell(parse(line));
    }
    process.exit(0);
}
