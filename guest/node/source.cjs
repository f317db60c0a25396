// Reads a program and changes it, so that its value and its names can be seen. Part of a bootstrap.
//
// Line numbers stay as they are: nothing that is put in has a line break, and what is taken out
// leaves blanks.

const HOOKS = '__belljar';

// Changes of one text. Positions are those of the text as it was.
class Edits {
    constructor(source) {
        this.source = source;
        this.insertions = [];
        this.blanks = [];
    }

    insert(at, text) {
        this.insertions.push({ at, text });
    }

    blank(start, end) {
        this.blanks.push({ start, end });
    }

    replace(start, end, text) {
        this.blank(start, end);
        this.insert(start, text);
    }

    apply() {
        const pieces = [];
        let from = 0;
        const source = this.blanked();
        this.insertions.sort((one, other) => one.at - other.at);
        for (const { at, text } of this.insertions) {
            pieces.push(source.slice(from, at), text);
            from = at;
        }
        pieces.push(source.slice(from));
        return pieces.join('');
    }

    blanked() {
        let text = this.source;
        for (const { start, end } of this.blanks) {
            const gap = Array.from(text.slice(start, end),
                                   (letter) => (isLineBreak(letter) ? letter : ' '.repeat(letter.length)));
            text = text.slice(0, start) + gap.join('') + text.slice(end);
        }
        return text;
    }

    // Of a place in the changed text (line and column from 1), the column in the text as it was.
    columnBefore(line, column) {
        const start = startOfLine(this.source, line);
        let shift = 0;
        for (const { at, text } of this.insertions) {
            const here = at - start + 1;
            if (at < start || column < here + shift) {
                continue;
            }
            if (column < here + shift + text.length) {
                return here;
            }
            if (!this.source.slice(start, at).includes('\n')) {
                shift += text.length;
            }
        }
        return column - shift;
    }
}

function isLineBreak(letter) {
    return letter === '\n' || letter === '\r' || letter === '\u2028' || letter === '\u2029';
}

function startOfLine(source, line) {
    let start = 0;
    for (let count = 1; count < line; ++count) {
        const end = source.indexOf('\n', start);
        if (end < 0) {
            return source.length;
        }
        start = end + 1;
    }
    return start;
}

// A script if it can be one, as the interpreter has it by default; else a module.
function parseSource(source) {
    const options = { ecmaVersion: 'latest', allowReturnOutsideFunction: true, locations: true };
    try {
        return acorn.parse(source, { ...options, sourceType: 'script' });
    } catch {
        return acorn.parse(source, { ...options, sourceType: 'module' });
    }
}

function isNode(value) {
    return typeof value === 'object' && value !== null && typeof value.type === 'string';
}

// Calls `visit` for every node; where it returns false, not for those within.
function walk(node, visit) {
    const waiting = [node];
    while (waiting.length > 0) {
        const next = waiting.pop();
        if (visit(next) === false) {
            continue;
        }
        for (const value of Object.values(next)) {
            if (isArray(value)) {
                waiting.push(...value.filter(isNode).reverse());
            } else if (isNode(value)) {
                waiting.push(value);
            }
        }
    }
}

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression',
                           'ClassDeclaration', 'ClassExpression']);

const LOOPS = new Set(['ForStatement', 'ForInStatement', 'ForOfStatement']);

// What is used anywhere, and what stands outside of all functions.
function survey(tree) {
    const found = {
        names: new Set(), imports: [], metas: [], returns: false, ownName: false, vars: [],
        heads: new Set(),
    };
    walk(tree, (node) => {
        if (node.type === 'Identifier') {
            found.names.add(node.name);
        } else if (node.type === 'ImportExpression') {
            found.imports.push(node);
        } else if (node.type === 'MetaProperty') {
            found.ownName = true;
            found.metas.push(...(node.meta.name === 'import' ? [node] : []));
        }
    });
    walk(tree, (node) => {
        if (node.type === 'ReturnStatement') {
            found.returns = true;
        } else if (node.type === 'VariableDeclaration' && node.kind === 'var') {
            found.vars.push(node);
        } else if (LOOPS.has(node.type)) {
            found.heads.add(node.init ?? node.left);
        }
        return !FUNCTIONS.has(node.type);
    });
    found.ownName ||= ['__filename', 'cluster', 'fork', 'Worker'].some((name) => found.names.has(name));
    return found;
}

