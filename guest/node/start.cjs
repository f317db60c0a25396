// The last part of a bootstrap: gets ready, waits, begins.

let unread = Buffer.alloc(0); // what came behind the first line

function readLine() {
    const pieces = [];
    const buffer = Buffer.alloc(64 * 1024);
    for (;;) {
        const count = fs.readSync(REQUEST_FD, buffer, 0, buffer.length, null);
        const piece = Buffer.from(buffer.subarray(0, count));
        const end = piece.indexOf('\n');
        if (count === 0 || end >= 0) {
            pieces.push(end < 0 ? piece : piece.subarray(0, end));
            unread = end < 0 ? unread : piece.subarray(end + 1);
            return Buffer.concat(pieces).toString();
        }
        pieces.push(piece);
    }
}

function awaitRequest() {
    send('\n');
    return parse(readLine());
}

// The interpreter was started with a text instead of a file; programs shall not see that.
function hideStart() {
    const builtin = new Set([...Module.builtinModules, 'module', 'exports', 'require', '__filename',
                             '__dirname']);
    for (const name of builtin) {
        const found = Object.getOwnPropertyDescriptor(globalThis, name);
        const isOwn = name === 'crypto' && globalThis.Crypto === undefined; // before Node 20
        if (found?.configurable && (isOwn || !GLOBALS.has(name))) {
            delete globalThis[name];
        }
    }
    process.execArgv = [];
    delete process._eval;
}

// Builtin modules whose names are global in any program.
const GLOBALS = new Set(['console', 'process', 'performance', 'crypto', 'navigator']);

function getReady() {
    fs.closeSync(PROGRAM_FD);
    hideStart();
    Error.prepareStackTrace = prepareStackTrace;
    rehearse();
}

// What every program needs is there before one comes.
function rehearse() {
    current = translate('const a = await 1;\na');
    rewriteProgram(readProgram(current.text, false)).apply();
    inspect({ a: [new Error('x').stack] });
    current = null;
}

getReady();
import('data:text/javascript,0').then(() => setImmediate(main));
