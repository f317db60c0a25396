// TypeScript loses its types; they are not checked. Part of a bootstrap.

const VLQ_DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

// Per line of the result: [column there, line, column in the source], all from 0.
function decodeMappings(mappings) {
    let [line, column] = [0, 0];
    return mappings.split(';').map((row) => {
        let there = 0;
        return row.split(',').filter((text) => text !== '').map((text) => {
            const [step, , lines = 0, columns = 0] = decodeNumbers(text);
            there += step;
            line += lines;
            column += columns;
            return [there, line, column];
        });
    });
}

function decodeNumbers(text) {
    const numbers = [];
    let [value, shift] = [0, 0];
    for (const letter of text) {
        const digit = VLQ_DIGITS.indexOf(letter);
        value += (digit & 31) * 2 ** shift;
        shift += 5;
        if ((digit & 32) === 0) {
            numbers.push(value & 1 ? -Math.floor(value / 2) : value / 2);
            [value, shift] = [0, 0];
        }
    }
    return numbers;
}

// The last mapping at or before a place; for a line without any, that of the lines before it.
function findMapping(rows, line, column) {
    for (let row = Math.min(line, rows.length) - 1; row >= 0; --row) {
        const found = rows[row].filter((one) => row < line - 1 || one[0] < column).pop() ?? rows[row][0];
        if (found) {
            return { line: found[1] + 1, column: found[2] + 1 };
        }
    }
    return { line, column };
}

const RETURN_REFUSED = 'Return statement is not allowed here';
const RETURN_MARK = '__belljar_return';
const RETURNS_LIMIT = 100; // outside of functions

function strip(source) {
    return swc.transformSync(source, {
        mode: 'transform', sourceMap: true, filename: 'main.ts',
        transform: {
            noEmptyExport: true, nativeClassProperties: true, verbatimModuleSyntax: isSession,
        },
    });
}

// The transformer takes no `return` outside of functions, but says where it is: something else that
// leaves the program stands there until the types are gone.
function markReturn(source, problem) {
    const start = startOfLine(source, problem.startLine);
    const end = source.indexOf('\n', start);
    const line = source.slice(start, end < 0 ? undefined : end);
    const at = start + Array.from(line).slice(0, problem.startColumn).join('').length;
    if (problem.message !== RETURN_REFUSED || !source.startsWith('return', at)) {
        throw problem;
    }
    const isBare = problem.startLine === problem.endLine &&
                   problem.endColumn - problem.startColumn <= 'return;'.length;
    const edits = new Edits(source);
    edits.replace(at, at + 'return'.length, `throw ${RETURN_MARK}, ${isBare ? 'undefined' : ''}`);
    return edits.apply();
}

function stripWithReturns(source) {
    let marked = source;
    for (let count = 0;; ++count) {
        try {
            const output = strip(marked);
            return count === 0 ? output : { ...output, code: bringBackReturns(output.code) };
        } catch (problem) {
            if (problem?.message !== RETURN_REFUSED || count === RETURNS_LIMIT) {
                throw problem;
            }
            marked = markReturn(marked, problem);
        }
    }
}

function bringBackReturns(code) {
    const edits = new Edits(code);
    walk(parseSource(code), (node) => {
        const parts = node.type === 'ThrowStatement' ? node.argument.expressions : undefined;
        if (parts?.[0].name === RETURN_MARK) {
            edits.replace(node.start, parts[1].start, 'return (');
            edits.insert(node.argument.end, ')');
        }
    });
    return edits.apply();
}

// The transformer throws objects of its own, some with lines.
function syntaxError(problem) {
    const error = new SyntaxError(safeMember(problem ?? {}, 'message', 'string') ?? `${problem}`);
    const place = { line: problem?.startLine, column: (problem?.startColumn ?? 0) + 1 };
    return Number.isInteger(place.line) ? atPlace(error, place) : error;
}

// Finds a place of a text without types in what was written.
function locator(map) {
    let rows;
    return ({ line, column }) => {
        rows ??= decodeMappings(parse(map).mappings);
        return findMapping(rows, line, column);
    };
}

function translate(source, name = 'main.ts') {
    let output;
    try {
        output = stripWithReturns(source);
    } catch (problem) {
        current = newCurrent(source, name, (place) => place);
        current.source = source;
        current.file = path.join(WORKSPACE, current.name);
        throw syntaxError(problem);
    }
    return newCurrent(output.code, name, locator(output.map));
}

// Files that come with a program: each has a module without types beside it until the program has
// loaded what it imports, and imports lead there.
const typedFiles = {
    made: new Map(), // paths of modules without types, by those of the files
    problems: new Map(), // of files that could not be read, by the paths of their modules

    place(names) {
        const typed = names.filter((name) => /\.[mc]?ts$/.test(name) && !name.endsWith('.d.ts'));
        for (const name of typed) {
            this.made.set(path.join(WORKSPACE, name), `${path.join(WORKSPACE, name)}.mjs`);
        }
        for (const [file, module] of this.made) {
            fs.writeFileSync(module, this.textOf(file, module));
        }
    },

    textOf(file, module) {
        try {
            const output = strip(fs.readFileSync(file, 'utf8'));
            const program = newCurrent(output.code, file, locator(output.map));
            program.file = file;
            programs.set(module, program);
            program.edits = new Edits(output.code);
            redirectImports(program.edits, parseSource(output.code), path.dirname(file));
            return program.edits.apply();
        } catch (problem) {
            const text = `${file}:${problem?.startLine ?? 1}: ${problem?.message}`;
            this.problems.set(module, text);
            return `throw new SyntaxError(${stringify(text)})`;
        }
    },

    redirect(specifier, directory) {
        if (!specifier.startsWith('./') && !specifier.startsWith('../')) {
            return specifier;
        }
        const base = path.join(directory, specifier);
        const places = [base, `${base}.ts`, `${base}.mts`, base.replace(/\.([mc]?)js$/, '.$1ts'),
                        path.join(base, 'index.ts')];
        const found = places.find((place) => this.made.has(place));
        return found ? `./${path.relative(directory, this.made.get(found))}` : specifier;
    },

    // That such a file exports nothing is not what is wrong with it.
    explain(error) {
        const message = safeMember(error ?? {}, 'message', 'string') ?? '';
        const found = [...this.problems].find(([module]) => message.includes(path.basename(module)));
        return found ? new SyntaxError(found[1]) : error;
    },

    remove() {
        this.made.forEach((module) => fs.rmSync(module, { force: true }));
    },
};