function namesOfPattern(pattern) {
    switch (pattern?.type) {
        case 'Identifier': return [pattern.name];
        case 'ObjectPattern':
            return pattern.properties.flatMap((one) => namesOfPattern(one.value ?? one.argument));
        case 'ArrayPattern': return pattern.elements.flatMap(namesOfPattern);
        case 'AssignmentPattern': return namesOfPattern(pattern.left);
        case 'RestElement': return namesOfPattern(pattern.argument);
        default: return [];
    }
}

function declarationOf(statement) {
    const exported = statement.type.startsWith('Export') && isNode(statement.declaration);
    return exported ? statement.declaration : statement;
}

// A module under a name of the program's is not what it computed.
function isModule(value) {
    const inner = value?.type === 'AwaitExpression' ? value.argument : value;
    return inner?.type === 'ImportExpression' ||
           (inner?.type === 'CallExpression' && inner.callee.name === 'require');
}

function namesOfDeclaration(declaration) {
    if (declaration.type === 'VariableDeclaration') {
        return declaration.declarations.filter((one) => !isModule(one.init))
            .flatMap((one) => namesOfPattern(one.id));
    }
    const named = ['FunctionDeclaration', 'ClassDeclaration'].includes(declaration.type);
    return named && declaration.id ? [declaration.id.name] : [];
}

// The names that the program declares outside of all functions and blocks, in order.
function declaredNames(tree, vars) {
    const names = new Set();
    for (const statement of tree.body) {
        namesOfDeclaration(declarationOf(statement)).forEach((name) => names.add(name));
    }
    vars.flatMap(namesOfDeclaration).forEach((name) => names.add(name));
    return names;
}

function isModuleSyntax(tree) {
    return tree.body.some((node) => node.type === 'ImportDeclaration' ||
                                    (node.type.startsWith('Export')));
}

// Where the program's own text begins: behind its directives, of which only one means anything.
function afterDirectives(tree) {
    const last = tree.body.filter((node) => node.directive === 'use strict').pop();
    return last?.end ?? tree.body[0]?.start ?? 0;
}

function nameOf(identifier) {
    return identifier.type === 'Literal' ? stringify(identifier.value) : identifier.name;
}

function attributesOf(node) {
    const parts = (node.attributes ?? []).map(
        (one) => `${nameOf(one.key)}: ${stringify(one.value.value)}`);
    return parts.length > 0 ? ` with { ${parts.join(', ')} }` : '';
}

// An import declaration on one line.
function importText(node) {
    const place = typedFiles.redirect(node.source.value, WORKSPACE);
    const from = stringify(place) + attributesOf(node);
    const parts = [];
    const named = [];
    for (const one of node.specifiers ?? []) {
        if (one.type === 'ImportDefaultSpecifier') {
            parts.unshift(one.local.name);
        } else if (one.type === 'ImportNamespaceSpecifier') {
            parts.push(`* as ${one.local.name}`);
        } else {
            named.push(`${nameOf(one.imported)} as ${one.local.name}`);
        }
    }
    if (named.length > 0) {
        parts.push(`{ ${named.join(', ')} }`);
    }
    return parts.length > 0 ? `import ${parts.join(', ')} from ${from};` : `import ${from};`;
}

// Statements that have no value, not even that of nothing.
function isEmpty(node) {
    return node.type === 'EmptyStatement' ||
           (node.type === 'VariableDeclaration' && node.kind === 'var' &&
            node.declarations.every((one) => one.init === null));
}

// The value of an expression that ends the program is kept.
function keepLastValue(edits, tree) {
    const last = tree.body.filter((node) => !isEmpty(node)).pop();
    if (last?.type === 'ExpressionStatement' && last.directive !== 'use strict') {
        edits.insert(last.expression.start, `${HOOKS}.value = (`);
        edits.insert(last.expression.end, ')');
    }
}

