// Reads a program and tells what is in it. The program is data on standard input: it is parsed, as
// the guest that would run it does that, and never executed. Last part, behind scan.cjs.

const fs = require('fs');
const vm = require('vm');

const MOST_LISTED = 200;
const BRANCHES = new Set(['IfStatement', 'ForStatement', 'ForInStatement', 'ForOfStatement',
                          'WhileStatement', 'DoWhileStatement', 'SwitchCase', 'TryStatement',
                          'ConditionalExpression', 'LogicalExpression', 'FunctionDeclaration',
                          'FunctionExpression', 'ArrowFunctionExpression', 'ClassDeclaration']);
const RETURN_REFUSED = 'Return statement is not allowed here';
const MOST_RETURNS = 100;

// A package that came as a file, by the name that it gives itself.
function load(name) {
    const text = fs.readFileSync(`${name}.cjs`, 'utf8');
    return new Function('require', '__dirname', `${text}\nreturn ${name};`)(require, __dirname);
}

class Problem extends Error {
    constructor(line, text) {
        super(text);
        this.line = line;
    }
}

// Types become blanks, so that lines stay; what leaves more than blanks behind is transformed.
function strip(swc, source) {
    const modes = ['strip-only', 'transform'];
    for (const mode of modes) {
        try {
            return swc.transformSync(source, {
                mode, filename: 'main.ts', transform: { verbatimModuleSyntax: true },
            }).code;
        } catch (error) {
            if (mode === modes.at(-1) || error?.message === RETURN_REFUSED) {
                throw error;
            }
        }
    }
    return source;
}

// Outside of functions the stripper takes no `return`, which programs may use: something of the same
// length stands in for it.
function withoutReturn(source, problem) {
    const lines = source.split('\n');
    const letters = Array.from(lines[problem.startLine - 1] ?? '');
    const before = letters.slice(0, problem.startColumn).join('');
    const rest = letters.slice(problem.startColumn).join('');
    if (!rest.startsWith('return')) {
        throw problem;
    }
    const behind = rest.slice('return'.length);
    lines[problem.startLine - 1] = before + (/^\s*($|[;}])/.test(behind) ? 'void 0' : 'throw ') + behind;
    return lines.join('\n');
}

function stripTypes(source) {
    const swc = load('swc');
    let text = source;
    for (let count = 0;; ++count) {
        try {
            return strip(swc, text);
        } catch (problem) {
            if (problem?.message !== RETURN_REFUSED || count === MOST_RETURNS) {
                throw new Problem(problem?.startLine ?? 1, `${problem?.message ?? problem}`);
            }
            text = withoutReturn(text, problem);
        }
    }
}

const acorn = load('acorn');

function parseText(source) {
    const options = { ecmaVersion: 'latest', allowReturnOutsideFunction: true, locations: true };
    try {
        return acorn.parse(source, { ...options, sourceType: 'script' });
    } catch {
        return acorn.parse(source, { ...options, sourceType: 'module' });
    }
}

function parse(source) {
    try {
        return parseText(source);
    } catch (error) {
        return parseOtherwise(source, error);
    }
}

// What the interpreter takes and the parser does not.
function parseOtherwise(source, error) {
    try {
        vm.compileFunction(source, ['require', 'module', 'exports']);
        return { type: 'Program', body: [], isUnread: true };
    } catch {
        const { line, column } = error.loc ?? { line: 1, column: 0 };
        throw new Problem(line, error.message.replace(` (${line}:${column})`, ''));
    }
}

function importOf(node) {
    if (node.type === 'CallExpression' && node.callee.name === 'require') {
        return node.arguments[0]?.value;
    }
    const named = node.type.startsWith('Import') || node.type.startsWith('Export');
    return named ? node.source?.value : undefined;
}

// Lines of a text without types may be others than those that were written.
function lineOf(node, name, written) {
    const at = written.findIndex((line) => line.includes(`'${name}'`) || line.includes(`"${name}"`));
    return at >= 0 ? at + 1 : node.loc.start.line;
}

function findingsOf(tree, source) {
    return [...(tree.isUnread ? [['code.unreadable', 0, '']] : []), ...findIn(tree, source)];
}

// Of a file that comes along; where in it is not told.
function findingsOfModule(text, language) {
    try {
        const tree = parse(language === 'typescript' ? stripTypes(text) : text);
        return findingsOf(tree, text).map(([rule, , subject]) => [rule, 0, subject]);
    } catch (error) {
        return error instanceof RangeError ? [['code.unreadable', 0, '']] : [];
    }
}

function survey(tree, source, { language, more }) {
    const written = source.split('\n');
    const ofModules = (more ?? []).flatMap((text) => findingsOfModule(text, language));
    const findings = described([...findingsOf(tree, source), ...ofModules]);
    const found = { imports: [], findings, functions: [], classes: [], branches: 0 };
    walk(tree, (node) => {
        const name = importOf(node);
        if (typeof name === 'string' && !name.startsWith('.')) {
            found.imports.push({ line: lineOf(node, name, written), text: name });
        }
        if (node.type === 'FunctionDeclaration' && node.id) {
            found.functions.push(node.id.name);
        } else if (node.type === 'ClassDeclaration' && node.id) {
            found.classes.push(node.id.name);
        }
        found.branches += BRANCHES.has(node.type) ? 1 : 0;
    });
    for (const list of ['imports', 'functions', 'classes']) {
        found[list].length = Math.min(found[list].length, MOST_LISTED);
    }
    return found;
}

function read(request) {
    const { code, language } = request;
    try {
        return survey(parse(language === 'typescript' ? stripTypes(code) : code), code, request);
    } catch (error) {
        const unread = error instanceof RangeError || /stack space/.test(error.message);
        const text = unread ? 'too deeply nested for the interpreter' : error.message;
        return { problem: { line: error.line ?? 1, text }, unread };
    }
}

read(JSON.parse(fs.readFileSync(0, 'utf8')));
