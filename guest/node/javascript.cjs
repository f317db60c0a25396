// JavaScript is run as it is written. Part of a bootstrap.

function translate(source) {
    return newCurrent(source, undefined, (place) => place);
}

// Its files are loaded as they are.
const typedFiles = {
    place() {},
    redirect: (specifier) => specifier,
    explain: (error) => error,
    remove() {},
};
