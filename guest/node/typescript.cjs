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

function translate(source) {
    let output;
    try {
        output = swc.transformSync(source, {
            mode: 'transform', sourceMap: true, filename: 'main.ts',
            transform: { noEmptyExport: true, nativeClassProperties: true, verbatimModuleSyntax: isSession },
        });
    } catch (problem) {
        throw problem;
    }
    let rows;
    return newCurrent(output.code, 'main.ts', ({ line, column }) => {
        rows ??= decodeMappings(parse(output.map).mappings);
        return findMapping(rows, line, column);
    });
}