// Inside a function there are neither imports nor exports.
function takeOutModuleSyntax(edits, tree) {
    const imports = [];
    for (const node of tree.body) {
        const from = node.source !== undefined && node.source !== null;
        if (node.type === 'ImportDeclaration' || (node.type.startsWith('Export') && from)) {
            imports.push(importText(node));
            edits.blank(node.start, node.end);
        } else if (node.type.startsWith('Export')) {
            takeOutExport(edits, node);
        }
    }
    return imports.join(' ');
}

function takeOutExport(edits, node) {
    if (!node.declaration) {
        edits.blank(node.start, node.end);
    } else if (node.type === 'ExportDefaultDeclaration' && !node.declaration.id) {
        edits.replace(node.start, node.declaration.start, ';(');
        edits.insert(node.declaration.end, ')');
    } else {
        edits.blank(node.start, node.declaration.start);
    }
}

// Imports at run time ask first.
function guardImports(edits, imports) {
    for (const node of imports) {
        edits.insert(node.source.start, `${HOOKS}.checked(`);
        edits.insert(node.source.end, ')');
    }
}

const COMMON_NAMES = ['require', 'module', 'exports', '__filename', '__dirname'];

function importedNames(tree) {
    return tree.body.filter((node) => node.type === 'ImportDeclaration')
        .flatMap((node) => node.specifiers.map((one) => one.local.name));
}

// Where imports name a file of the program that has a text of its own for the interpreter.
function redirectImports(edits, tree, directory) {
    walk(tree, ({ type, source }) => {
        const isImport = type.startsWith('Import') || type.startsWith('Export');
        if (isImport && source?.type === 'Literal' && typeof source.value === 'string') {
            const place = typedFiles.redirect(source.value, directory);
            if (place !== source.value) {
                edits.replace(source.start, source.end, stringify(place));
            }
        }
    });
}

// What stands before the program: the way to what is outside of it, and back to its `result`. A
// module that uses names of CommonJS without declaring them gets those too.
function preamble(program, isModuleFile) {
    const { names, tree, found } = program;
    const parts = [`const ${HOOKS} = globalThis.${HOOKS};`];
    if (names.has('result')) {
        parts.push(`${HOOKS}.read = () => result;`);
    }
    if (isModuleFile) {
        const taken = new Set([...names, ...program.modules, ...importedNames(tree)]);
        for (const name of COMMON_NAMES.filter((one) => found.names.has(one) && !taken.has(one))) {
            parts.push(`const ${name} = ${HOOKS}.${name};`);
        }
    } else if (program.isGuarded) {
        parts.push(`require = ${HOOKS}.guard(require);`);
    }
    return parts.join(' ') + ' ';
}

// Reads a program: its tree, its names, what it uses. Throws where the parser does.
function readProgram(source, isGuarded) {
    const tree = parseSource(source);
    const found = survey(tree);
    const names = declaredNames(tree, found.vars);
    const modules = [...tree.body.map(declarationOf), ...found.vars]
        .filter((node) => node.type === 'VariableDeclaration')
        .flatMap((node) => node.declarations.flatMap((one) => namesOfPattern(one.id)));
    return { source, tree, found, names, modules, isGuarded, isModuleFile: tree.sourceType === 'module' };
}

// The program as it is run, once.
function rewriteProgram(program) {
    const { source, tree, found } = program;
    const edits = new Edits(source);
    const start = preamble(program, program.isModuleFile);
    if (program.isGuarded) {
        guardImports(edits, found.imports);
    }
    if (program.isModuleFile && found.returns) {
        const imports = takeOutModuleSyntax(edits, tree);
        found.imports.forEach((node) => redirectImports(edits, node, WORKSPACE));
        edits.insert(afterDirectives(tree), `${imports} ${start}${HOOKS}.end(await (async () => {`);
        keepLastValue(edits, tree);
        edits.insert(source.length, '\n})());');
    } else {
        redirectImports(edits, tree, WORKSPACE);
        edits.insert(afterDirectives(tree), (start.length > 0 ? ';' : '') + start);
        keepLastValue(edits, tree);
    }
    return edits;
}
